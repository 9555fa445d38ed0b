//! Options that several subcommands share, and what they ask for.

use std::fmt;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use serde::Serialize;

use super::terminal::{self, Terminal};
use crate::engine::Truncation;
use crate::error::Error;
use crate::job::{Bytes, DataOptions, KernelOptions, OnInvalid, ParameterSource, ReportOptions, RunOptions};
use crate::parameters::PlaceColumns;

/// The labelled rows, and the columns of all rows.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Data")]
pub(super) struct DataArgs {
    /// Labelled rows, whose truth is known: a Parquet file, a directory or a quoted glob of them; leave out to smooth predictions
    /// alone
    #[arg(long, value_name = "FILES")]
    train: Option<PathBuf>,
    /// Column with the truth, in the training rows; scored too where the rows to predict have it
    #[arg(long, value_name = "COLUMN")]
    label: Option<String>,
    /// Columns with predictions, in the rows to predict; several separated by commas
    #[arg(long, value_name = "COLUMNS")]
    prediction: Vec<String>,
    /// Columns of the training rows with OUT-OF-FOLD predictions, one for each prediction and in the same order, for the
    /// correct step. A model predicts the rows that it was trained on too well: with such predictions the step would learn
    /// from leaked errors and make results worse
    #[arg(long, value_name = "COLUMNS")]
    train_prediction: Vec<String>,
    /// Column of latitudes in degrees; found by itself if it is called latitude or lat
    #[arg(long, value_name = "COLUMN", requires = "lon", conflicts_with_all = ["geometry", "index"])]
    lat: Option<String>,
    /// Column of longitudes in degrees; found by itself if it is called longitude, lon, lng or long
    #[arg(long, value_name = "COLUMN", requires = "lat", conflicts_with_all = ["geometry", "index"])]
    lon: Option<String>,
    /// Column of points (WKB, or structs of x and y); found by itself in GeoParquet files
    #[arg(long, value_name = "COLUMN", conflicts_with = "index")]
    geometry: Option<String>,
    /// One to three numeric columns to measure distance in, such as easting,northing; sigma is then a plain number
    #[arg(long, value_name = "COLUMNS")]
    index: Vec<String>,
    /// Column of groups, of any type but lists and structs: only rows of the same group are averaged together
    #[arg(long, value_name = "COLUMN")]
    group: Option<String>,
    /// What to do with rows whose place, prediction or label is null, NaN or infinite
    #[arg(long, value_parser = on_invalid(), default_value = "error")]
    on_invalid: OnInvalid,
}

/// Reads what to do with rows that cannot take part.
pub(super) fn on_invalid() -> impl TypedValueParser<Value = OnInvalid> {
    let values = [
        PossibleValue::new("error").help("Stop and name the first"),
        PossibleValue::new("skip").help("Leave them out; they stay in the output with a null result"),
    ];
    PossibleValuesParser::new(values).try_map(|text| text.parse())
}

impl DataArgs {
    pub(super) fn options(&self) -> DataOptions {
        let places = PlaceColumns {
            lat: self.lat.clone(),
            lon: self.lon.clone(),
            geometry: self.geometry.clone(),
            index: self.index.clone(),
            group: self.group.clone(),
        };
        DataOptions {
            train: self.train.clone().map(Into::into),
            label: self.label.clone(),
            prediction: self.prediction.clone(),
            train_prediction: self.train_prediction.clone(),
            places,
            on_invalid: self.on_invalid,
        }
    }
}

/// How to smooth.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Smoothing")]
pub(super) struct KernelArgs {
    /// Bandwidth with its unit: 500m, 2km, 1mi on the sphere; 0.01deg on plain degrees; a bare number with --index
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true)]
    sigma: Option<String>,
    /// Weight of a known label against a prediction, 1 if left out; 0 ignores labels
    #[arg(long, value_name = "WEIGHT", allow_hyphen_values = true)]
    label_weight: Option<f64>,
    /// The correct step: first correct predictions by the average error of nearby training rows, with a kernel of this
    /// bandwidth; needs --train-prediction
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true)]
    correct_sigma: Option<String>,
    /// Shrinkage of the correct step: adds this much kernel weight with an error of zero to each average; 1 if left out
    #[arg(long, value_name = "MASS", allow_hyphen_values = true)]
    correct_shrink: Option<f64>,
    /// Leave out the correct step of --params
    #[arg(long, conflicts_with_all = ["correct_sigma", "correct_shrink"])]
    no_correct: bool,
    /// Parameters written by tune; options given here override them
    #[arg(long, value_name = "FILE")]
    params: Option<PathBuf>,
    #[command(flatten)]
    accuracy: AccuracyArgs,
}

/// How accurate.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Smoothing")]
pub(super) struct AccuracyArgs {
    /// Largest numerical error of any row, relative to the range of the values
    #[arg(long, value_name = "ERROR", default_value = "1e-6", allow_hyphen_values = true, conflicts_with = "cutoff")]
    tolerance: f64,
    /// Truncate the kernel at this many sigma instead of by tolerance; the certificate reports the resulting error
    #[arg(long, value_name = "SIGMAS", allow_hyphen_values = true)]
    cutoff: Option<f64>,
}

impl KernelArgs {
    pub(super) fn options(&self) -> Result<KernelOptions, Error> {
        Ok(KernelOptions {
            sigma: self.sigma.as_deref().map(str::parse).transpose()?,
            label_weight: self.label_weight,
            correct_sigma: self.correct_sigma.as_deref().map(str::parse).transpose()?,
            correct_shrink: self.correct_shrink,
            no_correct: self.no_correct,
            params: self.params.clone().map(ParameterSource::File),
            truncation: self.accuracy.truncation(),
        })
    }
}

impl AccuracyArgs {
    pub(super) fn truncation(&self) -> Truncation {
        self.cutoff.map_or(Truncation::Tolerance(self.tolerance), Truncation::Cutoff)
    }
}

/// Pages, and whether outputs may be replaced.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Output")]
pub(super) struct ReportArgs {
    /// Write an HTML page of results with plots and maps into this folder, and each plot as SVG
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,
    /// Replace outputs that exist
    #[arg(long)]
    overwrite: bool,
}

impl ReportArgs {
    pub(super) fn options(&self) -> ReportOptions {
        ReportOptions { report: self.report.clone(), overwrite: self.overwrite }
    }
}

/// How to run.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Running")]
pub(super) struct RunArgs {
    /// Number of threads; RAYON_NUM_THREADS or all cores if left out. The result is the same for any number
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    threads: Option<usize>,
    /// Memory limit, such as 8GiB; 80 % of the free memory if left out. It covers all data, but not the program itself, about
    /// 30 MB. Work that would need more is refused before it starts
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true)]
    memory_limit: Option<Bytes>,
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
    /// Show no progress and no table
    #[arg(long, short)]
    quiet: bool,
}

impl RunArgs {
    pub(super) fn options(&self) -> RunOptions {
        RunOptions { threads: self.threads, memory_limit: self.memory_limit.map(|Bytes(limit)| limit) }
    }

    /// The person at the terminal.
    pub(super) fn terminal(&self) -> Terminal {
        Terminal { quiet: self.quiet }
    }

    /// Prints a summary: as JSON, as text, or not at all.
    pub(super) fn print(&self, summary: &(impl Serialize + fmt::Display)) -> Result<(), Error> {
        self.print_either(|| serde_json::to_string(summary).unwrap_or_default(), || summary.to_string())
    }

    /// Prints one of two texts, or neither.
    pub(super) fn print_either(
        &self,
        json: impl FnOnce() -> String,
        text: impl FnOnce() -> String,
    ) -> Result<(), Error> {
        match self {
            Self { json: true, .. } => terminal::print_json(&json()),
            Self { quiet: true, .. } => Ok(()),
            _ => terminal::print(&text()),
        }
    }
}
