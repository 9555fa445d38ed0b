//! Gaussian process regression, kriging with a known mean: of a field of variance σ_const² and kernel K seen through noise of
//! variance α, the best guess at other rows is
//!
//! ```text
//! f = mean(y) + K_ul a        (K + s I) a = y − mean(y),   s = α / σ_const
//! ```
//!
//! in which only the ratio s matters, so that settings with the same one share their solution. (σ_const is the paper's name
//! for what scikit-learn calls the constant value of the kernel: a variance.)
//!
//! Up to [`SMALL`] rows, and for kernels so narrow that few values of K count, Cholesky's method solves it. Otherwise conjugate
//! gradients do, for all s in one, preconditioned by a partial Cholesky factor that they share; what they do not reach goes to
//! Cholesky's method as long as the matrix fits. A residual r moves the fitted values by at most ‖r‖, an error ε of the sums
//! by about ε ‖K‖ / s: where no approximation is that accurate, all pairs are summed.

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

/// Rows up to which any matrix is factored at once: a tenth of a second for each s.
const SMALL: usize = 2_000;
/// Rows up to which a matrix is factored at all: a minute of one core and 3 GiB for each s if it is dense.
const LARGE: usize = 20_000;
/// What the preconditioner may leave, in units of s, for conjugate gradients to be tried before a matrix is factored.
const HARD: f64 = 100.0;
/// Passes that conjugate gradients are allowed.
const PASSES: usize = 300;

pub(super) fn solve(problem: &Problem, settings: &[Setting]) -> Result<Vec<Solution>, Error> {
    let Some(sigma) = settings.first().and_then(|setting| setting.sigma) else { return Ok(Vec::new()) };
    let ratio = |setting: &Setting| setting.knob("noise") / setting.knob("constant");
    let mut shifts: Vec<f64> = settings.iter().map(ratio).collect();
    shifts.sort_by(f64::total_cmp);
    shifts.dedup();
    let centre = mean(problem.labels.iter().copied()).unwrap_or(0.0);
    let scale = Span::of(&[problem.labels]).range().max(f64::MIN_POSITIVE);
    let labels: Vec<f64> = problem.labels.iter().map(|label| (label - centre) / scale).collect();
    let training = Training::new(problem, sigma, &labels)?;
    let weights = training.weights(&shifts)?;
    let fitted = training.predict(&weights)?;
    let predicted = |setting: &Setting| {
        let at = shifts.iter().position(|&shift| shift == ratio(setting))?;
        Some(fitted[at].as_ref()?.iter().map(|value| centre + scale * value).collect())
    };
    Ok(settings.iter().map(predicted).collect())
}

/// The labelled rows under one kernel.
struct Training<'a> {
    problem: &'a Problem<'a>,
    sigma: Sigma,
    labels: &'a [f64],
    influence: Influence,
    /// The largest row sum of K, which is at least its norm.
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
        let all = || vec![None; shifts.len()];
        let weights = if rows <= SMALL || direct.is_sparse() { all() } else { self.iterated(shifts, HARD)? };
        let solved = |(weights, &shift): (Solution, &f64)| weights.or_else(|| direct.solve(shift, self.labels));
        Ok(weights.into_iter().zip(shifts).map(solved).collect())
    }

    /// By conjugate gradients, for those s below which the preconditioner leaves at most so many times as much. Where all
    /// pairs must be summed it may leave no more than s.
    fn iterated(&self, shifts: &[f64], hard: f64) -> Result<Vec<Solution>, Error> {
        let accuracy = self.problem.options.accuracy();
        let least = shifts.iter().copied().fold(f64::INFINITY, f64::min);
        let low_rank = LowRank::new(&self.influence, self.labels.len(), 0.1 * least, self.problem.options.memory());
        let needed = |shift: f64| accuracy * shift / self.norm;
        let suits = |shift: f64| {
            let hard = if needed(shift) < EngineOptions::SMALLEST_TOLERANCE { 1.0 } else { hard };
            low_rank.rest <= hard * shift
        };
        let factor = |(at, &shift): (usize, &f64)| Some((at, shift, low_rank.factor(shift).filter(|_| suits(shift))?));
        let chosen: Vec<(usize, f64, Llt<f64>)> = shifts.iter().enumerate().filter_map(factor).collect();
        let mut weights = vec![None; shifts.len()];
        let Some(finest) = chosen.iter().map(|(_, shift, _)| needed(*shift)).reduce(f64::min) else {
            return Ok(weights);
        };
        let kernel = self.influence.kernel(self.sigma, 0.0, &self.problem.options.as_accurate_as(finest))?;
        let right = |_: &_| Right { values: self.labels.to_vec(), tolerance: accuracy };
        let right: Vec<Right> = chosen.iter().map(right).collect();
        let solved = krylov::solve(&Noisy { kernel: &kernel, low_rank: &low_rank, chosen: &chosen }, &right, PASSES);
        for ((at, ..), solution) in chosen.iter().zip(solved) {
            weights[*at] = solution;
        }
        Ok(weights)
    }

    /// The field at the targets for each solution, as accurately as its weights demand.
    fn predict(&self, weights: &[Solution]) -> Result<Vec<Solution>, Error> {
        let solved: Vec<&[f64]> = weights.iter().flatten().map(Vec::as_slice).collect();
        let largest =
            solved.iter().flat_map(|values| values.iter()).fold(1.0, |most: f64, value| most.max(value.abs()));
        let options = self.problem.options.as_accurate_as(self.problem.options.accuracy() / (largest * self.norm));
        let influence = Influence::new(self.sigma, self.problem.targets, self.problem.labelled, Own::Counts)?;
        // A label that is far away says nothing: next to a mass of one it may be left out.
        let sums = influence.sums(self.sigma, &solved, 1.0, &options)?;
        let mut next = 0..;
        let mut column = |_: &Vec<f64>| {
            let k = next.next()?;
            Some((0..self.problem.targets.len()).map(|row| sums.value_at(k, row)).collect())
        };
        Ok(weights.iter().map(|solution| solution.as_ref().and_then(&mut column)).collect())
    }
}

/// `K + s I` for several s.
struct Noisy<'a> {
    kernel: &'a Kernel,
    low_rank: &'a LowRank,
    /// Position, s and factor of each.
    chosen: &'a [(usize, f64, Llt<f64>)],
}

impl System for Noisy<'_> {
    fn apply(&self, columns: &[usize], vectors: &[&[f64]]) -> Vec<Vec<f64>> {
        let sums = self.kernel.sums(vectors);
        let product = |(k, vector): (usize, &&[f64])| {
            let shift = self.chosen[columns[k]].1;
            vector.iter().enumerate().map(|(row, value)| sums.value_at(k, row) + shift * value).collect()
        };
        vectors.iter().enumerate().map(product).collect()
    }

    fn precondition(&self, column: usize, residual: &[f64]) -> Vec<f64> {
        let (_, shift, factor) = &self.chosen[column];
        self.low_rank.solve(factor, *shift, residual)
    }
}
