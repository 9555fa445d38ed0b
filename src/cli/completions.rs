//! `geosmooth completions`: completion scripts for shells.

use clap::CommandFactory;
use clap_complete::Shell;

use super::{Cli, terminal};
use crate::error::Error;

/// Prints a completion script for a shell.
///
/// For bash: geosmooth completions bash > /etc/bash_completion.d/geosmooth
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The shell
    shell: Shell,
}

pub(super) fn run(args: &Args) -> Result<(), Error> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "geosmooth", &mut script);
    terminal::print(&String::from_utf8_lossy(&script))
}
