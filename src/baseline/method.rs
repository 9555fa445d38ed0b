//! The methods and their names.

use std::fmt;
use std::str::FromStr;

use crate::error::Error;
use crate::text::shortened;

/// A method that predicts from labels, places and, for some methods, predictions or features.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// The predictions without smoothing.
    Unsmoothed,
    /// Predictions shrunk towards their mean.
    Shrinkage,
    /// The kernel average of the labels around each row.
    KernelRegression,
    /// Post-estimation smoothing.
    Pes,
    /// Harmonic energy minimisation with the predictions attached.
    Hem,
    /// Post-estimation smoothing of the predictions of [`Hem`](Self::Hem).
    HemPes,
    /// Local and global consistency.
    Lgc,
    /// Laplacian regularised least squares, linear in features.
    LapRls,
    /// Gaussian process regression, or kriging.
    Gpr,
}

impl Method {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Unsmoothed,
        Self::Shrinkage,
        Self::KernelRegression,
        Self::Pes,
        Self::Hem,
        Self::HemPes,
        Self::Lgc,
        Self::LapRls,
        Self::Gpr,
    ];

    /// Its name on the command line and in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Unsmoothed => "unsmoothed",
            Self::Shrinkage => "shrinkage",
            Self::KernelRegression => "kernel",
            Self::Pes => "p-es",
            Self::Hem => "hem",
            Self::HemPes => "hem+p-es",
            Self::Lgc => "lgc",
            Self::LapRls => "laprls",
            Self::Gpr => "gpr",
        }
    }

    /// Whether it uses the predictions of a model.
    #[must_use]
    pub fn uses_predictions(self) -> bool {
        !matches!(self, Self::KernelRegression | Self::LapRls | Self::Gpr)
    }

    /// Whether it uses features.
    #[must_use]
    pub fn uses_features(self) -> bool {
        self == Self::LapRls
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Method {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|method| method.name() == text).ok_or_else(|| Error::Parameter {
            name: "method",
            value: format!("'{}'", shortened(text, 80)),
            expected: "one of unsmoothed, shrinkage, kernel, p-es, hem, hem+p-es, lgc, laprls, gpr",
        })
    }
}
