//! Options that several subcommands share, and the work of turning them into a smoother and its data.

use std::path::PathBuf;

use clap::ValueEnum;

use super::machine::{self, Bytes};
use super::table::{Table, Wanted};
use super::terminal;
use crate::engine::EngineKind;
use crate::error::Error;
use crate::io::{CoordinateRequest, Groups, Input};
use crate::smoother::Smoother;
use crate::space::Sigma;

/// The files and their columns.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Data")]
pub(super) struct DataArgs {
    /// Rows to predict: a Parquet file, a directory or a quoted glob of them
    #[arg(long, value_name = "FILES")]
    pub(super) test: PathBuf,
    /// Rows whose truth is known; leave out to smooth predictions alone
    #[arg(long, value_name = "FILES", requires = "label")]
    pub(super) train: Option<PathBuf>,
    /// Column with the truth, in the training rows; scored too where the test rows have it
    #[arg(long, value_name = "COLUMN")]
    pub(super) label: Option<String>,
    /// Columns with predictions, in the test rows; several separated by commas
    #[arg(long, value_name = "COLUMNS", required = true)]
    pub(super) prediction: Vec<String>,
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
    /// Rows with different values in this column never touch each other
    #[arg(long, value_name = "COLUMN")]
    group: Option<String>,
    /// What to do with rows whose place, prediction or label is null, NaN or infinite
    #[arg(long, value_enum, default_value_t = OnInvalid::Error)]
    on_invalid: OnInvalid,
}

/// What to do with rows that cannot take part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum OnInvalid {
    /// Stop and name the first
    Error,
    /// Leave them out; they stay in the output with a null result
    Skip,
}

/// How to smooth.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Smoothing")]
pub(super) struct KernelArgs {
    /// Bandwidth with its unit: 500m, 2km, 1mi on the sphere; 0.01deg on plain degrees; a bare number with --index
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true)]
    pub(super) sigma: String,
    /// Weight of a known label against a prediction; 0 ignores labels
    #[arg(long, value_name = "WEIGHT", default_value_t = 1.0, requires = "train", allow_hyphen_values = true)]
    pub(super) label_weight: f64,
    /// Largest error of any row, relative to the range of the values
    #[arg(long, value_name = "ERROR", default_value = "1e-6", allow_hyphen_values = true, conflicts_with = "cutoff")]
    pub(super) tolerance: f64,
    /// Cut the kernel at so many sigma instead; the certificate then says what that cost
    #[arg(long, value_name = "SIGMAS", allow_hyphen_values = true)]
    pub(super) cutoff: Option<f64>,
}

/// How to run.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Running")]
pub(super) struct RunArgs {
    /// Number of threads; all cores if left out. The result is the same for any number
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    threads: Option<usize>,
    /// Memory to stay within, such as 8GiB; 80 % of what is free if left out
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true)]
    memory_limit: Option<Bytes>,
    /// Print one JSON object instead of a table
    #[arg(long)]
    pub(super) json: bool,
    /// Show no progress and no table
    #[arg(long, short)]
    pub(super) quiet: bool,
}

/// Bytes that smoothing takes for each row, and for each row and prediction, apart from a matrix. Measured: 203 bytes a row with
/// one prediction and 284 with four (2M + 2M rows in metres, 2026-11-16); half as much again, since a limit is a promise.
const BYTES_PER_ROW: u64 = 260;
const BYTES_PER_VALUE: u64 = 60;

impl RunArgs {
    pub(super) fn start(&self) -> Result<(), Error> {
        machine::start_threads(self.threads)
    }

    /// What is left of the memory limit for a matrix once the rows have theirs.
    pub(super) fn memory_for_matrix(&self, rows: usize, predictions: usize) -> Result<u64, Error> {
        let limit = machine::memory_limit(self.memory_limit);
        let need = rows as u64 * (BYTES_PER_ROW + predictions as u64 * BYTES_PER_VALUE);
        if need > limit {
            return Err(Error::Memory { what: format!("smoothing {rows} rows"), need, limit });
        }
        Ok(limit - need)
    }
}

impl KernelArgs {
    /// The smoother that was asked for.
    pub(super) fn smoother(&self, c: f64, engine: EngineKind, memory: u64) -> Result<Smoother, Error> {
        let sigma: Sigma = self.sigma.parse()?;
        let smoother = Smoother::new(sigma, c)?.label_weight(self.label_weight)?.engine(engine).memory_limit(memory);
        match self.cutoff {
            Some(sigmas) => smoother.cutoff(sigmas),
            None => smoother.tolerance(self.tolerance),
        }
    }

    /// The tolerance, unless the cut is made by hand.
    pub(super) fn tolerance(&self) -> Option<f64> {
        self.cutoff.is_none().then_some(self.tolerance)
    }
}

/// The inputs, opened but not read.
pub(super) struct Inputs {
    /// Names of the prediction columns.
    pub(super) predictions: Vec<String>,
    coordinates: CoordinateRequest,
    pub(super) test: Input,
    pub(super) train: Option<Input>,
}

impl Inputs {
    pub(super) fn all(&self) -> Vec<&Input> {
        std::iter::once(&self.test).chain(&self.train).collect()
    }

    pub(super) fn rows(&self) -> usize {
        self.all().iter().map(|input| input.rows()).sum()
    }
}

/// Everything read.
pub(super) struct Data {
    pub(super) test: Table,
    pub(super) train: Option<Table>,
    /// The label of each test row that takes part, NaN where unknown, if the test rows have labels at all.
    pub(super) truth: Option<Vec<f64>>,
}

impl Data {
    pub(super) fn predictions(&self) -> Vec<&[f64]> {
        self.test.columns.iter().map(Vec::as_slice).collect()
    }

    pub(super) fn labels(&self) -> Option<&[f64]> {
        self.train.as_ref().map(|train| train.columns[0].as_slice())
    }
}

impl DataArgs {
    pub(super) fn open(&self) -> Result<Inputs, Error> {
        let test = Input::open(&self.test)?;
        let train = self.train.as_deref().map(Input::open).transpose()?;
        if let (Some(label), None) = (&self.label, &train) {
            test.column(label)?;
        }
        let predictions = listed("--prediction", &self.prediction, &test)?;
        let coordinates = match (&self.lat, &self.lon, &self.geometry) {
            (Some(lat), Some(lon), _) => CoordinateRequest::LatLon(lat.clone(), lon.clone()),
            (_, _, Some(column)) => CoordinateRequest::Geometry(column.clone()),
            _ if self.index.is_empty() => CoordinateRequest::Find,
            _ => CoordinateRequest::Index(listed("--index", &self.index, &test)?),
        };
        Ok(Inputs { predictions, coordinates, test, train })
    }

    pub(super) fn read(&self, inputs: &Inputs, quiet: bool) -> Result<Data, Error> {
        let _reading = terminal::spinner("read", quiet);
        let mut groups = Groups::default();
        let mut read = |input: &Input, columns: &[&str]| {
            let wanted = Wanted {
                coordinates: &inputs.coordinates,
                group: self.group.as_deref(),
                columns,
                on_invalid: self.on_invalid,
            };
            let table = Table::read(input, &wanted, &mut groups)?;
            if let Some(note) = &table.note {
                terminal::warn(&format!("{}: {note}", input.path().display()));
            }
            Ok::<_, Error>(table)
        };
        let predictions: Vec<&str> = inputs.predictions.iter().map(String::as_str).collect();
        let test = read(&inputs.test, &predictions)?;
        let label = self.label.as_deref().unwrap_or_default();
        let train = inputs.train.as_ref().map(|input| read(input, &[label])).transpose()?;
        let truth = truth(&inputs.test, label).map(|values| test.keep(values));
        Ok(Data { test, train, truth })
    }
}

/// Labels among the test rows only score: they are never sources, and need not be complete.
fn truth(test: &Input, label: &str) -> Option<Vec<f64>> {
    if !test.has(label) {
        return None;
    }
    match test.numbers(&[label]) {
        Ok(mut columns) => columns.pop().map(|column| column.values),
        Err(error) => {
            terminal::warn(&format!("no scores: {error}"));
            None
        }
    }
}

/// Column names from a comma list; a name that itself holds a comma is taken as it is if there is such a column.
fn listed(flag: &str, given: &[String], input: &Input) -> Result<Vec<String>, Error> {
    let mut names: Vec<String> = Vec::new();
    for text in given {
        let parts: Vec<&str> = if input.has(text) { vec![text] } else { text.split(',').collect() };
        for name in parts {
            if names.iter().any(|known| known == name) {
                return Err(Error::Contradiction {
                    message: format!("{flag} names '{}' twice", crate::io::shortened(name, 80)),
                    hint: "name each column once".to_owned(),
                });
            }
            names.push(name.to_owned());
        }
    }
    Ok(names)
}
