//! Tells failures of writing from failures of reading: both happen while columns are copied, and the Parquet crate reports
//! both in the same way.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use crate::error::Error;

/// The error that an output cannot be written.
pub(super) fn failed(destination: &Path, source: io::Error) -> Error {
    let hint = way_out(source.kind());
    Error::Io { action: "cannot write", path: destination.to_owned(), source, hint }
}

/// What the user can do if a write fails.
pub(in crate::io) fn way_out(failure: ErrorKind) -> &'static str {
    match failure {
        ErrorKind::StorageFull => "the disk is full: make room, or choose another folder",
        ErrorKind::QuotaExceeded => "your share of the disk is used up: make room, or choose another folder",
        ErrorKind::FileTooLarge => "there is a limit on the size of files: see ulimit -f, or choose another disk",
        ErrorKind::AlreadyExists => {
            "another run may have written it meanwhile: choose another name, or allow it with `overwrite true`"
        }
        _ => "is the disk still there, and its folder writable?",
    }
}

/// A file that keeps the error of a failed write.
pub(super) struct Witness<'a> {
    file: &'a File,
    failure: Mutex<Option<io::Error>>,
}

impl<'a> Witness<'a> {
    pub(super) fn new(file: &'a File) -> Self {
        Self { file, failure: Mutex::new(None) }
    }

    /// The error of the last failed write, if there is one.
    pub(super) fn failure(&self) -> Option<io::Error> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Keeps an error and returns one of the same kind: `io::Error` cannot be cloned.
    fn remember(&self, error: io::Error) -> io::Error {
        let copy = error.kind().into();
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        copy
    }
}

impl Write for &Witness<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        { self.file }.write(bytes).map_err(|error| match error.kind() {
            ErrorKind::Interrupted => error,
            _ => self.remember(error),
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        { self.file }.flush()
    }
}
