//! Local and global consistency (Zhou, Bousquet, Lal, Weston and Schölkopf 2004) for regression:
//!
//! ```text
//! f = α S f + (1 − α) f₀        S = D^−½ K D^−½ over labelled and other rows, without the diagonal
//! ```
//!
//! f₀ holds the labels of labelled rows and the predictions of the others, from which the mean of the labels was taken: S
//! draws towards 0 what the kernel does not connect. Eigenvalues of I − αS lie between 1 − α and 1 + α.
//!
//! Two rows far from all others, however far from each other, would be tied by S as firmly as neighbours. So a row whose
//! kernel mass is below [`ALONE`] has no neighbours here.

use super::damped::Damped;
use super::krylov::{self, Right};
use super::{Problem, Setting, Solution};
use crate::error::Error;
use crate::influence::Influence;
use crate::points::Places;
use crate::scene::Own;
use crate::score::mean;
use crate::span::Span;

/// The kernel of the only neighbour at 4.3 σ. Sums are divided by its root twice, so that their error grows by at most 10⁴.
const ALONE: f64 = 1e-4;

/// Passes that are allowed. At α = 0.99 and a tolerance of 1e-6 theory promises that 140 do.
const PASSES: usize = 1000;

pub(super) fn solve(problem: &Problem, settings: &[Setting]) -> Result<Vec<Solution>, Error> {
    let Some(sigma) = settings.first().and_then(|setting| setting.sigma) else { return Ok(Vec::new()) };
    let rest = |setting: &Setting| 1.0 - setting.knob("alpha");
    let least = settings.iter().map(rest).fold(1.0, f64::min);
    let options = problem.options.with_share(0.5 * least * ALONE);
    let all = Places::concatenated(&[problem.labelled, problem.targets]);
    let kernel = Influence::new(sigma, &all, &all, Own::Counts)?.kernel_for_passes(sigma, &options)?;
    let sums = kernel.sums(&[]);
    let mass = |row: usize| sums.mass_at(row) - 1.0;
    let root = |row| if mass(row) < ALONE { f64::INFINITY } else { mass(row).sqrt() };
    let roots: Vec<f64> = (0..all.len()).map(root).collect();

    let centre = mean(problem.labels.iter().copied()).unwrap_or(0.0);
    let scale = Span::of(&[problem.labels]).range().max(f64::MIN_POSITIVE);
    let right = |setting: &Setting| {
        let start = problem.labels.iter().chain(problem.prediction(setting));
        let values = start.map(|value| rest(setting) * (value - centre) / scale).collect();
        Right { values, tolerance: 0.5 * rest(setting) * problem.options.accuracy() }
    };
    let right: Vec<Right> = settings.iter().map(right).collect();
    let damping = settings.iter().map(|setting| setting.knob("alpha")).collect();
    let system = Damped { kernel: &kernel, own: Own::LeftOut, roots: &roots, damping };
    let back = |solution: Vec<f64>| {
        solution[problem.labels.len()..].iter().map(|value| centre + scale * value).collect::<Vec<f64>>()
    };
    Ok(krylov::solve(&system, &right, PASSES).into_iter().map(|solution| solution.map(back)).collect())
}
