//! Options that several requests share: rows and columns, the kernel, the accuracy, pages of results, and how to run.

use std::path::PathBuf;
use std::str::FromStr;

use super::bandwidth::Bandwidth;
use super::dataset::Dataset;
use crate::engine::{EngineKind, EngineOptions, Truncation};
use crate::error::Error;
use crate::parameters::{Parameters, PlaceColumns};
use crate::space::Sigma;

/// The labelled rows, and the columns of all rows.
#[derive(Clone, Debug, Default)]
pub struct DataOptions {
    /// Rows whose truth is known; none to smooth predictions alone.
    pub train: Option<Dataset>,
    /// The column with the truth, in the labelled rows; scored too where the rows to predict have it.
    pub label: Option<String>,
    /// Columns with predictions, in the rows to predict. A name with commas is several names, unless there is such a column.
    pub prediction: Vec<String>,
    /// Columns of the labelled rows with out-of-fold predictions, one for each prediction, for the correct step.
    pub train_prediction: Vec<String>,
    /// Columns that hold places and groups; latitude and longitude are found by their names or metadata if none are named.
    pub places: PlaceColumns,
    /// What to do with rows that cannot take part.
    pub on_invalid: OnInvalid,
}

/// What to do with rows whose place, prediction or label is null, NaN or infinite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnInvalid {
    /// Stop and name the first.
    #[default]
    Error,
    /// Leave them out; they stay in the output with a null result.
    Skip,
}

impl FromStr for OnInvalid {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "error" => Ok(Self::Error),
            "skip" => Ok(Self::Skip),
            _ => Err(Error::Parameter {
                name: "`on-invalid`",
                value: format!("'{}'", crate::io::shortened(text, 80)),
                expected: "one of error, skip",
            }),
        }
    }
}

/// What to smooth with. What is given here overrides the tuned parameters.
#[derive(Clone, Debug, Default)]
pub struct KernelOptions {
    /// σ.
    pub sigma: Option<Bandwidth>,
    /// Weight of a known label against a prediction; 1 if neither this nor the parameters say.
    pub label_weight: Option<f64>,
    /// σ of the correct step.
    pub correct_sigma: Option<Sigma>,
    /// κ, the shrinkage of the correct step; 1 if neither this nor the parameters say.
    pub correct_shrink: Option<f64>,
    /// Whether to leave out the correct step of the parameters.
    pub no_correct: bool,
    /// Tuned parameters.
    pub params: Option<ParameterSource>,
    /// Where the kernel is cut: by a tolerance, or by hand.
    pub truncation: Truncation,
}

/// Where tuned parameters come from.
#[derive(Clone, Debug)]
pub enum ParameterSource {
    /// A file that `tune` wrote.
    File(PathBuf),
    /// The parameters themselves.
    Values(Box<Parameters>),
}

impl Default for Truncation {
    fn default() -> Self {
        Self::Tolerance(EngineOptions::DEFAULT_TOLERANCE)
    }
}

impl Truncation {
    /// What two options say, of which one may be given.
    ///
    /// # Errors
    /// If both are.
    pub fn of(tolerance: Option<f64>, cutoff: Option<f64>) -> Result<Self, Error> {
        match (tolerance, cutoff) {
            (Some(_), Some(_)) => Err(Error::Contradiction {
                message: "a tolerance and a cutoff are given".to_owned(),
                hint: "give `tolerance` or `cutoff`: a fixed cutoff alone determines the error".to_owned(),
            }),
            (_, Some(cutoff)) => Ok(Self::Cutoff(cutoff)),
            (tolerance, None) => Ok(Self::Tolerance(tolerance.unwrap_or(EngineOptions::DEFAULT_TOLERANCE))),
        }
    }

    /// The tolerance, unless there is a fixed cutoff.
    #[must_use]
    pub fn tolerance(self) -> Option<f64> {
        match self {
            Self::Tolerance(tolerance) => Some(tolerance),
            Self::Cutoff(_) => None,
        }
    }

    /// The cutoff in σ, if there is a fixed one.
    #[must_use]
    pub fn cutoff(self) -> Option<f64> {
        match self {
            Self::Tolerance(_) => None,
            Self::Cutoff(cutoff) => Some(cutoff),
        }
    }

    pub(crate) fn options(self, engine: EngineKind, memory: u64) -> Result<EngineOptions, Error> {
        let options = EngineOptions::default().engine(engine).memory_limit(memory);
        match self {
            Self::Cutoff(sigmas) => options.cutoff(sigmas),
            Self::Tolerance(tolerance) => options.tolerance(tolerance),
        }
    }
}

/// Pages of results, and whether outputs may be replaced.
#[derive(Clone, Debug, Default)]
pub struct ReportOptions {
    /// The folder that a page of results is written into.
    pub report: Option<PathBuf>,
    /// Whether outputs that exist are replaced.
    pub overwrite: bool,
}

/// How to run.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunOptions {
    /// Number of threads; `RAYON_NUM_THREADS` or one for each core if left out. The result is the same for any number.
    pub threads: Option<usize>,
    /// Bytes to stay within; 80 % of what is free if left out.
    pub memory_limit: Option<u64>,
}
