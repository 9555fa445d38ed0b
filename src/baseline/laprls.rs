//! Laplacian regularised least squares (Belkin, Niyogi and Sindhwani 2006), linear in the features X:
//!
//! ```text
//! w = (X_lᵀ X_l + λ_ridge I + λ_lap Xᵀ L X)⁻¹ X_lᵀ y        L = diag(K 1) − K over labelled and other rows
//! ```
//!
//! Features are centred and scaled by the mean and the standard deviation of the labelled rows, and the mean of the labels is
//! subtracted. This amounts to an intercept without penalty, since L is zero on constants. One pass of sums, with a column for
//! each feature, is shared by all λ at one σ; the remaining system has the size of the number of features.

use faer::linalg::solvers::Solve;
use faer::{Mat, Side};

use super::krylov::dot;
use super::{Problem, Setting, Solution};
use crate::error::Error;
use crate::influence::{Influence, KernelSums};
use crate::points::Places;
use crate::scene::Own;
use crate::score::mean;

/// The share of the tolerance for the sums: the Laplacian is a small difference of large sums. Chosen, not measured.
const SHARE: f64 = 1e-3;

pub(super) fn solve(problem: &Problem, settings: &[Setting]) -> Result<Vec<Solution>, Error> {
    let Some(sigma) = settings.first().and_then(|setting| setting.sigma) else { return Ok(Vec::new()) };
    let (labelled, targets) = standardised(problem);
    let all: Vec<Vec<f64>> = labelled.iter().zip(&targets).map(|(here, there)| [&here[..], there].concat()).collect();
    let places = Places::concatenated(&[problem.labelled, problem.targets]);
    let columns: Vec<&[f64]> = all.iter().map(Vec::as_slice).collect();
    let sums = Influence::new(sigma, &places, &places, Own::Counts)?.sums(
        sigma,
        &columns,
        0.0,
        &problem.options.with_share(SHARE),
    )?;
    let count = all.len();
    // Symmetrised: Xᵀ L X is symmetric up to the errors of the sums.
    let roughness = Mat::from_fn(count, count, |i, j| 0.5 * (energy(&all, &sums, i, j) + energy(&all, &sums, j, i)));
    let gram = Mat::from_fn(count, count, |i, j| dot(&labelled[i], &labelled[j]));
    let centre = mean(problem.labels.iter().copied()).unwrap_or(0.0);
    let centred: Vec<f64> = problem.labels.iter().map(|label| label - centre).collect();
    let right = Mat::from_fn(count, 1, |i, _| dot(&labelled[i], &centred));
    let rows = 0..problem.targets.len();
    let solutions = settings.iter().map(|setting| {
        let (ridge, laplacian) = (setting.knob("ridge"), setting.knob("laplacian"));
        let matrix = Mat::from_fn(count, count, |i, j| {
            let diagonal = if i == j { ridge } else { 0.0 };
            gram[(i, j)] + diagonal + laplacian * roughness[(i, j)]
        });
        let weights = matrix.llt(Side::Lower).ok()?.solve(&right);
        let rows = rows.clone().map(|row| {
            let terms = (0..count).map(|k| weights[(k, 0)] * targets[k][row]);
            centre + terms.sum::<f64>()
        });
        Some(rows.collect())
    });
    Ok(solutions.collect())
}

/// One element of `Xᵀ L X`.
fn energy(features: &[Vec<f64>], sums: &KernelSums, i: usize, j: usize) -> f64 {
    let rows = features[i].iter().zip(&features[j]).enumerate();
    rows.map(|(row, (a, b))| a * (sums.mass_at(row) * b - sums.value_at(j, row))).sum()
}

/// The features of labelled rows and of targets, in standard deviations of the labelled rows; a constant feature becomes 0.
fn standardised(problem: &Problem) -> (Vec<Vec<f64>>, Vec<Vec<f64>>) {
    let pairs = problem.labelled_features.iter().zip(problem.features);
    pairs.map(|(labelled, targets)| standardised_feature(labelled, targets)).unzip()
}

fn standardised_feature(labelled: &[f64], targets: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let centre = mean(labelled.iter().copied()).unwrap_or(0.0);
    let variance = mean(labelled.iter().map(|value| (value - centre).powi(2))).unwrap_or(0.0);
    let scale = if variance > 0.0 { variance.sqrt() } else { f64::INFINITY };
    let [labelled, targets] =
        [labelled, targets].map(|values| values.iter().map(|value| (value - centre) / scale).collect());
    (labelled, targets)
}
