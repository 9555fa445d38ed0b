//! `geosmooth reproduce simulation`.

use super::StudyArgs;
use crate::experiment::simulation::Simulation;

/// A hidden process seen through noise: how close smoothing comes to the best that is possible.
///
/// Half of the rows train a slope by total or ordinary least squares, the other half is predicted and smoothed, with σ and c
/// chosen on it as in the paper. The results are compared with S*, the best linear smoother if all distributions are known, with
/// the lower bound σ_y², and with the errors that theory predicts.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Rows of a trial; half of them train
    #[arg(long, value_name = "N", default_value_t = 2000)]
    rows: usize,
    /// Standard deviations of the noise of x to try, separated by commas
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "0.1,0.25,0.5,1",
        allow_hyphen_values = true
    )]
    noise_x: Vec<f64>,
    /// Standard deviations of the noise of y to try, separated by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "0.1,0.5,1", allow_hyphen_values = true)]
    noise_y: Vec<f64>,
    /// Random draws at each pair of noises
    #[arg(long, value_name = "N", default_value_t = 10)]
    trials: usize,
    #[command(flatten)]
    pub(super) shared: StudyArgs,
}

impl Args {
    pub(super) fn study(&self) -> Simulation {
        Simulation {
            rows: self.rows,
            noise_x: self.noise_x.clone(),
            noise_y: self.noise_y.clone(),
            trials: self.trials,
            seed: self.shared.seed,
            ..Simulation::default()
        }
    }
}
