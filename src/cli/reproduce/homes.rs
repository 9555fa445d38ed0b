//! The homes of an experiment: those that come with the program, or any Parquet with prices, places and features.

use std::path::PathBuf;

use super::feature::Feature;
use crate::cli::demo::SAMPLE;
use crate::cli::options::InvalidRows;
use crate::error::Error;
use crate::experiment::Homes;
use crate::io::{ColumnKind, CoordinateRequest, Groups, Input, Origin, Output, TemporaryFolder};
use crate::job::caller::Caller;
use crate::job::table::{Table, Wanted};
use crate::points::Places;

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
    /// of 0 and 1 for each value; log(size) is ln(1 + size), square(age) is age². Never a row number that follows the place
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', requires = "data")]
    features: Vec<String>,
    /// Column of latitudes in degrees; found by itself if it is called latitude or lat
    #[arg(long, value_name = "COLUMN", requires_all = ["lon", "data"])]
    lat: Option<String>,
    /// Column of longitudes in degrees; found by itself if it is called longitude, lon, lng or long
    #[arg(long, value_name = "COLUMN", requires_all = ["lat", "data"])]
    lon: Option<String>,
    /// What to do with homes whose place, price or a feature is null, NaN or infinite
    #[arg(long, value_enum, default_value_t = InvalidRows::Error)]
    on_invalid: InvalidRows,
}

/// What the models of data-samples/make_samples.py see too.
const SAMPLE_FEATURES: &str = "beds,baths,half_baths,rooms,age,square(age),log(living_area),log(lot_size),log(frontage),\
                               log(depth),log(garage_area),stories,wall,garage,sale_date";
const SAMPLE_LABEL: &str = "log_price";

impl HomeArgs {
    /// Opens the files; those of the sample are put into a folder that must live as long as they are read.
    pub(super) fn open(&self, caller: &Caller) -> Result<(Vec<Input>, Option<TemporaryFolder>), Error> {
        if let Some(data) = &self.data {
            return Ok((vec![caller.open(&data.into())?], None));
        }
        let failed = |source| Error::Io {
            action: "cannot make a folder in",
            path: std::env::temp_dir(),
            source,
            hint: "TMPDIR says where temporary files go",
        };
        let folder = TemporaryFolder::new().map_err(failed)?;
        let mut inputs = Vec::new();
        for (name, bytes) in SAMPLE {
            let path = folder.path().join(name);
            Output::create(&path, false, &[])?.write_bytes(bytes)?.name()?;
            inputs.push(caller.open(&path.into())?);
        }
        Ok((inputs, Some(folder)))
    }

    /// Reads all homes.
    pub(super) fn read(&self, inputs: &[Input]) -> Result<Homes, Error> {
        let features = if self.data.is_some() { self.features.clone() } else { list(SAMPLE_FEATURES) };
        let features = features.iter().map(|text| Feature::parse(text, &inputs[0])).collect::<Result<Vec<_>, _>>()?;
        let label = self.label.as_deref().unwrap_or(SAMPLE_LABEL);
        if features.iter().any(|feature| feature.column == label) {
            return Err(Error::Contradiction {
                message: format!("column '{label}' is to be predicted and a feature too"),
                hint: "leave it out of --features".to_owned(),
            });
        }
        let mut keys: Vec<Groups> = features.iter().map(|_| Groups::default()).collect();
        let parts =
            inputs.iter().map(|input| self.part(input, label, &features, &mut keys)).collect::<Result<Vec<_>, _>>()?;
        let places = Places::concatenated(&parts.iter().map(|part| &part.places).collect::<Vec<_>>());
        let labels = parts.iter().flat_map(|part| part.labels.iter().copied()).collect();
        let columns = features.iter().zip(&keys).enumerate().map(|(at, (feature, keys))| {
            let raw: Vec<f64> = parts.iter().flat_map(|part| part.columns[at].iter().copied()).collect();
            feature.columns(&raw, keys)
        });
        let columns = columns.collect::<Result<Vec<_>, _>>()?.concat();
        if !places.is_geographic() {
            return Err(Error::Contradiction {
                message: "latitude and longitude are missing".to_owned(),
                hint: "give columns of degrees with --lat and --lon".to_owned(),
            });
        }
        Ok(Homes { places, labels, features: columns })
    }

    /// The rows of one input that take part.
    fn part(&self, input: &Input, label: &str, features: &[Feature], keys: &mut [Groups]) -> Result<Part, Error> {
        let coordinates = match self.lat.clone().zip(self.lon.clone()) {
            Some((latitude, longitude)) => CoordinateRequest::LatLon(latitude, longitude),
            None => CoordinateRequest::Find,
        };
        let mut numeric = vec![label];
        let is_number = |feature: &&Feature| feature.kind == ColumnKind::Number;
        numeric.extend(features.iter().filter(is_number).map(|feature| feature.column.as_str()));
        let wanted =
            Wanted { coordinates: &coordinates, group: None, columns: &numeric, on_invalid: self.on_invalid.into() };
        let table = Table::read(input, &wanted, &mut Groups::default(), &mut Origin::default())?;
        let mut numbers = table.columns.iter().skip(1);
        let mut columns = Vec::new();
        for (feature, keys) in features.iter().zip(keys) {
            columns.push(match feature.kind {
                ColumnKind::Number => numbers.next().cloned().unwrap_or_default(),
                ColumnKind::Date => table.keep(input.days(&feature.column)?.values),
                ColumnKind::Key => {
                    let ids = input.groups(&feature.column, keys)?.ids;
                    table.keep(ids.into_iter().map(f64::from).collect())
                }
            });
        }
        let labels = table.columns[0].clone();
        Ok(Part { places: table.places, labels, columns })
    }
}

/// The homes of one input.
struct Part {
    places: Places,
    labels: Vec<f64>,
    /// One for each feature, as it stands in the file.
    columns: Vec<Vec<f64>>,
}

fn list(text: &str) -> Vec<String> {
    text.split(',').map(str::to_owned).collect()
}
