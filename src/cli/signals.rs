//! Ctrl-C and its kin, and the end of memory, for the command alone: in any phase it ends at once, and no temporary file stays. A program that
//! calls the library keeps its signals to itself.

use std::process;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;

use super::terminal;
use crate::error::Error;
use crate::io::{remove_all, try_remove_all};

/// Set once the process is about to end.
static ENDING: AtomicBool = AtomicBool::new(false);

/// The exit code of an error that was explained, or 0.
static EXPLAINED: AtomicI32 = AtomicI32::new(0);

/// How long the last words may take: whoever reads stderr may have stopped to.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// Attends to signals in a thread of its own.
///
/// # Errors
/// If the thread cannot be started.
pub(super) fn attend() -> Result<(), Error> {
    let failed = |source| Error::Io {
        action: "cannot start a thread for",
        path: "signals".into(),
        source,
        hint: "there may be a limit on processes or memory: see ulimit -a",
    };
    // A handler makes a write beyond the limit of file sizes fail, and not kill us.
    let wanted = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| !is_ignored(*signal)).chain([SIGXFSZ]);
    let mut signals = Signals::new(wanted).map_err(failed)?;
    let wait = move || {
        if let Some(signal) = signals.forever().find(|signal| *signal != SIGXFSZ) {
            end(signal);
        }
    };
    thread::Builder::new().name("signals".to_owned()).spawn(wait).map(drop).map_err(failed)
}

/// Keeps a failure from being told if the process is about to end: it may come from that.
pub(super) fn stay_if_ending() {
    while ENDING.load(Ordering::SeqCst) {
        thread::park();
    }
}

/// An error was explained and the process is about to end with this code: whatever else fails on the way is not worth a word.
pub(super) fn explained(code: i32) {
    EXPLAINED.store(code, Ordering::SeqCst);
}

fn end(signal: i32) -> ! {
    ENDING.store(true, Ordering::SeqCst);
    remove_all();
    let (said, heard) = mpsc::channel();
    // If there is no thread left to say it, the exit code does.
    let words = thread::Builder::new().spawn(move || {
        terminal::interrupted();
        said.send(())
    });
    if words.is_ok() {
        let _ = heard.recv_timeout(LAST_WORDS);
    }
    process::exit(128 + signal)
}

/// Ends a process that gets no more memory; what others are about to do with the little that is left does not matter.
pub(super) fn end_without_memory() -> ! {
    if ENDING.swap(true, Ordering::SeqCst) {
        // Another thread is at it and done within that time, unless the end itself found no memory.
        thread::sleep(Duration::from_secs(1));
        process::abort();
    }
    try_remove_all();
    match EXPLAINED.load(Ordering::SeqCst) {
        0 => terminal::say_without_memory(),
        code => process::exit(code),
    }
    process::exit(1)
}

/// Whether whoever started us wants a signal to be ignored, as `nohup` does, where the system tells.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}
