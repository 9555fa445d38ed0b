//! Shrinkage: each prediction is moved towards the mean of all, `δ·mean(ŷ) + (1 − δ)·ŷ`. It does not use places.

use super::{Problem, Setting};
use crate::score::mean;
use crate::span::blend;

pub(super) fn solve(problem: &Problem, setting: &Setting) -> Vec<f64> {
    let predictions = problem.prediction(setting);
    let centre = mean(predictions.iter().copied()).unwrap_or(0.0);
    predictions.iter().map(|&prediction| blend(setting.knob("delta"), centre, prediction)).collect()
}
