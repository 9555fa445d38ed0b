//! The engines side by side on one problem, against all pairs.

use std::fmt;
use std::time::Instant;

use serde::Serialize;

use super::caller::{Caller, Listener};
use super::data::Data;
use super::dataset::Dataset;
use super::options::{DataOptions, KernelOptions, ReportOptions, RunOptions};
use super::pages::{EngineErrors, compare_page};
use super::recipe::Recipe;
use crate::engine::{EngineKind, EngineOptions};
use crate::error::Error;
use crate::io::Complete;
use crate::report::{Page, Table, share, table};
use crate::smoother::Smoothed;

/// A request to run several engines on the same rows.
#[derive(Clone, Debug)]
pub struct Compare {
    /// Rows to predict.
    pub test: Dataset,
    /// Labelled rows and columns.
    pub data: DataOptions,
    /// What to smooth with.
    pub kernel: KernelOptions,
    /// Mixing weight: 0 keeps each prediction, 1 replaces it by the average around it; errors are largest at 1.
    pub c: f64,
    /// The engines to compare.
    pub engines: Vec<EngineKind>,
    /// Pages of results, and whether outputs may be replaced.
    pub report: ReportOptions,
    /// How to run.
    pub running: RunOptions,
}

impl Compare {
    /// A request with the defaults of all options.
    #[must_use]
    pub fn new(test: impl Into<Dataset>) -> Self {
        Self {
            test: test.into(),
            data: DataOptions::default(),
            kernel: KernelOptions::default(),
            c: 1.0,
            engines: vec![EngineKind::Exact, EngineKind::Sparse, EngineKind::Fast],
            report: ReportOptions::default(),
            running: RunOptions::default(),
        }
    }
}

/// What the comparison gave.
#[derive(Clone, Debug)]
pub struct Compared {
    /// A line for each engine.
    pub summary: Comparison,
    /// The errors of each engine, row by row.
    pub errors: Vec<EngineErrors>,
}

/// How fast each engine is, and how far from exact.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// The engine that the others are compared with.
    pub reference: &'static str,
    /// A line for each engine, as asked for.
    pub engines: Vec<EngineLine>,
}

/// One engine. Errors are relative to the range of the values.
#[derive(Clone, Debug, Serialize)]
pub struct EngineLine {
    /// Its name.
    pub engine: &'static str,
    /// Seconds to plan and apply.
    pub seconds: f64,
    /// The largest error.
    pub max_error: f64,
    /// The mean error.
    pub mean_error: f64,
    /// What the engine itself proved, without knowing the exact result.
    pub bound: f64,
    /// Entries of the weight matrix, where there is one.
    pub nonzeros: Option<u64>,
    /// Whether the largest error is within the tolerance.
    pub within_tolerance: bool,
}

/// Runs several engines on the same rows: how fast and how far from all pairs each is.
///
/// # Errors
/// If options contradict each other, an input cannot be used, or memory does not suffice.
pub fn compare(request: &Compare, listener: &dyn Listener) -> Result<Compared, Error> {
    Caller::work(&request.running, listener, |caller| perform(request, caller))
}

fn perform(request: &Compare, caller: &Caller) -> Result<Compared, Error> {
    let recipe = request.kernel.recipe(Some(request.c), &request.data, caller)?;
    let inputs = request.data.open(&request.test, Some(&recipe), caller)?;
    // The reference stays while an engine is compared with it.
    let values = 2 * inputs.test.rows() * inputs.predictions.len();
    let memory = request.running.memory_for_smoothers(inputs.rows(), values, 0)?;
    let truncation = request.kernel.truncation;
    let options = truncation.options(EngineKind::Exact, memory)?;
    let data = request.data.read(&inputs, caller)?;
    let run = Run { recipe: &recipe, c: request.c, options, data: &data, caller };
    let report = request.report.prepare(&[], caller)?;
    let (summary, errors) =
        run.compare(&request.engines, truncation.tolerance().unwrap_or(EngineOptions::DEFAULT_TOLERANCE))?;
    if let Some(report) = report {
        Complete::name_all(report.write(&summary.page(&errors))?)?;
    }
    Ok(Compared { summary, errors })
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

    fn timed(&self, engine: EngineKind) -> Result<(Vec<Smoothed>, EngineLine), Error> {
        let (start, options, data) = (Instant::now(), self.options.engine(engine), self.data);
        let labelled = data.train.as_ref().map(|train| &train.places);
        let smoother = self.recipe.smoother(self.c, options)?;
        // First, so that what it lays out is gone when the smoother plans.
        let corrected = data.corrected(self.recipe.correction, &options)?;
        let plan = smoother.plan_with(&data.test.places, labelled, &*self.caller.phase("plan"))?;
        let smoothed = data.smooth(&plan, corrected.as_deref(), &*self.caller.phase("apply"))?;
        let line = EngineLine {
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

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&table(&HEADER, self.engines.iter().map(EngineLine::cells)))
    }
}

impl Comparison {
    fn page(&self, errors: &[EngineErrors]) -> Page {
        let table = Table {
            caption: "Errors are relative to the range of the values; the bound is what the engine proved by itself"
                .to_owned(),
            header: HEADER.map(str::to_owned).to_vec(),
            rows: self.engines.iter().map(EngineLine::cells).collect(),
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

impl EngineLine {
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
