//! Any text as parameters: of σ, of a file of tuned parameters, and of the options of each request.
//!
//! The first line selects one of these. For a subcommand, each further line is an option and its value.

use std::str::FromStr;
use std::sync::Arc;

use arrow::array::{ArrayRef, Decimal128Array, Float64Array, Int64Array, RecordBatch, StringArray};
use geosmooth::engine::Truncation;
use geosmooth::io::ArrowTable;
use geosmooth::job::{
    self, Compare, DataOptions, Dataset, Diagnose, KernelOptions, OnInvalid, ParameterSource, RunOptions, ScoredOn,
    SigmaSearch, Smooth, Tune, WeightMatrix,
};
use geosmooth::{Error, Face, Parameters, PlaceColumns, Sigma};

/// Parses and uses the text.
pub(crate) fn check(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (what, rest) = text.split_once('\n').unwrap_or((&text, ""));
    match what {
        "sigma" => check_sigma(rest),
        "params" => check_params(rest),
        request => check_error(run(request, &Written::of(rest))),
    }
}

fn check_sigma(text: &str) {
    let Ok(sigma) = text.parse::<Sigma>() else { return };
    assert!(sigma.value() > 0.0 && sigma.value().is_finite(), "{sigma}");
    assert_eq!(sigma.to_string().parse::<Sigma>().expect("what was written"), sigma);
}

fn check_params(text: &str) {
    let Ok(parameters) = Parameters::from_json(text) else { return };
    let again = Parameters::from_json(&parameters.to_json()).expect("what was written");
    assert_eq!(again, parameters);
    let mut request = Smooth::new(rows());
    request.data.train = Some(rows());
    request.kernel.params = Some(ParameterSource::Values(Box::new(parameters)));
    request.running = RunOptions { threads: Some(1), memory_limit: None };
    check_error(smooth(&request));
}

/// Options as they were written, a line for each: its name and its value.
struct Written<'a> {
    lines: Vec<(&'a str, &'a str)>,
}

impl<'a> Written<'a> {
    fn of(text: &'a str) -> Self {
        Self { lines: text.lines().filter_map(|line| line.split_once(' ')).collect() }
    }

    fn all(&self, name: &str) -> impl Iterator<Item = &'a str> {
        self.lines.iter().filter(move |(known, _)| *known == name).map(|(_, value)| *value)
    }

    fn get(&self, name: &str) -> Option<&'a str> {
        self.all(name).last()
    }

    fn names(&self, name: &str) -> Vec<String> {
        self.all(name).map(str::to_owned).collect()
    }

    fn parsed<T: FromStr<Err = Error>>(&self, name: &str) -> Result<Option<T>, Error> {
        self.get(name).map(str::parse).transpose()
    }

    /// The number that it may be.
    fn number(&self, name: &str) -> Option<f64> {
        self.get(name)?.parse().ok()
    }

    fn numbers(&self, name: &str) -> Result<Option<Vec<f64>>, Error> {
        self.get(name).map(|list| job::numbers(name, list)).transpose()
    }

    fn list<T: FromStr<Err = Error>>(&self, name: &str) -> Result<Option<Vec<T>>, Error> {
        self.get(name).map(job::parsed).transpose()
    }

    fn data(&self) -> DataOptions {
        let index = self.names("--index");
        let places = PlaceColumns { index, group: self.get("--group").map(str::to_owned), ..PlaceColumns::default() };
        DataOptions {
            train: Some(rows()),
            label: self.get("--label").map(str::to_owned),
            prediction: self.names("--prediction"),
            train_prediction: self.names("--train-prediction"),
            places,
            on_invalid: OnInvalid::Error,
        }
    }

    fn kernel(&self) -> Result<KernelOptions, Error> {
        Ok(KernelOptions {
            sigma: self.parsed("--sigma")?,
            label_weight: self.number("--label-weight"),
            correct_sigma: self.parsed("--correct-sigma")?,
            correct_shrink: self.number("--correct-shrink"),
            no_correct: false,
            params: None,
            truncation: self.truncation()?,
        })
    }

    fn truncation(&self) -> Result<Truncation, Error> {
        Truncation::of(self.number("--tolerance"), self.number("--cutoff"))
    }

    fn running(&self) -> Result<RunOptions, Error> {
        let memory_limit = self.get("--memory-limit").map(|text| job::bytes_of("`memory-limit`", text)).transpose()?;
        Ok(RunOptions { threads: Some(1), memory_limit })
    }
}

fn run(request: &str, options: &Written) -> Result<(), Error> {
    match request {
        "smooth" => {
            let mut request = Smooth::new(rows());
            (request.data, request.kernel, request.c) = (options.data(), options.kernel()?, options.number("--c"));
            request.engine = options.parsed("--engine")?.unwrap_or(request.engine);
            request.running = options.running()?;
            smooth(&request)
        }
        "tune" => job::tune(&tune(options)?, &()).map(drop),
        "compare" => {
            let mut request = Compare::new(rows());
            (request.data, request.kernel) = (options.data(), options.kernel()?);
            request.c = options.number("--c").unwrap_or(request.c);
            request.engines = options.list("--engines")?.unwrap_or(request.engines);
            request.running = options.running()?;
            job::compare(&request, &()).map(drop)
        }
        "diagnose" => {
            let mut request = Diagnose::new(rows());
            (request.data, request.kernel, request.c) = (options.data(), options.kernel()?, options.number("--c"));
            request.running = options.running()?;
            job::diagnose(&request, &()).map(drop)
        }
        #[cfg(feature = "baselines")]
        "methods" => job::methods(&methods(options)?, &()).map(drop),
        "weights" => {
            let mut request = WeightMatrix::new(rows());
            (request.data, request.kernel) = (options.data(), options.kernel()?);
            request.running = options.running()?;
            job::weights(&request, &()).map(drop)
        }
        _ => Ok(()),
    }
}

fn smooth(request: &Smooth) -> Result<(), Error> {
    let smoothing = job::smooth(request, &())?;
    let mut values = smoothing.columns.iter().flat_map(|column| column.values.iter().flatten());
    assert!(values.all(|value| value.is_finite()), "{:?}", smoothing.columns);
    Ok(())
}

fn tune(options: &Written) -> Result<Tune, Error> {
    let folds = options.get("--folds").and_then(|count| count.parse().ok());
    let validation = if folds.is_none() { Some(rows()) } else { None };
    let range = options.list("--sigma-range")?;
    let mut request = Tune {
        scored_on: ScoredOn::of(validation, false, folds, options.get("--block"))?,
        data: options.data(),
        sigmas: SigmaSearch::of(options.list("--sigma-grid")?, range.as_deref())?,
        c_grid: options.numbers("--c-grid")?,
        label_weights: options.numbers("--label-weight")?,
        truncation: options.truncation()?,
        running: options.running()?,
        ..Tune::default()
    };
    request.metric = options.parsed("--metric")?.unwrap_or(request.metric);
    Ok(request)
}

#[cfg(feature = "baselines")]
fn methods(options: &Written) -> Result<job::Methods, Error> {
    let features = options.get("--features").map(|list| job::items(list).map(str::to_owned).collect());
    let mut request = job::Methods::new(rows(), rows());
    (request.data, request.features, request.methods) = (options.data(), features, options.list("--methods")?);
    request.metric = options.parsed("--metric")?.unwrap_or(request.metric);
    request.truncation = options.truncation()?;
    request.running = options.running()?;
    request.grids = job::MethodGrids {
        sigma: options.list("--sigma-grid")?,
        c: options.numbers("--c-grid")?,
        delta: options.numbers("--delta-grid")?,
        eta: options.numbers("--eta-grid")?,
        alpha: options.numbers("--alpha-grid")?,
        ridge: options.numbers("--ridge-grid")?,
        laplacian: options.numbers("--laplacian-grid")?,
        constant: options.numbers("--constant-grid")?,
        noise: options.numbers("--noise-grid")?,
    };
    Ok(request)
}

/// An error says something, in one line, to whoever reads it.
fn check_error(outcome: Result<(), Error>) {
    let Err(error) = outcome else { return };
    for face in [Face::Library, Face::CommandLine, Face::Python] {
        let words = error.message_for(face);
        assert!(!words.is_empty() && !words.contains('\n'), "{words:?}");
    }
}

/// A few homes.
fn rows() -> Dataset {
    let count = 12;
    let column = |value: fn(f64) -> f64| {
        Arc::new(Float64Array::from_iter_values((0..count).map(|row| value(f64::from(row))))) as ArrayRef
    };
    let group = Arc::new(StringArray::from_iter_values((0..count).map(|row| ["a", "b"][row as usize % 2]))) as ArrayRef;
    let ids = Decimal128Array::from_iter_values((0..count).map(|row| 12_345_678_901_234_567_890 + i128::from(row % 3)));
    let start = 1_763_500_000_000_000_000;
    let moments = Int64Array::from_iter_values((0..count).map(|row| start + 100 * i64::from(row)));
    let columns = [
        ("lat", column(|row| 41.65 + 0.001 * row)),
        ("lon", column(|row| -83.54 + 0.0007 * (row * row % 7.0))),
        ("x", column(|row| row * 3.0)),
        ("model", column(|row| 100.0 + 7.0 * (row * row % 5.0))),
        ("fold", column(|row| 101.0 + 6.0 * (row * row % 5.0))),
        ("price", column(|row| 105.0 + 8.0 * (row % 4.0))),
        ("g", group),
        ("id", Arc::new(ids) as ArrayRef),
        ("when", Arc::new(moments) as ArrayRef),
    ];
    let batch = RecordBatch::try_from_iter(columns).expect("columns of one length");
    let table = ArrowTable { schema: batch.schema(), batches: vec![batch] };
    Dataset::table("rows", table)
}
