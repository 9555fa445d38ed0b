//! Kernel regression (Nadaraya and Watson): the average of the labels around each row, without any prediction.

use super::{Problem, Setting, Solution};
use crate::error::Error;
use crate::influence::Influence;
use crate::scene::Own;
use crate::score::mean;
use crate::span::Span;

pub(super) fn solve(problem: &Problem, settings: &[Setting]) -> Result<Vec<Solution>, Error> {
    let Some(sigma) = settings.first().and_then(|setting| setting.sigma) else { return Ok(Vec::new()) };
    let span = Span::of(&[problem.labels]);
    let units: Vec<f64> = problem.labels.iter().map(|&label| span.to_unit(label)).collect();
    let sums = Influence::new(sigma, problem.targets, problem.labelled, Own::Counts)?.sums(
        sigma,
        &[&units],
        0.0,
        &problem.options,
    )?;
    // Where no label can be seen at all, as in a group without any, the best guess is the mean of the others.
    let centre = mean(problem.labels.iter().copied()).unwrap_or(0.0);
    let value = |row: usize| if sums.mass[row] > 0.0 { span.value_at(sums.shrunk(0, row, 0.0)) } else { centre };
    let values: Vec<f64> = (0..problem.targets.len()).map(value).collect();
    Ok(settings.iter().map(|_| Some(values.clone())).collect())
}
