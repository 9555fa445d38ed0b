//! The jobs of the program: a typed request in, a typed result out. The command line and the Python package are faces of them.
//!
//! Each job is a request, a function and a result: [`Smooth`], [`smooth`], [`Smoothing`]; and so for [`tune`], [`compare`], [`diagnose`],
//! `methods` and [`weights`]. Rows come from Parquet files or from tables in memory ([`Dataset`]). A result has a summary, which
//! serializes to what the command prints with `--json` and displays as what it prints without. While a job runs, its
//! [`Listener`] receives phases and warnings, and says how options are spelled in them ([`Face`](crate::Face)).

mod bandwidth;
mod caller;
mod compare;
mod control_group;
mod data;
mod dataset;
mod diagnose;
mod inputs;
mod lists;
mod machine;
mod memory;
#[cfg(feature = "baselines")]
mod methods;
mod options;
mod pages;
mod reader;
mod recipe;
#[cfg(feature = "experiments")]
mod reproduce;
#[cfg(feature = "experiments")]
pub(crate) mod sample;
mod smooth;
mod table;
#[cfg(test)]
mod tests;
mod tune;
mod weights;

pub use self::bandwidth::{Bandwidth, check_kinds};
pub use self::caller::Listener;
pub use self::compare::{Compare, Compared, Comparison, EngineLine, compare};
pub use self::dataset::Dataset;
pub use self::diagnose::{Diagnose, Diagnosed, DiagnosisSummary, diagnose};
pub use self::lists::{items, numbers, parsed};
pub use self::machine::{Bytes, bytes_of, in_threads};
#[cfg(feature = "baselines")]
pub use self::methods::{ContestRows, MethodGrids, Methods, Standing, Standings, methods};
pub use self::options::{DataOptions, KernelOptions, OnInvalid, ParameterSource, ReportOptions, RunOptions};
pub use self::pages::{EngineErrors, ShownRows, Surface};
pub use self::recipe::CorrectStep;
#[cfg(feature = "experiments")]
pub use self::reproduce::{
    ExtrapolationStudy, HomeColumns, HousingStudy, Reproduce, Reproduced, SizesStudy, Study, Videos, reproduce,
};
pub use self::smooth::{
    PhaseSeconds, ProvenError, Scores, Smooth, SmoothedRows, Smoothing, SmoothingSummary, StreamedRun, smooth,
};
pub use self::tune::{
    ColumnBest, ScoredOn, SigmaSearch, Tried, Tune, Tuning, TuningRows, TuningSummary, Unsmoothed, tune,
};
pub use self::weights::{WeightMatrix, Weights, weights};
