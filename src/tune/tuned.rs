//! What tuning found, and what the user should know about it.

use std::fmt;

use super::noise::Gain;
use crate::correct::Correction;
use crate::score::Measure;
use crate::space::Sigma;

/// Parameters and the score that they reached.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Which column of predictions.
    pub prediction: usize,
    /// Bandwidth.
    pub sigma: Sigma,
    /// Mixing weight.
    pub c: f64,
    /// Weight of labels.
    pub label_weight: f64,
    /// The correct step before smoothing, if there is one.
    pub correction: Option<Correction>,
    /// What they reached.
    pub score: f64,
}

/// What tuning found.
#[derive(Clone, Debug)]
pub struct Tuned {
    /// The best parameters.
    pub best: Point,
    /// The best column of predictions as it is; c is 0.
    pub unsmoothed: Point,
    /// Everything that was tried.
    pub tried: Vec<Point>,
    /// How much better the best is than the unsmoothed predictions, and whether that could be chance.
    pub gain: Gain,
    /// What the user should know.
    pub warnings: Vec<Warning>,
    /// The tuned rows with the best parameters.
    pub values: Vec<f64>,
}

/// Something about the outcome that the user should know.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Warning {
    /// Nothing beats the predictions as they are.
    NothingHelps,
    /// The gain could be chance.
    WithinNoise(Gain),
    /// The best σ is the smallest that was tried.
    SmallestSigma(Sigma),
    /// The best σ is the largest that was tried.
    LargestSigma(Sigma),
    /// The width of the correct step is the smallest or largest that was tried.
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
                f.write_str("smoothing does not help here: c = 0 is chosen, which leaves predictions as they are")
            }
            Self::WithinNoise(Gain { gain, low, high, rows }) => write!(
                f,
                "the gain of {gain:.2e} on {rows} rows is within noise: 95 of 100 resamples of the rows lie between {low:.2e} and {high:.2e}"
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
                    "the sigma of the correct step, {sigma}, is at the edge of what was tried: one beyond it may be better"
                )
            }
            Self::LabelWeightAtEdge(weight) => {
                write!(
                    f,
                    "the best label weight, {weight}, is at the edge of what was tried: one beyond it may be better"
                )
            }
            Self::LargestC(c) => write!(f, "the best c, {c}, is the largest tried: a larger one may be better"),
        }
    }
}

impl Tuned {
    /// The best that was tried with one prediction, corrected first or not.
    #[must_use]
    pub fn best_of(&self, measure: Measure, prediction: usize, corrected: bool) -> Option<Point> {
        let wanted = |point: &&Point| point.prediction == prediction && point.correction.is_some() == corrected;
        best(measure, self.tried.iter().filter(wanted))
    }
}

/// The first of the best; scores that are not numbers never are.
pub(super) fn best<'a>(measure: Measure, points: impl IntoIterator<Item = &'a Point>) -> Option<Point> {
    let better = |best: &Point, next: &Point| best.score.is_nan() || measure.gain(best.score, next.score) > 0.0;
    points.into_iter().copied().reduce(|best, next| if better(&best, &next) { next } else { best })
}
