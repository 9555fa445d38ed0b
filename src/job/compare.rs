//! `geosmooth compare`: the engines side by side on one problem, against all pairs.

use std::path::PathBuf;
use std::time::Instant;

use serde::Serialize;

use super::caller::Caller;
use super::data::Data;
use super::options::{DataArgs, RunArgs, Told};
use super::pages::{EngineErrors, ReportArgs, compare_page};
use super::recipe::{KernelArgs, Recipe};
use crate::engine::{EngineKind, EngineOptions};
use crate::error::Error;
use crate::io::Complete;
use crate::report::{Page, Table, share, table};
use crate::smoother::Smoothed;

/// Runs several engines on the same rows and shows how fast and how far from exact each is.
///
/// Errors are relative to the range of the values. The bound is what the engine itself proved, without knowing the
/// exact result.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Rows to predict: a Parquet file, a directory or a quoted glob of them
    #[arg(long, value_name = "FILES", help_heading = "Data")]
    test: PathBuf,
    #[command(flatten)]
    data: DataArgs,
    #[command(flatten)]
    kernel: KernelArgs,
    /// How far to go from each prediction (0) to the average around it (1); errors are largest at 1
    #[arg(long, value_name = "0..1", default_value_t = 1.0, allow_hyphen_values = true, help_heading = "Smoothing")]
    c: f64,
    /// The engines to compare
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = "exact,sparse,fast",
        help_heading = "Smoothing"
    )]
    engines: Vec<String>,
    #[command(flatten)]
    report: ReportArgs,
    #[command(flatten)]
    pub(crate) running: RunArgs,
}

const EXAMPLES: &str = "\
Example:
  geosmooth compare --train sold.parquet --test unsold.parquet --label price --prediction model --sigma 500m --tolerance 1e-4";

/// What the comparison gave.
#[derive(Debug)]
pub struct Compared {
    /// A line for each engine.
    pub told: Told,
    /// The errors of each engine, row by row.
    pub errors: Vec<EngineErrors>,
}

/// What was found.
#[derive(Serialize)]
struct Comparison {
    reference: &'static str,
    engines: Vec<Line>,
}

#[derive(Clone, Serialize)]
struct Line {
    engine: &'static str,
    seconds: f64,
    max_error: f64,
    mean_error: f64,
    bound: f64,
    nonzeros: Option<u64>,
    within_tolerance: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), Error> {
    args.running.show(|caller| Ok(perform(args, caller)?.told))
}

pub(crate) fn perform(args: &Args, caller: &Caller) -> Result<Compared, Error> {
    let engines = args.engines.iter().map(|name| name.parse()).collect::<Result<Vec<EngineKind>, _>>()?;
    let recipe = args.kernel.recipe(Some(args.c), &args.data, caller)?;
    let inputs = args.data.open(&args.test, Some(&recipe), caller)?;
    // The reference stays while an engine is compared with it.
    let values = 2 * inputs.test.rows() * inputs.predictions.len();
    let memory = args.running.memory_for_smoothers(inputs.rows(), values, 0)?;
    let options = args.kernel.accuracy().options(EngineKind::Exact, memory)?;
    let data = args.data.read(&inputs, caller)?;
    let run = Run { recipe: &recipe, c: args.c, options, data: &data, caller };
    let report = args.report.prepare(&[], caller)?;
    let (comparison, errors) = run.compare(&engines, args.kernel.accuracy().tolerance)?;
    if let Some(report) = report {
        Complete::name_all(report.write(&comparison.page(&errors))?)?;
    }
    Ok(Compared { told: Told::new(&comparison, comparison.for_people()), errors })
}

/// What the engines are compared on.
struct Run<'a> {
    recipe: &'a Recipe,
    c: f64,
    options: EngineOptions,
    data: &'a Data,
    caller: &'a Caller<'a>,
}

impl Run<'_> {
    /// Runs each engine on the data; all pairs are the reference, whether listed or not.
    fn compare(&self, engines: &[EngineKind], tolerance: f64) -> Result<(Comparison, Vec<EngineErrors>), Error> {
        let (reference, exact) = self.timed(EngineKind::Exact)?;
        let (mut lines, mut all_errors) = (Vec::new(), Vec::new());
        for &engine in engines {
            let (smoothed, mut line) =
                if engine == EngineKind::Exact { (reference.clone(), exact.clone()) } else { self.timed(engine)? };
            let errors: Vec<f64> =
                reference.iter().zip(&smoothed).flat_map(|(exact, other)| relative_errors(exact, other)).collect();
            line.max_error = errors.iter().copied().fold(0.0, f64::max);
            line.mean_error = errors.iter().sum::<f64>() / errors.len().max(1) as f64;
            line.within_tolerance = line.max_error <= tolerance;
            lines.push(line);
            all_errors.push(EngineErrors { engine: engine.name(), errors });
        }
        Ok((Comparison { reference: EngineKind::Exact.name(), engines: lines }, all_errors))
    }

    fn timed(&self, engine: EngineKind) -> Result<(Vec<Smoothed>, Line), Error> {
        let (start, options, data) = (Instant::now(), self.options.engine(engine), self.data);
        let labelled = data.train.as_ref().map(|train| &train.places);
        let smoother = self.recipe.smoother(self.c, options)?;
        // First, so that what it lays out is gone when the smoother plans.
        let corrected = data.corrected(self.recipe.correction, &options)?;
        let plan = smoother.plan_with(&data.test.places, labelled, &*self.caller.phase("plan"))?;
        let smoothed = data.smooth(&plan, corrected.as_deref(), &*self.caller.phase("apply"))?;
        let line = Line {
            engine: engine.name(),
            seconds: start.elapsed().as_secs_f64(),
            max_error: 0.0,
            mean_error: 0.0,
            bound: smoothed.iter().flat_map(Smoothed::relative_bounds).fold(0.0, f64::max),
            nonzeros: plan.matrix().map(crate::engine::Matrix::nonzeros),
            within_tolerance: true,
        };
        Ok((smoothed, line))
    }
}

fn relative_errors(exact: &Smoothed, other: &Smoothed) -> Vec<f64> {
    let pairs = exact.values.iter().zip(&other.values);
    pairs
        .filter_map(|(a, b)| Some(((*a)? - (*b)?).abs()))
        .map(|error| if error == 0.0 { 0.0 } else { error / exact.range })
        .collect()
}

const HEADER: [&str; 7] =
    ["engine", "seconds", "max error", "mean error", "proven bound", "non-zeros", "within tolerance"];

impl Comparison {
    fn for_people(&self) -> String {
        table(&HEADER, self.engines.iter().map(Line::cells))
    }

    fn page(&self, errors: &[EngineErrors]) -> Page {
        let table = Table {
            caption: "Errors are relative to the range of the values; the bound is what the engine proved by itself"
                .to_owned(),
            header: HEADER.map(str::to_owned).to_vec(),
            rows: self.engines.iter().map(Line::cells).collect(),
        };
        let within = self.engines.iter().all(|line| line.within_tolerance);
        let lead = if within {
            "Every engine keeps the tolerance on every row."
        } else {
            "Not every engine keeps the tolerance."
        };
        compare_page(lead.to_owned(), table, errors)
    }
}

impl Line {
    fn cells(&self) -> Vec<String> {
        vec![
            self.engine.to_owned(),
            format!("{:.3}", self.seconds),
            share(self.max_error),
            share(self.mean_error),
            share(self.bound),
            self.nonzeros.map_or("-".to_owned(), |count| crate::report::number(count as usize)),
            if self.within_tolerance { "yes" } else { "NO" }.to_owned(),
        ]
    }
}
