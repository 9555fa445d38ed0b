//! `geosmooth reproduce housing`.

use super::StudyArgs;
use super::homes::HomeArgs;
use crate::job::HousingStudy;

/// House prices by three models, before and after smoothing, and beside other methods.
///
/// In each trial, training, validation and holdout homes are drawn at random. Ridge regression, random features and boosted
/// trees are trained with every setting of the paper's table; setting, σ and c are chosen together on the validation homes, and
/// scored on the holdout homes. Then every method of `geosmooth methods` runs on the splits of the first trials.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    homes: HomeArgs,
    /// Homes in each of the three sets; a third of all if left out
    #[arg(long, value_name = "N", help_heading = "Data")]
    rows: Option<usize>,
    /// Random draws
    #[arg(long, value_name = "N", default_value_t = 10)]
    trials: usize,
    /// Draws on which all methods are compared
    #[arg(long, value_name = "N", default_value_t = 3)]
    compared: usize,
    #[command(flatten)]
    pub(super) shared: StudyArgs,
}

impl Args {
    pub(super) fn study(&self) -> HousingStudy {
        let homes = self.homes.columns();
        let seed = self.shared.seed;
        HousingStudy { homes, rows: self.rows, trials: self.trials, compared: self.compared, seed }
    }
}
