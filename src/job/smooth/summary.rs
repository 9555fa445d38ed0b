//! How a run of smoothing went: as JSON for scripts, as lines for people, as a page.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

use super::Job;
use super::results::Bounds;
use super::streamed_run::StreamedRun;
use crate::engine::Choice;
use crate::error::{Error, bytes};
use crate::finding::Finding;
use crate::job::bandwidth::Bandwidth;
use crate::job::data::Data;
use crate::job::machine;
use crate::job::pages::{ShownRows, smooth_page};
use crate::job::recipe::CorrectStep;
use crate::job::table::Table;
use crate::report::{Lines, Page, number, share, short};
use crate::score::{Measure, Score};
use crate::smoother::Smoothed;

/// How a run of smoothing went. It serializes to what `--json` prints and displays as a few lines for people.
#[derive(Clone, Debug, Serialize)]
pub struct SmoothingSummary {
    /// The engine that summed.
    pub engine: &'static str,
    /// σ as it was written.
    pub sigma: Bandwidth,
    /// How far predictions went to the average around them.
    pub c: f64,
    /// The weight of a label against a prediction.
    pub label_weight: f64,
    /// The correct step, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correct: Option<CorrectStep>,
    /// The tolerance, unless the kernel was cut by hand.
    pub tolerance: Option<f64>,
    /// Rows of the inputs.
    pub rows: SmoothedRows,
    /// Where memory did not hold all rows: how it was done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub streamed: Option<StreamedRun>,
    /// Seconds of each phase.
    pub seconds: PhaseSeconds,
    /// What was proven, relative to the range of the values.
    pub error_bound: ProvenError,
    /// The most memory that the process ever held, if the system reports it.
    pub peak_memory_bytes: Option<u64>,
    /// Scores where the rows to predict have the label.
    pub scores: Vec<Scores>,
    /// What the user should know.
    pub findings: Vec<Finding>,
    /// Why this engine, in a phrase.
    #[serde(skip)]
    pub reason: &'static str,
    /// The file that was written.
    #[serde(skip)]
    pub output: Option<PathBuf>,
}

/// Rows of the inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SmoothedRows {
    /// Labelled rows.
    pub train: usize,
    /// Rows to predict.
    pub test: usize,
    /// Rows of both that took no part.
    pub skipped: usize,
}

/// Seconds of each phase.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct PhaseSeconds {
    /// Reading the rows.
    pub read: f64,
    /// Laying them out and planning.
    pub plan: f64,
    /// Summing.
    pub apply: f64,
    /// Writing the outputs.
    pub write: f64,
    /// All together.
    pub total: f64,
}

/// Proven errors of all values, relative to their range.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ProvenError {
    /// The largest.
    pub max: f64,
    /// The mean.
    pub mean: f64,
}

impl From<Bounds> for ProvenError {
    fn from(bounds: Bounds) -> Self {
        Self { max: bounds.largest, mean: bounds.mean() }
    }
}

/// How good a prediction is before and after.
#[derive(Clone, Debug, Serialize)]
pub struct Scores {
    /// Its column.
    pub prediction: String,
    /// As it was.
    pub before: Score,
    /// Smoothed.
    pub after: Score,
}

impl SmoothingSummary {
    /// Of rows that were smoothed at once.
    pub(super) fn of_data(
        job: &Job,
        data: &Data,
        choice: Choice,
        smoothed: &[Smoothed],
        seconds: PhaseSeconds,
    ) -> Self {
        let train = data.train.as_ref();
        let mut bounds = Bounds::new(job.request.kernel.truncation.tolerance());
        for column in smoothed {
            bounds.add(column);
        }
        let rows = SmoothedRows {
            train: train.map_or(0, |table| table.rows),
            test: data.test.rows,
            skipped: data.test.skipped() + train.map_or(0, Table::skipped),
        };
        Self::of(job, choice, rows, bounds, seconds, scores(&job.inputs.predictions, data, smoothed))
    }

    /// Of any run; warns of what was found.
    pub(super) fn of(
        job: &Job,
        choice: Choice,
        rows: SmoothedRows,
        bounds: Bounds,
        seconds: PhaseSeconds,
        scores: Vec<Scores>,
    ) -> Self {
        let Job { request, recipe, c, caller, .. } = *job;
        Self {
            engine: choice.engine.name(),
            sigma: recipe.sigma.clone(),
            c,
            label_weight: recipe.label_weight,
            correct: recipe.correction.map(CorrectStep::from),
            tolerance: request.kernel.truncation.tolerance(),
            rows,
            streamed: None,
            seconds,
            error_bound: bounds.into(),
            peak_memory_bytes: machine::peak_memory(),
            scores,
            findings: caller.report(bounds.finding()),
            reason: choice.reason,
            output: request.output.clone(),
        }
    }

    /// The run in a few lines.
    fn lines(&self) -> Vec<(&'static str, String)> {
        let SmoothedRows { train, test, skipped } = self.rows;
        let mut lines = vec![
            ("rows", format!("{} to predict{}{}", number(test), part(train, "labelled"), part(skipped, "skipped"))),
            ("engine", format!("{} ({})", self.engine, self.reason)),
            ("sigma", format!("{}, c {}, label weight {}", self.sigma, self.c, self.label_weight)),
        ];
        if let Some(CorrectStep { sigma, shrink }) = &self.correct {
            lines.push(("correct", format!("by the errors of nearby training rows: sigma {sigma}, shrink {shrink}")));
        }
        lines.extend(self.streamed.map(|run| ("on disk", run.for_people())));
        let wanted = self
            .tolerance
            .map_or("the kernel has a fixed cutoff".to_owned(), |tolerance| format!("tolerance {tolerance:e}"));
        lines.push(("error", format!("at most {} of the range, proven ({wanted})", share(self.error_bound.max))));
        let PhaseSeconds { read, plan, apply, write, total } = self.seconds;
        let phases = format!("read {read:.2}, plan {plan:.2}, apply {apply:.2}, write {write:.2}");
        lines.push(("seconds", format!("{total:.2} ({phases})")));
        lines.extend(self.peak_memory_bytes.map(|peak| ("memory", format!("{} at the peak", bytes(peak)))));
        lines
    }

    /// The run as a page, with the rows of the first prediction.
    pub(super) fn page(&self, rows: &ShownRows) -> Result<Page, Error> {
        let prediction = &rows.prediction;
        let lead = match self.scores.first() {
            Some(scores) => {
                let [before, after] = [scores.before, scores.after].map(|score| short(score.r2.unwrap_or(f64::NAN)));
                format!("Smoothing takes the R² of {prediction} from {before} to {after}.")
            }
            None => format!(
                "{} rows smoothed, each within {} of the range.",
                number(self.rows.test),
                share(self.error_bound.max)
            ),
        };
        let scores: Vec<_> = self.scores.iter().map(|s| (s.prediction.as_str(), s.before, s.after)).collect();
        smooth_page(lead, &self.lines(), &scores, rows)
    }
}

/// A part of a sentence about rows, where there are any.
fn part(count: usize, what: &str) -> String {
    if count > 0 { format!(", {} {what}", number(count)) } else { String::new() }
}

impl fmt::Display for SmoothingSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = Lines::default();
        for (name, line) in self.lines() {
            text.line(name, &line);
        }
        if let Some(output) = &self.output {
            text.line("output", &output.display().to_string());
        }
        f.write_str(&text.finish())?;
        if !self.scores.is_empty() {
            write!(f, "\n{}", score_table(&self.scores))?;
        }
        Ok(())
    }
}

/// Scores before and after, for people.
pub(crate) fn score_table(scores: &[Scores]) -> String {
    let header: Vec<&str> = std::iter::once("prediction").chain(Measure::ALL.map(Measure::title)).collect();
    crate::report::table(&header, scores.iter().map(Scores::cells))
}

impl Scores {
    fn cells(&self) -> Vec<String> {
        let Self { prediction, before, after } = self;
        vec![
            prediction.clone(),
            change(before.r2, after.r2),
            change(Some(before.rmse), Some(after.rmse)),
            change(Some(before.mae), Some(after.mae)),
            change(before.mape, after.mape),
            change(Some(before.median_error), Some(after.median_error)),
        ]
    }
}

fn change(before: Option<f64>, after: Option<f64>) -> String {
    let [before, after] = [before, after].map(|score| short(score.unwrap_or(f64::NAN)));
    format!("{before} -> {after}")
}

/// Scores of each prediction where the test rows have labels.
pub(super) fn scores(predictions: &[String], data: &Data, smoothed: &[Smoothed]) -> Vec<Scores> {
    let Some(truth) = &data.truth else { return Vec::new() };
    let columns = predictions.iter().zip(&data.test.columns).zip(smoothed);
    let scored = columns.filter_map(|((prediction, before), after)| {
        let before = score(before.iter().copied().map(Some), truth)?;
        let after = score(after.values.iter().copied(), truth)?;
        Some(Scores { prediction: prediction.clone(), before, after })
    });
    scored.collect()
}

/// The score of values where there is a value and its truth is known.
fn score(values: impl Iterator<Item = Option<f64>>, truth: &[f64]) -> Option<Score> {
    let pairs = values.zip(truth).filter_map(|(value, &label)| label.is_finite().then_some((value?, label)));
    Score::of(&pairs.collect::<Vec<_>>())
}
