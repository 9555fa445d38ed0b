//! Parquet or a table in, smoothed rows out.

use std::path::PathBuf;

mod at_once;
mod out_of_core;
mod outputs;
mod results;
mod streamed;
mod streamed_run;
mod summary;

use self::streamed::LEAST_MEMORY;
pub use self::streamed_run::StreamedRun;
pub use self::summary::{PhaseSeconds, ProvenError, Scores, SmoothedRows, SmoothingSummary};
use super::caller::{Caller, Listener};
use super::dataset::Dataset;
use super::inputs::Inputs;
use super::options::{DataOptions, KernelOptions, ReportOptions, RunOptions};
use super::pages::ShownRows;
use super::recipe::Recipe;
use crate::engine::EngineKind;
use crate::error::Error;
use crate::io::{NewColumn, Output};

/// A request to smooth predictions over space, together with known labels.
#[derive(Clone, Debug)]
pub struct Smooth {
    /// Rows to predict.
    pub test: Dataset,
    /// Labelled rows and columns.
    pub data: DataOptions,
    /// What to smooth with.
    pub kernel: KernelOptions,
    /// Mixing weight: 0 keeps each prediction, 1 replaces it by the average around it.
    pub c: Option<f64>,
    /// How to sum.
    pub engine: EngineKind,
    /// The Parquet file that the result goes to; none where the rows to predict are in memory.
    pub output: Option<PathBuf>,
    /// Whether to add a bound on the numerical error of each row, and the effective number of its sources.
    pub certificate: bool,
    /// A file for the weight matrix, which the sparse engine alone keeps.
    pub matrix: Option<PathBuf>,
    /// Pages of results, and whether outputs may be replaced.
    pub report: ReportOptions,
    /// How to run.
    pub running: RunOptions,
    /// Folder for rows that memory does not hold; that of temporary files if left out.
    pub spill_dir: Option<PathBuf>,
}

impl Smooth {
    /// A request with the defaults of all options.
    #[must_use]
    pub fn new(test: impl Into<Dataset>) -> Self {
        Self {
            test: test.into(),
            data: DataOptions::default(),
            kernel: KernelOptions::default(),
            c: None,
            engine: EngineKind::Auto,
            output: None,
            certificate: false,
            matrix: None,
            report: ReportOptions::default(),
            running: RunOptions::default(),
            spill_dir: None,
        }
    }
}

/// What smoothing gave.
#[derive(Clone, Debug)]
pub struct Smoothing {
    /// The run: engine, parameters, bounds, seconds, scores.
    pub summary: SmoothingSummary,
    /// The columns to add to the rows, in their order; none where memory did not hold all rows.
    pub columns: Vec<NewColumn>,
    /// The rows that took part, before and after, by the first prediction; none where memory did not hold them all.
    pub rows: Option<ShownRows>,
}

/// Smooths predictions over space, together with known labels.
///
/// # Errors
/// If options contradict each other, an input cannot be used, or memory or disk do not suffice.
///
/// # Examples
/// ```no_run
/// use geosmooth::job::{Smooth, smooth};
///
/// let mut request = Smooth::new("unsold.parquet");
/// request.data.train = Some("sold.parquet".into());
/// request.data.label = Some("price".to_owned());
/// request.data.prediction = vec!["model".to_owned()];
/// request.kernel.sigma = Some("500m".parse()?);
/// request.c = Some(0.6);
/// request.output = Some("smoothed.parquet".into());
/// println!("{}", smooth(&request, &())?.summary);
/// # Ok::<(), geosmooth::Error>(())
/// ```
pub fn smooth(request: &Smooth, listener: &dyn Listener) -> Result<Smoothing, Error> {
    Caller::work(&request.running, listener, |caller| perform(request, caller))
}

fn perform(request: &Smooth, caller: &Caller) -> Result<Smoothing, Error> {
    if request.matrix.is_some() && request.engine != EngineKind::Sparse {
        return Err(Error::Contradiction {
            message: format!("`matrix` cannot be written: the engine {} may not keep one", request.engine),
            hint: "add `engine sparse`".to_owned(),
        });
    }
    let recipe = request.kernel.recipe(request.c, &request.data, caller)?;
    let c = recipe
        .c
        .ok_or_else(|| Error::missing("c", "the mixing weight, such as `c 0.6`, or `params` that tune found"))?;
    let inputs = request.data.open(&request.test, Some(&recipe), caller)?;
    let held = caller.budget.taken();
    let job = Job { request, recipe: &recipe, c, inputs: &inputs, held, caller };
    match job.at_once() {
        Err(Error::Memory { .. } | Error::MatrixTooLarge { .. }) if job.can_be_streamed() => job.streamed(),
        done => done,
    }
}

/// What is to be smoothed, and how.
struct Job<'a> {
    request: &'a Smooth,
    recipe: &'a Recipe,
    c: f64,
    inputs: &'a Inputs,
    /// Bytes that the metadata of the inputs hold.
    held: u64,
    caller: &'a Caller<'a>,
}

impl Job<'_> {
    /// What is left of memory beside the metadata of inputs and output, which are there all the time.
    fn beside_files(&self, memory: u64, output: Option<&Output>) -> u64 {
        memory.saturating_sub(self.held + output.map_or(0, Output::held))
    }

    /// Whether it can be done tile by tile: from files to a file, with nothing that needs all rows together.
    fn can_be_streamed(&self) -> bool {
        let request = self.request;
        let needs_all = request.matrix.is_some() || request.report.is_wanted() || self.recipe.correction.is_some();
        let files = !self.inputs.test.is_in_memory() && request.output.is_some();
        files && !needs_all && request.engine != EngineKind::Exact && request.running.memory() >= LEAST_MEMORY
    }
}
