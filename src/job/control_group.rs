//! The memory that control groups leave to this process. A container, a batch system or a service manager may have put it into one, that
//! may be within others, and the smallest counts. Linux has two versions of them, and a machine may use both.

use std::fs;
use std::path::{Component, Path, PathBuf};

/// Bytes that may still be taken before a limit is reached; `None` where there is no group with a limit, or the system does not tell.
/// What lies in `/proc` and where groups are mounted is looked for below a root folder.
pub(crate) fn memory_left(root: &Path) -> Option<u64> {
    let [groups, mounts] = ["cgroup", "mountinfo"].map(|name| fs::read_to_string(root.join("proc/self").join(name)));
    let (groups, mounts) = (groups.ok()?, mounts.ok()?);
    let folders = mounts.lines().filter_map(Mount::parse).filter_map(|mount| {
        let group = mount.version.group(&groups)?;
        Some((mount.version, mount.folders(group)))
    });
    let left = folders.flat_map(|(version, folders)| {
        folders.into_iter().filter_map(move |folder| version.left(&below(root, &folder)))
    });
    left.min()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// Where groups can be looked at.
#[derive(Debug, PartialEq, Eq)]
struct Mount {
    version: Version,
    /// The group that is seen at the top of it.
    top: PathBuf,
    at: PathBuf,
}

impl Mount {
    /// A line of `/proc/self/mountinfo`, if it is about groups that limit memory.
    fn parse(line: &str) -> Option<Self> {
        let (place, system) = line.split_once(" - ")?;
        let (mut place, mut system) = (place.split(' ').skip(3), system.split(' '));
        let (top, at) = (unescaped(place.next()?), unescaped(place.next()?));
        let (kind, _, options) = (system.next()?, system.next()?, system.next()?);
        let version = match kind {
            "cgroup2" => Version::Two,
            "cgroup" if options.split(',').any(|option| option == "memory") => Version::One,
            _ => return None,
        };
        Some(Self { version, top: top.into(), at: at.into() })
    }

    /// The folders of a group and of those that it is in, as far as they are seen from here.
    fn folders(&self, group: &str) -> Vec<PathBuf> {
        // A container may see its own group at the top, whatever it is called outside.
        let below_top = Path::new(group).strip_prefix(&self.top).ok();
        let inside = below_top.filter(|path| has_only_names(path)).unwrap_or(Path::new(""));
        let folder = self.at.join(inside);
        folder.ancestors().take_while(|folder| folder.starts_with(&self.at)).map(Path::to_owned).collect()
    }
}

impl Version {
    /// The group of this process, out of `/proc/self/cgroup`.
    fn group(self, groups: &str) -> Option<&str> {
        groups.lines().find_map(|line| {
            let mut parts = line.splitn(3, ':');
            let (number, controllers, group) = (parts.next()?, parts.next()?, parts.next()?);
            let is_ours = match self {
                Self::One => controllers.split(',').any(|controller| controller == "memory"),
                Self::Two => number == "0" && controllers.is_empty(),
            };
            is_ours.then_some(group)
        })
    }

    /// Bytes that the group in this folder leaves, if it has a limit.
    fn left(self, folder: &Path) -> Option<u64> {
        let statistics = fs::read_to_string(folder.join("memory.stat")).unwrap_or_default();
        let (limits, usage, cache) = match self {
            // The second holds for groups around it that are not seen from here.
            Self::One => (
                [number(folder, "memory.limit_in_bytes"), statistic(&statistics, "hierarchical_memory_limit")],
                number(folder, "memory.usage_in_bytes"),
                statistic(&statistics, "total_inactive_file"),
            ),
            // Beyond the second a process is slowed down until it stands still.
            Self::Two => (
                [number(folder, "memory.max"), number(folder, "memory.high")],
                number(folder, "memory.current"),
                statistic(&statistics, "inactive_file"),
            ),
        };
        let limit = limits.into_iter().flatten().min()?;
        // What caches files and was not used of late is given back on demand.
        let taken = usage.unwrap_or(0).saturating_sub(cache.unwrap_or(0));
        Some(limit.saturating_sub(taken))
    }
}

/// The number in a file.
fn number(folder: &Path, file: &str) -> Option<u64> {
    fs::read_to_string(folder.join(file)).ok()?.trim().parse().ok()
}

/// The number behind a name in `memory.stat`.
fn statistic(statistics: &str, name: &str) -> Option<u64> {
    statistics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?.trim().parse().ok()
}

fn has_only_names(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::Normal(_)))
}

/// The same path below a root folder.
fn below(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

/// White space and backslashes in paths are written as three digits.
fn unescaped(path: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
        .iter()
        .fold(path.to_owned(), |path, (code, letter)| path.replace(code, letter))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::TemporaryFolder;

    const MEGABYTE: u64 = 1 << 20;
    const UNLIMITED: u64 = 9_223_372_036_854_771_712;
    const ONE: &str = "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n";
    const TWO: &str = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";
    const OTHERS: &str = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n\
                          32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n";

    /// A machine as files below a folder.
    struct Machine(TemporaryFolder);

    impl Machine {
        fn new(groups: &str, mounts: &str) -> Self {
            let machine = Self(TemporaryFolder::new().unwrap());
            machine.write("proc/self/cgroup", groups);
            machine.write("proc/self/mountinfo", &(OTHERS.to_owned() + mounts));
            machine
        }

        fn write(&self, path: &str, text: &str) {
            let path = self.0.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn one(self, group: &str, limit: u64, usage: u64, cache: u64) -> Self {
            let folder = format!("sys/fs/cgroup/memory/{group}");
            self.write(&format!("{folder}/memory.limit_in_bytes"), &format!("{limit}\n"));
            self.write(&format!("{folder}/memory.usage_in_bytes"), &format!("{usage}\n"));
            // Without `total_` it counts the group alone, not those within it.
            self.write(&format!("{folder}/memory.stat"), &format!("inactive_file 0\ntotal_inactive_file {cache}\n"));
            self
        }

        fn two(self, group: &str, limits: [&str; 2], usage: u64, cache: u64) -> Self {
            let folder = format!("sys/fs/cgroup/{group}");
            self.write(&format!("{folder}/memory.max"), &format!("{}\n", limits[0]));
            self.write(&format!("{folder}/memory.high"), &format!("{}\n", limits[1]));
            self.write(&format!("{folder}/memory.current"), &format!("{usage}\n"));
            self.write(&format!("{folder}/memory.stat"), &format!("anon 5\ninactive_file {cache}\nactive_file 7\n"));
            self
        }

        fn left(&self) -> Option<u64> {
            memory_left(self.0.path())
        }
    }

    /// Issue 15, point 7.
    #[test]
    fn the_group_of_the_process_counts_in_version_one() {
        let machine = Machine::new("9:name=systemd:/\n4:cpu,memory:/batch/job 7\n0::/\n", ONE)
            .one("", UNLIMITED, 900 * MEGABYTE, 0)
            .one("batch/job 7", 150 * MEGABYTE, 30 * MEGABYTE, 10 * MEGABYTE);
        assert_eq!(machine.left(), Some(130 * MEGABYTE));
    }

    #[test]
    fn groups_around_it_count_too() {
        let nested = Machine::new("4:memory:/a/b\n", ONE).one("a/b", 500 * MEGABYTE, 20 * MEGABYTE, 0).one(
            "a",
            200 * MEGABYTE,
            150 * MEGABYTE,
            40 * MEGABYTE,
        );
        assert_eq!(nested.left(), Some(90 * MEGABYTE));
        let nested = Machine::new("0::/a/b\n", TWO).two("a/b", ["max", "max"], MEGABYTE, 0).two(
            "a",
            ["314572800", "max"],
            100 * MEGABYTE,
            0,
        );
        assert_eq!(nested.left(), Some(200 * MEGABYTE));
    }

    #[test]
    fn what_slows_down_counts_in_version_two() {
        let machine = Machine::new("0::/user.slice\n", TWO).two(
            "user.slice",
            ["419430400", "209715200"],
            60 * MEGABYTE,
            10 * MEGABYTE,
        );
        assert_eq!(machine.left(), Some(150 * MEGABYTE));
    }

    #[test]
    fn of_two_versions_the_one_with_memory_counts() {
        let unified = "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        let machine = Machine::new("4:memory:/job\n0::/job\n", &(ONE.to_owned() + unified)).one("job", 7, 0, 0);
        assert_eq!(machine.left(), Some(7));
    }

    #[test]
    fn containers_see_their_group_at_the_top() {
        // Without a namespace of its own, with one, and with one that others look into.
        let docker = ONE.replace("0:32 / ", "0:32 /docker/4f0c ");
        let machine = Machine::new("4:memory:/docker/4f0c/x\n", &docker).one("", 100, 10, 0).one("x", 50, 20, 0);
        assert_eq!(machine.left(), Some(30));
        for group in ["0::/\n", "0::/../other\n", "0::/gone\n"] {
            assert_eq!(Machine::new(group, TWO).two("", ["100", "max"], 10, 0).left(), Some(90), "{group}");
        }
    }

    #[test]
    fn a_limit_of_groups_that_are_not_seen_is_known() {
        let machine = Machine::new("4:memory:/\n", ONE).one("", UNLIMITED, 10, 0);
        machine.write("sys/fs/cgroup/memory/memory.stat", "hierarchical_memory_limit 1000\ntotal_inactive_file 0\n");
        assert_eq!(machine.left(), Some(990));
    }

    #[test]
    fn without_a_limit_nothing_is_known() {
        assert_eq!(Machine::new("0::/a\n", TWO).two("a", ["max", "max"], 10, 0).left(), None);
        assert_eq!(Machine::new("", "").left(), None);
        assert_eq!(Machine::new("nonsense\n0:\n", "nonsense - \n1 2 3\n").left(), None);
        assert_eq!(memory_left(Path::new("/nowhere at all")), None);
        let full = Machine::new("0::/a\n", TWO).two("a", ["10", "max"], 20, 0);
        assert_eq!(full.left(), Some(0));
    }

    #[test]
    fn mounts_with_spaces_are_found() {
        let mount = Mount::parse("35 31 0:32 /a\\040b /mnt/c\\134d rw - cgroup cgroup rw,cpu,memory").unwrap();
        assert_eq!((mount.top, mount.at), ("/a b".into(), "/mnt/c\\d".into()));
    }
}
