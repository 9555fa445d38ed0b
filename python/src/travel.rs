//! What one process has to tell another goes as bytes, by way of pickles.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

pub(crate) fn packed<'py>(py: Python<'py>, value: &impl Serialize) -> PyResult<Bound<'py, PyBytes>> {
    let bytes = postcard::to_allocvec(value).map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(PyBytes::new(py, &bytes))
}

pub(crate) fn unpacked<T: DeserializeOwned>(bytes: &[u8]) -> PyResult<T> {
    postcard::from_bytes(bytes).map_err(|error| PyValueError::new_err(format!("bytes of another version: {error}")))
}

/// What a pickle of bytes alone holds.
pub(crate) type PickledBytes<'py> = (Bound<'py, PyAny>, (Bound<'py, PyBytes>,));
