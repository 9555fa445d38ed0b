//! Gaussian process regression, or simple kriging. For a field with variance σ_const and kernel K, observed with noise of
//! variance α, the best linear prediction at other rows is
//!
//! ```text
//! f = mean(y) + K_ul a        (K + s I) a = y − mean(y),   s = α / σ_const
//! ```
//!
//! Only the ratio s matters, so that settings with the same s share their solution. (σ_const is the paper's name for the
//! constant value of scikit-learn's kernel, which is a variance.)
//!
//! With up to [`SMALL`] rows, or if the kernel is so narrow that the matrix is sparse, the equations are solved by Cholesky
//! factorisation. Otherwise by conjugate gradients, for all s at once, preconditioned by a partial Cholesky factor that they
//! share. If these do not converge, Cholesky factorisation is used if the matrix fits. A residual r changes the fitted values by
//! at most ‖r‖; an error ε of the sums changes them by about ε ‖K‖ / s. If no approximation is that accurate, all pairs are
//! summed.

use faer::linalg::solvers::Llt;

use super::direct::Direct;
use super::krylov::{self, Right, System};
use super::low_rank::LowRank;
use super::{Problem, Setting, Solution};
use crate::engine::EngineOptions;
use crate::error::Error;
use crate::influence::{Influence, Kernel};
use crate::scene::Own;
use crate::score::mean;
use crate::space::Sigma;
use crate::span::Span;

/// Up to this number of rows any matrix is factored: it takes a tenth of a second for each s.
const SMALL: usize = 2_000;
/// Above this number of rows no matrix is factored: a dense one takes a minute on one core and 3 GiB for each s.
const LARGE: usize = 20_000;
/// Conjugate gradients are tried if the preconditioner leaves at most this, in units of s: the condition number is then about
/// 100. Chosen, not measured.
const HARD: f64 = 100.0;
/// The most passes of conjugate gradients. Chosen, not measured.
const PASSES: usize = 300;

pub(super) fn solve(problem: &Problem, settings: &[Setting]) -> Result<Vec<Solution>, Error> {
    let Some(sigma) = settings.first().and_then(|setting| setting.sigma) else { return Ok(Vec::new()) };
    let mut shifts: Vec<f64> = settings.iter().map(ratio).collect();
    shifts.sort_by(f64::total_cmp);
    shifts.dedup();
    let centre = mean(problem.labels.iter().copied()).unwrap_or(0.0);
    let scale = Span::of(&[problem.labels]).range().max(f64::MIN_POSITIVE);
    let labels: Vec<f64> = problem.labels.iter().map(|label| (label - centre) / scale).collect();
    let training = Training::new(problem, sigma, &labels)?;
    let weights = training.weights(&shifts)?;
    let fitted = training.predict(&weights)?;
    let solutions = settings.iter().map(|setting| {
        let at = shifts.iter().position(|&shift| shift == ratio(setting))?;
        Some(fitted[at].as_ref()?.iter().map(|value| centre + scale * value).collect())
    });
    Ok(solutions.collect())
}

/// s: the variance of the noise relative to that of the field.
fn ratio(setting: &Setting) -> f64 {
    setting.knob("noise") / setting.knob("constant")
}

/// The labelled rows at one σ.
struct Training<'a> {
    problem: &'a Problem<'a>,
    sigma: Sigma,
    labels: &'a [f64],
    influence: Influence,
    /// The largest row sum of K, an upper bound on its norm.
    norm: f64,
}

impl<'a> Training<'a> {
    fn new(problem: &'a Problem<'a>, sigma: Sigma, labels: &'a [f64]) -> Result<Self, Error> {
        let influence = Influence::new(sigma, problem.labelled, problem.labelled, Own::Counts)?;
        let sums = influence.sums(sigma, &[], 0.0, &problem.options)?;
        let norm = (0..labels.len()).map(|row| sums.mass_at(row)).fold(1.0, f64::max);
        Ok(Self { problem, sigma, labels, influence, norm })
    }

    /// The solution for each s.
    fn weights(&self, shifts: &[f64]) -> Result<Vec<Solution>, Error> {
        let rows = self.labels.len();
        let bytes = 8 * (rows as u64).pow(2);
        if rows > LARGE || bytes > self.problem.options.memory() {
            return self.iterated(shifts, f64::INFINITY);
        }
        let direct = Direct::new(&self.influence, rows);
        let is_direct = rows <= SMALL || direct.is_sparse();
        let weights = if is_direct { vec![None; shifts.len()] } else { self.iterated(shifts, HARD)? };
        let pairs = weights.into_iter().zip(shifts);
        Ok(pairs.map(|(weights, &shift)| weights.or_else(|| direct.solve(shift, self.labels))).collect())
    }

    /// Solves by conjugate gradients for those s for which the preconditioner leaves at most `hard` · s; at most s if the sums
    /// must be so accurate that all pairs are summed.
    fn iterated(&self, shifts: &[f64], hard: f64) -> Result<Vec<Solution>, Error> {
        let accuracy = self.problem.options.accuracy();
        let least = shifts.iter().copied().fold(f64::INFINITY, f64::min);
        let low_rank = LowRank::new(&self.influence, self.labels.len(), 0.1 * least, self.problem.options.memory());
        let mut chosen: Vec<(usize, f64, Llt<f64>)> = Vec::new();
        for (at, &shift) in shifts.iter().enumerate() {
            let is_exact = self.needed_accuracy(shift) < EngineOptions::SMALLEST_TOLERANCE;
            let hard = if is_exact { 1.0 } else { hard };
            let factor = low_rank.factor(shift).filter(|_| low_rank.rest <= hard * shift);
            chosen.extend(factor.map(|factor| (at, shift, factor)));
        }
        let mut weights = vec![None; shifts.len()];
        let Some(finest) = chosen.iter().map(|(_, shift, _)| self.needed_accuracy(*shift)).reduce(f64::min) else {
            return Ok(weights);
        };
        let kernel = self.influence.kernel(self.sigma, 0.0, &self.problem.options.as_accurate_as(finest))?;
        let right: Vec<Right> =
            chosen.iter().map(|_| Right { values: self.labels.to_vec(), tolerance: accuracy }).collect();
        let solved = krylov::solve(&Noisy { kernel: &kernel, low_rank: &low_rank, chosen: &chosen }, &right, PASSES);
        for ((at, ..), solution) in chosen.iter().zip(solved) {
            weights[*at] = solution;
        }
        Ok(weights)
    }

    /// The accuracy of sums that the solution for s needs.
    fn needed_accuracy(&self, shift: f64) -> f64 {
        self.problem.options.accuracy() * shift / self.norm
    }

    /// The predicted field at the targets for each solution, as accurate as its weights require.
    fn predict(&self, weights: &[Solution]) -> Result<Vec<Solution>, Error> {
        let solved: Vec<&[f64]> = weights.iter().flatten().map(Vec::as_slice).collect();
        let largest =
            solved.iter().flat_map(|values| values.iter()).fold(1.0, |most: f64, value| most.max(value.abs()));
        let options = self.problem.options.as_accurate_as(self.problem.options.accuracy() / (largest * self.norm));
        let influence = Influence::new(self.sigma, self.problem.targets, self.problem.labelled, Own::Counts)?;
        // Sums are not divided by D here: distant labels are negligible relative to a mass of 1.
        let sums = influence.sums(self.sigma, &solved, 1.0, &options)?;
        let rows = 0..self.problem.targets.len();
        let mut columns = (0..solved.len()).map(|k| rows.clone().map(|row| sums.value_at(k, row)).collect());
        Ok(weights.iter().map(|solution| solution.as_ref().and_then(|_| columns.next())).collect())
    }
}

/// `K + s I` for several s.
struct Noisy<'a> {
    kernel: &'a Kernel,
    low_rank: &'a LowRank,
    /// Position, s and factor of the preconditioner of each.
    chosen: &'a [(usize, f64, Llt<f64>)],
}

impl System for Noisy<'_> {
    fn apply(&self, columns: &[usize], vectors: &[&[f64]]) -> Vec<Vec<f64>> {
        let sums = self.kernel.sums(vectors);
        let products = vectors.iter().zip(columns).enumerate().map(|(k, (vector, column))| {
            let shift = self.chosen[*column].1;
            vector.iter().enumerate().map(|(row, value)| sums.value_at(k, row) + shift * value).collect()
        });
        products.collect()
    }

    fn precondition(&self, column: usize, residual: &[f64]) -> Vec<f64> {
        let (_, shift, factor) = &self.chosen[column];
        self.low_rank.solve(factor, *shift, residual)
    }
}
