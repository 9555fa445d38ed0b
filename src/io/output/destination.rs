//! Checks a destination before any work is done: it must be writable, and must not be one of the inputs.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::error::Error;

/// Checks that a file can be written to the destination. Returns its path with links resolved.
pub(super) fn resolve(destination: &Path, overwrite: bool, inputs: &[PathBuf]) -> Result<PathBuf, Error> {
    if destination.as_os_str().as_encoded_bytes().ends_with(b"/") || destination.file_name().is_none() {
        return Err(problem(destination, "is a folder", "choose a file name for the output"));
    }
    let folder = destination.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = fs::canonicalize(folder).map_err(|error| cannot_write(destination, error, "its folder must exist"))?;
    let resolved = folder.join(destination.file_name().unwrap_or_default());
    match fs::symlink_metadata(&resolved) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(resolved),
        Err(error) => Err(cannot_write(destination, error, "choose another name or folder")),
        Ok(found) => {
            let resolved = if found.is_symlink() { follow(destination, &resolved)? } else { resolved };
            check_existing(destination, &resolved, overwrite, inputs)?;
            Ok(resolved)
        }
    }
}

fn follow(destination: &Path, link: &Path) -> Result<PathBuf, Error> {
    fs::canonicalize(link).map_err(|error| {
        cannot_write(destination, error, "it is a link to a file that does not exist: remove it first")
    })
}

/// Checks that an existing file may be replaced.
fn check_existing(destination: &Path, resolved: &Path, overwrite: bool, inputs: &[PathBuf]) -> Result<(), Error> {
    let existing = fs::metadata(resolved).map_err(|error| cannot_write(destination, error, "choose another name"))?;
    let identity = (existing.dev(), existing.ino());
    if inputs.iter().any(|path| fs::metadata(path).is_ok_and(|input| (input.dev(), input.ino()) == identity)) {
        return Err(problem(destination, "is both input and output", "write to another file"));
    }
    if !existing.is_file() {
        let hint = "choose a file name for the output";
        return Err(problem(destination, "exists and is not a regular file", hint));
    }
    if !overwrite {
        let hint = "choose another name, or allow it with `overwrite true`";
        return Err(problem(destination, "exists already", hint));
    }
    Ok(())
}

fn problem(destination: &Path, problem: &str, hint: &str) -> Error {
    Error::File { subject: destination.into(), problem: problem.to_owned(), hint: hint.to_owned() }
}

/// The error that the system gives for a destination, before anything is written.
pub(super) fn cannot_write(destination: &Path, source: io::Error, hint: &'static str) -> Error {
    Error::Io { action: "cannot write to", path: destination.to_owned(), source, hint }
}
