//! Whether rows can be scored at all.

use crate::error::Error;
use crate::score::Measure;

/// Values must not be too extreme to square, and the measure must have a meaning for the truth.
///
/// # Errors
/// If not, saying which.
pub(crate) fn check_scorable(measure: Measure, truth: &[f64], predictions: &[&[f64]]) -> Result<(), Error> {
    check_sizes(truth, predictions)?;
    if measure.of(truth.iter().map(|&y| (y, y))).is_some() {
        return Ok(());
    }
    let (message, hint) = match measure {
        Measure::Mape => ("a label is 0, so that errors relative to labels have no meaning", "use `metric mae`"),
        _ => ("all labels to score on are equal, so that R² has no meaning", "use `metric rmse`, or other rows"),
    };
    Err(Error::Contradiction { message: message.to_owned(), hint: hint.to_owned() })
}

/// Squares of values near the ends of what 64-bit numbers hold would overflow or vanish.
fn check_sizes(truth: &[f64], predictions: &[&[f64]]) -> Result<(), Error> {
    let largest = |values: &[f64]| values.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
    let too_large = |size: &f64| *size > 1e140;
    let truth = Some(largest(truth)).filter(|size| too_large(size) || (*size > 0.0 && *size < 1e-140));
    match predictions.iter().map(|values| largest(values)).find(too_large).or(truth) {
        None => Ok(()),
        Some(size) => Err(Error::Contradiction {
            message: format!("values of up to {size:e} are too extreme to score"),
            hint: "give labels and predictions in another unit".to_owned(),
        }),
    }
}
