//! What the command prints: results to stdout; errors with their hint, warnings and progress bars to stderr.

use std::any::Any;
use std::io::{ErrorKind, IsTerminal, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Mutex, MutexGuard, PoisonError};

use clap::error::{ContextKind, ContextValue, ErrorKind as ClapKind};
use indicatif::{ProgressBar, ProgressStyle};

use crate::engine::Progress;
use crate::error::Error;
use crate::face::Face;
use crate::job::Listener;
use crate::text::{one_line, printable_json, printable_lines};

/// Prints lines for people to stdout.
pub(super) fn print(text: &str) -> Result<(), Error> {
    write(&printable_lines(text))
}

/// Prints JSON for programs to stdout.
pub(super) fn print_json(json: &str) -> Result<(), Error> {
    write(&(printable_json(json) + "\n"))
}

fn write(text: &str) -> Result<(), Error> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        // The reader of our output has closed it; the work is done all the same.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        Err(source) => Err(Error::Io {
            action: "cannot write to",
            path: PathBuf::from("stdout"),
            source,
            hint: "is the disk full? The output file is complete all the same",
        }),
        Ok(()) => Ok(()),
    }
}

/// The bars on the screen. A thread that draws or prints holds the lock; the last message keeps it.
static SCREEN: Mutex<Vec<ProgressBar>> = Mutex::new(Vec::new());

fn screen() -> MutexGuard<'static, Vec<ProgressBar>> {
    SCREEN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn say(line: &str) {
    match screen().last() {
        Some(bar) => bar.suspend(|| say_at_once(line)),
        None => say_at_once(line),
    }
}

/// Prints a line without waiting for the lock.
fn say_at_once(line: &str) {
    // If stderr is closed too, there is nowhere left to report to.
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// The message for the end of memory, which takes no memory itself.
pub(super) fn say_without_memory() {
    say_at_once(
        "error: the system gives no more memory\nhint: set --memory-limit to what there is, lift a limit of the shell (ulimit -v), or give fewer rows",
    );
}

/// Explains an error and gives the exit code for it.
pub(super) fn explain(error: &Error) -> u8 {
    say(&format!("error: {}", one_line(&error.message_for(Face::CommandLine))));
    if let Some(hint) = error.hint_for(Face::CommandLine) {
        say(&format!("hint: {}", one_line(&hint)));
    }
    if error.is_world() { 1 } else { 2 }
}

/// The command line's own complaints in our form: one line, then the way out.
pub(super) fn explain_usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        return match print(&error.render().to_string()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => explain(&error).into(),
        };
    }
    if error.kind() == ClapKind::DisplayHelpOnMissingArgumentOrSubcommand {
        say(&error.render().to_string());
        return ExitCode::from(2);
    }
    explain(&usage(error)).into()
}

/// A complaint about arguments as one of our own errors.
fn usage(error: &clap::Error) -> Error {
    let text = error.render().to_string();
    let message = one_line(text.split("\n\n").next().unwrap_or_default());
    let message = message.strip_prefix("error: ").unwrap_or(&message).to_owned();
    Error::Contradiction { message, hint: usage_hint(error) }
}

fn usage_hint(error: &clap::Error) -> String {
    let suggestion = [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand, ContextKind::SuggestedValue];
    let suggested = suggestion.iter().find_map(|kind| match error.get(*kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        Some(ContextValue::Strings(texts)) => texts.first().cloned(),
        _ => None,
    });
    match (suggested, error.kind()) {
        (Some(text), _) => format!("did you mean '{text}'?"),
        (None, ClapKind::InvalidUtf8) => "names and numbers must be UTF-8; only paths may be anything".to_owned(),
        (None, _) => "see geosmooth --help, or --help after the subcommand".to_owned(),
    }
}

pub(super) fn explain_panic(panic: &(dyn Any + Send)) -> ExitCode {
    let message =
        panic.downcast_ref::<String>().cloned().or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
    say(&format!("error: internal error: {}", one_line(&message.unwrap_or_else(|| "unknown".to_owned()))));
    say("hint: this is a bug in geosmooth; please report it with the command that you ran");
    ExitCode::from(1)
}

/// The person at the terminal.
pub(super) struct Terminal {
    pub(super) quiet: bool,
}

impl Listener for Terminal {
    fn phase(&self, name: &'static str) -> Box<dyn Progress + '_> {
        Box::new(Bar::new(name, self.quiet))
    }

    fn warn(&self, message: &str) {
        say(&format!("warning: {message}"));
    }

    fn face(&self) -> Face {
        Face::CommandLine
    }
}

/// The last message of a process that a signal ends: the bars are removed, and nothing is printed or drawn afterwards.
pub(super) fn interrupted() {
    let shown = screen();
    // Their threads draw no bar that is finished.
    shown.iter().for_each(ProgressBar::finish_and_clear);
    say_at_once("error: interrupted");
    std::mem::forget(shown);
}

/// A spinner for long work, and a bar once its length is known; shown only at a terminal.
struct Bar {
    bar: ProgressBar,
}

impl Bar {
    fn new(what: &'static str, quiet: bool) -> Self {
        if quiet || !std::io::stderr().is_terminal() {
            return Self { bar: ProgressBar::hidden() };
        }
        let style = ProgressStyle::with_template("{msg:>6} {spinner} {elapsed}");
        let bar = ProgressBar::new(0).with_message(what);
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        // From the first tick on it is known: its thread draws without holding the screen, until it is finished.
        let mut screen = screen();
        bar.enable_steady_tick(std::time::Duration::from_millis(100));
        screen.push(bar.clone());
        Self { bar }
    }
}

impl Progress for Bar {
    fn start(&self, total: u64) {
        let style = ProgressStyle::with_template("{msg:>6} [{bar:40}] {percent:>3} % {elapsed} (left {eta})");
        self.bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
        // Draws even what is finished.
        let _screen = screen();
        self.bar.set_length(total);
    }

    fn advance(&self, steps: u64) {
        // Only the thread of the bar draws it.
        self.bar.inc(steps);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        let mut screen = screen();
        self.bar.finish_and_clear();
        screen.retain(|bar| !bar.is_finished());
    }
}
