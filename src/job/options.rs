//! Options that several subcommands share.

use std::path::PathBuf;

use clap::ValueEnum;
use serde::Serialize;

use super::caller::{Caller, Memory, Opened};
use super::machine::{self, Bytes};
use crate::cli::terminal::{self, Terminal};
use crate::error::Error;
use crate::io::Budget;

/// The labelled rows, and the columns of all rows.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Data")]
pub(crate) struct DataArgs {
    /// Rows whose truth is known; leave out to smooth predictions alone
    #[arg(long, value_name = "FILES")]
    pub(crate) train: Option<PathBuf>,
    /// Column with the truth, in the training rows; scored too where the rows to predict have it
    #[arg(long, value_name = "COLUMN")]
    pub(crate) label: Option<String>,
    /// Columns with predictions, in the rows to predict; several separated by commas
    #[arg(long, value_name = "COLUMNS")]
    pub(crate) prediction: Vec<String>,
    /// Columns of the training rows with OUT-OF-FOLD predictions, one for each prediction and in the same order, for the
    /// correct step. Predictions by a model that was trained on those very rows are too good there: the step would then
    /// learn from leaked errors and make things worse
    #[arg(long, value_name = "COLUMNS")]
    pub(crate) train_prediction: Vec<String>,
    /// Column of latitudes in degrees; found by itself if it is called latitude or lat
    #[arg(long, value_name = "COLUMN", requires = "lon", conflicts_with_all = ["geometry", "index"])]
    pub(crate) lat: Option<String>,
    /// Column of longitudes in degrees; found by itself if it is called longitude, lon, lng or long
    #[arg(long, value_name = "COLUMN", requires = "lat", conflicts_with_all = ["geometry", "index"])]
    pub(crate) lon: Option<String>,
    /// Column of points (WKB, or structs of x and y); found by itself in GeoParquet files
    #[arg(long, value_name = "COLUMN", conflicts_with = "index")]
    pub(crate) geometry: Option<String>,
    /// One to three numeric columns to measure distance in, such as easting,northing; sigma is then a plain number
    #[arg(long, value_name = "COLUMNS")]
    pub(crate) index: Vec<String>,
    /// Rows with different values in this column never touch each other; of any type but lists and structs
    #[arg(long, value_name = "COLUMN")]
    pub(crate) group: Option<String>,
    /// What to do with rows whose place, prediction or label is null, NaN or infinite
    #[arg(long, value_enum, default_value_t = OnInvalid::Error)]
    pub(crate) on_invalid: OnInvalid,
}

/// What to do with rows that cannot take part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnInvalid {
    /// Stop and name the first
    Error,
    /// Leave them out; they stay in the output with a null result
    Skip,
}

/// How to run.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Running")]
pub(crate) struct RunArgs {
    /// Number of threads; RAYON_NUM_THREADS or all cores if left out. The result is the same for any number
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    threads: Option<usize>,
    /// Memory to stay within, such as 8GiB; 80 % of what is free if left out. Counts everything that is made of the rows, not the
    /// program itself, some 30 MB. What would need more is refused before it is done
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true)]
    memory_limit: Option<Bytes>,
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
    /// Show no progress and no table
    #[arg(long, short)]
    quiet: bool,
}

/// Bytes that a row takes from file to file apart from what smoothers and engines count themselves: its place, group and label,
/// one of them twice while it is read.
const BYTES_PER_ROW: u64 = 40;
/// Bytes of a prediction, and of its smoothed value and bound.
const BYTES_PER_VALUE: u64 = 32;
/// Bytes of a value in a new column of the output.
const BYTES_PER_NEW_VALUE: u64 = 16;
/// Bytes for each row where it is laid out more than once, or without a smoother that counts.
const BYTES_LAID_OUT: u64 = 300;

impl RunArgs {
    /// Does work in threads of its own.
    pub(crate) fn in_threads<T: Send>(&self, work: impl FnOnce() -> Result<T, Error> + Send) -> Result<T, Error> {
        machine::threads(self.threads)?.install(work)
    }

    /// Does work for the person at the terminal and shows what came out: as JSON, as text, or not at all.
    pub(crate) fn show(&self, work: impl FnOnce(&Caller) -> Result<Told, Error> + Send) -> Result<(), Error> {
        let (memory, listener, budget) = (&Memory::default(), &Terminal { quiet: self.quiet }, &self.budget());
        let caller = Caller { memory, listener, budget, opened: &Opened::default(), surface: false };
        let Told { json, text } = self.in_threads(|| work(&caller))?;
        if self.json {
            terminal::print_json(&json)
        } else if self.quiet {
            Ok(())
        } else {
            terminal::print(&text)
        }
    }

    /// The memory that reading may take.
    pub(crate) fn budget(&self) -> Budget {
        Budget::new(self.memory())
    }

    /// The memory to stay within.
    pub(crate) fn memory(&self) -> u64 {
        machine::memory_limit(self.memory_limit)
    }

    /// What is left of the memory limit for smoothers, which count what they take, once rows, values and new columns have theirs.
    pub(crate) fn memory_for_smoothers(&self, rows: usize, values: usize, new_values: usize) -> Result<u64, Error> {
        let parts = [(rows, BYTES_PER_ROW), (values, BYTES_PER_VALUE), (new_values, BYTES_PER_NEW_VALUE)];
        self.memory_left(rows, parts.into_iter().map(|(count, bytes)| count as u64 * bytes).sum())
    }

    /// What is left of the memory limit for engines once the rows are there and laid out.
    pub(crate) fn memory_for_engines(&self, rows: usize, predictions: usize) -> Result<u64, Error> {
        let values = predictions as u64 * (BYTES_PER_VALUE + BYTES_PER_NEW_VALUE);
        self.memory_left(rows, (rows as u64).saturating_mul(BYTES_LAID_OUT + BYTES_PER_ROW + values))
    }

    fn memory_left(&self, rows: usize, need: u64) -> Result<u64, Error> {
        let limit = self.memory();
        if need > limit {
            return Err(Error::Memory { what: format!("smoothing {rows} rows"), need, limit });
        }
        Ok(limit - need)
    }
}

/// What a subcommand tells of its outcome.
#[derive(Clone, Debug)]
pub struct Told {
    /// One object for scripts, as `--json` prints it.
    pub json: String,
    /// A few lines for people.
    pub text: String,
}

impl Told {
    pub(crate) fn new(summary: &impl Serialize, text: String) -> Self {
        Self { json: serde_json::to_string(summary).unwrap_or_default(), text }
    }
}

/// An option that is needed and was not given.
pub(crate) fn missing(flag: &str, what: &str) -> Error {
    Error::Contradiction { message: format!("{flag} is missing"), hint: format!("give {what}") }
}
