//! `geosmooth reproduce sizes`.

use super::StudyArgs;
use super::homes::HomeArgs;
use crate::job::SizesStudy;

/// How much smoothing gains as the data grow.
///
/// The experiment of `reproduce housing` with sets of 1,000 homes and more, up to what the data hold.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    homes: HomeArgs,
    /// Homes in each of the three sets, separated by commas; those of the paper that fit if left out
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "Data")]
    rows: Vec<usize>,
    /// Random draws at each size
    #[arg(long, value_name = "N", default_value_t = 10)]
    trials: usize,
    #[command(flatten)]
    pub(super) shared: StudyArgs,
}

impl Args {
    pub(super) fn study(&self) -> SizesStudy {
        SizesStudy { homes: self.homes.columns(), rows: self.rows.clone(), trials: self.trials, seed: self.shared.seed }
    }
}
