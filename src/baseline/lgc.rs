//! Local and global consistency (Zhou, Bousquet, Lal, Weston and Schölkopf 2004) for regression:
//!
//! ```text
//! f = α S f + (1 − α) f₀        S = D^−½ K D^−½ over labelled and other rows, without the diagonal
//! ```
//!
//! f₀ holds the labels of labelled rows and the predictions of the others, minus the mean of the labels: S shrinks rows without
//! neighbours towards 0. The eigenvalues of I − αS lie between 1 − α and 1 + α.
//!
//! Since S is normalised, it would connect two isolated rows as strongly as neighbours, however far they are from each other.
//! Therefore a row with a kernel mass below [`ALONE`] counts as having no neighbours.

use super::damped::Damped;
use super::krylov::{self, Right};
use super::{Problem, Setting, Solution};
use crate::error::Error;
use crate::influence::Influence;
use crate::points::Places;
use crate::scene::Own;
use crate::score::mean;
use crate::span::Span;

/// The kernel mass of a single neighbour at a distance of 4.3 σ. Sums are divided by its square root twice, so that their error
/// grows by at most a factor of 10⁴.
const ALONE: f64 = 1e-4;

/// The most passes. At α = 0.99 and a tolerance of 1e-6 the convergence bound of conjugate gradients guarantees about 140.
const PASSES: usize = 1000;

pub(super) fn solve(problem: &Problem, settings: &[Setting]) -> Result<Vec<Solution>, Error> {
    let Some(sigma) = settings.first().and_then(|setting| setting.sigma) else { return Ok(Vec::new()) };
    let least = settings.iter().map(rest).fold(1.0, f64::min);
    let options = problem.options.with_share(0.5 * least * ALONE);
    let all = Places::concatenated(&[problem.labelled, problem.targets]);
    let kernel = Influence::new(sigma, &all, &all, Own::Counts)?.kernel_for_passes(sigma, &options)?;
    let sums = kernel.sums(&[]);
    // D without the diagonal, which is 1.
    let masses = (0..all.len()).map(|row| sums.mass_at(row) - 1.0);
    let roots: Vec<f64> = masses.map(|mass| if mass < ALONE { f64::INFINITY } else { mass.sqrt() }).collect();

    let centre = mean(problem.labels.iter().copied()).unwrap_or(0.0);
    let scale = Span::of(&[problem.labels]).range().max(f64::MIN_POSITIVE);
    let right = settings.iter().map(|setting| {
        let start = problem.labels.iter().chain(problem.prediction(setting));
        let values = start.map(|value| rest(setting) * (value - centre) / scale).collect();
        Right { values, tolerance: 0.5 * rest(setting) * problem.options.accuracy() }
    });
    let right: Vec<Right> = right.collect();
    let damping = settings.iter().map(|setting| setting.knob("alpha")).collect();
    let system = Damped { kernel: &kernel, own: Own::LeftOut, roots: &roots, damping };
    let back = |solution: Vec<f64>| {
        solution[problem.labels.len()..].iter().map(|value| centre + scale * value).collect::<Vec<f64>>()
    };
    Ok(krylov::solve(&system, &right, PASSES).into_iter().map(|solution| solution.map(back)).collect())
}

/// 1 − α.
fn rest(setting: &Setting) -> f64 {
    1.0 - setting.knob("alpha")
}
