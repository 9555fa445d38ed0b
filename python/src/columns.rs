//! Columns of Arrow as jobs on many machines need them: groups as keys, coordinates as floats.

use arrow::datatypes::{Field, Schema};
use arrow::record_batch::RecordBatch;
use geosmooth::io::{self, ArrowTable, CoordinateRequest, Input, Origin};
use geosmooth::{Error, Face};
use numpy::{IntoPyArray, PyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3_arrow::PyArray;

use crate::rows::raised;

/// Group keys as text, the same for equal values on every machine; null where there is none.
#[pyfunction]
pub(crate) fn group_keys(column: PyArray) -> PyResult<PyArray> {
    let keys = io::as_keys(column.array()).map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(PyArray::from_array_ref(keys))
}

/// A column of coordinates as floats, NaN where there is none; an error if floats do not hold what it counts.
#[pyfunction]
pub(crate) fn axis(py: Python<'_>, name: String, column: PyArray) -> PyResult<Bound<'_, PyArray1<f64>>> {
    let schema = Schema::new(vec![Field::new(&name, column.array().data_type().clone(), true)]).into();
    let batch = RecordBatch::try_new(schema, vec![column.array().clone()])
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    let input = Input::in_memory("rows", ArrowTable { schema: batch.schema(), batches: vec![batch] });
    // Each machine has some of the rows only, so that they have no common origin but zero.
    let read = input.coordinates(&CoordinateRequest::Index(vec![name]), &mut Origin::zero());
    let mut axes = read.map_err(without_row)?.axes;
    Ok(axes.remove(0).values.into_pyarray(py))
}

/// An error as an exception, without the number of a row within a batch, which means nothing to the user.
fn without_row(error: Error) -> PyErr {
    match &error {
        Error::Inexact { column, value, .. } => PyValueError::new_err(format!(
            "column '{column}' has {value}, which no float of 64 bits holds\nhint: {}",
            error.hint_for(Face::Python).unwrap_or_default()
        )),
        _ => raised(error),
    }
}
