//! Ridge regression, with standardised features and an intercept without penalty.

use faer::linalg::solvers::Solve;
use faer::{Mat, Side};

use super::Candidate;
use crate::experiment::homes::Homes;
use crate::score::mean;

/// λ as in the paper: `logspace(-6, 4, 5)`.
const PENALTIES: [f64; 5] = [1e-6, 3.162_277_660_168_379_5e-4, 1e-1, 31.622_776_601_683_793, 1e4];

pub(super) fn candidates(train: &Homes, asked: [&Homes; 2]) -> Vec<Candidate> {
    let units = Units::of(train);
    fitted(&units.design(train), &train.labels, &asked.map(|homes| units.design(homes)), &PENALTIES, "")
}

/// Fits each penalty and predicts the rows of `asked`. A penalty that is too small for the Cholesky factorisation is left out.
pub(super) fn fitted(
    train: &Mat<f64>,
    labels: &[f64],
    asked: &[Mat<f64>; 2],
    penalties: &[f64],
    setting: &str,
) -> Vec<Candidate> {
    let (count, centre) = (train.ncols(), mean(labels.iter().copied()).unwrap_or(0.0));
    let gram = train.transpose() * train;
    let right = train.transpose() * Mat::from_fn(labels.len(), 1, |row, _| labels[row] - centre);
    let fitted = penalties.iter().filter_map(|&penalty| {
        let ridged = Mat::from_fn(count, count, |a, b| gram[(a, b)] + if a == b { penalty } else { 0.0 });
        let weights = ridged.llt(Side::Lower).ok()?.solve(&right);
        let [validation, test] =
            asked.each_ref().map(|rows| (rows * &weights).col(0).iter().map(|value| centre + value).collect());
        Some(Candidate { setting: format!("{setting}λ {penalty:.1e}"), validation, test })
    });
    fitted.collect()
}

/// The mean and the standard deviation of each feature among the training rows.
pub(super) struct Units(Vec<(f64, f64)>);

impl Units {
    pub(super) fn of(train: &Homes) -> Self {
        Self(train.features.iter().map(|(_, values)| mean_and_deviation(values)).collect())
    }

    /// The design matrix: a row for each home, a column for each feature.
    pub(super) fn design(&self, homes: &Homes) -> Mat<f64> {
        Mat::from_fn(homes.labels.len(), self.0.len(), |row, column| {
            let (centre, deviation) = self.0[column];
            (homes.features[column].1[row] - centre) / deviation
        })
    }
}

/// The standard deviation of a constant feature counts as 1.
fn mean_and_deviation(values: &[f64]) -> (f64, f64) {
    let centre = mean(values.iter().copied()).unwrap_or(0.0);
    let variance = mean(values.iter().map(|value| (value - centre).powi(2))).unwrap_or(0.0);
    (centre, if variance > 0.0 { variance.sqrt() } else { 1.0 })
}
