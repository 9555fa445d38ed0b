//! `geosmooth smooth`: Parquet in, smoothed Parquet out.

use std::path::PathBuf;

use super::options::{DataArgs, KernelArgs, ReportArgs, RunArgs};
use crate::error::Error;
use crate::job::{self, Smooth};

/// Smooths predictions over space, together with known labels.
///
/// Every column of the test rows is kept unchanged, and <PREDICTION>_smoothed is added: c times the average around each
/// row plus (1 - c) times its own prediction. The average runs over the predictions of the test rows and the labels of
/// the training rows, weighted by exp(-distance² / 2 sigma²).
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
    /// Mixing weight: 0 keeps each prediction, 1 replaces it by the average around it
    #[arg(long, value_name = "0..1", allow_hyphen_values = true, help_heading = "Smoothing")]
    c: Option<f64>,
    /// How to compute the sums. exact: all pairs; sparse: a truncated weight matrix; fast: any sigma at near-linear cost;
    /// auto: the cheapest
    #[arg(long, default_value = "auto", help_heading = "Smoothing")]
    engine: String,
    /// Parquet file for the result; written completely or not at all
    #[arg(long, short, value_name = "FILE", required = true, help_heading = "Output")]
    output: Option<PathBuf>,
    /// Add <PREDICTION>_error_bound, the proven bound on the numerical error of each row, and n_effective, the effective number
    /// of sources in its average
    #[arg(long, help_heading = "Output")]
    certificate: bool,
    /// Write the weight matrix of the sparse engine as Parquet (row, column, weight); columns are numbered through the test rows first, then the
    /// training rows
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    matrix: Option<PathBuf>,
    #[command(flatten)]
    report: ReportArgs,
    #[command(flatten)]
    running: RunArgs,
    /// Folder for temporary files where the rows do not fit into memory and are smoothed tile by tile; the temporary folder of
    /// the system if left out
    #[arg(long, value_name = "DIR", help_heading = "Running")]
    spill_dir: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  Together with known prices, sigma 500 m; predictions and known prices have the same weight
    geosmooth smooth --train sold.parquet --test unsold.parquet --label price --prediction model \\
        --sigma 500m --c 0.6 -o smoothed.parquet
  Predictions only, two models at once, with sigma in degrees as in the paper
    geosmooth smooth --test unsold.parquet --prediction xgb,ridge --sigma 0.005deg --c 0.4 -o smoothed.parquet
  Along the frames of each video
    geosmooth smooth --test poses.parquet --prediction x,y --index frame --group video --sigma 3 --c 0.8 -o smoothed.parquet";

pub(super) fn run(args: &Args) -> Result<(), Error> {
    let done = job::smooth(&args.request()?, &args.running.terminal())?;
    args.running.print(&done.summary)
}

impl Args {
    fn request(&self) -> Result<Smooth, Error> {
        Ok(Smooth {
            data: self.data.options(),
            kernel: self.kernel.options()?,
            c: self.c,
            engine: self.engine.parse()?,
            output: self.output.clone(),
            certificate: self.certificate,
            matrix: self.matrix.clone(),
            report: self.report.options(),
            running: self.running.options(),
            spill_dir: self.spill_dir.clone(),
            ..Smooth::new(&self.test)
        })
    }
}
