//! Smooths rows that memory does not hold together.

use super::outputs::{destinations, new_names};
use super::streamed::Streamed;
use super::{Job, PhaseSeconds, SmoothedRows, Smoothing, SmoothingSummary};
use crate::engine::{Choice, EngineKind};
use crate::error::Error;
use crate::io::{Complete, Input};
use crate::job::machine::Stopwatch;

impl Job<'_> {
    /// Smooths tile by tile, or by moments.
    pub(super) fn streamed(&self) -> Result<Smoothing, Error> {
        let Self { request, recipe, c, inputs, caller, .. } = *self;
        let mut watch = Stopwatch::start();
        let names = new_names(request, inputs)?;
        let (output, _) = destinations(request, inputs, names.len(), caller)?;
        let memory = self.beside_files(request.running.memory(), output.as_ref());
        let options = request.kernel.truncation.options(request.engine, memory - memory / 4)?;
        let folder = request.spill_dir.clone().unwrap_or_else(std::env::temp_dir);
        let smoother = recipe.smoother(c, options)?;
        let run = Streamed { job: self, smoother, memory, folder, new_columns: names.len() };
        run.check_folder()?;
        let counted = run.count()?;
        let read = watch.lap();
        let strategy = run.choose(&counted)?;
        let plan = watch.lap();
        let (results, streamed) = run.smooth(&counted, &strategy)?;
        // Before anything has its final name: this reads rows once more.
        let scores = run.scores(&results)?;
        let apply = watch.lap();
        let writing = caller.phase("write");
        let columns: Vec<&str> = names.iter().map(String::as_str).collect();
        let written =
            output.map(|output| output.write_from(&inputs.test, &columns, &|k, rows| results.values(k, rows)));
        written.transpose()?.map_or(Ok(()), Complete::name)?;
        drop(writing);
        let seconds = PhaseSeconds { read, plan, apply, write: watch.lap(), total: watch.total() };
        let choice = Choice { engine: request.engine.if_chosen(EngineKind::Fast), reason: strategy.reason() };
        let rows = SmoothedRows {
            train: inputs.train.as_ref().map_or(0, Input::rows),
            test: inputs.test.rows(),
            skipped: counted.skipped,
        };
        let summary = SmoothingSummary {
            streamed: Some(streamed),
            ..SmoothingSummary::of(self, choice, rows, results.bounds, seconds, scores)
        };
        Ok(Smoothing { summary, columns: Vec::new(), rows: None })
    }
}
