//! The command line: one file for each subcommand, and what they share. The only code that prints or exits.

mod compare;
mod completions;
mod demo;
mod diagnose;
mod methods;
mod options;
mod reproduce;
mod signals;
mod smooth;
mod terminal;
mod tune;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::error::Error;

/// Smooths predictions over space, with a proven bound on the numerical error of every row.
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

/// Parses the arguments, runs the command and gives the exit code: 0 done, 1 the environment failed, 2 the request or its
/// input is wrong. A signal ends the process with 128 and its number: 130 for Ctrl-C.
#[must_use]
pub fn main() -> ExitCode {
    // Damaged files may panic inside the Parquet reader; that is caught and reported in one line, unless RUST_BACKTRACE asks for more.
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

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::face::OPTIONS;

    /// The names of all options of a command and its subcommands.
    fn names(command: &clap::Command) -> Vec<String> {
        let own = command.get_arguments().filter_map(|argument| argument.get_long().map(str::to_owned));
        own.chain(command.get_subcommands().flat_map(names)).collect()
    }

    #[test]
    fn messages_name_options_that_exist() {
        let known = names(&Cli::command());
        let unknown: Vec<_> = OPTIONS.iter().filter(|name| !known.iter().any(|known| known == *name)).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }
}
