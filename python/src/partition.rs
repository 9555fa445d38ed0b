//! Rows on many machines: counted, cut into tiles, smoothed tile by tile. Each step is a call on arrays.

use geosmooth::job::{self, in_threads};
use geosmooth::partition::{self, Capacity, Role};
use geosmooth::{Error, Metric, Sigma, SmoothedTile, Smoother, TileContents, TileRows};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};

use crate::rows::{Checksums, Held, Rows, parsed, raised, role, told};
use crate::travel::{Pickle, packed, unpacked};
use crate::wide::Blueprint;

/// Rows counted in cubes of space.
#[pyclass(module = "geosmooth._core")]
pub(crate) struct Census {
    pub(crate) sigma: String,
    pub(crate) counted: partition::Census,
}

#[pymethods]
impl Census {
    /// No rows yet, of so many axes.
    #[new]
    fn new(sigma: String, axes: usize) -> PyResult<Self> {
        let parsed = parsed(&sigma)?;
        let metric = match parsed {
            Sigma::Sphere(_) => Metric::Sphere,
            Sigma::LatLon(_) => Metric::Plane(2),
            Sigma::Index(_) => Metric::Plane(axes),
        };
        Ok(Self { sigma, counted: partition::Census::new(parsed, metric, partition::Census::MOST_CELLS) })
    }

    fn add(&mut self, py: Python<'_>, rows: Rows<'_>, labelled: bool) -> PyResult<()> {
        let sigma = parsed(&self.sigma)?;
        let held = rows.held(sigma)?;
        let (places, counted) = (&held.places, &mut self.counted);
        let count = || {
            places.metric(sigma)?;
            counted.add_hashed(places, role(labelled), &held.hashes()?)
        };
        py.detach(|| in_threads(Some(1), count)).map_err(raised)
    }

    fn join(&mut self, other: &Self) {
        self.counted.join(other.counted.clone());
    }

    /// Rows to predict and labelled rows.
    #[getter]
    fn rows(&self) -> (u64, u64) {
        self.counted.rows()
    }

    /// What all rows add up to.
    #[getter]
    fn checksums(&self) -> Checksums {
        Checksums { seen: self.counted.checksums() }
    }

    /// Cubes with rows in them.
    #[getter]
    fn occupied(&self) -> usize {
        self.counted.occupied()
    }

    #[classmethod]
    fn unpickled(_: &Bound<'_, PyType>, sigma: String, bytes: &[u8]) -> PyResult<Self> {
        Ok(Self { sigma, counted: unpacked(bytes)? })
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Pickle<'py>> {
        Ok((py.get_type::<Self>().getattr("unpickled")?, (self.sigma.clone(), packed(py, &self.counted)?)))
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

/// Space cut into tiles.
#[pyclass(frozen, module = "geosmooth._core")]
pub(crate) struct Partition {
    sigma: String,
    cut: partition::Partition,
}

type Memberships<'py> = (Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<i32>>, Bound<'py, PyArray1<bool>>);

#[pymethods]
impl Partition {
    /// Cuts space so that each tile, with all that is in reach of it, is smoothed within so many bytes.
    #[new]
    fn new(
        py: Python<'_>,
        census: &Census,
        label_weight: f64,
        tolerance: f64,
        memory: u64,
        columns: usize,
        certificate: bool,
    ) -> PyResult<Self> {
        let capacity = Capacity::for_smoothing(memory, census.counted.metric(), columns, certificate);
        let sigma = parsed(&census.sigma)?;
        let cut = || partition::Partition::new(&census.counted, sigma, label_weight, tolerance, &capacity);
        Ok(Self { sigma: census.sigma.clone(), cut: py.detach(cut).map_err(raised)? })
    }

    /// The same with tile groups where that does not fit, or would be more work, for columns with these ranges.
    #[staticmethod]
    fn with_tile_groups(
        py: Python<'_>,
        census: &Census,
        label_weight: f64,
        tolerance: f64,
        memory: u64,
        ranges: Vec<(f64, f64)>,
        certificate: bool,
    ) -> PyResult<Self> {
        let counted = &census.counted;
        let capacity = Capacity::for_smoothing(memory, counted.metric(), ranges.len(), certificate);
        let sigma = parsed(&census.sigma)?;
        let cut = || {
            let (weight, ranges) = (label_weight, &ranges);
            partition::Partition::with_tile_groups(counted, sigma, weight, tolerance, &capacity, ranges, certificate)
        };
        Ok(Self { sigma: census.sigma.clone(), cut: py.detach(cut).map_err(raised)? })
    }

    /// The tiles of each tile group, from the first to one after the last. They come after all others.
    #[getter]
    fn tile_groups(&self) -> Vec<(u32, u32)> {
        self.cut.tile_groups().iter().map(|group| (group.tiles().start, group.tiles().end)).collect()
    }

    /// What the rows of a tile group add up to.
    fn counted(&self, tile_group: usize) -> Checksums {
        Checksums { seen: *self.cut.tile_groups()[tile_group].counted() }
    }

    /// What the rows of a tile group are added up by.
    fn blueprint(&self, tile_group: usize) -> Blueprint {
        Blueprint::new(self.sigma.clone(), self.cut.tile_groups()[tile_group].blueprint().clone())
    }

    /// Multiplications on the lattices of tile groups, about.
    #[getter]
    fn multiplications(&self) -> f64 {
        self.cut.multiplications()
    }

    /// Rows that each tile smooths, and rows that are in it.
    #[getter]
    fn tiles(&self) -> Vec<(u64, u64)> {
        self.cut.tiles().iter().map(|tile| (tile.targets, tile.sources)).collect()
    }

    /// Whether rows of one place are dealt out among several tiles.
    #[getter]
    fn deals(&self) -> bool {
        self.cut.deals()
    }

    /// Rows, tiles that they are in, and whether they are at home there. Where places are crowded, turns deal rows out.
    fn memberships<'py>(
        &self,
        py: Python<'py>,
        rows: Rows<'py>,
        labelled: bool,
        turns: Option<PyReadonlyArray1<'py, i64>>,
    ) -> PyResult<Memberships<'py>> {
        let places = rows.places(parsed(&self.sigma)?).map_err(raised)?;
        let turns: Option<Vec<i64>> = turns.map(|turns| turns.as_array().to_vec());
        let turn = |row: usize| turns.as_ref().map_or(row as u64, |turns| turns[row] as u64);
        let memberships = || self.cut.memberships_by_turn(&places, role(labelled), turn);
        let memberships = py.detach(|| in_threads(Some(1), memberships)).map_err(raised)?;
        let rows: Vec<u32> = memberships.iter().map(|it| it.row).collect();
        let tiles: Vec<i32> = memberships.iter().map(|it| it.tile as i32).collect();
        let at_home: Vec<bool> = memberships.iter().map(|it| it.at_home).collect();
        Ok((rows.into_pyarray(py), tiles.into_pyarray(py), at_home.into_pyarray(py)))
    }

    /// Smooths the rows that are at home in a tile, beside its guests and labelled rows, if all are those that were counted. Ranges are those of all sources of each column, here and elsewhere.
    fn smooth<'py>(
        &self,
        py: Python<'py>,
        settings: TileSettings,
        tile: usize,
        rows: (Rows<'py>, Rows<'py>, Rows<'py>),
        ranges: Vec<(f64, f64)>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let sigma = parsed(&self.sigma)?;
        let (home, guests, labelled) = rows;
        let rows = [home.held(sigma)?, guests.held(sigma)?, labelled.held(sigma)?];
        let work = || self.smoothed(sigma, &settings, tile, &rows, &ranges);
        let smoothed = py.detach(|| in_threads(Some(settings.threads), work)).map_err(raised)?;
        told(py, smoothed)
    }

    #[classmethod]
    fn unpickled(_: &Bound<'_, PyType>, sigma: String, bytes: &[u8]) -> PyResult<Self> {
        Ok(Self { sigma, cut: unpacked(bytes)? })
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Pickle<'py>> {
        Ok((py.get_type::<Self>().getattr("unpickled")?, (self.sigma.clone(), packed(py, &self.cut)?)))
    }
}

impl Partition {
    fn smoothed(
        &self,
        sigma: Sigma,
        settings: &TileSettings,
        tile: usize,
        [home, guests, labelled]: &[Held; 3],
        ranges: &[(f64, f64)],
    ) -> Result<SmoothedTile, Error> {
        let mut seen = partition::Checksums::default();
        for (role, held) in [(Role::ToPredict, home), (Role::ToPredict, guests), (Role::Labelled, labelled)] {
            seen.add(role, &held.hashes()?);
        }
        self.cut.check(tile, &seen)?;
        if home.places.is_empty() {
            return Ok(SmoothedTile { columns: Vec::new(), n_effective: None });
        }
        let smoother = Smoother::new(sigma, settings.c)?
            .label_weight(settings.label_weight)?
            .tolerance(settings.tolerance)?
            .memory_limit(settings.memory);
        let columns = [home, guests, labelled].map(Held::columns);
        let inside =
            (home.places.len() + guests.places.len()) as f64 + settings.label_weight * labelled.places.len() as f64;
        let contents = TileContents {
            home: TileRows { places: &home.places, columns: &columns[0] },
            guests: TileRows { places: &guests.places, columns: &columns[1] },
            labelled: Some(TileRows { places: &labelled.places, columns: &columns[2] }),
            ranges,
            beyond: self.cut.beyond(inside),
        };
        geosmooth::smooth_tile(&smoother, &contents, settings.certificate, &())
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
