//! Checks that rows can be scored.

use crate::error::Error;
use crate::score::Measure;

/// Checks that values can be squared, and that the measure is defined for the truth.
///
/// # Errors
/// If values are too large or too small to square, or the measure is not defined.
pub(crate) fn check_scorable(measure: Measure, truth: &[f64], predictions: &[&[f64]]) -> Result<(), Error> {
    check_sizes(truth, predictions)?;
    if measure.of(truth.iter().map(|&y| (y, y))).is_some() {
        return Ok(());
    }
    let (message, hint) = match measure {
        Measure::Mape => ("a label is 0, so that MAPE is not defined", "use `metric mae`"),
        _ => ("all labels to score on are equal, so that R² is not defined", "use `metric rmse`, or other rows"),
    };
    Err(Error::Contradiction { message: message.to_owned(), hint: hint.to_owned() })
}

/// The largest value: the sum of 10²⁸ squares of it does not overflow. Squares of truth below its inverse would underflow.
const LARGEST: f64 = 1e140;

fn check_sizes(truth: &[f64], predictions: &[&[f64]]) -> Result<(), Error> {
    let truth = Some(largest(truth)).filter(|size| *size > LARGEST || (*size > 0.0 && *size < 1e-140));
    match predictions.iter().map(|values| largest(values)).find(|size| *size > LARGEST).or(truth) {
        None => Ok(()),
        Some(size) => Err(Error::Contradiction {
            message: format!("values of up to {size:e} are too extreme to score"),
            hint: "give labels and predictions in another unit".to_owned(),
        }),
    }
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |most: f64, value| most.max(value.abs()))
}
