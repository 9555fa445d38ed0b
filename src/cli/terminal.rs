//! What people see: errors with their hint, warnings, progress bars. All of it goes to stderr, results to stdout.

use std::any::Any;
use std::io::{ErrorKind, IsTerminal, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use clap::error::{ContextKind, ContextValue, ErrorKind as ClapKind};
use indicatif::{ProgressBar, ProgressStyle};

use super::caller::Listener;
use crate::engine::Progress;
use crate::error::Error;

/// Prints a result to stdout.
pub(super) fn print(text: &str) -> Result<(), Error> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        // Whoever read our output has had enough; the work is done all the same.
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

fn say(line: &str) {
    // If even stderr is gone there is nobody left to tell.
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// What is said where there is no memory to make up a message.
pub(super) fn say_without_memory() {
    say(
        "error: the system gives no more memory\nhint: set --memory-limit to what there is, lift a limit of the shell (ulimit -v), or give fewer rows",
    );
}

/// Explains an error and gives the exit code for it.
pub(super) fn explain(error: &Error) -> u8 {
    say(&format!("error: {}", one_line(&error.to_string())));
    if let Some(hint) = error.hint() {
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
pub(super) fn usage(error: &clap::Error) -> Error {
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

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
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
}

/// The bar on the screen, for who must end at once.
static SHOWN: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// The last words of a process that a signal ends: the bar is wiped away, and no other comes.
pub(super) fn interrupted() {
    let shown = SHOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(bar) = &*shown {
        bar.finish_and_clear();
    }
    say("error: interrupted");
    std::mem::forget(shown);
}

/// A sign of life for long work, and a bar once its end is known; shown only where somebody watches.
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
        bar.enable_steady_tick(std::time::Duration::from_millis(100));
        *SHOWN.lock().unwrap_or_else(PoisonError::into_inner) = Some(bar.clone());
        Self { bar }
    }
}

impl Progress for Bar {
    fn start(&self, total: u64) {
        let style = ProgressStyle::with_template("{msg:>6} [{bar:40}] {percent:>3} % {elapsed} (left {eta})");
        self.bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
        self.bar.set_length(total);
    }

    fn advance(&self, steps: u64) {
        self.bar.inc(steps);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
