//! Post-estimation smoothing, with label weight 1 as in the paper: all c share the averages.

use super::{Problem, Setting, Solution};
use crate::error::Error;
use crate::smoother::Smoother;
use crate::span::blend;

pub(super) fn solve(problem: &Problem, settings: &[Setting]) -> Result<Vec<Solution>, Error> {
    let Some(sigma) = settings.first().and_then(|setting| setting.sigma) else { return Ok(Vec::new()) };
    let plan =
        Smoother::new(sigma, 1.0)?.engine_options(problem.options).plan(problem.targets, Some(problem.labelled))?;
    let averages = plan.apply(problem.predictions, Some(problem.labels))?;
    let mixed = |setting: &Setting| {
        let (c, averages) = (setting.knob("c"), &averages[setting.prediction.unwrap_or(0)].values);
        let row = |(&prediction, average): (&f64, &Option<f64>)| blend(c, average.unwrap_or(prediction), prediction);
        Some(problem.prediction(setting).iter().zip(averages).map(row).collect())
    };
    Ok(settings.iter().map(mixed).collect())
}
