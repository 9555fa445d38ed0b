//! Temporary files and folders of this process, all of them known in one place: who must end at once can remove them.

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

/// A file that goes away unless it takes a final name. Nobody but its owner may read or write it meanwhile.
#[derive(Debug)]
pub(crate) struct TemporaryFile {
    // Dropped before its name is forgotten.
    file: NamedTempFile,
    name: Name,
    /// The permissions that any new file gets in its folder.
    usual: u32,
}

/// How often a file is made anew because others took it for abandoned before it was held: once is rare.
const TRIES: usize = 100;

impl TemporaryFile {
    /// A file in the same folder, hence on the same device. What runs that were killed left there is removed.
    pub(crate) fn beside(destination: &Path) -> io::Result<Self> {
        let folder = destination.parent().unwrap_or(Path::new("."));
        let temporary = Self::create(folder)?;
        abandoned::remove_beside(temporary.as_file(), &temporary.name.0, abandoned::Kind::File);
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

    /// Takes its final name, if need be over a file that has it.
    #[cfg(test)]
    fn persist(self, destination: &Path, overwrite: bool) -> io::Result<()> {
        Self::persist_all(vec![(self, destination, overwrite)]).map(drop).map_err(|(_, error)| error)
    }

    /// Files take their final names, one right after the other: a signal comes before all of them or after. Gives the files, or which
    /// of them could not and why; those before it have their names then.
    pub(crate) fn persist_all(files: Vec<(Self, &Path, bool)>) -> Result<Vec<File>, (usize, io::Error)> {
        for (at, (file, destination, overwrite)) in files.iter().enumerate() {
            let ready = if *overwrite { Ok(()) } else { refuse_existing(destination) };
            ready.and_then(|()| permissions::settle(file.as_file(), destination, file.usual)).map_err(|e| (at, e))?;
        }
        let split = files.into_iter().map(|(Self { file, name, .. }, path, overwrite)| (name, (file, path, overwrite)));
        // Names are forgotten after the lock is given back, which that takes too.
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

/// The permissions that a new file gets in a folder: all may read and write what the mask of the process, or the folder by rules of its
/// own, does not forbid. The mask cannot be read without changing it, so that an empty file is made to see, if possible without a name.
fn usual_mode(builder: &mut Builder, folder: &Path) -> io::Result<u32> {
    let mode = |file: &File| file.metadata().map(|probe| probe.mode() & 0o777);
    if let Ok(probe) = open_nameless(folder, 0o666) {
        return mode(&probe);
    }
    let probe = builder.permissions(Permissions::from_mode(0o666)).tempfile_in(folder);
    mode(probe.map_err(|error| as_said(&error))?.as_file())
}

#[cfg(target_os = "linux")]
fn open_nameless(folder: &Path, mode: u32) -> io::Result<File> {
    File::options().write(true).mode(mode).custom_flags(libc::O_TMPFILE).open(folder)
}

#[cfg(not(target_os = "linux"))]
fn open_nameless(_: &Path, _: u32) -> io::Result<File> {
    Err(ErrorKind::Unsupported.into())
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
    /// Held as long as it is open.
    held: File,
}

impl TemporaryFolder {
    /// A folder where the system keeps such. What runs that were killed left there is removed.
    pub(crate) fn new() -> io::Result<Self> {
        let temporary = Self::create()?;
        abandoned::remove_beside(&temporary.held, temporary.path(), abandoned::Kind::Folder);
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
    fn what_nobody_holds_is_removed() {
        let folder = TemporaryFolder::new().unwrap();
        let path = |name: &str| folder.path().join(name);
        let held = TemporaryFile::beside(&path("out")).unwrap();
        let stays = ["held.tmp", ".geosmooth-notes", ".geosmooth-folder.tmp/x", ".geosmooth-link.tmp"].map(path);
        fs::create_dir(path(".geosmooth-folder.tmp")).unwrap();
        stays[..3].iter().for_each(|path| fs::write(path, "").unwrap());
        std::os::unix::fs::symlink(&stays[0], &stays[3]).unwrap();
        fs::write(path(".geosmooth-left.tmp"), "half").unwrap();
        let next = TemporaryFile::beside(&path("out")).unwrap();
        assert!(!path(".geosmooth-left.tmp").exists());
        assert!(stays.iter().chain([&held.name.0, &next.name.0]).all(|path| path.exists()));
    }

    /// Many make files in one folder and remove what they take for abandoned: nobody loses one.
    #[test]
    fn who_makes_a_file_keeps_it() {
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
        let other = folder.path().join("other");
        let both = [&other, &destination].map(|path| (TemporaryFile::beside(path).unwrap(), path.as_path(), false));
        let refused = TemporaryFile::persist_all(both.into()).map_err(|(at, error)| (at, error.kind()));
        assert_eq!(refused.unwrap_err(), (1, ErrorKind::AlreadyExists));
        assert!(!other.exists(), "all or none where it is known beforehand");
        let path = folder.path().to_owned();
        drop(folder);
        assert!(!known().contains(&path) && !path.exists());
    }
}
