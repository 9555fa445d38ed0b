//! Rows as Python hands them over for jobs on many machines, and what comes back.

use geosmooth::partition::Role;
use geosmooth::{Error, Places, Sigma, SmoothedTile};
use numpy::{IntoPyArray, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::exception;

/// Rows as columns: their coordinates, perhaps a number of their group, and values.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Rows<'py> {
    axes: Vec<PyReadonlyArray1<'py, f64>>,
    groups: Option<PyReadonlyArray1<'py, u32>>,
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

    /// Places and values, out of Python's hands.
    pub(crate) fn held(&self, sigma: Sigma) -> PyResult<Held> {
        let columns = self.values.iter().map(|column| column.as_array().to_vec()).collect();
        Ok((self.places(sigma).map_err(raised)?, columns))
    }
}

/// Rows that were taken over from Python: places and columns of values.
pub(crate) type Held = (Places, Vec<Vec<f64>>);

pub(crate) fn role(labelled: bool) -> Role {
    if labelled { Role::Labelled } else { Role::ToPredict }
}

/// An error as an exception. The number of a row within a batch says nothing to anybody.
pub(crate) fn raised(error: Error) -> PyErr {
    match error {
        Error::Place { what, value, expected, hint, .. } => {
            PyValueError::new_err(format!("{what} {value} is not {expected}\nhint: {hint}"))
        }
        Error::Uncounted { .. } => PyValueError::new_err(
            "a row is where none was counted\nhint: rows must be the same each time that they are computed; keep what is random, \
             or changes meanwhile, with DataFrame.persist or in a file",
        ),
        error => exception(&error),
    }
}

pub(crate) fn parsed(sigma: &str) -> PyResult<Sigma> {
    sigma.parse().map_err(raised)
}

/// The columns of a smoothed tile by name.
pub(crate) fn told(py: Python<'_>, smoothed: SmoothedTile) -> PyResult<Bound<'_, PyDict>> {
    let result = PyDict::new(py);
    let (values, bounds): (Vec<_>, Vec<_>) =
        smoothed.columns.into_iter().map(|column| (column.values, column.error_bound)).unzip();
    let or_nan = |values: Vec<Option<f64>>| values.into_iter().map(|value| value.unwrap_or(f64::NAN)).collect();
    let arrays = |columns: Vec<Vec<f64>>| columns.into_iter().map(|column| column.into_pyarray(py)).collect::<Vec<_>>();
    result.set_item("values", arrays(values.into_iter().map(or_nan).collect()))?;
    result.set_item("bounds", arrays(bounds))?;
    result.set_item("n_effective", smoothed.n_effective.map(|column| column.into_pyarray(py)))?;
    Ok(result)
}
