//! Finds σ, c, the label weight and the correct step on rows whose truth is known.

mod findings;
mod rows;
mod summary;

use std::path::PathBuf;

use self::findings::Found;
pub use self::rows::ScoredOn;
pub use self::summary::{ColumnBest, Tried, TuningRows, TuningSummary, Unsmoothed};
use super::bandwidth::Bandwidth;
use super::caller::{Caller, Listener};
use super::machine::Stopwatch;
use super::options::{DataOptions, ReportOptions, RunOptions};
use super::pages::{ShownRows, Surface};
use crate::engine::{EngineKind, Truncation};
use crate::error::Error;
use crate::io::Complete;
use crate::parameters::Parameters;
use crate::score::Measure;
use crate::space::Sigma;
use crate::tune::Tuner;

/// A request to find how to smooth.
#[derive(Clone, Debug)]
pub struct Tune {
    /// Rows to score on; they must be given.
    pub scored_on: Option<ScoredOn>,
    /// Labelled rows and columns.
    pub data: DataOptions,
    /// Metric to optimize.
    pub metric: Measure,
    /// Which σ to try.
    pub sigmas: SigmaSearch,
    /// Exactly these c; the best for each σ if left out.
    pub c_grid: Option<Vec<f64>>,
    /// Exactly these label weights; they are searched if left out, and 1 for a grid of σ.
    pub label_weights: Option<Vec<f64>>,
    /// How to sum.
    pub engine: EngineKind,
    /// Where the kernel is cut: by a tolerance, or by hand.
    pub truncation: Truncation,
    /// A file for the parameters.
    pub output: Option<PathBuf>,
    /// Whether to score over σ and c around the best too.
    pub surface: bool,
    /// Pages of results, and whether outputs may be replaced.
    pub report: ReportOptions,
    /// How to run.
    pub running: RunOptions,
}

/// Which σ to try.
#[derive(Clone, Debug, Default)]
pub enum SigmaSearch {
    /// From well below the spacing of the places up to their extent.
    #[default]
    FromData,
    /// Between two.
    Within(Sigma, Sigma),
    /// Exactly these.
    Grid(Vec<Bandwidth>),
}

impl SigmaSearch {
    /// What two options say, of which one may be given: a grid, and the two ends of a range.
    ///
    /// # Errors
    /// If both are given, or a range has not two ends.
    pub fn of(grid: Option<Vec<Bandwidth>>, range: Option<&[Bandwidth]>) -> Result<Self, Error> {
        match (grid, range) {
            (Some(_), Some(_)) => Err(Error::Contradiction {
                message: "a grid and a range of sigma are given".to_owned(),
                hint: "give `sigma-grid` or `sigma-range`".to_owned(),
            }),
            (Some(grid), None) => Ok(Self::Grid(grid)),
            (None, Some([low, high])) => Ok(Self::Within(low.sigma(), high.sigma())),
            (None, Some(range)) => Err(Error::Contradiction {
                message: format!("a range of sigma has {} lengths, not two lengths", range.len()),
                hint: "write the smallest and the largest, such as `sigma-range 20m,5km`".to_owned(),
            }),
            (None, None) => Ok(Self::FromData),
        }
    }

    fn grid(&self) -> &[Bandwidth] {
        match self {
            Self::Grid(grid) => grid,
            Self::FromData | Self::Within(..) => &[],
        }
    }
}

impl Default for Tune {
    fn default() -> Self {
        Self {
            scored_on: None,
            data: DataOptions::default(),
            metric: Measure::R2,
            sigmas: SigmaSearch::FromData,
            c_grid: None,
            label_weights: None,
            engine: EngineKind::Auto,
            truncation: Truncation::default(),
            output: None,
            surface: false,
            report: ReportOptions::default(),
            running: RunOptions::default(),
        }
    }
}

/// What tuning gave.
#[derive(Clone, Debug)]
pub struct Tuning {
    /// The best, all that was tried, and what to know about it.
    pub summary: TuningSummary,
    /// All that smoothing needs to know.
    pub parameters: Parameters,
    /// The rows that were scored on, before and after, with the best parameters.
    pub rows: ShownRows,
    /// Scores over σ and c with everything else as chosen, where a page or the request asked for them.
    pub surface: Option<Surface>,
}

/// Finds how to smooth: σ, c and the label weight that score best on rows whose truth is known.
///
/// # Errors
/// If options contradict each other, an input cannot be used, or memory does not suffice.
pub fn tune(request: &Tune, listener: &dyn Listener) -> Result<Tuning, Error> {
    Caller::work(&request.running, listener, |caller| request.perform(caller))
}

impl Tune {
    fn perform(&self, caller: &Caller) -> Result<Tuning, Error> {
        let watch = Stopwatch::start();
        let tuner = self.tuner()?;
        let inputs = self.open(caller)?;
        self.explain_untried_correction(caller);
        let memory = self.running.memory_for_engines(inputs.rows(), inputs.predictions.len())?;
        let options = self.truncation.options(self.engine, memory)?;
        let output = self.output.as_ref().map(|path| caller.create(path, self.report.overwrite)).transpose()?;
        let report = self.report.prepare(&[("output", output.as_ref())], caller)?;

        let rows = self.read(&inputs, caller)?;
        let folds = self.folds(&rows)?;
        let trials = rows.trials(&folds, !self.data.train_prediction.is_empty());
        let tuner = tuner.engine_options(options);
        let tuned = tuner.tune(&trials, &*caller.phase("tune"))?;
        let found = Found { request: self, inputs: &inputs, tuned: &tuned };
        for warning in &tuned.warnings {
            caller.warn(&warning.to_string());
        }
        let parameters = found.parameters(&rows);
        let mut written: Vec<Complete> = Vec::new();
        if let Some(output) = output {
            written.push(output.write_bytes(parameters.to_json().as_bytes())?);
        }
        let shown = found.rows(&trials);
        let is_wanted = self.surface || report.is_some();
        let surface = if is_wanted { Some(found.surface(&tuner, &trials)?) } else { None };
        if let Some((report, surface)) = report.zip(surface.as_ref()) {
            written.extend(report.write(&found.page(surface, &shown)?)?);
        }
        Complete::name_all(written)?;
        Ok(Tuning { summary: found.summary(&rows, watch.total()), parameters, rows: shown, surface })
    }

    /// What to search.
    fn tuner(&self) -> Result<Tuner, Error> {
        let mut tuner = Tuner::new(self.metric);
        tuner = match &self.sigmas {
            SigmaSearch::FromData => tuner,
            SigmaSearch::Within(low, high) => tuner.sigma_range(*low, *high)?,
            SigmaSearch::Grid(grid) => tuner.sigma_grid(grid.iter().map(Bandwidth::sigma).collect())?,
        };
        if let Some(cs) = &self.c_grid {
            tuner = tuner.c_grid(cs.clone())?;
        }
        if let Some(weights) = &self.label_weights {
            tuner = tuner.label_weights(weights.clone())?;
        }
        Ok(tuner)
    }

    /// Says why the correct step is not tried although it could be.
    fn explain_untried_correction(&self, caller: &Caller) {
        if self.data.train_prediction.is_empty() {
            return;
        }
        if matches!(self.scored_on, Some(ScoredOn::LeaveOneOut)) {
            caller.warn(&caller.spelled(
                "the correct step is not tried with `leave-one-out true`: a hidden label would come back through its neighbours; use `folds` or `validation`",
            ));
        } else if !self.sigmas.grid().is_empty() {
            caller.warn(
                &caller.spelled("the correct step is not tried with `sigma-grid`; leave the grid out to search it"),
            );
        }
    }
}
