//! Ways to learn a slope from noisy pairs.

use serde::Serialize;

/// How the slope is learned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Estimator {
    /// Total least squares in units of the noises, which makes it consistent whatever they are.
    TotalLeastSquares,
    /// Total least squares as x and y stand: consistent only if both noises are equal.
    PlainTotalLeastSquares,
    /// Ordinary least squares, which noise of x makes too shallow.
    LeastSquares,
}

/// Mean products of x and y.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moments {
    pub(super) xx: f64,
    pub(super) xy: f64,
    pub(super) yy: f64,
}

impl Estimator {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::TotalLeastSquares, Self::PlainTotalLeastSquares, Self::LeastSquares];

    /// Its name for people.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::TotalLeastSquares => "TLS",
            Self::PlainTotalLeastSquares => "TLS, plain",
            Self::LeastSquares => "OLS",
        }
    }

    /// The slope that it learns from moments; `ratio` is σ_y² / σ_x².
    pub(super) fn slope(self, Moments { xx, xy, yy }: Moments, ratio: f64) -> f64 {
        let ratio = if self == Self::PlainTotalLeastSquares { 1.0 } else { ratio };
        let lean = yy - ratio * xx;
        match self {
            Self::LeastSquares => xy / xx,
            _ => (lean + (lean * lean + 4.0 * ratio * xy * xy).sqrt()) / (2.0 * xy),
        }
    }
}
