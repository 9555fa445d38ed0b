//! `geosmooth compare`: the engines side by side on one problem.

use std::path::PathBuf;

use super::options::{DataArgs, KernelArgs, ReportArgs, RunArgs};
use crate::engine::EngineKind;
use crate::error::Error;
use crate::job::{self, Compare};

/// Runs several engines on the same rows and compares their time and their numerical error.
///
/// Errors are differences from the sums over all pairs, relative to the range of the values. The bound is what the engine
/// itself proved, without knowing the exact result.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Rows to predict: a Parquet file, a directory or a quoted glob of them
    #[arg(long, value_name = "FILES", help_heading = "Data")]
    test: PathBuf,
    #[command(flatten)]
    data: DataArgs,
    #[command(flatten)]
    kernel: KernelArgs,
    /// Mixing weight: 0 keeps each prediction, 1 replaces it by the average around it; errors are largest at 1
    #[arg(long, value_name = "0..1", default_value_t = 1.0, allow_hyphen_values = true, help_heading = "Smoothing")]
    c: f64,
    /// The engines to compare
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = "exact,sparse,fast",
        help_heading = "Smoothing"
    )]
    engines: Vec<String>,
    #[command(flatten)]
    report: ReportArgs,
    #[command(flatten)]
    running: RunArgs,
}

const EXAMPLES: &str = "\
Example:
  geosmooth compare --train sold.parquet --test unsold.parquet --label price --prediction model --sigma 500m --tolerance 1e-4";

pub(super) fn run(args: &Args) -> Result<(), Error> {
    let done = job::compare(&args.request()?, &args.running.terminal())?;
    args.running.print(&done.summary)
}

impl Args {
    fn request(&self) -> Result<Compare, Error> {
        Ok(Compare {
            data: self.data.options(),
            kernel: self.kernel.options()?,
            c: self.c,
            engines: self.engines.iter().map(|name| name.parse()).collect::<Result<Vec<EngineKind>, _>>()?,
            report: self.report.options(),
            running: self.running.options(),
            ..Compare::new(&self.test)
        })
    }
}
