//! Rows as Python hands them over for jobs on many machines, and what comes back.

use geosmooth::job::in_threads;
use geosmooth::partition::{self, Role, SourceRows};
use geosmooth::{Error, Face, Places, Sigma, SmoothedTile};
use numpy::{IntoPyArray, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};

use crate::errors::exception;
use crate::pickle::{Pickle, pickled, unpickled};

/// Rows as columns: their coordinates, perhaps a number of their group and a key that means the same everywhere, and values.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Rows<'py> {
    axes: Vec<PyReadonlyArray1<'py, f64>>,
    groups: Option<PyReadonlyArray1<'py, u32>>,
    #[pyo3(default)]
    keys: Option<PyReadonlyArray1<'py, u64>>,
    values: Vec<PyReadonlyArray1<'py, f64>>,
}

impl Rows<'_> {
    /// Where they are. The unit of σ says what the axes are: latitude and longitude, or an index.
    pub(crate) fn places(&self, sigma: Sigma) -> Result<Places, Error> {
        let mut axes: Vec<Vec<f64>> = self.axes.iter().map(|axis| axis.as_array().to_vec()).collect();
        let places = match (sigma, axes.len()) {
            (Sigma::Index(_), _) => Places::index(axes)?,
            (_, 2) => {
                let longitude = axes.pop().unwrap_or_default();
                Places::lat_lon(axes.pop().unwrap_or_default(), longitude)?
            }
            (_, found) => return Err(Error::Length { what: "a place on the Earth", found, expected: 2 }),
        };
        match &self.groups {
            Some(groups) => places.with_groups(groups.as_array().to_vec()),
            None => Ok(places),
        }
    }

    /// Out of Python's hands.
    pub(crate) fn owned(&self, sigma: Sigma) -> PyResult<OwnedRows> {
        let columns = self.values.iter().map(|column| column.as_array().to_vec()).collect();
        let keys = self.keys.as_ref().map(|keys| keys.as_array().to_vec());
        Ok(OwnedRows { places: self.places(sigma).map_err(raised)?, columns, keys })
    }
}

/// Rows that were taken over from Python.
pub(crate) struct OwnedRows {
    places: Places,
    columns: Vec<Vec<f64>>,
    keys: Option<Vec<u64>>,
}

impl OwnedRows {
    pub(crate) fn sources(&self) -> Result<SourceRows<'_>, Error> {
        let columns: Vec<&[f64]> = self.columns.iter().map(Vec::as_slice).collect();
        let rows = SourceRows::new(&self.places, &columns);
        match &self.keys {
            Some(keys) => rows.with_group_keys(keys.clone()),
            None => Ok(rows),
        }
    }
}

/// Checksums of rows, which show whether they are the same each time that they are computed.
#[pyclass(module = "geosmooth._core")]
#[derive(Default)]
pub(crate) struct Checksums {
    pub(crate) seen: partition::Checksums,
}

#[pymethods]
impl Checksums {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    fn add(&mut self, py: Python<'_>, rows: Rows<'_>, labelled: bool) -> PyResult<()> {
        // Hashes are of coordinates as they stand, whatever they mean.
        let owned = rows.owned(Sigma::index(1.0).map_err(raised)?)?;
        let seen = &mut self.seen;
        let add = || owned.sources().map(|rows| seen.add(role(labelled), &rows));
        py.detach(|| in_threads(Some(1), add)).map_err(raised)
    }

    fn join(&mut self, other: &Self) {
        self.seen.join(other.seen);
    }

    /// The hashes of rows to predict and of labelled rows, added up modulo 2⁶⁴.
    #[getter]
    fn sums(&self) -> (u64, u64) {
        (self.seen.of(Role::ToPredict).sum(), self.seen.of(Role::Labelled).sum())
    }

    /// Without labelled rows, if they weigh nothing.
    fn with_label_weight(&self, weight: f64) -> Self {
        Self { seen: self.seen.with_label_weight(weight) }
    }

    /// Raises if these are not the rows that were counted.
    fn check(&self, counted: &Self) -> PyResult<()> {
        self.seen.check(&counted.seen).map_err(raised)
    }

    #[classmethod]
    fn unpickled(_: &Bound<'_, PyType>, bytes: &[u8]) -> PyResult<Self> {
        Ok(Self { seen: unpickled(bytes)? })
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Pickle<'py>> {
        pickled::<Self>(py, &self.seen)
    }
}

/// Why rows may change from one job to the next, and the way out.
pub(crate) const THE_SAME_EACH_TIME: &str = "rows must be the same each time that they are computed, and are not after a random function, a limit without an \
    order, or a table that is written to meanwhile: keep them with DataFrame.persist or localCheckpoint, or write them to files first";

pub(crate) fn role(labelled: bool) -> Role {
    if labelled { Role::Labelled } else { Role::ToPredict }
}

/// An error as an exception. The number of a row within a batch is left out: it means nothing to the caller.
pub(crate) fn raised(error: Error) -> PyErr {
    match error {
        Error::Place { what, value, expected, hint, .. } => {
            let hint = Face::Python.spelled(hint);
            PyValueError::new_err(format!("{what} {value} is not {expected}\nhint: {hint}"))
        }
        Error::Uncounted { .. } => {
            PyValueError::new_err(format!("a row is where none was counted\nhint: {THE_SAME_EACH_TIME}"))
        }
        Error::Changed { .. } => PyValueError::new_err(format!("{error}\nhint: {THE_SAME_EACH_TIME}")),
        error => exception(&error),
    }
}

pub(crate) fn parsed(sigma: &str) -> PyResult<Sigma> {
    sigma.parse().map_err(raised)
}

/// The columns of a smoothed tile by name.
pub(crate) fn result_dict(py: Python<'_>, smoothed: SmoothedTile) -> PyResult<Bound<'_, PyDict>> {
    let result = PyDict::new(py);
    let (values, bounds): (Vec<_>, Vec<_>) =
        smoothed.columns.into_iter().map(|column| (column.values, column.error_bound)).unzip();
    let values: Vec<_> = values.into_iter().map(|values| or_nan(values).into_pyarray(py)).collect();
    let bounds: Vec<_> = bounds.into_iter().map(|bounds| bounds.into_pyarray(py)).collect();
    result.set_item("values", values)?;
    result.set_item("bounds", bounds)?;
    result.set_item("n_effective", smoothed.n_effective.map(|column| column.into_pyarray(py)))?;
    Ok(result)
}

/// Values as arrays hold them: NaN where there is none.
pub(crate) fn or_nan(values: Vec<Option<f64>>) -> Vec<f64> {
    values.into_iter().map(|value| value.unwrap_or(f64::NAN)).collect()
}
