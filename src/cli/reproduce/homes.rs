//! The homes of an experiment: those that come with the program, or any Parquet with prices, places and features.

use std::path::PathBuf;

use crate::cli::options::on_invalid;
use crate::job::{HomeColumns, OnInvalid};

/// The homes, and what models see of them.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Data")]
pub(super) struct HomeArgs {
    /// Homes sold: a Parquet file, a directory or a quoted glob of them; the sample of Lucas County if left out
    #[arg(long, value_name = "FILES", requires_all = ["label", "features"])]
    data: Option<PathBuf>,
    /// Column to predict
    #[arg(long, value_name = "COLUMN", requires = "data")]
    label: Option<String>,
    /// Columns that models see, separated by commas: numbers as they are, dates as year and month, anything else as one column
    /// of 0 and 1 for each value; log(size) is ln(1 + size), square(age) is age². Leave out row numbers: they may follow the
    /// location
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', requires = "data")]
    features: Vec<String>,
    /// Column of latitudes in degrees; found by itself if it is called latitude or lat
    #[arg(long, value_name = "COLUMN", requires_all = ["lon", "data"])]
    lat: Option<String>,
    /// Column of longitudes in degrees; found by itself if it is called longitude, lon, lng or long
    #[arg(long, value_name = "COLUMN", requires_all = ["lat", "data"])]
    lon: Option<String>,
    /// What to do with homes whose place, price or a feature is null, NaN or infinite
    #[arg(long, value_parser = on_invalid(), default_value = "error")]
    on_invalid: OnInvalid,
}

impl HomeArgs {
    /// The homes; those of the sample if no files are given.
    pub(super) fn columns(&self) -> HomeColumns {
        let Some(data) = &self.data else { return HomeColumns::sample() };
        HomeColumns {
            data: Some(data.into()),
            label: self.label.clone().unwrap_or_default(),
            features: self.features.clone(),
            coordinates: self.lat.clone().zip(self.lon.clone()),
            on_invalid: self.on_invalid,
        }
    }
}
