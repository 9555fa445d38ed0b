//! Estimators of a slope from noisy pairs.

use serde::Serialize;

/// An estimator of the slope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Estimator {
    /// Total least squares with x and y in units of their noise: consistent for any noise.
    TotalLeastSquares,
    /// Total least squares without scaling: consistent only if both noises are equal.
    PlainTotalLeastSquares,
    /// Ordinary least squares: biased towards 0 by the noise of x.
    LeastSquares,
}

/// Mean products of x and y.
#[derive(Clone, Copy, Debug)]
pub(super) struct SampleMoments {
    pub(super) xx: f64,
    pub(super) xy: f64,
    pub(super) yy: f64,
}

impl Estimator {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::TotalLeastSquares, Self::PlainTotalLeastSquares, Self::LeastSquares];

    /// Its name in reports.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::TotalLeastSquares => "TLS",
            Self::PlainTotalLeastSquares => "TLS, plain",
            Self::LeastSquares => "OLS",
        }
    }

    /// The slope for these moments; `ratio` is σ_y² / σ_x².
    pub(super) fn slope(self, SampleMoments { xx, xy, yy }: SampleMoments, ratio: f64) -> f64 {
        let ratio = if self == Self::PlainTotalLeastSquares { 1.0 } else { ratio };
        let lean = yy - ratio * xx;
        match self {
            Self::LeastSquares => xy / xx,
            _ => (lean + (lean * lean + 4.0 * ratio * xy * xy).sqrt()) / (2.0 * xy),
        }
    }
}
