//! Smooths all rows at once, where memory holds them.

use super::outputs::{destinations, new_columns, new_names, write_matrix};
use super::{Job, PhaseSeconds, Smoothing, SmoothingSummary};
use crate::error::Error;
use crate::io::Complete;
use crate::job::data::Data;
use crate::job::inputs::Inputs;
use crate::job::machine::Stopwatch;
use crate::job::pages::ShownRows;
use crate::job::recipe::Recipe;
use crate::smoother::Smoothed;

impl Job<'_> {
    /// Smooths all rows at once.
    pub(super) fn at_once(&self) -> Result<Smoothing, Error> {
        let Self { request, recipe, c, inputs, caller, .. } = *self;
        let mut watch = Stopwatch::start();
        let names = new_names(request, inputs)?;
        let (output, matrix) = destinations(request, inputs, names.len(), caller)?;
        let (test_rows, columns) = (inputs.test.rows(), inputs.predictions.len());
        let (rows, new_values) = (inputs.rows(), names.len() * test_rows);
        let memory = request.running.memory_for_smoothers(rows, columns * test_rows, new_values)?;
        let memory = self.beside_files(memory, output.as_ref());
        let options = request.kernel.truncation.options(request.engine, memory)?;
        let smoother = recipe.smoother(c, options)?;
        let smoother = if request.certificate { smoother.with_room_for_n_effective() } else { smoother };
        smoother.expect(test_rows, inputs.labelled_rows(), inputs.metric(recipe.sigma.sigma()))?;
        let others = [("output", output.as_ref()), ("matrix", matrix.as_ref())];
        let report = request.report.prepare(&others, caller)?;

        let data = request.data.read(inputs, caller)?;
        let read = watch.lap();
        let labelled = data.train.as_ref().map(|train| &train.places);
        // First, so that what it lays out is gone when the smoother plans.
        let corrected = data.corrected(recipe.correction, &options)?;
        let corrected_after = watch.lap();
        let plan = smoother.plan_with(&data.test.places, labelled, &*caller.phase("plan"))?;
        let planned = watch.lap();
        let smoothed = data.smooth(&plan, corrected.as_deref(), &*caller.phase("apply"))?;
        drop(corrected);
        let n_effective = if request.certificate { Some(plan.n_effective()?) } else { None };
        let applied = corrected_after + watch.lap();
        let writing = caller.phase("write");
        let columns = new_columns(&names, &data, &smoothed, n_effective.as_deref());
        let output = output.map(|output| output.write(&inputs.test, &columns)).transpose()?;
        let matrix = matrix.map(|matrix| write_matrix(matrix, &plan, &data)).transpose()?;
        drop(writing);
        let written = watch.lap();

        let seconds = PhaseSeconds { read, plan: planned, apply: applied, write: written, total: watch.total() };
        let summary = SmoothingSummary::of_data(self, &data, plan.choice(), &smoothed, seconds);
        let rows = shown(recipe, inputs, data, &smoothed[0]);
        let page = report.map(|report| report.write(&summary.page(&rows)?)).transpose()?;
        Complete::name_all(output.into_iter().chain(matrix).chain(page.into_iter().flatten()).collect())?;
        Ok(Smoothing { summary, columns, rows: Some(rows) })
    }
}

/// The rows that took part, before and after, by the first prediction.
fn shown(recipe: &Recipe, inputs: &Inputs, data: Data, smoothed: &Smoothed) -> ShownRows {
    let mut columns = data.test.columns;
    ShownRows {
        places: data.test.places,
        truth: data.truth,
        before: columns.swap_remove(0),
        after: smoothed.values.iter().map(|value| value.unwrap_or(f64::NAN)).collect(),
        prediction: inputs.predictions[0].clone(),
        label: inputs.label.clone().unwrap_or_else(|| "truth".to_owned()),
        sigma: recipe.sigma.sigma(),
    }
}
