//! The result of tuning: points, scores and warnings.

use std::fmt;

use super::noise::Gain;
use crate::correct::Correction;
use crate::score::Measure;
use crate::space::Sigma;

/// Parameters and their score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The column of predictions.
    pub prediction: usize,
    /// Bandwidth.
    pub sigma: Sigma,
    /// Mixing weight.
    pub c: f64,
    /// Weight of a label.
    pub label_weight: f64,
    /// The correct step before smoothing, if it is used.
    pub correction: Option<Correction>,
    /// The score.
    pub score: f64,
}

impl Point {
    /// Whether it is about this column of predictions, with or without the correct step.
    pub(crate) fn is_of(&self, prediction: usize, corrected: bool) -> bool {
        self.prediction == prediction && self.correction.is_some() == corrected
    }
}

/// The result of tuning.
#[derive(Clone, Debug)]
pub struct Tuned {
    /// The best parameters.
    pub best: Point,
    /// The best column of predictions without smoothing; c is 0.
    pub unsmoothed: Point,
    /// All points that were tried.
    pub tried: Vec<Point>,
    /// How much better the best point is than the unsmoothed predictions, with its confidence interval.
    pub gain: Gain,
    /// Remarks for the user.
    pub warnings: Vec<Warning>,
    /// The rows of the trials, smoothed with the best parameters.
    pub values: Vec<f64>,
}

/// A remark about the result of tuning.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Warning {
    /// No point is better than the unsmoothed predictions.
    NothingHelps,
    /// The gain could be due to chance.
    WithinNoise(Gain),
    /// The best σ is the smallest that was tried.
    SmallestSigma(Sigma),
    /// The best σ is the largest that was tried.
    LargestSigma(Sigma),
    /// The σ of the correct step is the smallest or largest that was tried.
    CorrectionAtEdge(Sigma),
    /// The best label weight is the smallest or largest that was tried.
    LabelWeightAtEdge(f64),
    /// The best c is the largest that was tried, below 1.
    LargestC(f64),
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NothingHelps => {
                f.write_str("smoothing does not help here: c = 0 is chosen, which leaves predictions unchanged")
            }
            Self::WithinNoise(Gain { gain, low, high, rows }) => write!(
                f,
                "the gain of {gain:.2e} on {rows} rows is within noise: its 95 % interval is {low:.2e} to {high:.2e}"
            ),
            Self::SmallestSigma(sigma) => {
                write!(f, "the best sigma, {sigma}, is the smallest tried: a smaller one may be better")
            }
            Self::LargestSigma(sigma) => {
                write!(f, "the best sigma, {sigma}, is the largest tried: a larger one may be better")
            }
            Self::CorrectionAtEdge(sigma) => {
                write!(
                    f,
                    "the sigma of the correct step, {sigma}, is at the edge of the tried range: a value beyond it may be better"
                )
            }
            Self::LabelWeightAtEdge(weight) => {
                write!(
                    f,
                    "the best label weight, {weight}, is at the edge of the tried values: a value beyond it may be better"
                )
            }
            Self::LargestC(c) => write!(f, "the best c, {c}, is the largest tried: a larger one may be better"),
        }
    }
}

impl Tuned {
    /// The best point of one column of predictions, with or without the correct step.
    #[must_use]
    pub fn best_of(&self, measure: Measure, prediction: usize, corrected: bool) -> Option<Point> {
        best(measure, self.tried.iter().filter(|point| point.is_of(prediction, corrected)))
    }
}

/// The best point, the first of equals. A point with a NaN score is never better than another.
pub(super) fn best<'a>(measure: Measure, points: impl IntoIterator<Item = &'a Point>) -> Option<Point> {
    points.into_iter().copied().reduce(|best, next| {
        let is_better = best.score.is_nan() || measure.gain(best.score, next.score) > 0.0;
        if is_better { next } else { best }
    })
}
