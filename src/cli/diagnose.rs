//! `geosmooth diagnose`: whether smoothing can help, and why.

use std::path::PathBuf;

use super::options::{DataArgs, KernelArgs, ReportArgs, RunArgs};
use crate::error::Error;
use crate::job::{self, Diagnose};

/// Reports whether smoothing can help a prediction, and why.
///
/// On rows whose truth is known: the quantities of the paper's Theorem 1, the best c and its gain, the spatial correlation of
/// the errors before and after, and the effective number of sources in the averages.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Rows with predictions and the truth: a Parquet file, a directory or a quoted glob of them
    #[arg(long, value_name = "FILES", help_heading = "Data")]
    validation: PathBuf,
    #[command(flatten)]
    data: DataArgs,
    #[command(flatten)]
    kernel: KernelArgs,
    /// Mixing weight: 0 keeps each prediction, 1 replaces it by the average around it; the best if left out
    #[arg(long, value_name = "0..1", allow_hyphen_values = true, help_heading = "Smoothing")]
    c: Option<f64>,
    /// How to compute the sums: exact, sparse, fast, or auto for the cheapest
    #[arg(long, default_value = "auto", help_heading = "Smoothing")]
    engine: String,
    #[command(flatten)]
    report: ReportArgs,
    #[command(flatten)]
    running: RunArgs,
}

const EXAMPLES: &str = "\
Examples:
  At a sigma of your own
    geosmooth diagnose --train sold.parquet --validation check.parquet --label price --prediction model --sigma 500m
  With tuned parameters
    geosmooth diagnose --train sold.parquet --validation check.parquet --params tuned.json";

pub(super) fn run(args: &Args) -> Result<(), Error> {
    let done = job::diagnose(&args.request()?, &args.running.terminal())?;
    args.running.print(&done.summary)
}

impl Args {
    fn request(&self) -> Result<Diagnose, Error> {
        Ok(Diagnose {
            data: self.data.options(),
            kernel: self.kernel.options()?,
            c: self.c,
            engine: self.engine.parse()?,
            report: self.report.options(),
            running: self.running.options(),
            ..Diagnose::new(&self.validation)
        })
    }
}
