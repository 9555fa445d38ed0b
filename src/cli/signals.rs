//! Signals that end a process, and the end of memory, for the command alone: in any phase it ends at once, and no temporary file stays. A program
//! that calls the library keeps its signals to itself.

use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;
use std::{io, process};

use signal_hook::consts::{
    SIGABRT, SIGALRM, SIGHUP, SIGINT, SIGPROF, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGVTALRM, SIGXCPU, SIGXFSZ,
};
use signal_hook::iterator::Signals;

use super::terminal;
use crate::error::Error;
use crate::io::{remove_all, try_remove_all};

/// Signals that end a process by default, without those for faults of the process itself, which must end it at once. Batch systems
/// send many of these before they kill.
const ENDINGS: [i32; 11] =
    [SIGHUP, SIGINT, SIGQUIT, SIGABRT, SIGUSR1, SIGUSR2, SIGALRM, SIGTERM, SIGXCPU, SIGVTALRM, SIGPROF];

/// More of them, on Linux only; elsewhere some of them end nothing.
#[cfg(target_os = "linux")]
fn more_endings() -> impl Iterator<Item = i32> {
    [libc::SIGSTKFLT, libc::SIGIO, libc::SIGPWR].into_iter().chain(libc::SIGRTMIN()..=libc::SIGRTMAX())
}

#[cfg(not(target_os = "linux"))]
fn more_endings() -> impl Iterator<Item = i32> {
    std::iter::empty()
}

/// Set once the process is about to end.
static ENDING: AtomicBool = AtomicBool::new(false);

/// The exit code of an error that was explained, or 0.
static EXPLAINED: AtomicI32 = AtomicI32::new(0);

/// How long the last message may take: the reader of stderr may have stopped reading.
const LAST_MESSAGE: Duration = Duration::from_millis(200);

/// Attends to signals in a thread of its own.
///
/// # Errors
/// If the thread cannot be started.
pub(super) fn attend() -> Result<(), Error> {
    let taken = taken();
    let free = ENDINGS.into_iter().chain(more_endings()).filter(|signal| taken >> (signal - 1) & 1 == 0);
    // A handler makes a write beyond the limit of file sizes fail, and not kill us. It comes last: once it is there, all are.
    let signals = Signals::new(free.chain([SIGXFSZ])).map_err(no_thread)?;
    let thread = thread::Builder::new().name("signals".to_owned());
    thread.spawn(|| wait(signals)).map(drop).map_err(no_thread)
}

fn no_thread(source: io::Error) -> Error {
    Error::Io {
        action: "cannot start a thread for",
        path: "signals".into(),
        source,
        hint: "there may be a limit on processes or memory: see ulimit -a",
    }
}

fn wait(mut signals: Signals) {
    if let Some(signal) = signals.forever().find(|signal| *signal != SIGXFSZ) {
        end(signal);
    }
}

/// Keeps a failure from being reported if the process is about to end: that may be its cause.
pub(super) fn stay_if_ending() {
    while ENDING.load(Ordering::SeqCst) {
        thread::park();
    }
}

/// An error was explained and the process is about to end with this code: later failures are not reported.
pub(super) fn explained(code: i32) {
    EXPLAINED.store(code, Ordering::SeqCst);
}

fn end(signal: i32) -> ! {
    ENDING.store(true, Ordering::SeqCst);
    remove_all();
    let (printed, finished) = mpsc::channel();
    // If no thread can be started, the exit code has to do.
    let printer = thread::Builder::new().spawn(move || {
        terminal::interrupted();
        printed.send(())
    });
    if printer.is_ok() {
        let _ = finished.recv_timeout(LAST_MESSAGE);
    }
    process::exit(128 + signal)
}

/// Ends a process that gets no more memory.
pub(super) fn end_without_memory() -> ! {
    if ENDING.swap(true, Ordering::SeqCst) {
        // Another thread does it, and needs less time than this unless it finds no memory either.
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

/// The signals that have a handler or are ignored already, a bit for each, where the system reports them: `nohup` ignores some, and a
/// profiler that is loaded into the process handles some.
fn taken() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    mask(&status, "SigIgn:") | mask(&status, "SigCgt:")
}

/// The hexadecimal number behind a name.
fn mask(status: &str, name: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix(name));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
