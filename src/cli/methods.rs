//! `geosmooth methods`: post-estimation smoothing beside the methods that the paper compares it with.

use std::path::PathBuf;

use super::options::{AccuracyArgs, DataArgs, ReportArgs, RunArgs};
use crate::error::Error;
use crate::job::{self, MethodGrids, Methods, items, numbers, parsed};

/// Compares post-estimation smoothing with other methods that use location.
///
/// Each method is tuned on the validation rows over the values that the paper tries, and its best setting is scored on the
/// test rows. The labels of both are used for scores only. A setting whose solver does not converge is reported and never
/// chosen.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Rows to choose settings on, with predictions and the truth: a Parquet file, a directory or a quoted glob of them
    #[arg(long, value_name = "FILES", help_heading = "Data")]
    validation: PathBuf,
    /// Rows to score on, with predictions and the truth
    #[arg(long, value_name = "FILES", help_heading = "Data")]
    test: PathBuf,
    #[command(flatten)]
    data: DataArgs,
    /// Numeric feature columns for LapRLS, in all three inputs; without them LapRLS is left out
    #[arg(long, value_name = "COLUMNS", help_heading = "Data")]
    features: Option<String>,
    /// Methods to run, from the list below; all that can run if left out
    #[arg(long, value_name = "NAMES", help_heading = "Search")]
    methods: Option<String>,
    /// Metric to optimize: r2, rmse, mae, mape or median_error
    #[arg(long, value_name = "NAME", default_value = "r2", help_heading = "Search")]
    metric: String,
    /// Values of sigma for every method; those of the paper, in degrees, if left out (see below)
    #[arg(long, value_name = "LENGTHS", allow_hyphen_values = true, help_heading = "Search")]
    sigma_grid: Option<String>,
    /// Values of c for P-ES
    #[arg(long, value_name = "NUMBERS", allow_hyphen_values = true, help_heading = "Search")]
    c_grid: Option<String>,
    /// Values of delta for shrinkage: 0 keeps the predictions, 1 replaces each by their mean
    #[arg(long, value_name = "NUMBERS", allow_hyphen_values = true, help_heading = "Search")]
    delta_grid: Option<String>,
    /// Values of eta for HEM: the weight of each row's own prediction
    #[arg(long, value_name = "NUMBERS", allow_hyphen_values = true, help_heading = "Search")]
    eta_grid: Option<String>,
    /// Values of alpha for LGC: the weight of the neighbours
    #[arg(long, value_name = "NUMBERS", allow_hyphen_values = true, help_heading = "Search")]
    alpha_grid: Option<String>,
    /// Values of the ridge penalty of LapRLS
    #[arg(long, value_name = "NUMBERS", allow_hyphen_values = true, help_heading = "Search")]
    ridge_grid: Option<String>,
    /// Values of the Laplacian penalty of LapRLS
    #[arg(long, value_name = "NUMBERS", allow_hyphen_values = true, help_heading = "Search")]
    laplacian_grid: Option<String>,
    /// Values of the variance of the Gaussian process
    #[arg(long, value_name = "NUMBERS", allow_hyphen_values = true, help_heading = "Search")]
    constant_grid: Option<String>,
    /// Values of the variance of the noise of the Gaussian process
    #[arg(long, value_name = "NUMBERS", allow_hyphen_values = true, help_heading = "Search")]
    noise_grid: Option<String>,
    /// How to compute the sums: exact, sparse, fast, or auto for the cheapest
    #[arg(long, default_value = "auto", help_heading = "Search")]
    engine: String,
    #[command(flatten)]
    accuracy: AccuracyArgs,
    #[command(flatten)]
    report: ReportArgs,
    #[command(flatten)]
    running: RunArgs,
}

const EXAMPLES: &str = "\
Methods, and the values that the paper tries:
  unsmoothed  the predictions as they are
  shrinkage   predictions shrunk to their mean                   delta 0, 0.1, ... 1
  kernel      kernel regression on labels, no predictions        9 sigma from 0.01deg to 1deg
  p-es        post-estimation smoothing                          5 sigma from 0.0001deg to 1deg, c 0, 0.1, ... 1
  hem         harmonic energy minimization, with predictions     the same sigma, 6 eta from 0.01 to 1
  hem+p-es    p-es after the best hem (seconds of p-es only)     as p-es
  lgc         local and global consistency                       the same sigma, alpha = 1 - eta
  laprls      Laplacian-regularized least squares, --features    the same sigma, 5 ridge 0.01 to 1e4, 5 laplacian 1e-4 to 100
  gpr         Gaussian process (kriging), no predictions         4 sigma 0.01deg to 100deg, 4 constant 0.01 to 100, noise 1e-6, 1e-3, 1

Examples:
  Everything that the paper compares
    geosmooth methods --train sold.parquet --validation check.parquet --test holdout.parquet --label price --prediction xgb \\
        --features rooms,area,age --report methods
  Two of them, in metres
    geosmooth methods --train sold.parquet --validation check.parquet --test holdout.parquet --label price --prediction xgb \\
        --methods p-es,hem --sigma-grid 100m,300m,1km";

pub(super) fn run(args: &Args) -> Result<(), Error> {
    let done = job::methods(&args.request()?, &args.running.terminal())?;
    args.running.print(&done)
}

impl Args {
    fn request(&self) -> Result<Methods, Error> {
        let features = self.features.as_deref().map(|list| items(list).map(str::to_owned).collect());
        Ok(Methods {
            data: self.data.options(),
            features,
            methods: self.methods.as_deref().map(parsed).transpose()?,
            metric: self.metric.parse()?,
            grids: self.grids()?,
            engine: self.engine.parse()?,
            truncation: self.accuracy.truncation(),
            report: self.report.options(),
            running: self.running.options(),
            ..Methods::new(&self.test, &self.validation)
        })
    }

    fn grids(&self) -> Result<MethodGrids, Error> {
        Ok(MethodGrids {
            sigma: self.sigma_grid.as_deref().map(parsed).transpose()?,
            c: grid("--c-grid", self.c_grid.as_deref())?,
            delta: grid("--delta-grid", self.delta_grid.as_deref())?,
            eta: grid("--eta-grid", self.eta_grid.as_deref())?,
            alpha: grid("--alpha-grid", self.alpha_grid.as_deref())?,
            ridge: grid("--ridge-grid", self.ridge_grid.as_deref())?,
            laplacian: grid("--laplacian-grid", self.laplacian_grid.as_deref())?,
            constant: grid("--constant-grid", self.constant_grid.as_deref())?,
            noise: grid("--noise-grid", self.noise_grid.as_deref())?,
        })
    }
}

/// The numbers of an option, if it is given.
fn grid(flag: &str, list: Option<&str>) -> Result<Option<Vec<f64>>, Error> {
    list.map(|list| numbers(flag, list)).transpose()
}
