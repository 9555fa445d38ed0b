//! Who may read an output: whoever could read the file that it replaces, or any new file of that folder. Access lists and extended
//! attributes are not copied.

use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::Path;

/// Gives a file that is about to take a name the permissions of the file that has it, and its owner and group as far as that is
/// allowed; or the usual ones if the name is free.
pub(super) fn settle(file: &File, destination: &Path, usual: u32) -> io::Result<()> {
    let mode = match fs::symlink_metadata(destination) {
        Ok(earlier) if earlier.is_file() => mode_after(file, &earlier)?,
        Ok(_) => usual,
        Err(error) if error.kind() == ErrorKind::NotFound => usual,
        Err(error) => return Err(error),
    };
    match file.set_permissions(Permissions::from_mode(mode)) {
        // Some file systems have none.
        Err(error) if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::Unsupported) => Ok(()),
        done => done,
    }
}

/// Takes over owner and group, and gives the mode that goes with those that it has then.
fn mode_after(file: &File, earlier: &Metadata) -> io::Result<u32> {
    // One at a time: a member of the group may give it away, but only root the file itself.
    let _ = fchown(file, None, Some(earlier.gid()));
    let _ = fchown(file, Some(earlier.uid()), None);
    let now = file.metadata()?;
    Ok(mode_for(earlier.mode(), now.uid() == earlier.uid(), now.gid() == earlier.gid()))
}

/// The mode of the earlier file, less what it would give to people who had no such access: who owned it may be one of its group or of
/// the others now, who were of its group may be among the others, and the other way round.
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
