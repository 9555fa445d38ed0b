//! Temporary files and folders of this process. All of them are registered, so that a process that ends on a signal can
//! remove them.

use std::collections::BTreeSet;
use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind};
#[cfg(target_os = "linux")]
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use tempfile::{Builder, NamedTempFile, TempDir};

use super::abandoned::{self, PREFIX, SUFFIX};
use super::permissions;

/// The temporary names in use. The lock is held while a file is created under one, and while it gets its final name.
static KNOWN: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn known() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes all temporary files and folders. From then on no file is created and none gets its final name: only for a process
/// that ends immediately after. Files that have their final names are complete and stay.
pub(crate) fn remove_all() {
    remove(known());
}

/// [`remove_all`] without waiting for the lock: the thread that ends the process may hold it.
pub(crate) fn try_remove_all() {
    match KNOWN.try_lock() {
        Ok(known) => remove(known),
        Err(TryLockError::Poisoned(poisoned)) => remove(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => {}
    }
}

fn remove(known: MutexGuard<BTreeSet<PathBuf>>) {
    for path in known.iter() {
        // The process ends: an error could not be reported any more.
        drop(fs::remove_file(path).or_else(|_| fs::remove_dir_all(path)));
    }
    // Never unlocked: a thread that waits for the lock waits until the process ends.
    std::mem::forget(known);
}

/// A temporary name, registered for as long as it is in use.
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

/// A file that is removed unless it gets a final name. Until then only its owner may read or write it.
#[derive(Debug)]
pub(crate) struct TemporaryFile {
    // Declared first: the file is removed before its name is unregistered.
    file: NamedTempFile,
    name: Name,
    /// The permissions that any new file gets in its folder.
    usual: u32,
}

/// How often to create a file again if another run took it for abandoned before it was locked; once is rare.
const TRIES: usize = 100;

impl TemporaryFile {
    /// A file in the same folder, hence on the same device. Abandoned files in that folder are removed.
    pub(crate) fn beside(destination: &Path) -> io::Result<Self> {
        let folder = destination.parent().unwrap_or(Path::new("."));
        let temporary = Self::create(folder)?;
        abandoned::remove_beside(temporary.as_file(), &temporary.name.0, abandoned::EntryKind::File);
        Ok(temporary)
    }

    fn create(folder: &Path) -> io::Result<Self> {
        let mut builder = Builder::new();
        builder.prefix(PREFIX).suffix(SUFFIX);
        let mut known = known();
        for _ in 0..TRIES {
            let file = builder.tempfile_in(folder).map_err(|error| as_said(&error))?;
            if abandoned::hold(file.as_file(), file.path()) {
                let usual = usual_mode(&mut builder, folder)?;
                return Ok(Self { name: Name::new(file.path(), &mut known), file, usual });
            }
        }
        Err(io::Error::other("temporary files are removed as soon as they are made"))
    }

    pub(crate) fn as_file(&self) -> &File {
        self.file.as_file()
    }

    /// Gives the file its final name, over an existing file if `overwrite`.
    #[cfg(test)]
    fn persist(self, destination: &Path, overwrite: bool) -> io::Result<()> {
        Self::persist_all(vec![(self, destination, overwrite)]).map(drop).map_err(|(_, error)| error)
    }

    /// Gives files their final names, one right after the other; a signal is handled before all of them or after. Returns the
    /// files, or the position of the one that failed with its error; those before it have their names then.
    pub(crate) fn persist_all(files: Vec<(Self, &Path, bool)>) -> Result<Vec<File>, (usize, io::Error)> {
        for (at, (file, destination, overwrite)) in files.iter().enumerate() {
            let ready = if *overwrite { Ok(()) } else { refuse_existing(destination) };
            ready.and_then(|()| permissions::settle(file.as_file(), destination, file.usual)).map_err(|e| (at, e))?;
        }
        let split = files.into_iter().map(|(Self { file, name, .. }, path, overwrite)| (name, (file, path, overwrite)));
        // Declared before the guard, so that it is dropped after: unregistering a name takes the lock, too.
        let (_names, files): (Vec<Name>, Vec<_>) = split.unzip();
        let _known = known();
        let named = files.into_iter().enumerate().map(|(at, (file, destination, overwrite))| {
            let done = if overwrite { file.persist(destination) } else { file.persist_noclobber(destination) };
            done.map_err(|error| (at, error.error))
        });
        named.collect()
    }
}

fn refuse_existing(destination: &Path) -> io::Result<()> {
    if fs::symlink_metadata(destination).is_ok() { Err(ErrorKind::AlreadyExists.into()) } else { Ok(()) }
}

/// The permissions that a new file gets in a folder: read and write for all, except for what the process's umask or a default
/// ACL of the folder removes. The umask cannot be read without changing it, so an empty file is created as a probe, without a
/// name where the system can do that.
fn usual_mode(builder: &mut Builder, folder: &Path) -> io::Result<u32> {
    if let Ok(probe) = open_nameless(folder, 0o666) {
        return mode(&probe);
    }
    let probe = builder.permissions(Permissions::from_mode(0o666)).tempfile_in(folder);
    mode(probe.map_err(|error| as_said(&error))?.as_file())
}

fn mode(file: &File) -> io::Result<u32> {
    file.metadata().map(|metadata| metadata.mode() & 0o777)
}

#[cfg(target_os = "linux")]
fn open_nameless(folder: &Path, mode: u32) -> io::Result<File> {
    File::options().write(true).mode(mode).custom_flags(libc::O_TMPFILE).open(folder)
}

#[cfg(not(target_os = "linux"))]
fn open_nameless(_: &Path, _: u32) -> io::Result<File> {
    Err(ErrorKind::Unsupported.into())
}

/// A file without a name: it disappears however the process ends.
pub(super) fn nameless(folder: &Path) -> io::Result<File> {
    tempfile::tempfile_in(folder).map_err(|error| as_said(&error))
}

/// The system's message without the temporary name, which means nothing to the user.
fn as_said(error: &io::Error) -> io::Error {
    let said = error.to_string().split(" at path ").next().unwrap_or_default().to_owned();
    io::Error::new(error.kind(), said)
}

/// A folder that is removed with everything in it when it is dropped.
#[derive(Debug)]
pub(crate) struct TemporaryFolder {
    folder: TempDir,
    _name: Name,
    /// The lock lasts as long as this is open.
    held: File,
}

impl TemporaryFolder {
    /// A folder in the system's directory for temporary files. Abandoned folders there are removed.
    pub(crate) fn new() -> io::Result<Self> {
        let temporary = Self::create()?;
        abandoned::remove_beside(&temporary.held, temporary.path(), abandoned::EntryKind::Folder);
        Ok(temporary)
    }

    fn create() -> io::Result<Self> {
        let mut known = known();
        for _ in 0..TRIES {
            let folder = Builder::new().prefix(PREFIX).tempdir()?;
            let open = File::open(folder.path());
            if let Ok(open) = open
                && abandoned::hold(&open, folder.path())
            {
                return Ok(Self { _name: Name::new(folder.path(), &mut known), folder, held: open });
            }
        }
        Err(io::Error::other("temporary folders are removed as soon as they are made"))
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Issue 15, point 15.
    #[test]
    fn abandoned_files_are_removed_and_all_others_stay() {
        let folder = TemporaryFolder::new().unwrap();
        let names = ["held.tmp", ".geosmooth-notes", ".geosmooth-folder.tmp/x", ".geosmooth-link.tmp"];
        let stays = names.map(|name| folder.path().join(name));
        let [out, left] = ["out", ".geosmooth-left.tmp"].map(|name| folder.path().join(name));
        let held = TemporaryFile::beside(&out).unwrap();
        fs::create_dir(folder.path().join(".geosmooth-folder.tmp")).unwrap();
        stays[..3].iter().for_each(|path| fs::write(path, "").unwrap());
        std::os::unix::fs::symlink(&stays[0], &stays[3]).unwrap();
        fs::write(&left, "half").unwrap();
        let next = TemporaryFile::beside(&out).unwrap();
        assert!(!left.exists());
        assert!(stays.iter().chain([&held.name.0, &next.name.0]).all(|path| path.exists()));
    }

    /// Several threads create files in one folder and remove what they take for abandoned.
    #[test]
    fn concurrent_writers_do_not_lose_files() {
        let folder = TemporaryFolder::new().unwrap();
        std::thread::scope(|scope| {
            for worker in 0..8 {
                let folder = folder.path();
                scope.spawn(move || {
                    for turn in 0..50 {
                        let destination = folder.join(format!("{worker} {turn}"));
                        let file = TemporaryFile::beside(&destination).unwrap();
                        file.persist(&destination, false).unwrap();
                    }
                });
            }
        });
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 400);
    }

    #[test]
    fn names_are_registered_while_they_are_temporary() {
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
        let other = folder.path().join("other");
        let both = [&other, &destination].map(|path| (TemporaryFile::beside(path).unwrap(), path.as_path(), false));
        let refused = TemporaryFile::persist_all(both.into()).map_err(|(at, error)| (at, error.kind()));
        assert_eq!(refused.unwrap_err(), (1, ErrorKind::AlreadyExists));
        assert!(!other.exists(), "nothing is named if one of the names is known to be taken");
        let path = folder.path().to_owned();
        drop(folder);
        assert!(!known().contains(&path) && !path.exists());
    }
}
