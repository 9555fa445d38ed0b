//! Errors of the crate as Python's own kinds, with the text of the command line.

use std::io::ErrorKind;

use geosmooth::Error;
use pyo3::PyErr;
use pyo3::exceptions::{PyFileNotFoundError, PyMemoryError, PyOSError, PyPermissionError, PyValueError};

/// The exception that says what the command line would have said.
pub(crate) fn exception(error: &Error) -> PyErr {
    let text = match error.hint() {
        Some(hint) => format!("{error}\nhint: {hint}"),
        None => error.to_string(),
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
