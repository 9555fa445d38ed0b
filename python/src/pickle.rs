//! Pickles: objects go from one process to another as bytes.

use pyo3::PyTypeInfo;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// What `__reduce__` gives: how to make the object, and from what.
pub(crate) type Pickle<'py> = (Bound<'py, PyAny>, (Bound<'py, PyBytes>,));

/// The pickle of an object of class `T`, whose class method `unpickled` makes it of these bytes again.
pub(crate) fn pickled<'py, T: PyTypeInfo>(py: Python<'py>, value: &impl Serialize) -> PyResult<Pickle<'py>> {
    let bytes = postcard::to_allocvec(value).map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok((py.get_type::<T>().getattr("unpickled")?, (PyBytes::new(py, &bytes),)))
}

pub(crate) fn unpickled<T: DeserializeOwned>(bytes: &[u8]) -> PyResult<T> {
    postcard::from_bytes(bytes).map_err(|error| PyValueError::new_err(format!("bytes of another version: {error}")))
}
