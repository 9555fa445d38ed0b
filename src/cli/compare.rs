//! `geosmooth compare`: the engines side by side on one problem, against all pairs.

use std::time::Instant;

use serde::Serialize;

use super::options::{Data, DataArgs, KernelArgs, RunArgs};
use super::terminal::{self, Bar};
use crate::engine::EngineKind;
use crate::error::Error;
use crate::report::{share, table};
use crate::smoother::{Smoothed, Smoother};

/// Runs several engines on the same rows and shows how fast and how far from exact each is.
///
/// Errors are relative to the range of the values. The bound is what the engine itself proved, without knowing the
/// exact result.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
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
    running: RunArgs,
}

const EXAMPLES: &str = "\
Example:
  geosmooth compare --train sold.parquet --test unsold.parquet --label price --prediction model --sigma 500m --tolerance 1e-4";

/// What was found.
#[derive(Serialize)]
pub(super) struct Comparison {
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

pub(super) fn run(args: &Args) -> Result<(), Error> {
    args.running.start()?;
    let engines = args.engines.iter().map(|name| name.parse()).collect::<Result<Vec<EngineKind>, _>>()?;
    let inputs = args.data.open()?;
    let memory = args.running.memory_for_matrix(inputs.rows(), inputs.predictions.len())?;
    let smoother = args.kernel.smoother(args.c, EngineKind::Exact, memory)?;
    let data = args.data.read(&inputs, args.running.quiet)?;
    let comparison = compare(&smoother, &engines, args.kernel.tolerance, &data, args.running.quiet)?;
    if args.running.json {
        terminal::print(&(serde_json::to_string(&comparison).unwrap_or_default() + "\n"))
    } else if args.running.quiet {
        Ok(())
    } else {
        terminal::print(&comparison.for_people())
    }
}

/// Runs each engine on the data; all pairs are the reference, whether listed or not.
pub(super) fn compare(
    smoother: &Smoother,
    engines: &[EngineKind],
    tolerance: f64,
    data: &Data,
    quiet: bool,
) -> Result<Comparison, Error> {
    let (reference, exact) = timed(smoother, EngineKind::Exact, data, quiet)?;
    let mut lines = Vec::new();
    for &engine in engines {
        let (smoothed, mut line) = if engine == EngineKind::Exact {
            (reference.clone(), exact.clone())
        } else {
            timed(smoother, engine, data, quiet)?
        };
        let errors: Vec<f64> =
            reference.iter().zip(&smoothed).flat_map(|(exact, other)| relative_errors(exact, other)).collect();
        line.max_error = errors.iter().copied().fold(0.0, f64::max);
        line.mean_error = errors.iter().sum::<f64>() / errors.len().max(1) as f64;
        line.within_tolerance = line.max_error <= tolerance;
        lines.push(line);
    }
    Ok(Comparison { reference: EngineKind::Exact.name(), engines: lines })
}

fn timed(smoother: &Smoother, engine: EngineKind, data: &Data, quiet: bool) -> Result<(Vec<Smoothed>, Line), Error> {
    let start = Instant::now();
    let labelled = data.train.as_ref().map(|train| &train.places);
    let plan = smoother.clone().engine(engine).plan_with(&data.test.places, labelled, &Bar::new("plan", quiet))?;
    let smoothed = plan.apply_with(&data.predictions(), data.labels(), &Bar::new("apply", quiet))?;
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

fn relative_errors(exact: &Smoothed, other: &Smoothed) -> Vec<f64> {
    let pairs = exact.values.iter().zip(&other.values);
    pairs
        .filter_map(|(a, b)| Some(((*a)? - (*b)?).abs()))
        .map(|error| if error == 0.0 { 0.0 } else { error / exact.range })
        .collect()
}

impl Comparison {
    pub(super) fn for_people(&self) -> String {
        let rows = self.engines.iter().map(|line| {
            vec![
                line.engine.to_owned(),
                format!("{:.3}", line.seconds),
                share(line.max_error),
                share(line.mean_error),
                share(line.bound),
                line.nonzeros.map_or("-".to_owned(), |count| crate::report::number(count as usize)),
                if line.within_tolerance { "yes" } else { "NO" }.to_owned(),
            ]
        });
        table(&["engine", "seconds", "max error", "mean error", "proven bound", "non-zeros", "within tolerance"], rows)
    }
}
