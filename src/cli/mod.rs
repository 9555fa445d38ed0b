//! The command line: one file for each subcommand, and what they share. The only code that prints or exits.

mod completions;
mod demo;
mod reproduce;
mod signals;
pub(crate) mod terminal;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::error::Error;
use crate::job::{compare, diagnose, methods, smooth, tune};

/// Makes predictions better by smoothing them over space, with a proven error on every row.
#[derive(Debug, Parser)]
#[command(name = "geosmooth", version, about, long_about = None, after_help = EXAMPLES, max_term_width = 110)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Smooth(Box<smooth::Args>),
    Tune(Box<tune::Args>),
    Compare(Box<compare::Args>),
    Diagnose(Box<diagnose::Args>),
    Methods(Box<methods::Args>),
    Reproduce(Box<reproduce::Args>),
    Demo(demo::Args),
    Completions(completions::Args),
}

const EXAMPLES: &str = "\
Examples:
  See it work on real house sales:
    geosmooth demo
  Smooth predictions together with known prices, 500 m around each house:
    geosmooth smooth --train sold.parquet --test unsold.parquet --label price --prediction model \\
        --sigma 500m --c 0.6 -o smoothed.parquet
  Check the approximation against all pairs:
    geosmooth compare --train sold.parquet --test unsold.parquet --label price --prediction model --sigma 500m";

/// Parses the arguments, runs the command and gives the exit code: 0 done, 1 the world failed, 2 the request or its
/// input is wrong. A signal ends the process with 128 and its number: 130 for Ctrl-C.
#[must_use]
pub fn main() -> ExitCode {
    // Damaged files may panic inside the Parquet reader; that is caught and told in one line. Who wants more says so.
    if std::env::var_os("RUST_BACKTRACE").is_none_or(|wanted| wanted == "0") {
        std::panic::set_hook(Box::new(|_| {}));
    }
    let outcome = std::panic::catch_unwind(|| match Cli::try_parse() {
        Ok(cli) => report(signals::attend().and_then(|()| run(cli.command))),
        Err(error) => terminal::explain_usage(&error),
    });
    outcome.unwrap_or_else(|panic| terminal::explain_panic(panic.as_ref()))
}

/// Ends the process because there is no more memory: one line, a hint, no temporary files. It asks for no memory itself.
#[cold]
pub fn out_of_memory() -> ! {
    signals::end_without_memory()
}

fn run(command: Command) -> Result<(), Error> {
    match command {
        Command::Smooth(args) => smooth::run(&args),
        Command::Tune(args) => tune::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Diagnose(args) => diagnose::run(&args),
        Command::Methods(args) => methods::run(&args),
        Command::Reproduce(args) => reproduce::run(&args),
        Command::Demo(args) => demo::run(&args),
        Command::Completions(args) => completions::run(&args),
    }
}

fn report(outcome: Result<(), Error>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            signals::stay_if_ending();
            let code = terminal::explain(&error);
            signals::explained(code.into());
            code.into()
        }
    }
}
