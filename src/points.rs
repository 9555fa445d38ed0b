//! [`Places`]: the coordinates and groups of rows. They are checked here, once; all other code relies on that.

use crate::error::Error;
use crate::simd::arch;
use crate::space::{Metric, Sigma, UnitVectors};

/// Rows with a place each: latitude and longitude, or one to three index columns. Rows may have a group, too.
///
/// Rows of different groups do not influence each other.
///
/// # Examples
/// ```
/// use geosmooth::Places;
///
/// let towns = Places::lat_lon(vec![41.65, 41.66], vec![-83.54, -83.55])?;
/// assert_eq!(towns.len(), 2);
/// assert!(Places::lat_lon(vec![-83.54], vec![41.65]).is_ok()); // swapped, but still a place
/// assert!(Places::lat_lon(vec![183.5], vec![41.65]).is_err());
/// # Ok::<(), geosmooth::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Places {
    kind: CoordinateKind,
    axes: Vec<Vec<f64>>,
    /// What was subtracted from each axis when it was read; empty if nothing was subtracted.
    origin: Vec<f64>,
    groups: Option<Vec<u32>>,
    rows: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CoordinateKind {
    LatLon,
    Index,
}

/// Squares of larger index values could overflow: three squares of 2e150 sum to 1.2e301.
const LARGEST_INDEX: f64 = 1e150;

impl Places {
    /// Places on the Earth, in degrees. Longitudes may be given from −180 to 180 or from 0 to 360.
    ///
    /// # Errors
    /// If the columns differ in length or a coordinate is not one.
    pub fn lat_lon(latitude: Vec<f64>, longitude: Vec<f64>) -> Result<Self, Error> {
        same_length("longitude", longitude.len(), latitude.len())?;
        within("latitude", &latitude, -90.0, 90.0, "between -90 and 90", LATITUDE_HINT)?;
        within("longitude", &longitude, -180.0, 360.0, "between -180 and 360", LONGITUDE_HINT)?;
        Ok(Self {
            kind: CoordinateKind::LatLon,
            rows: latitude.len(),
            axes: vec![latitude, longitude],
            origin: Vec::new(),
            groups: None,
        })
    }

    /// Places on one to three plain axes: projected coordinates, a frame number, a time.
    ///
    /// Distances are computed in 64-bit floats. From whole numbers beyond 2^53, such as nanoseconds since 1970, subtract one
    /// number first, the same for all places of a run.
    ///
    /// # Errors
    /// If there are no columns or more than three, they differ in length, or a value is not finite.
    pub fn index(axes: Vec<Vec<f64>>) -> Result<Self, Error> {
        let Some(rows) = axes.first().map(Vec::len).filter(|_| axes.len() <= 3) else {
            return Err(Error::Parameter {
                name: "number of index columns",
                value: axes.len().to_string(),
                expected: "1, 2 or 3",
            });
        };
        for axis in &axes {
            same_length("index column", axis.len(), rows)?;
            within(
                "index",
                axis,
                -LARGEST_INDEX,
                LARGEST_INDEX,
                "a finite number of a sane size",
                "check the index columns",
            )?;
        }
        Ok(Self { kind: CoordinateKind::Index, axes, origin: Vec::new(), groups: None, rows })
    }

    /// The same places with a group each.
    ///
    /// # Errors
    /// If there is not one group for each row.
    pub fn with_groups(mut self, groups: Vec<u32>) -> Result<Self, Error> {
        same_length("group", groups.len(), self.rows)?;
        self.groups = Some(groups);
        Ok(self)
    }

    /// The same places, with a record of what was subtracted from each axis.
    pub(crate) fn counted_from(mut self, origin: Vec<f64>) -> Self {
        self.origin = origin;
        self
    }

    /// Some of the rows, in the order given.
    ///
    /// # Panics
    /// If there is no such row.
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Self {
        Self {
            kind: self.kind,
            axes: self.axes.iter().map(|axis| rows.iter().map(|&row| axis[row]).collect()).collect(),
            origin: self.origin.clone(),
            groups: self.groups.as_ref().map(|groups| rows.iter().map(|&row| groups[row]).collect()),
            rows: rows.len(),
        }
    }

    /// The rows of several places of one kind, one after the other.
    pub(crate) fn concatenated(parts: &[&Self]) -> Self {
        let Some(first) = parts.first() else {
            return Self { kind: CoordinateKind::Index, axes: Vec::new(), origin: Vec::new(), groups: None, rows: 0 };
        };
        Self {
            kind: first.kind,
            axes: (0..first.axes.len())
                .map(|k| parts.iter().flat_map(|part| part.axes[k].iter().copied()).collect())
                .collect(),
            origin: first.origin.clone(),
            groups: first
                .groups
                .is_some()
                .then(|| parts.iter().flat_map(|part| (0..part.rows).map(|row| part.group(row))).collect()),
            rows: parts.iter().map(|part| part.rows).sum(),
        }
    }

    /// The bits of a row's place, its group and a value: equal for equal rows.
    pub(crate) fn fingerprint(&self, row: usize, value: f64) -> Vec<u64> {
        let place = self.axes.iter().map(|axis| axis[row].to_bits());
        place.chain([u64::from(self.group(row)), value.to_bits()]).collect()
    }

    /// The columns that distances are computed from: latitude and longitude, or the index columns. Index columns of a file are
    /// given relative to their origin.
    #[must_use]
    pub fn axes(&self) -> &[Vec<f64>] {
        &self.axes
    }

    /// The columns with the values of the file, up to one rounding. Consumes the places, so that nothing is copied.
    #[must_use]
    pub fn into_axes(self) -> Vec<Vec<f64>> {
        let mut axes = self.axes;
        for (axis, origin) in axes.iter_mut().zip(self.origin).filter(|(_, origin)| *origin != 0.0) {
            for value in axis {
                *value += origin;
            }
        }
        axes
    }

    /// Whether places are latitudes and longitudes.
    #[must_use]
    pub fn is_geographic(&self) -> bool {
        self.kind == CoordinateKind::LatLon
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The group of a row; 0 for all rows if no groups were given.
    pub(crate) fn group(&self, row: usize) -> u32 {
        self.groups.as_ref().map_or(0, |groups| groups[row])
    }

    /// The highest number of a group.
    pub(crate) fn last_group(&self) -> u32 {
        self.groups.iter().flatten().copied().max().unwrap_or(0)
    }

    /// Whether rows may be in different groups.
    pub(crate) fn has_groups(&self) -> bool {
        self.groups.is_some()
    }

    /// The metric that σ selects for these places.
    ///
    /// # Errors
    /// If the unit of σ does not fit them.
    pub fn metric(&self, sigma: Sigma) -> Result<Metric, Error> {
        let (places, instead) = match (self.kind, sigma) {
            (CoordinateKind::LatLon, Sigma::Sphere(_)) => return Ok(Metric::Sphere),
            (CoordinateKind::LatLon, Sigma::LatLon(_)) => return Ok(Metric::Plane(2)),
            (CoordinateKind::Index, Sigma::Index(sigma)) => {
                return self.check_span(sigma).map(|()| Metric::Plane(self.axes.len()));
            }
            (CoordinateKind::LatLon, Sigma::Index(_)) => ("latitude and longitude", LAT_LON_SIGMA_HINT),
            (CoordinateKind::Index, _) => ("index columns", INDEX_SIGMA_HINT),
        };
        Err(Error::SigmaKind { sigma: sigma.to_string(), places, instead })
    }

    /// σ = 1 in the default unit of the places: metres, or the unit of the index columns.
    pub(crate) fn unit_sigma(&self) -> Result<Sigma, Error> {
        match self.kind {
            CoordinateKind::LatLon => Sigma::metres(1.0),
            CoordinateKind::Index => Sigma::index(1.0),
        }
    }

    /// Distances in units of σ must stay finite.
    fn check_span(&self, sigma: f64) -> Result<(), Error> {
        let limit = LARGEST_INDEX * sigma;
        self.axes.iter().try_for_each(|axis| {
            within(
                "index",
                axis,
                -limit,
                limit,
                "within 1e150 sigma of zero",
                "use a larger `sigma`, or rescale the index columns",
            )
        })
    }

    /// Writes the coordinates of consecutive rows, from row `first` on, in the axes of the metric.
    pub(crate) fn coordinates<const A: usize>(&self, first: usize, metric: Metric, out: &mut [[f64; A]]) {
        let rows = first..first + out.len();
        match metric {
            Metric::Sphere => {
                let [latitudes, longitudes] = [0, 1].map(|k: usize| &self.axes[k][rows.clone()]);
                arch().dispatch(UnitVectors { latitudes, longitudes, out });
            }
            // Adding zero turns −0 into +0, so that one place has one bit pattern.
            Metric::Plane(_) => {
                for (row, out) in rows.zip(out) {
                    *out = std::array::from_fn(|k| self.axes[k][row] + 0.0);
                }
            }
        }
    }
}

const LATITUDE_HINT: &str =
    "latitude and longitude may be swapped, or the coordinates projected: for those use `index` and a plain `sigma`";
const LONGITUDE_HINT: &str = "the coordinates may be projected: for those use `index` and a plain `sigma`";
const LAT_LON_SIGMA_HINT: &str =
    "add a unit: `sigma 500m` for metres on the sphere, `sigma 0.005deg` for plain degrees";
const INDEX_SIGMA_HINT: &str = "give a plain number in the unit of the index columns, such as `sigma 500`";

fn same_length(what: &'static str, found: usize, expected: usize) -> Result<(), Error> {
    if found == expected { Ok(()) } else { Err(Error::Length { what, found, expected }) }
}

fn within(
    what: &'static str,
    values: &[f64],
    low: f64,
    high: f64,
    expected: &'static str,
    hint: &'static str,
) -> Result<(), Error> {
    let range = low..=high;
    if all(values, |value| range.contains(&value)) {
        return Ok(());
    }
    match values.iter().position(|value| !range.contains(value)) {
        None => Ok(()),
        Some(row) => Err(Error::Place { what, value: values[row], row, expected, hint }),
    }
}

/// Values that are checked together without a branch between them: five times as fast as one by one.
const BLOCK: usize = 1024;

/// Whether all values pass a check.
pub(crate) fn all(values: &[f64], is_good: impl Fn(f64) -> bool) -> bool {
    values.chunks(BLOCK).all(|block| block.iter().fold(true, |so_far, &value| so_far & is_good(value)))
}
