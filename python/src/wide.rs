//! σ so wide that everything reaches everything: moments of rows on many machines are joined, and the field that they make smooths
//! rows wherever they are.

use geosmooth::job::in_threads;
use geosmooth::{Error, Places, partition};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};

use crate::partition::Census;
use crate::rows::{Rows, parsed, raised, role, told};
use crate::travel::{Pickle, PickledBytes, packed, unpacked};

/// Lattices for rows that were counted.
#[pyclass(frozen, module = "geosmooth._core")]
pub(crate) struct Blueprint {
    sigma: String,
    laid: partition::Blueprint,
}

impl Blueprint {
    pub(crate) fn new(sigma: String, laid: partition::Blueprint) -> Self {
        Self { sigma, laid }
    }
}

#[pymethods]
impl Blueprint {
    /// Lattices for all rows of a census, if there are any that certify all rows within so many bytes.
    #[staticmethod]
    fn laid_out(
        py: Python<'_>,
        census: &Census,
        label_weight: f64,
        tolerance: f64,
        ranges: Vec<(f64, f64)>,
        certificate: bool,
        limit: u64,
    ) -> PyResult<Option<Self>> {
        let sigma = parsed(&census.sigma)?;
        let counted = &census.counted;
        let laid = py.detach(|| {
            let laid = partition::Blueprint::new(counted, sigma, label_weight, tolerance, &ranges, limit)?;
            if certificate { laid.with_n_effective(counted, limit) } else { Some(laid) }
        });
        Ok(laid.map(|laid| Self::new(census.sigma.clone(), laid)))
    }

    /// Multiplications of the whole job, about.
    #[getter]
    fn multiplications(&self) -> f64 {
        self.laid.multiplications()
    }

    #[classmethod]
    fn unpickled(_: &Bound<'_, PyType>, sigma: String, bytes: &[u8]) -> PyResult<Self> {
        Ok(Self { sigma, laid: unpacked(bytes)? })
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Pickle<'py>> {
        Ok((py.get_type::<Self>().getattr("unpickled")?, (self.sigma.clone(), packed(py, &self.laid)?)))
    }
}

/// What sources add up to, so far.
#[pyclass(module = "geosmooth._core")]
#[derive(Default)]
pub(crate) struct Moments {
    sums: partition::Moments,
}

#[pymethods]
impl Moments {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    fn add(&mut self, py: Python<'_>, blueprint: &Blueprint, rows: Rows<'_>, labelled: bool) -> PyResult<()> {
        self.with(py, blueprint, &rows, |sums, places, columns| {
            sums.add(&blueprint.laid, places, role(labelled), columns)
        })
    }

    /// Adds rows to predict that are smoothed elsewhere.
    fn add_guests(&mut self, py: Python<'_>, blueprint: &Blueprint, rows: Rows<'_>) -> PyResult<()> {
        self.with(py, blueprint, &rows, |sums, places, columns| sums.add_guests(&blueprint.laid, places, columns))
    }

    fn join(&mut self, other: &Self) -> PyResult<()> {
        self.sums.join(other.sums.clone()).map_err(raised)
    }

    /// Bytes that they take.
    #[getter]
    fn nbytes(&self) -> u64 {
        self.sums.bytes()
    }

    /// What all sources together give wherever there are rows to predict.
    fn field(&self, py: Python<'_>, blueprint: &Blueprint) -> Field {
        Field { field: py.detach(|| self.sums.clone().field(&blueprint.laid)) }
    }

    #[classmethod]
    fn unpickled(_: &Bound<'_, PyType>, bytes: &[u8]) -> PyResult<Self> {
        Ok(Self { sums: unpacked(bytes)? })
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<PickledBytes<'py>> {
        Ok((py.get_type::<Self>().getattr("unpickled")?, (packed(py, &self.sums)?,)))
    }
}

impl Moments {
    /// Does something with rows that are out of Python's hands.
    fn with(
        &mut self,
        py: Python<'_>,
        blueprint: &Blueprint,
        rows: &Rows<'_>,
        work: impl FnOnce(&mut partition::Moments, &Places, &[&[f64]]) -> Result<(), Error> + Send,
    ) -> PyResult<()> {
        let held = rows.held(parsed(&blueprint.sigma)?)?;
        let sums = &mut self.sums;
        py.detach(|| in_threads(Some(1), || work(sums, &held.places, &held.columns()))).map_err(raised)
    }
}

/// What all sources give wherever there are rows to predict.
#[pyclass(frozen, module = "geosmooth._core")]
pub(crate) struct Field {
    field: partition::Field,
}

#[pymethods]
impl Field {
    /// Smooths some of the rows to predict.
    fn smooth<'py>(
        &self,
        py: Python<'py>,
        blueprint: &Blueprint,
        c: f64,
        rows: Rows<'py>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let held = rows.held(parsed(&blueprint.sigma)?)?;
        let work = || self.field.smooth(&blueprint.laid, c, &held.places, &held.columns());
        let smoothed = py.detach(|| in_threads(Some(1), work)).map_err(raised)?;
        told(py, smoothed)
    }

    #[classmethod]
    fn unpickled(_: &Bound<'_, PyType>, bytes: &[u8]) -> PyResult<Self> {
        Ok(Self { field: unpacked(bytes)? })
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<PickledBytes<'py>> {
        Ok((py.get_type::<Self>().getattr("unpickled")?, (packed(py, &self.field)?,)))
    }
}
