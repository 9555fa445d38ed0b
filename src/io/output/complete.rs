//! Gives complete outputs their final names, and makes sure that the names survive a power failure.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::Output;
use super::witness::failed;
use crate::error::Error;
use crate::io::temporary::TemporaryFile;

/// An output that is complete and on disk, but does not have its final name yet. If it is dropped, its file is removed.
#[derive(Debug)]
#[must_use]
pub struct Complete(pub(super) Output);

impl Complete {
    /// Gives the output its final name.
    ///
    /// # Errors
    /// As [`Complete::name_all`].
    pub fn name(self) -> Result<(), Error> {
        Self::name_all(vec![self])
    }

    /// Gives outputs that belong together their final names, one right after the other, once all of them are complete. Each
    /// gets the permissions of the file that it replaces, or the default permissions of a new file.
    ///
    /// # Errors
    /// If a file that may not be overwritten was created in the meantime (no output is named then), or if the disk fails.
    pub fn name_all(outputs: Vec<Self>) -> Result<(), Error> {
        let destinations: Vec<PathBuf> = outputs.iter().map(|Self(output)| output.destination.clone()).collect();
        let files = outputs.into_iter().zip(&destinations);
        let files =
            files.map(|(Self(output), destination)| (output.temporary, destination.as_path(), output.overwrite));
        let named = TemporaryFile::persist_all(files.collect());
        let named = named.map_err(|(at, source)| failed(&destinations[at], source))?;
        let mut synced = None;
        for (destination, file) in destinations.iter().zip(&named) {
            let folder = destination.parent();
            if synced != folder {
                sync_names(folder.unwrap_or(Path::new(".")), file).map_err(|source| Error::Io {
                    action: "cannot flush to disk",
                    path: destination.clone(),
                    source,
                    hint: "the file is complete and has its name, but may lose it if the power fails: check the disk",
                })?;
                synced = folder;
            }
        }
        Ok(())
    }
}

/// Flushes the names in a folder to disk. A folder without read permission cannot be opened, and some file systems cannot
/// flush folders: then the whole file system is flushed.
fn sync_names(folder: &Path, file: &File) -> io::Result<()> {
    File::open(folder).and_then(|folder| folder.sync_all()).or_else(|_| sync_file_system(file))
}

/// Flushes the file system that holds a file.
#[cfg(target_os = "linux")]
fn sync_file_system(file: &File) -> io::Result<()> {
    Ok(rustix::fs::syncfs(file)?)
}

/// Systems without `syncfs` flush the names in their own time.
#[cfg(not(target_os = "linux"))]
fn sync_file_system(_: &File) -> io::Result<()> {
    Ok(())
}
