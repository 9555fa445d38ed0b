//! Laplacian regularised least squares (Belkin, Niyogi and Sindhwani 2006), linear in the features X:
//!
//! ```text
//! w = (X_lᵀ X_l + λ_ridge I + λ_lap Xᵀ L X)⁻¹ X_lᵀ y        L = diag(K 1) − K over labelled and other rows
//! ```
//!
//! Features are centred and scaled by mean and deviation of the labelled rows, and the mean of the labels is taken off: an
//! intercept that nothing penalises, since L has no use for constants. One pass of sums with a column for each feature
//! serves all λ of a σ; what is left is a system as small as the number of features.

use faer::linalg::solvers::Solve;
use faer::{Mat, Side};

use super::krylov::dot;
use super::{Problem, Setting, Solution};
use crate::error::Error;
use crate::influence::Influence;
use crate::points::Places;
use crate::scene::Own;
use crate::score::mean;

/// The Laplacian is a small difference of large sums: they are computed so much more accurately.
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
    let energy = |i: usize, j: usize| {
        let at = |row: usize| all[i][row] * (sums.mass_at(row) * all[j][row] - sums.value_at(j, row));
        (0..places.len()).map(at).sum::<f64>()
    };
    let count = all.len();
    // The error of the sums is the only thing that is not symmetric.
    let roughness = Mat::from_fn(count, count, |i, j| 0.5 * (energy(i, j) + energy(j, i)));
    let gram = Mat::from_fn(count, count, |i, j| dot(&labelled[i], &labelled[j]));
    let centre = mean(problem.labels.iter().copied()).unwrap_or(0.0);
    let centred: Vec<f64> = problem.labels.iter().map(|label| label - centre).collect();
    let right = Mat::from_fn(count, 1, |i, _| dot(&labelled[i], &centred));
    let fit = |setting: &Setting| {
        let (ridge, laplacian) = (setting.knob("ridge"), setting.knob("laplacian"));
        let diagonal = |i, j| if i == j { ridge } else { 0.0 };
        let matrix = Mat::from_fn(count, count, |i, j| gram[(i, j)] + diagonal(i, j) + laplacian * roughness[(i, j)]);
        let weights = matrix.llt(Side::Lower).ok()?.solve(&right);
        let row = |row: usize| (0..count).map(|k| weights[(k, 0)] * targets[k][row]).sum::<f64>();
        Some((0..problem.targets.len()).map(|at| centre + row(at)).collect())
    };
    Ok(settings.iter().map(fit).collect())
}

/// The features of labelled rows and of targets, in deviations of the former; a constant stays at 0.
fn standardised(problem: &Problem) -> (Vec<Vec<f64>>, Vec<Vec<f64>>) {
    let pairs = problem.labelled_features.iter().zip(problem.features);
    let standardise = |(labelled, targets): (&&[f64], &&[f64])| {
        let centre = mean(labelled.iter().copied()).unwrap_or(0.0);
        let variance = mean(labelled.iter().map(|value| (value - centre).powi(2))).unwrap_or(0.0);
        let scale = if variance > 0.0 { variance.sqrt() } else { f64::INFINITY };
        let units = |values: &[f64]| values.iter().map(|value| (value - centre) / scale).collect::<Vec<f64>>();
        (units(labelled), units(targets))
    };
    pairs.map(standardise).unzip()
}
