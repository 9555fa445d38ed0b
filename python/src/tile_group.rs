//! Tile groups: the moments of rows on many machines are joined, and the field that they make smooths rows wherever they are.

use geosmooth::job::in_threads;
use geosmooth::partition::{self, TileRole};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};

use crate::partition::{Census, TileSettings};
use crate::pickle::{Pickle, pickled, unpickled};
use crate::rows::{Checksums, Rows, raised, result_dict};

/// Tiles that share their sources.
#[pyclass(frozen, module = "geosmooth._core")]
pub(crate) struct TileGroup(pub(crate) partition::TileGroup);

#[pymethods]
impl TileGroup {
    /// One group of all rows of a census, if lattices certify all of them within so many bytes.
    #[staticmethod]
    fn whole(
        py: Python<'_>,
        census: &Census,
        settings: TileSettings,
        ranges: Vec<(f64, f64)>,
        limit: u64,
    ) -> Option<Self> {
        let problem = settings.problem(ranges);
        py.detach(|| partition::TileGroup::whole(&census.0, &problem, limit)).map(Self)
    }

    /// Multiplications of the whole job, about.
    #[getter]
    fn multiplications(&self) -> f64 {
        self.0.multiplications()
    }

    #[classmethod]
    fn unpickled(_: &Bound<'_, PyType>, bytes: &[u8]) -> PyResult<Self> {
        unpickled(bytes).map(Self)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Pickle<'py>> {
        pickled::<Self>(py, &self.0)
    }
}

/// What rows of a tile group add up to, so far.
#[pyclass(module = "geosmooth._core")]
#[derive(Default)]
pub(crate) struct GroupMoments(partition::GroupMoments);

#[pymethods]
impl GroupMoments {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Adds rows of a tile, which are at home (0), guests (1) or labelled (2) there.
    fn add(&mut self, py: Python<'_>, group: &TileGroup, tile: u32, role: usize, rows: Rows<'_>) -> PyResult<()> {
        let role = *TileRole::ALL.get(role).ok_or_else(|| PyValueError::new_err("a role is 0, 1 or 2"))?;
        let (owned, moments) = (rows.owned(group.0.sigma())?, &mut self.0);
        let add = || moments.add(&group.0, tile, role, &owned.sources()?);
        py.detach(|| in_threads(Some(1), add)).map_err(raised)
    }

    fn join(&mut self, other: &Self) -> PyResult<()> {
        self.0.join(other.0.clone()).map_err(raised)
    }

    /// Bytes that they take.
    #[getter]
    fn nbytes(&self) -> u64 {
        self.0.bytes()
    }

    /// What all sources together give wherever there are rows to predict. Raises if they are not those that were counted.
    fn field(&self, py: Python<'_>, group: &TileGroup) -> PyResult<GroupField> {
        py.detach(|| self.0.clone().field(&group.0)).map(GroupField).map_err(raised)
    }

    #[classmethod]
    fn unpickled(_: &Bound<'_, PyType>, bytes: &[u8]) -> PyResult<Self> {
        unpickled(bytes).map(Self)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Pickle<'py>> {
        pickled::<Self>(py, &self.0)
    }
}

/// What all sources of a tile group give wherever there are rows to predict.
#[pyclass(frozen, module = "geosmooth._core")]
pub(crate) struct GroupField(partition::GroupField);

#[pymethods]
impl GroupField {
    /// Raises if rows to predict are not those that were added as rows at home in a tile.
    fn check(&self, tile: u32, rows: &Checksums) -> PyResult<()> {
        self.0.check(tile, &rows.seen).map_err(raised)
    }

    /// Smooths some of the rows to predict.
    fn smooth<'py>(&self, py: Python<'py>, group: &TileGroup, c: f64, rows: Rows<'py>) -> PyResult<Bound<'py, PyDict>> {
        let owned = rows.owned(group.0.sigma())?;
        let smooth = || self.0.smooth(&group.0, c, &owned.sources()?);
        let smoothed = py.detach(|| in_threads(Some(1), smooth)).map_err(raised)?;
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
