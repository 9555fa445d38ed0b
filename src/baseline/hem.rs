//! Harmonic energy minimisation (Zhu, Ghahramani and Lafferty 2003) with the predictions h attached with weight η:
//!
//! ```text
//! f = (1 − η) (P_uu f + P_ul y) + η h        P the row-normalised kernel over labelled (l) and other rows (u)
//! ```
//!
//! This is the fixed point of repeated P-ES with c = 1 − η. With D the kernel mass of each row and g = D^½ f, the equations
//! `(I − (1 − η) D^−½ K_uu D^−½) g = D^½ ((1 − η) P_ul y + η h)` are symmetric, with eigenvalues of at least η, so that
//! conjugate gradients need about 1/√η passes of sums. The solution amplifies errors of the sums and the residual by at most
//! 1/η; each gets half of the tolerance.

use super::damped::Damped;
use super::krylov::{self, Right};
use super::{Problem, Setting, Solution};
use crate::error::Error;
use crate::influence::Influence;
use crate::scene::Own;
use crate::span::Span;

/// The most passes. At η = 0.01 and a tolerance of 1e-6 the convergence bound of conjugate gradients guarantees about 100.
const PASSES: usize = 1000;

pub(super) fn solve(problem: &Problem, settings: &[Setting]) -> Result<Vec<Solution>, Error> {
    let Some(sigma) = settings.first().and_then(|setting| setting.sigma) else { return Ok(Vec::new()) };
    let least = settings.iter().map(|setting| setting.knob("eta")).fold(1.0, f64::min);
    let options = problem.options.with_share(0.5 * least);
    let all: Vec<&[f64]> = problem.predictions.iter().copied().chain([problem.labels]).collect();
    let span = Span::of(&all);

    // D includes a row's own weight, 1, beside that of the labels.
    let labelled = Influence::new(sigma, problem.targets, problem.labelled, Own::Counts)?.sums(
        sigma,
        &[&span.to_units(problem.labels)],
        1.0,
        &options,
    )?;
    let kernel =
        Influence::new(sigma, problem.targets, problem.targets, Own::Counts)?.kernel_for_passes(sigma, &options)?;
    let among = kernel.sums(&[]);
    let rows = 0..problem.targets.len();
    let roots: Vec<f64> = rows.clone().map(|row| (among.mass_at(row) + labelled.mass_at(row)).sqrt()).collect();

    let right = settings.iter().map(|setting| {
        let (eta, attached) = (setting.knob("eta"), span.to_units(problem.prediction(setting)));
        let values = rows
            .clone()
            .map(|row| (1.0 - eta) * labelled.value_at(0, row) / roots[row] + eta * attached[row] * roots[row]);
        Right { values: values.collect(), tolerance: 0.5 * eta * problem.options.accuracy() }
    });
    let right: Vec<Right> = right.collect();
    let damping = settings.iter().map(|setting| 1.0 - setting.knob("eta")).collect();
    let system = Damped { kernel: &kernel, own: Own::Counts, roots: &roots, damping };
    let solutions = krylov::solve(&system, &right, PASSES).into_iter();
    Ok(solutions.map(|solution| solution.map(|solution| unscaled(&solution, &roots, &span))).collect())
}

/// A solution in units of values: the system is about f √D.
fn unscaled(solution: &[f64], roots: &[f64], span: &Span) -> Vec<f64> {
    solution.iter().zip(roots).map(|(g, root)| span.stretched(g / root)).collect()
}
