//! Kernel regression (Nadaraya and Watson 1964): the kernel average of the labels around each row, without predictions.

use super::{Problem, Setting, Solution};
use crate::error::Error;
use crate::influence::Influence;
use crate::scene::Own;
use crate::score::mean;
use crate::span::Span;

pub(super) fn solve(problem: &Problem, settings: &[Setting]) -> Result<Vec<Solution>, Error> {
    let Some(sigma) = settings.first().and_then(|setting| setting.sigma) else { return Ok(Vec::new()) };
    let span = Span::of(&[problem.labels]);
    let sums = Influence::new(sigma, problem.targets, problem.labelled, Own::Counts)?.sums(
        sigma,
        &[&span.to_units(problem.labels)],
        0.0,
        &problem.options,
    )?;
    // A row without any label in its group gets the mean of all labels.
    let centre = mean(problem.labels.iter().copied()).unwrap_or(0.0);
    let rows = sums.mass.iter().enumerate();
    let values: Vec<f64> =
        rows.map(|(row, &mass)| if mass > 0.0 { span.value_at(sums.shrunk(0, row, 0.0)) } else { centre }).collect();
    Ok(settings.iter().map(|_| Some(values.clone())).collect())
}
