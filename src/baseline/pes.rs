//! Post-estimation smoothing with label weight 1, as in the paper. All c share the averages.

use super::{Problem, Setting, Solution};
use crate::error::Error;
use crate::smoother::Smoother;
use crate::span::blend;

pub(super) fn solve(problem: &Problem, settings: &[Setting]) -> Result<Vec<Solution>, Error> {
    let Some(sigma) = settings.first().and_then(|setting| setting.sigma) else { return Ok(Vec::new()) };
    let plan =
        Smoother::new(sigma, 1.0)?.engine_options(problem.options).plan(problem.targets, Some(problem.labelled))?;
    let averages = plan.apply(problem.predictions, Some(problem.labels))?;
    let solutions = settings.iter().map(|setting| {
        let (c, averages) = (setting.knob("c"), &averages[setting.prediction.unwrap_or(0)].values);
        let rows = problem.prediction(setting).iter().zip(averages);
        Some(rows.map(|(&prediction, average)| blend(c, average.unwrap_or(prediction), prediction)).collect())
    });
    Ok(solutions.collect())
}
