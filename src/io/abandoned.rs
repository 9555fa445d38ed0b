//! Temporary files and folders that nobody holds any more: a run that was killed could not remove them, the next one does.
//!
//! A run holds what it makes by a lock (`flock`) that ends with it, however it ends. Between making and locking there is a
//! gap: who finds a new file unlocked takes it for abandoned. So whoever makes one looks after locking whether the name is still
//! that of its file, and makes another if not; whoever removes one looks too, while it has the lock.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

pub(super) const PREFIX: &str = ".geosmooth-";
pub(super) const SUFFIX: &str = ".tmp";

/// Holds what was just made under this name, as long as the file is open. False if others took it for abandoned meanwhile.
pub(super) fn hold(file: &File, path: &Path) -> bool {
    match file.try_lock() {
        Ok(()) => is_at(file, path),
        Err(TryLockError::WouldBlock) => false,
        // Where there are no locks nothing is removed either.
        Err(TryLockError::Error(_)) => true,
    }
}

/// What is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Folder,
}

/// Removes abandoned files, or folders, that lie beside one of this process. What is not known to be abandoned stays, and so does
/// what cannot be removed: it is in nobody's way.
pub(super) fn remove_beside(own: &File, path: &Path, kind: Kind) {
    let Ok(owner) = own.metadata().map(|own| own.uid()) else { return };
    if !sees_all_locks(own) {
        return;
    }
    let Some(Ok(entries)) = path.parent().map(fs::read_dir) else { return };
    for entry in entries.flatten().filter(|entry| kind.has_name(&entry.file_name())) {
        let _ = remove(&entry.path(), kind, owner);
    }
}

impl Kind {
    fn has_name(self, name: &OsStr) -> bool {
        let name = name.as_encoded_bytes();
        name.starts_with(PREFIX.as_bytes()) && name.ends_with(SUFFIX.as_bytes()) == (self == Self::File)
    }

    /// Whether it is a file, or a folder, of this owner; neither a link nor a pipe nor somebody else's.
    fn is_of(self, owner: u32, found: &Metadata) -> bool {
        let is_kind = if self == Self::File { found.is_file() } else { found.is_dir() };
        is_kind && found.uid() == owner
    }
}

fn remove(path: &Path, kind: Kind, owner: u32) -> io::Result<()> {
    if !kind.is_of(owner, &fs::symlink_metadata(path)?) {
        return Ok(());
    }
    // Another may have the name by now: nothing is followed, nothing is waited for.
    let file = OpenOptions::new()
        .read(true)
        .write(kind == Kind::File)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path)?;
    if !kind.is_of(owner, &file.metadata()?) || file.try_lock().is_err() || !is_at(&file, path) {
        return Ok(());
    }
    match kind {
        // Locks of machines that this one serves files to are of another sort.
        Kind::File => {
            rustix::fs::fcntl_lock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive)?;
            fs::remove_file(path)
        }
        Kind::Folder => fs::remove_dir_all(path),
    }
}

/// Whether the name is that of the open file.
fn is_at(file: &File, path: &Path) -> bool {
    let identity = |found: Metadata| (found.dev(), found.ino());
    let (open, named) = (file.metadata().map(identity), fs::symlink_metadata(path).map(identity));
    matches!((open, named), (Ok(open), Ok(named)) if open == named)
}

/// The file systems of this machine alone, as `statfs` numbers them: ext4 and its forerunners, XFS, Btrfs, F2FS, ZFS, bcachefs, tmpfs, overlay.
#[cfg(target_os = "linux")]
const LOCAL: [u32; 8] =
    [0xef53, 0x5846_5342, 0x9123_683e, 0xf2f5_2010, 0x2fc1_2fc1, 0xca45_1a4e, 0x0102_1994, 0x794c_7630];

/// Whether everybody who may hold a file beside this one would be seen to: on disks of this machine alone. On those of a network
/// a lock may be known only where it was taken.
#[cfg(target_os = "linux")]
fn sees_all_locks(file: &File) -> bool {
    rustix::fs::fstatfs(file).is_ok_and(|disk| LOCAL.contains(&(disk.f_type as u32)))
}

#[cfg(not(target_os = "linux"))]
fn sees_all_locks(_: &File) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::TemporaryFolder;

    /// Issue 15, point 15: between making a file and holding it another run may have come by.
    #[test]
    fn what_was_taken_for_abandoned_is_not_held() {
        let folder = TemporaryFolder::new().unwrap();
        let path = |name: &str| folder.path().join(format!("{PREFIX}{name}{SUFFIX}"));
        let own = File::create(path("own")).unwrap();
        assert!(hold(&own, &path("own")));

        // It is about to be removed, is gone, or its name is another's by now.
        let new = File::create(path("new")).unwrap();
        let other = File::open(path("new")).unwrap();
        other.lock().unwrap();
        assert!(!hold(&new, &path("new")));
        drop(other);
        remove_beside(&own, &path("own"), Kind::File);
        assert!(!path("new").exists() && !hold(&new, &path("new")));
        let _another = File::create(path("new")).unwrap();
        assert!(!hold(&new, &path("new")));
        assert!(path("own").exists());
    }
}
