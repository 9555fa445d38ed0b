//! Permissions of an output: those of the file that it replaces, or those of a new file in that folder. Access control lists
//! and extended attributes are not copied.

use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::Path;

/// Sets the permissions of a file before it gets its final name: those of the file that it will replace, with its owner and
/// group where the system allows it; the usual ones if there is no such file.
pub(super) fn settle(file: &File, destination: &Path, usual: u32) -> io::Result<()> {
    let mode = match fs::symlink_metadata(destination) {
        Ok(earlier) if earlier.is_file() => mode_after(file, &earlier)?,
        Ok(_) => usual,
        Err(error) if error.kind() == ErrorKind::NotFound => usual,
        Err(error) => return Err(error),
    };
    match file.set_permissions(Permissions::from_mode(mode)) {
        // Some file systems have no permissions.
        Err(error) if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::Unsupported) => Ok(()),
        done => done,
    }
}

/// Tries to set owner and group to those of the earlier file. Returns the mode that suits the result.
fn mode_after(file: &File, earlier: &Metadata) -> io::Result<u32> {
    // One at a time: a user may change the group to one of their own, but only root may change the owner.
    let _ = fchown(file, None, Some(earlier.gid()));
    let _ = fchown(file, Some(earlier.uid()), None);
    let now = file.metadata()?;
    Ok(mode_for(earlier.mode(), now.uid() == earlier.uid(), now.gid() == earlier.gid()))
}

/// The mode of the earlier file, without permissions that it would give to users who did not have them. With another owner or
/// group, a user's class (owner, group, others) may have changed: each class gets only what both classes had.
fn mode_for(earlier: u32, same_owner: bool, same_group: bool) -> u32 {
    let (owner, mut group, mut others) = (earlier >> 6 & 7, earlier >> 3 & 7, earlier & 7);
    if !same_owner {
        group &= owner;
        others &= owner;
    }
    if !same_group {
        let both = group & others;
        (group, others) = (both, both);
    }
    owner << 6 | group << 3 | others
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Issue 15, point 6.
    #[test]
    fn access_is_kept_and_never_widened() {
        for mode in 0..0o1000 {
            assert_eq!(mode_for(mode, true, true), mode, "{mode:o}");
        }
        for (mode, same_owner, same_group, expected) in [
            (0o640, true, false, 0o600),
            (0o664, true, false, 0o644),
            (0o604, true, false, 0o600),
            (0o644, false, true, 0o644),
            (0o060, false, true, 0o000),
            (0o660, false, false, 0o600),
            (0o100_644, true, true, 0o644),
        ] {
            assert_eq!(mode_for(mode, same_owner, same_group), expected, "{mode:o}");
        }
    }
}
