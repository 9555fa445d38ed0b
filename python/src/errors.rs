//! Errors of the crate as Python's own kinds, with options spelled as keywords.

use std::io::ErrorKind;

use geosmooth::{Error, Face};
use pyo3::PyErr;
use pyo3::exceptions::{PyFileNotFoundError, PyMemoryError, PyOSError, PyPermissionError, PyValueError};

/// The exception that says what went wrong and what to do.
pub(crate) fn exception(error: &Error) -> PyErr {
    let message = error.message_for(Face::Python);
    let text = match error.hint_for(Face::Python) {
        Some(hint) => format!("{message}\nhint: {hint}"),
        None => message,
    };
    match error {
        Error::Io { source, .. } => match source.kind() {
            ErrorKind::NotFound => PyFileNotFoundError::new_err(text),
            ErrorKind::PermissionDenied => PyPermissionError::new_err(text),
            _ => PyOSError::new_err(text),
        },
        Error::Memory { .. } | Error::MatrixTooLarge { .. } => PyMemoryError::new_err(text),
        _ => PyValueError::new_err(text),
    }
}
