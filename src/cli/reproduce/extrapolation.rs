//! `geosmooth reproduce extrapolation`.

use super::StudyArgs;
use super::homes::HomeArgs;
use crate::job::ExtrapolationStudy;

/// Homes elsewhere: location as a feature beside smoothing, where the rows to predict lie far from the training rows.
///
/// Boosted trees are trained and everything is chosen north of a latitude; the holdout homes lie south of it. Models with
/// and without latitude and longitude among their features, each with and without smoothing.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    homes: HomeArgs,
    /// Homes at or above this latitude train and validate; if left out, the one with a third of the homes below it
    #[arg(long, value_name = "DEGREES", allow_hyphen_values = true, help_heading = "Data")]
    latitude: Option<f64>,
    /// Homes in each of the three sets; a fifth of all if left out, so that draws differ
    #[arg(long, value_name = "N", help_heading = "Data")]
    rows: Option<usize>,
    /// Random draws
    #[arg(long, value_name = "N", default_value_t = 10)]
    trials: usize,
    #[command(flatten)]
    pub(super) shared: StudyArgs,
}

impl Args {
    pub(super) fn study(&self) -> ExtrapolationStudy {
        let homes = self.homes.columns();
        let seed = self.shared.seed;
        ExtrapolationStudy { homes, latitude: self.latitude, rows: self.rows, trials: self.trials, seed }
    }
}
