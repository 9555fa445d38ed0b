//! The methods that the paper compares post-estimation smoothing with, all built on the sums of an engine.
//!
//! A method sees labelled rows and rows to predict, and predicts the latter. [`Contest`] tunes each method on validation rows,
//! whose truth is used only for scoring, and scores the chosen setting on holdout rows. Settings with the same σ are tried
//! together: they share one plan, and passes of sums with one column for each.

mod contest;
mod damped;
mod direct;
mod gpr;
mod grids;
mod hem;
mod kernel_regression;
mod krylov;
mod laprls;
mod lgc;
mod low_rank;
mod method;
mod pes;
mod shrinkage;

pub use self::contest::{Contest, Outcome, Rows};
pub use self::grids::{Grids, Setting};
pub(crate) use self::grids::{degrees, linspace};
pub use self::method::Method;

use crate::engine::EngineOptions;
use crate::error::Error;
use crate::points::Places;

/// The data that a method may see: labelled rows, and rows to predict without their truth.
struct Problem<'a> {
    labelled: &'a Places,
    labels: &'a [f64],
    labelled_features: &'a [&'a [f64]],
    targets: &'a Places,
    predictions: &'a [&'a [f64]],
    features: &'a [&'a [f64]],
    options: EngineOptions,
}

/// The predictions of a setting; `None` if its equations were not solved within the allowed number of passes.
type Solution = Option<Vec<f64>>;

impl Problem<'_> {
    /// The predictions of each setting; all settings have the same σ.
    fn solve(&self, method: Method, settings: &[Setting]) -> Result<Vec<Solution>, Error> {
        match method {
            Method::Unsmoothed => Ok(settings.iter().map(|setting| Some(self.prediction(setting).to_vec())).collect()),
            Method::Shrinkage => Ok(settings.iter().map(|setting| Some(shrinkage::solve(self, setting))).collect()),
            Method::KernelRegression => kernel_regression::solve(self, settings),
            Method::Pes | Method::HemPes => pes::solve(self, settings),
            Method::Hem => hem::solve(self, settings),
            Method::Lgc => lgc::solve(self, settings),
            Method::LapRls => laprls::solve(self, settings),
            Method::Gpr => gpr::solve(self, settings),
        }
    }

    /// The column of predictions that a setting uses.
    fn prediction(&self, setting: &Setting) -> &[f64] {
        self.predictions[setting.prediction.unwrap_or(0)]
    }
}
