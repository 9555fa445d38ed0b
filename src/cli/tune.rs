//! `geosmooth tune`: finds σ, c, the label weight and the correct step on rows whose truth is known.

use std::path::PathBuf;

use super::options::{AccuracyArgs, DataArgs, ReportArgs, RunArgs};
use crate::error::Error;
use crate::job::{self, Bandwidth, ScoredOn, SigmaSearch, Tune, numbers, parsed};

/// Finds how to smooth: sigma, c and the label weight that score best on rows whose truth is known.
///
/// The labels of the validation rows are used for scores only, never for smoothing. If nothing beats the unsmoothed
/// predictions, c = 0 is chosen and reported. Of several predictions the best is chosen. Without grids, sigma and the label
/// weight are searched continuously, and the best c is computed for each of them. With --train-prediction the correct step is
/// tried too, and kept if it improves the score.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Rows to score on, with predictions and the truth: a Parquet file, a directory or a quoted glob of them
    #[arg(long, value_name = "FILES", help_heading = "Data")]
    validation: Option<PathBuf>,
    #[command(flatten)]
    data: DataArgs,
    /// Leave-one-out: score on the training rows, each with its own label hidden; their predictions must be out of fold.
    /// For rows to predict that lie among the training rows
    #[arg(long, conflicts_with_all = ["validation", "folds"], help_heading = "Data")]
    leave_one_out: bool,
    /// Spatially blocked cross-validation: score on the training rows in this many folds of whole blocks; each fold sees only
    /// the labels of the other folds. For rows to predict that lie in other neighbourhoods than the training rows
    #[arg(long, value_name = "N", conflicts_with = "validation", requires = "block", help_heading = "Data")]
    folds: Option<usize>,
    /// Side length of the blocks, such as 5km
    #[arg(long, value_name = "LENGTH", requires = "folds", help_heading = "Data")]
    block: Option<String>,
    /// Metric to optimize: r2, rmse, mae, mape or median_error
    #[arg(long, value_name = "NAME", default_value = "r2", help_heading = "Search")]
    metric: String,
    /// Values of sigma to try, such as 50m,100m,200m; the label weight is then 1 unless given
    #[arg(
        long,
        value_name = "LENGTHS",
        conflicts_with = "sigma_range",
        allow_hyphen_values = true,
        help_heading = "Search"
    )]
    sigma_grid: Option<String>,
    /// Range of sigma to search, such as 20m,5km; derived from the data if left out, in metres for latitude and longitude
    #[arg(long, value_name = "LOW,HIGH", allow_hyphen_values = true, help_heading = "Search")]
    sigma_range: Option<String>,
    /// Values of c to try, such as 0,0.5,1
    #[arg(long, value_name = "NUMBERS", allow_hyphen_values = true, help_heading = "Search")]
    c_grid: Option<String>,
    /// Values of the label weight to try; one or several separated by commas
    #[arg(long, value_name = "NUMBERS", allow_hyphen_values = true, help_heading = "Search")]
    label_weight: Option<String>,
    /// How to compute the sums: exact, sparse, fast, or auto for the cheapest
    #[arg(long, default_value = "auto", help_heading = "Search")]
    engine: String,
    #[command(flatten)]
    accuracy: AccuracyArgs,
    /// File for the parameters, for smooth --params
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,
    #[command(flatten)]
    report: ReportArgs,
    #[command(flatten)]
    running: RunArgs,
}

const EXAMPLES: &str = "\
Examples:
  The better of two models; all parameters are searched
    geosmooth tune --train sold.parquet --validation check.parquet --label price --prediction xgb,ridge -o tuned.json
    geosmooth smooth --train sold.parquet --test unsold.parquet --params tuned.json -o smoothed.parquet
  With the correct step, which needs out-of-fold predictions on the training rows
    geosmooth tune --train sold.parquet --validation check.parquet --label price --prediction xgb --train-prediction xgb_oof -o tuned.json
  The grids of the paper
    geosmooth tune --train sold.parquet --validation check.parquet --label price --prediction xgb \\
        --sigma-grid 0.0001deg,0.001deg,0.01deg,0.1deg,1deg --c-grid 0,0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1
  Without validation rows: each fold of 5 km blocks is predicted from the others
    geosmooth tune --train sold.parquet --label price --prediction xgb --train-prediction xgb_oof --folds 5 --block 5km -o tuned.json

Which rows to score on:
  --validation     if neither the model nor its settings were chosen on those rows
  --leave-one-out  if the rows to predict lie among the training rows, and their predictions are out of fold
  --folds --block  if the rows to predict lie elsewhere; use blocks as large as the gap between them and the training rows";

pub(super) fn run(args: &Args) -> Result<(), Error> {
    let done = job::tune(&args.request()?, &args.running.terminal())?;
    args.running.print(&done.summary)
}

impl Args {
    fn request(&self) -> Result<Tune, Error> {
        let validation = self.validation.clone().map(Into::into);
        let grid = self.sigma_grid.as_deref().map(parsed).transpose()?;
        let range: Option<Vec<Bandwidth>> = self.sigma_range.as_deref().map(parsed).transpose()?;
        Ok(Tune {
            scored_on: ScoredOn::of(validation, self.leave_one_out, self.folds, self.block.as_deref())?,
            data: self.data.options(),
            metric: self.metric.parse()?,
            sigmas: SigmaSearch::of(grid, range.as_deref())?,
            c_grid: self.c_grid.as_deref().map(|list| numbers("--c-grid", list)).transpose()?,
            label_weights: self.label_weight.as_deref().map(|list| numbers("--label-weight", list)).transpose()?,
            engine: self.engine.parse()?,
            truncation: self.accuracy.truncation(),
            output: self.output.clone(),
            surface: false,
            report: self.report.options(),
            running: self.running.options(),
        })
    }
}
