//! The machine: free memory, the memory limit, peak memory, time and threads.

use std::path::Path;
use std::time::Instant;

use super::control_group;
use crate::error::Error;

/// A number of bytes as a user writes it: `2GiB`, `500MB`, `1e9`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes(pub u64);

const UNITS: [(&str, f64); 4] = [("k", 1e3), ("m", 1e6), ("g", 1e9), ("t", 1e12)];

impl std::str::FromStr for Bytes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let lower = text.trim().to_lowercase();
        let (lower, binary) = match lower.strip_suffix("ib") {
            Some(stem) => (stem, true),
            None => (lower.strip_suffix('b').unwrap_or(&lower), false),
        };
        let unit = UNITS.iter().enumerate().find_map(|(at, (name, size))| Some((lower.strip_suffix(name)?, at, *size)));
        let (digits, size) = match unit {
            Some((digits, at, _)) if binary => (digits, 1024_f64.powi(at as i32 + 1)),
            Some((digits, _, size)) => (digits, size),
            None => (lower, 1.0),
        };
        match digits.trim().parse::<f64>() {
            Ok(number) if number > 0.0 && number.is_finite() => Ok(Self((number * size) as u64)),
            _ => Err("write a positive number of bytes, such as 2GiB or 500MB".to_owned()),
        }
    }
}

/// A number of bytes as a user writes it, such as the value of an option between backticks.
///
/// # Errors
/// If it is not a positive number with a unit that we know.
pub fn bytes_of(name: &'static str, text: &str) -> Result<u64, Error> {
    match text.parse() {
        Ok(Bytes(bytes)) => Ok(bytes),
        Err(_) => Err(Error::Parameter {
            name,
            value: format!("'{}'", crate::io::shortened(text, 80)),
            expected: "a positive number of bytes, such as 2GiB or 500MB",
        }),
    }
}

/// The limit asked for, or 80 % of what is free now; no more than the address space allows.
pub(crate) fn memory_limit(asked: Option<u64>) -> u64 {
    let limit = asked.unwrap_or_else(most_of_what_is_free);
    address_space_left().map_or(limit, |left| limit.min((left as f64 * SHARE_OF_ADDRESSES) as u64))
}

/// Part of the address space that data may take: the allocator maps more than it uses, and keeps what was freed. A run of few rows
/// took 255 MB of addresses; 1M rows held 244 to 339 MB more, and took 316 to 391 MB of addresses more (2026-11-18).
const SHARE_OF_ADDRESSES: f64 = 0.5;

/// Bytes that may still be mapped, where there is a limit on them (`ulimit -v`) and the system reports it.
fn address_space_left() -> Option<u64> {
    let limit = behind("/proc/self/limits", "Max address space")?.split_whitespace().next()?.parse::<u64>().ok()?;
    Some(limit.saturating_sub(bytes_in_status("VmSize:")?))
}

/// What stands behind a name at the beginning of a line of a file.
fn behind(path: &str, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    text.lines().find_map(|line| line.strip_prefix(name).map(str::to_owned))
}

/// A figure of this process, which the system gives in kilobytes.
fn bytes_in_status(name: &str) -> Option<u64> {
    let kilobytes = behind("/proc/self/status", name)?.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()?;
    Some(kilobytes * 1024)
}

fn most_of_what_is_free() -> u64 {
    let mut system = sysinfo::System::new();
    system.refresh_memory();
    // Not its free memory: that leaves out what caches files and is given back on demand.
    let free = (system.total_memory() > 0).then(|| system.available_memory());
    let least = free.into_iter().chain(control_group::memory_left(Path::new("/"))).min();
    // Where the system reports nothing, no limit is known.
    least.map_or(u64::MAX, |least| least / 5 * 4)
}

/// The most memory that this process ever held, if the system reports it.
///
/// Not from getrusage: on Linux its figure includes what the parent held when it forked.
pub(crate) fn peak_memory() -> Option<u64> {
    bytes_in_status("VmHWM:")
}

/// Seconds since the start and since the last look.
pub(crate) struct Stopwatch {
    start: Instant,
    last: Instant,
}

impl Stopwatch {
    pub(crate) fn start() -> Self {
        let now = Instant::now();
        Self { start: now, last: now }
    }

    pub(crate) fn lap(&mut self) -> f64 {
        let seconds = self.last.elapsed().as_secs_f64();
        self.last = Instant::now();
        seconds
    }

    pub(crate) fn total(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }
}

/// Does work in threads of its own: as many as asked for, or one for each core.
///
/// # Errors
/// Those of the work, or if the threads cannot be started.
pub fn in_threads<T: Send>(count: Option<usize>, work: impl FnOnce() -> Result<T, Error> + Send) -> Result<T, Error> {
    threads(count)?.install(work)
}

/// Threads of a run's own: a program that forks or calls from several threads shares none between runs.
fn threads(count: Option<usize>) -> Result<rayon::ThreadPool, Error> {
    let count = match (count, std::env::var(OF_ENVIRONMENT)) {
        (Some(count), _) if !MOST_THREADS.contains(&count) => return Err(wrong_count("`threads`", count.to_string())),
        (Some(count), _) => count,
        (None, Ok(text)) => from_environment(&text).ok_or_else(|| wrong_count(OF_ENVIRONMENT, format!("'{text}'")))?,
        (None, Err(_)) => 0,
    };
    let count = if count == 0 { cores().min(*MOST_THREADS.end()) } else { count };
    rayon::ThreadPoolBuilder::new().num_threads(count).build().map_err(|error| Error::Io {
        action: "cannot start threads for",
        path: "geosmooth".into(),
        source: std::io::Error::other(error),
        hint: "ask for fewer with `threads`",
    })
}

fn wrong_count(name: &'static str, value: String) -> Error {
    Error::Parameter { name, value, expected: THREADS }
}

const MOST_THREADS: std::ops::RangeInclusive<usize> = 1..=1024;
const THREADS: &str = "between 1 and 1024";

/// Says how many threads there are to be where the request does not: the crate that starts them knows it by that name.
const OF_ENVIRONMENT: &str = "RAYON_NUM_THREADS";

/// The threads that the environment asks for, 0 for one on each core, as nothing means too.
fn from_environment(text: &str) -> Option<usize> {
    match text.trim() {
        "" => Some(0),
        text => text.parse().ok().filter(|count| *count == 0 || MOST_THREADS.contains(count)),
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Issue 15, point 9.
    #[test]
    fn threads_of_the_environment_are_checked() {
        for (text, count) in [("", 0), ("0", 0), (" 7 ", 7), ("1024", 1024)] {
            assert_eq!(from_environment(text), Some(count), "{text}");
        }
        for text in ["1025", "20000", "-1", "many", "99999999999999999999"] {
            assert_eq!(from_environment(text), None, "{text}");
        }
    }

    #[test]
    fn sizes_as_people_write_them() {
        for (text, bytes) in [
            ("2GiB", 2 << 30),
            ("500MB", 500_000_000),
            ("1e9", 1_000_000_000),
            ("7 B", 7),
            ("8G", 8_000_000_000),
            ("8gib", 8 << 30),
            ("1.5KiB", 1536),
        ] {
            assert_eq!(text.parse(), Ok(Bytes(bytes)), "{text}");
        }
        for text in ["", "0", "-1GB", "lots", "infGB", "GiB"] {
            assert!(text.parse::<Bytes>().is_err(), "{text}");
        }
    }
}
