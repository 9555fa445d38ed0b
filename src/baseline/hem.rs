//! Harmonic energy minimisation (Zhu, Ghahramani and Lafferty 2003) with the predictions h attached at rate η:
//!
//! ```text
//! f = (1 − η) (P_uu f + P_ul y) + η h        P the row-normalised kernel over labelled (l) and other rows (u)
//! ```
//!
//! the fixed point of a step of P-ES with c = 1 − η. With D the kernel mass of each row and g = D^½ f it is symmetric,
//! `(I − (1 − η) D^−½ K_uu D^−½) g = D^½ ((1 − η) P_ul y + η h)`, with eigenvalues between η and 1: conjugate gradients
//! need about 1/√η passes of sums. An error of the sums comes back at most 1/η times as large, and so does the residual;
//! both get their share of the tolerance.

use super::damped::Damped;
use super::krylov::{self, Right};
use super::{Problem, Setting, Solution};
use crate::error::Error;
use crate::influence::Influence;
use crate::scene::Own;
use crate::span::Span;

/// Passes that are allowed. At η = 0.01 and a tolerance of 1e-6 theory promises that 100 do.
const PASSES: usize = 1000;

pub(super) fn solve(problem: &Problem, settings: &[Setting]) -> Result<Vec<Solution>, Error> {
    let Some(sigma) = settings.first().and_then(|setting| setting.sigma) else { return Ok(Vec::new()) };
    let least = settings.iter().map(|setting| setting.knob("eta")).fold(1.0, f64::min);
    let options = problem.options.with_share(0.5 * least);
    let all: Vec<&[f64]> = problem.predictions.iter().copied().chain([problem.labels]).collect();
    let span = Span::of(&all);
    let units = |values: &[f64]| values.iter().map(|&value| span.to_unit(value)).collect::<Vec<f64>>();

    // A row's own weight stands beside that of the labels.
    let labelled = Influence::new(sigma, problem.targets, problem.labelled, Own::Counts)?.sums(
        sigma,
        &[&units(problem.labels)],
        1.0,
        &options,
    )?;
    let kernel =
        Influence::new(sigma, problem.targets, problem.targets, Own::Counts)?.kernel_for_passes(sigma, &options)?;
    let among = kernel.sums(&[]);
    let rows = 0..problem.targets.len();
    let roots: Vec<f64> = rows.clone().map(|row| (among.mass_at(row) + labelled.mass_at(row)).sqrt()).collect();

    let right = |setting: &Setting| {
        let (eta, attached) = (setting.knob("eta"), units(problem.prediction(setting)));
        let value = |row| (1.0 - eta) * labelled.value_at(0, row) / roots[row] + eta * attached[row] * roots[row];
        Right { values: rows.clone().map(value).collect(), tolerance: 0.5 * eta * problem.options.accuracy() }
    };
    let right: Vec<Right> = settings.iter().map(right).collect();
    let damping = settings.iter().map(|setting| 1.0 - setting.knob("eta")).collect();
    let system = Damped { kernel: &kernel, own: Own::Counts, roots: &roots, damping };
    let back = |solution: Vec<f64>| solution.iter().zip(&roots).map(|(g, root)| span.stretched(g / root)).collect();
    Ok(krylov::solve(&system, &right, PASSES).into_iter().map(|solution| solution.map(back)).collect())
}
