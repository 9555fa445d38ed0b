//! Rows on many machines: counted, cut into tiles, smoothed tile by tile. Each step is a call on arrays.

use geosmooth::io;
use geosmooth::job::{self, in_threads};
use geosmooth::partition::{self, Capacity, SmoothingProblem};
use geosmooth::{Error, Metric, Sigma, SmoothedTile, Smoother};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};

use crate::pickle::{Pickle, pickled, unpickled};
use crate::rows::{Checksums, OwnedRows, Rows, parsed, raised, result_dict, role};
use crate::tile_group::TileGroup;

/// Rows counted in cubes of space.
#[pyclass(module = "geosmooth._core")]
pub(crate) struct Census(pub(crate) partition::Census);

#[pymethods]
impl Census {
    /// No rows yet, of so many axes.
    #[new]
    fn new(sigma: &str, axes: usize) -> PyResult<Self> {
        let sigma = parsed(sigma)?;
        let metric = match sigma {
            Sigma::Sphere(_) => Metric::Sphere,
            Sigma::LatLon(_) => Metric::Plane(2),
            Sigma::Index(_) => Metric::Plane(axes),
        };
        Ok(Self(partition::Census::new(sigma, metric, partition::Census::MOST_CELLS)))
    }

    fn add(&mut self, py: Python<'_>, rows: Rows<'_>, labelled: bool) -> PyResult<()> {
        let (owned, census) = (rows.owned(self.0.sigma())?, &mut self.0);
        let count = || census.add(role(labelled), &owned.sources()?);
        py.detach(|| in_threads(Some(1), count)).map_err(raised)
    }

    fn join(&mut self, other: &Self) {
        self.0.join(other.0.clone());
    }

    /// Rows to predict and labelled rows.
    #[getter]
    fn rows(&self) -> (u64, u64) {
        self.0.rows()
    }

    /// Cubes with rows in them.
    #[getter]
    fn occupied(&self) -> usize {
        self.0.occupied()
    }

    /// What all rows add up to.
    #[getter]
    fn checksums(&self) -> Checksums {
        Checksums { seen: self.0.checksums() }
    }

    #[classmethod]
    fn unpickled(_: &Bound<'_, PyType>, bytes: &[u8]) -> PyResult<Self> {
        unpickled(bytes).map(Self)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Pickle<'py>> {
        pickled::<Self>(py, &self.0)
    }
}

/// How to smooth.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct TileSettings {
    c: f64,
    label_weight: f64,
    tolerance: f64,
    certificate: bool,
    memory: u64,
    threads: usize,
}

impl TileSettings {
    pub(crate) fn problem(&self, ranges: Vec<(f64, f64)>) -> SmoothingProblem {
        let Self { label_weight, tolerance, certificate: n_effective, .. } = *self;
        SmoothingProblem { label_weight, tolerance, cutoff: None, ranges, n_effective }
    }

    fn smoother(&self, sigma: Sigma) -> Result<Smoother, Error> {
        let smoother = Smoother::new(sigma, self.c)?.label_weight(self.label_weight)?;
        Ok(smoother.tolerance(self.tolerance)?.memory_limit(self.memory))
    }
}

/// Space cut into tiles.
#[pyclass(frozen, module = "geosmooth._core")]
pub(crate) struct Partition(partition::Partition);

type Memberships<'py> = (Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<i32>>, Bound<'py, PyArray1<u8>>);

#[pymethods]
impl Partition {
    /// Cuts space so that each tile, with all that is in reach of it, is smoothed within so many bytes; with tile groups, if wanted, where that does not fit or
    /// would be more work. Ranges are those of all sources of each column.
    #[new]
    fn new(
        py: Python<'_>,
        census: &Census,
        settings: TileSettings,
        ranges: Vec<(f64, f64)>,
        memory: u64,
        tile_groups: bool,
    ) -> PyResult<Self> {
        let capacity = Capacity::for_smoothing(memory, census.0.metric(), ranges.len(), settings.certificate);
        let problem = settings.problem(ranges);
        let cut = if tile_groups { partition::Partition::with_tile_groups } else { partition::Partition::new };
        py.detach(|| cut(&census.0, &problem, &capacity)).map(Self).map_err(raised)
    }

    /// Rows that each tile smooths, and rows that are in it.
    #[getter]
    fn tiles(&self) -> Vec<(u64, u64)> {
        self.0.tiles().iter().map(|tile| (tile.targets, tile.sources)).collect()
    }

    /// Tiles that are in no tile group. They come first.
    #[getter]
    fn tiles_alone(&self) -> usize {
        self.0.tiles_alone()
    }

    /// The tiles of each tile group, from the first to one after the last.
    #[getter]
    fn tile_groups(&self) -> Vec<(u32, u32)> {
        self.0.tile_groups().iter().map(|group| (group.tiles().start, group.tiles().end)).collect()
    }

    /// One of the tile groups.
    fn tile_group(&self, which: usize) -> TileGroup {
        TileGroup(self.0.tile_groups()[which].clone())
    }

    /// Rows in all tiles, guests among them.
    #[getter]
    fn copies(&self) -> u64 {
        self.0.copies()
    }

    /// Multiplications on the lattices of tile groups, about.
    #[getter]
    fn multiplications(&self) -> f64 {
        self.0.multiplications()
    }

    /// Work of all tiles, in multiplications on lattices, as the command weighs it.
    #[getter]
    fn work(&self) -> f64 {
        self.0.work()
    }

    /// Whether rows of one place are dealt out among several tiles.
    #[getter]
    fn deals(&self) -> bool {
        self.0.deals()
    }

    /// Rows, tiles that they are in, and what they are there: at home (0), guests (1) or labelled (2). Where places are crowded, turns deal rows out.
    fn memberships<'py>(
        &self,
        py: Python<'py>,
        rows: Rows<'py>,
        labelled: bool,
        turns: Option<PyReadonlyArray1<'py, i64>>,
    ) -> PyResult<Memberships<'py>> {
        let places = rows.places(self.0.sigma()).map_err(raised)?;
        let turns: Option<Vec<i64>> = turns.map(|turns| turns.as_array().to_vec());
        let turn = |row: usize| turns.as_ref().map_or(row as u64, |turns| turns[row] as u64);
        let memberships = || self.0.memberships_by_turn(&places, role(labelled), turn);
        let memberships = py.detach(|| in_threads(Some(1), memberships)).map_err(raised)?;
        let rows: Vec<u32> = memberships.iter().map(|it| it.row).collect();
        let tiles: Vec<i32> = memberships.iter().map(|it| it.tile as i32).collect();
        let roles: Vec<u8> = memberships.iter().map(|it| it.role as u8).collect();
        Ok((rows.into_pyarray(py), tiles.into_pyarray(py), roles.into_pyarray(py)))
    }

    /// Smooths the rows that are at home in a tile, beside its guests and labelled rows, if all are those that were counted.
    fn smooth<'py>(
        &self,
        py: Python<'py>,
        settings: TileSettings,
        tile: usize,
        rows: (Rows<'py>, Rows<'py>, Rows<'py>),
    ) -> PyResult<Bound<'py, PyDict>> {
        let (sigma, (home, guests, labelled)) = (self.0.sigma(), rows);
        let rows = [home.owned(sigma)?, guests.owned(sigma)?, labelled.owned(sigma)?];
        let smooth = || self.smoothed(&settings, tile, &rows);
        let smoothed = py.detach(|| in_threads(Some(settings.threads), smooth)).map_err(raised)?;
        result_dict(py, smoothed)
    }

    #[classmethod]
    fn unpickled(_: &Bound<'_, PyType>, bytes: &[u8]) -> PyResult<Self> {
        unpickled(bytes).map(Self)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Pickle<'py>> {
        pickled::<Self>(py, &self.0)
    }
}

impl Partition {
    fn smoothed(&self, settings: &TileSettings, tile: usize, rows: &[OwnedRows; 3]) -> Result<SmoothedTile, Error> {
        let [home, guests, labelled] = rows;
        let rows = [home.sources()?, guests.sources()?, labelled.sources()?];
        self.0.smooth_tile(tile, &settings.smoother(self.0.sigma())?, &rows)
    }
}

/// Raises if some σ measure distance in another way than the first.
#[pyfunction]
pub(crate) fn check_kinds(sigmas: Vec<String>) -> PyResult<()> {
    let sigmas = sigmas.iter().map(|sigma| sigma.parse()).collect::<Result<Vec<_>, _>>();
    sigmas.and_then(|sigmas| job::check_kinds(&sigmas)).map_err(raised)
}

/// A number of bytes as people write it, such as 512MiB.
#[pyfunction]
pub(crate) fn bytes_of(text: &str) -> PyResult<u64> {
    job::bytes_of("memory", text).map_err(raised)
}

/// The columns that look like latitude and longitude, if there are such.
#[pyfunction]
pub(crate) fn lat_lon_names(columns: Vec<String>) -> Option<(String, String)> {
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let (latitude, longitude) = io::lat_lon_names(&columns)?;
    Some((latitude.to_owned(), longitude.to_owned()))
}
