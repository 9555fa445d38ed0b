//! Any text as σ, as a file of tuned parameters, and as options of each subcommand.
//!
//! The first line selects one of these. For a subcommand, each further line is an option and its value.

use std::ffi::OsString;
use std::sync::Arc;

use arrow::array::{ArrayRef, Decimal128Array, Float64Array, Int64Array, RecordBatch, StringArray};
use geosmooth::engine::Progress;
use geosmooth::io::ArrowTable;
use geosmooth::job::call::{Call, Listener, Memory};
use geosmooth::{Error, Parameters, Sigma};

/// Options with parsed values that do not write files.
const OPTIONS: [&str; 30] = [
    "--sigma",
    "--c",
    "--label-weight",
    "--tolerance",
    "--cutoff",
    "--engine",
    "--memory-limit",
    "--correct-sigma",
    "--correct-shrink",
    "--sigma-grid",
    "--sigma-range",
    "--c-grid",
    "--metric",
    "--folds",
    "--block",
    "--engines",
    "--delta-grid",
    "--eta-grid",
    "--alpha-grid",
    "--ridge-grid",
    "--laplacian-grid",
    "--constant-grid",
    "--noise-grid",
    "--methods",
    "--features",
    "--prediction",
    "--train-prediction",
    "--index",
    "--group",
    "--label",
];

/// Parses and uses the text.
pub(crate) fn check(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (what, rest) = text.split_once('\n').unwrap_or((&text, ""));
    match what {
        "sigma" => check_sigma(rest),
        "params" => check_params(rest),
        subcommand => call(subcommand, rest),
    }
}

fn check_sigma(text: &str) {
    let Ok(sigma) = text.parse::<Sigma>() else { return };
    assert!(sigma.value() > 0.0 && sigma.value().is_finite(), "{sigma}");
    assert_eq!(sigma.to_string().parse::<Sigma>().expect("what was written"), sigma);
}

fn check_params(text: &str) {
    if let Ok(parameters) = Parameters::from_json(text) {
        let again = Parameters::from_json(&parameters.to_json()).expect("what was written");
        assert_eq!(again, parameters);
    }
    let memory = Memory { texts: [("<params>".into(), text.to_owned())].into(), ..memory() };
    run("smooth", &["--test", "<rows>", "--train", "<rows>", "--params", "<params>"], &memory);
}

fn call(subcommand: &str, options: &str) {
    let inputs: &[&str] = match subcommand {
        "smooth" | "compare" | "weights" => &["--test", "<rows>", "--train", "<rows>"],
        "tune" | "diagnose" => &["--validation", "<rows>", "--train", "<rows>"],
        "methods" => &["--test", "<rows>", "--validation", "<rows>", "--train", "<rows>"],
        _ => return,
    };
    let options = options.lines().filter_map(|line| line.split_once(' ')).filter(|(name, _)| OPTIONS.contains(name));
    let options: Vec<&str> = inputs.iter().copied().chain(options.flat_map(|(name, value)| [name, value])).collect();
    run(subcommand, &options, &memory());
}

fn run(subcommand: &str, options: &[&str], memory: &Memory) {
    let arguments = options.iter().chain(&["--threads", "1"]).map(OsString::from).collect();
    let call = Call { arguments, memory, listener: &Silent };
    let outcome = match subcommand {
        "smooth" => call.smooth().map(|smoothing| {
            let mut values = smoothing.columns.iter().flat_map(|column| column.values.iter().flatten());
            assert!(values.all(|value| value.is_finite()), "{:?}", smoothing.columns);
        }),
        "tune" => call.tune(false).map(drop),
        "compare" => call.compare().map(drop),
        "diagnose" => call.diagnose().map(drop),
        "methods" => call.methods().map(drop),
        _ => call.weights().map(drop),
    };
    if let Err(error) = outcome {
        check_words(&error);
    }
}

/// An error has a message on one line.
fn check_words(error: &Error) {
    let words = error.to_string();
    assert!(!words.is_empty() && !words.contains('\n'), "{words:?}");
}

struct Silent;

impl Listener for Silent {
    fn phase(&self, _: &'static str) -> Box<dyn Progress + '_> {
        Box::new(())
    }

    fn warn(&self, _: &str) {}
}

/// A few homes.
fn memory() -> Memory {
    let rows = 12;
    let column = |value: fn(f64) -> f64| {
        Arc::new(Float64Array::from_iter_values((0..rows).map(|row| value(f64::from(row))))) as ArrayRef
    };
    let group = Arc::new(StringArray::from_iter_values((0..rows).map(|row| ["a", "b"][row as usize % 2]))) as ArrayRef;
    let ids = Decimal128Array::from_iter_values((0..rows).map(|row| 12_345_678_901_234_567_890 + i128::from(row % 3)));
    let start = 1_763_500_000_000_000_000;
    let moments = Int64Array::from_iter_values((0..rows).map(|row| start + 100 * i64::from(row)));
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
    Memory { tables: [("<rows>".into(), table)].into(), ..Memory::default() }
}
