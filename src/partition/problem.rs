//! The problem: what is to be computed for the rows of a census, and how accurately.

use serde::{Deserialize, Serialize};

/// What is to be computed for the rows of a [`Census`](super::Census), and how accurately.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SmoothingProblem {
    /// Weight of a label, against 1 for a prediction.
    pub label_weight: f64,
    /// Largest error of a row, relative to the range of the sources.
    pub tolerance: f64,
    /// Distance in σ at which the kernel is cut off by hand, in place of what the tolerance asks for. There are no lattices then: their bounds are those of the
    /// whole kernel.
    pub cutoff: Option<f64>,
    /// Lowest and highest value of each column of predictions, over all sources. Labels are sources of every column.
    pub ranges: Vec<(f64, f64)>,
    /// Whether the effective number of sources behind each row is wanted too.
    pub n_effective: bool,
}

impl SmoothingProblem {
    /// One with the tolerance of [`Smoother::DEFAULT_TOLERANCE`](crate::Smoother::DEFAULT_TOLERANCE) and labels that weigh as much as predictions.
    #[must_use]
    pub fn new(ranges: &[(f64, f64)]) -> Self {
        let tolerance = crate::Smoother::DEFAULT_TOLERANCE;
        Self { label_weight: 1.0, tolerance, cutoff: None, ranges: ranges.to_vec(), n_effective: false }
    }
}
