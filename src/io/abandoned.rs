//! Removes temporary files and folders of runs that were killed.
//!
//! A run locks (`flock`) what it creates; the lock ends with the process, however it ends. Between creation and locking,
//! another run may find the file unlocked and take it for abandoned. Therefore the creator checks, after locking, that the
//! name still belongs to its file, and creates another one if not. A run that removes a file makes the same check while it
//! holds the lock.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

pub(super) const PREFIX: &str = ".geosmooth-";
pub(super) const SUFFIX: &str = ".tmp";

/// Locks what was just created under this name, for as long as the file is open. `false` if another run took it for
/// abandoned in the meantime.
pub(super) fn hold(file: &File, path: &Path) -> bool {
    match file.try_lock() {
        Ok(()) => is_at(file, path),
        Err(TryLockError::WouldBlock) => false,
        // On file systems without locks, no run removes anything.
        Err(TryLockError::Error(_)) => true,
    }
}

/// What to look for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryKind {
    File,
    Folder,
}

/// Removes abandoned files, or folders, beside one of this process. Anything not known to be abandoned stays. Failures are
/// ignored: leftovers do no harm to this run.
pub(super) fn remove_beside(own: &File, path: &Path, kind: EntryKind) {
    let Ok(owner) = own.metadata().map(|own| own.uid()) else { return };
    if !sees_all_locks(own) {
        return;
    }
    let Some(Ok(entries)) = path.parent().map(fs::read_dir) else { return };
    for entry in entries.flatten().filter(|entry| kind.has_name(&entry.file_name())) {
        let _ = remove(&entry.path(), kind, owner);
    }
}

impl EntryKind {
    fn has_name(self, name: &OsStr) -> bool {
        let name = name.as_encoded_bytes();
        name.starts_with(PREFIX.as_bytes()) && name.ends_with(SUFFIX.as_bytes()) == (self == Self::File)
    }

    /// Whether it is a regular file, or a folder, of this owner.
    fn is_of(self, owner: u32, found: &Metadata) -> bool {
        let is_kind = if self == Self::File { found.is_file() } else { found.is_dir() };
        is_kind && found.uid() == owner
    }
}

fn remove(path: &Path, kind: EntryKind, owner: u32) -> io::Result<()> {
    if !kind.is_of(owner, &fs::symlink_metadata(path)?) {
        return Ok(());
    }
    // The name may belong to something else by now: do not follow links, do not wait for pipes.
    let file = OpenOptions::new()
        .read(true)
        .write(kind == EntryKind::File)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path)?;
    if !kind.is_of(owner, &file.metadata()?) || file.try_lock().is_err() || !is_at(&file, path) {
        return Ok(());
    }
    match kind {
        // Machines that mount this disk over NFS hold POSIX locks, which `flock` does not see.
        EntryKind::File => {
            rustix::fs::fcntl_lock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive)?;
            fs::remove_file(path)
        }
        EntryKind::Folder => fs::remove_dir_all(path),
    }
}

/// Whether the name belongs to the open file.
fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(open), Ok(named)) => (open.dev(), open.ino()) == (named.dev(), named.ino()),
        _ => false,
    }
}

/// Local file systems, as `statfs` numbers them: ext2 to ext4, XFS, Btrfs, F2FS, ZFS, bcachefs, tmpfs, overlay.
#[cfg(target_os = "linux")]
const LOCAL: [u32; 8] =
    [0xef53, 0x5846_5342, 0x9123_683e, 0xf2f5_2010, 0x2fc1_2fc1, 0xca45_1a4e, 0x0102_1994, 0x794c_7630];

/// Whether the locks of all processes that use this file system are visible. True for local disks only: on a network file
/// system a lock may be known only to the machine that holds it.
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

    /// Issue 15, point 15: between the creation of a file and its lock, another run may take it for abandoned.
    #[test]
    fn what_was_taken_for_abandoned_is_not_held() {
        let folder = TemporaryFolder::new().unwrap();
        let [own_path, new_path] = ["own", "new"].map(|name| folder.path().join(format!("{PREFIX}{name}{SUFFIX}")));
        let own = File::create(&own_path).unwrap();
        assert!(hold(&own, &own_path));

        // The other run has locked it and is about to remove it.
        let new = File::create(&new_path).unwrap();
        let other = File::open(&new_path).unwrap();
        other.lock().unwrap();
        assert!(!hold(&new, &new_path));
        drop(other);
        // It is gone.
        remove_beside(&own, &own_path, EntryKind::File);
        assert!(!new_path.exists() && !hold(&new, &new_path));
        // Its name belongs to another file.
        let _another = File::create(&new_path).unwrap();
        assert!(!hold(&new, &new_path));
        assert!(own_path.exists());
    }
}
