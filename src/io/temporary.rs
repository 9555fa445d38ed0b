//! Temporary files and folders of this process, all of them known in one place: who must end at once can remove them.

use std::collections::BTreeSet;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use tempfile::{Builder, NamedTempFile, TempDir};

/// The temporary names in use. The lock is held while something is made under one or takes its final name.
static KNOWN: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn known() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes all temporary files and folders; from then on nothing is made and nothing takes its final name. Only for a process
/// that ends right after. What has its final name is complete and stays.
pub(crate) fn remove_all() {
    remove(known());
}

/// The same where it must not wait: the very thread that ends the process may be about to make a temporary file.
pub(crate) fn try_remove_all() {
    match KNOWN.try_lock() {
        Ok(known) => remove(known),
        Err(TryLockError::Poisoned(poisoned)) => remove(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => {}
    }
}

fn remove(known: MutexGuard<BTreeSet<PathBuf>>) {
    for path in known.iter() {
        // What cannot be removed has nobody left to hear of it.
        drop(fs::remove_file(path).or_else(|_| fs::remove_dir_all(path)));
    }
    // Whoever waits for the lock waits for the end of the process.
    std::mem::forget(known);
}

/// A temporary name, known as long as it is in use.
#[derive(Debug)]
struct Name(PathBuf);

impl Name {
    fn new(path: &Path, known: &mut BTreeSet<PathBuf>) -> Self {
        known.insert(path.to_owned());
        Self(path.to_owned())
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        known().remove(&self.0);
    }
}

/// A file that goes away unless it takes a final name.
#[derive(Debug)]
pub(crate) struct TemporaryFile {
    // Dropped before its name is forgotten.
    file: NamedTempFile,
    name: Name,
}

impl TemporaryFile {
    /// A file in the same folder, hence on the same device, with the permissions that any new file gets.
    pub(crate) fn beside(destination: &Path) -> io::Result<Self> {
        let mut known = known();
        let file = Builder::new()
            .prefix(".geosmooth-")
            .suffix(".tmp")
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(destination.parent().unwrap_or(Path::new(".")))
            .map_err(|error| as_said(&error))?;
        Ok(Self { name: Name::new(file.path(), &mut known), file })
    }

    pub(crate) fn as_file(&self) -> &File {
        self.file.as_file()
    }

    /// Takes its final name, if need be over a file that has it.
    pub(crate) fn persist(self, destination: &Path, overwrite: bool) -> io::Result<()> {
        let Self { file, name: _name } = self;
        let _known = known();
        let named = if overwrite { file.persist(destination) } else { file.persist_noclobber(destination) };
        named.map(drop).map_err(|error| error.error)
    }
}

/// A file that never has a name: nothing is left of it however the process ends.
pub(super) fn nameless(folder: &Path) -> io::Result<File> {
    tempfile::tempfile_in(folder).map_err(|error| as_said(&error))
}

/// The temporary name is of no use to anybody: only what the system said is kept.
fn as_said(error: &io::Error) -> io::Error {
    let said = error.to_string().split(" at path ").next().unwrap_or_default().to_owned();
    io::Error::new(error.kind(), said)
}

/// A folder that goes away with all that is in it.
#[derive(Debug)]
pub(crate) struct TemporaryFolder {
    folder: TempDir,
    _name: Name,
}

impl TemporaryFolder {
    /// A folder where the system keeps such.
    pub(crate) fn new() -> io::Result<Self> {
        let mut known = known();
        let folder = Builder::new().prefix(".geosmooth-").tempdir()?;
        Ok(Self { _name: Name::new(folder.path(), &mut known), folder })
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_as_long_as_they_are_temporary() {
        let folder = TemporaryFolder::new().unwrap();
        let destination = folder.path().join("final");
        let (kept, dropped) =
            (TemporaryFile::beside(&destination).unwrap(), TemporaryFile::beside(&destination).unwrap());
        let names = [&kept, &dropped].map(|file| file.name.0.clone());
        assert!(names.iter().all(|name| known().contains(name)) && known().contains(folder.path()));
        kept.persist(&destination, false).unwrap();
        drop(dropped);
        assert!(names.iter().all(|name| !known().contains(name) && !name.exists()) && destination.exists());
        assert!(TemporaryFile::beside(&destination).unwrap().persist(&destination, false).is_err());
        let path = folder.path().to_owned();
        drop(folder);
        assert!(!known().contains(&path) && !path.exists());
    }
}
