//! The weight matrix by itself, for programs: W between rows, from their places alone.

use std::path::PathBuf;

use super::caller::Caller;
use super::options::{DataArgs, RunArgs};
use super::recipe::KernelArgs;
use super::table::Table;
use crate::engine::EngineKind;
use crate::error::Error;
use crate::smoother::{SmoothingPlan, WeightBatch};

/// W between rows.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Rows to predict
    #[arg(long, value_name = "FILES")]
    test: PathBuf,
    #[command(flatten)]
    data: DataArgs,
    #[command(flatten)]
    kernel: KernelArgs,
    #[command(flatten)]
    pub(crate) running: RunArgs,
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

pub(crate) fn perform(args: &Args, caller: &Caller) -> Result<Weights, Error> {
    let recipe = args.kernel.recipe(None, &args.data, caller)?;
    let (test, train) = args.data.read_places(&args.test, &recipe, caller)?;
    let train_rows = train.as_ref().map_or(0, |train| train.rows);
    let memory = args.running.memory_for_smoothers(test.rows + train_rows, 0, 0)?;
    let options = args.kernel.accuracy().options(EngineKind::Sparse, memory)?;
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
    let column = move |source: usize| match source.checked_sub(test_rows) {
        None => test.row(source),
        Some(training) => test.rows + train.map_or(training, |train| train.row(training)),
    };
    Ok(plan.weights()?.map(move |mut batch| {
        batch.rows.iter_mut().for_each(|row| *row = test.row(*row));
        batch.columns.iter_mut().for_each(|source| *source = column(*source));
        batch
    }))
}
