//! The homes of an experiment: those that come with the program, or any Parquet with prices, places and features.

use super::feature::Feature;
use crate::error::Error;
use crate::experiment::Homes;
use crate::io::{ColumnKind, CoordinateRequest, Groups, Input, Origin, Output, TemporaryFolder};
use crate::job::caller::Caller;
use crate::job::dataset::Dataset;
use crate::job::options::OnInvalid;
use crate::job::sample::SAMPLE;
use crate::job::table::{Table, Wanted};
use crate::points::Places;

/// The homes, and what models see of them.
#[derive(Clone, Debug)]
pub struct HomeColumns {
    /// Homes sold; the sample that comes with the program if left out.
    pub data: Option<Dataset>,
    /// Column to predict.
    pub label: String,
    /// Columns that models see: `size`, `log(size)` for ln(1 + size), or `square(age)`. A date becomes year and month, anything
    /// that is no number a column of 0 and 1 for each value.
    pub features: Vec<String>,
    /// Columns of latitudes and longitudes in degrees; found by their names if left out.
    pub coordinates: Option<(String, String)>,
    /// What to do with homes whose place, price or a feature is null, NaN or infinite.
    pub on_invalid: OnInvalid,
}

/// The features of the sample: the same as those of data-samples/make_samples.py.
const SAMPLE_FEATURES: [&str; 15] = [
    "beds",
    "baths",
    "half_baths",
    "rooms",
    "age",
    "square(age)",
    "log(living_area)",
    "log(lot_size)",
    "log(frontage)",
    "log(depth)",
    "log(garage_area)",
    "stories",
    "wall",
    "garage",
    "sale_date",
];
const SAMPLE_LABEL: &str = "log_price";

impl HomeColumns {
    /// The sample that comes with the program.
    #[must_use]
    pub fn sample() -> Self {
        Self {
            data: None,
            label: SAMPLE_LABEL.to_owned(),
            features: SAMPLE_FEATURES.map(str::to_owned).to_vec(),
            coordinates: None,
            on_invalid: OnInvalid::Error,
        }
    }

    /// Opens the files; those of the sample are put into a folder that must live as long as they are read.
    pub(super) fn open(&self, caller: &Caller) -> Result<(Vec<Input>, Option<TemporaryFolder>), Error> {
        if let Some(data) = &self.data {
            return Ok((vec![caller.open(data)?], None));
        }
        let folder = TemporaryFolder::new().map_err(no_folder)?;
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
        let features: Vec<Feature> =
            self.features.iter().map(|text| Feature::parse(text, &inputs[0])).collect::<Result<_, _>>()?;
        let label = self.label.as_str();
        if features.iter().any(|feature| feature.column == label) {
            return Err(Error::Contradiction {
                message: format!("column '{label}' is to be predicted and a feature too"),
                hint: "leave it out of `features`".to_owned(),
            });
        }
        let mut keys: Vec<Groups> = features.iter().map(|_| Groups::default()).collect();
        let parts = inputs.iter().map(|input| self.part(input, &features, &mut keys)).collect::<Result<Vec<_>, _>>()?;
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
                hint: "give columns of degrees with `lat` and `lon`".to_owned(),
            });
        }
        Ok(Homes { places, labels, features: columns })
    }

    /// The rows of one input that take part.
    fn part(&self, input: &Input, features: &[Feature], keys: &mut [Groups]) -> Result<Part, Error> {
        let coordinates = match self.coordinates.clone() {
            Some((latitude, longitude)) => CoordinateRequest::LatLon(latitude, longitude),
            None => CoordinateRequest::Find,
        };
        let mut numeric = vec![self.label.as_str()];
        let numbers = features.iter().filter(|feature| feature.kind == ColumnKind::Number);
        numeric.extend(numbers.map(|feature| feature.column.as_str()));
        let wanted = Wanted { coordinates: &coordinates, group: None, columns: &numeric, on_invalid: self.on_invalid };
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

fn no_folder(source: std::io::Error) -> Error {
    let hint = "TMPDIR says where temporary files go";
    Error::Io { action: "cannot make a folder in", path: std::env::temp_dir(), source, hint }
}
