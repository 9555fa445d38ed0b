//! The weight matrix by itself: W between rows, from their places alone.

use super::caller::{Caller, Listener};
use super::dataset::Dataset;
use super::options::{DataOptions, KernelOptions, RunOptions};
use super::table::Table;
use crate::engine::EngineKind;
use crate::error::Error;
use crate::smoother::{SmoothingPlan, WeightBatch};

/// A request for W between rows.
#[derive(Clone, Debug)]
pub struct WeightMatrix {
    /// Rows to predict.
    pub test: Dataset,
    /// Labelled rows and columns, of which only places and groups matter.
    pub data: DataOptions,
    /// What to smooth with.
    pub kernel: KernelOptions,
    /// How to run.
    pub running: RunOptions,
}

impl WeightMatrix {
    /// A request with the defaults of all options.
    #[must_use]
    pub fn new(test: impl Into<Dataset>) -> Self {
        let (data, kernel) = (DataOptions::default(), KernelOptions::default());
        Self { test: test.into(), data, kernel, running: RunOptions::default() }
    }
}

/// W between rows as they stand in the tables: test rows times test rows and training rows.
#[derive(Debug)]
pub struct Weights {
    /// Test rows.
    pub rows: usize,
    /// Test rows and training rows.
    pub columns: usize,
    /// The entries, by ascending row and then column.
    pub batches: Vec<WeightBatch>,
}

impl Weights {
    /// Where the entries of each row begin, and where those of the last end, as in compressed sparse rows.
    #[must_use]
    pub fn starts(&self) -> Vec<usize> {
        let mut starts = vec![0; self.rows + 1];
        for row in self.batches.iter().flat_map(|batch| &batch.rows) {
            starts[row + 1] += 1;
        }
        (0..self.rows).for_each(|row| starts[row + 1] += starts[row]);
        starts
    }
}

/// The weight matrix that the sparse engine averages with, from places alone.
///
/// # Errors
/// If options contradict each other, an input cannot be used, or the matrix does not fit into memory.
pub fn weights(request: &WeightMatrix, listener: &dyn Listener) -> Result<Weights, Error> {
    Caller::work(&request.running, listener, |caller| perform(request, caller))
}

fn perform(request: &WeightMatrix, caller: &Caller) -> Result<Weights, Error> {
    let recipe = request.kernel.recipe(None, &request.data, caller)?;
    let (test, train) = request.data.read_places(&request.test, &recipe, caller)?;
    let train_rows = train.as_ref().map_or(0, |train| train.rows);
    let memory = request.running.memory_for_smoothers(test.rows + train_rows, 0, 0)?;
    let options = request.kernel.truncation.options(EngineKind::Sparse, memory)?;
    let smoother = recipe.smoother(0.0, options)?;
    let labelled = train.as_ref().map(|train| &train.places);
    let plan = smoother.plan_with(&test.places, labelled, &*caller.phase("plan"))?;
    let batches = between_rows(&plan, &test, train.as_ref())?.collect();
    Ok(Weights { rows: test.rows, columns: test.rows + train_rows, batches })
}

/// W between rows rather than places: test rows first, then training rows, as they stand in their tables.
pub(crate) fn between_rows(
    plan: &SmoothingPlan,
    test: &Table,
    train: Option<&Table>,
) -> Result<impl Iterator<Item = WeightBatch>, Error> {
    let test_rows = test.places.len();
    Ok(plan.weights()?.map(move |mut batch| {
        batch.rows.iter_mut().for_each(|row| *row = test.row(*row));
        for source in &mut batch.columns {
            *source = match source.checked_sub(test_rows) {
                None => test.row(*source),
                Some(training) => test.rows + train.map_or(training, |train| train.row(training)),
            };
        }
        batch
    }))
}
