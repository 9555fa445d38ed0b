//! How tuning went: as JSON for scripts, as lines for people.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

use super::rows::Rows;
use crate::job::recipe::CorrectStep;
use crate::job::table::Table;
use crate::report::{Lines, number, short, table};
use crate::score::Measure;
use crate::tune::Gain;

/// How tuning went. It serializes to what `--json` prints and displays as a few lines for people.
#[derive(Clone, Debug, Serialize)]
pub struct TuningSummary {
    /// What scored best.
    pub best: Tried,
    /// The best prediction as it is.
    pub unsmoothed: Unsmoothed,
    /// The name of the metric that was optimized.
    pub metric: &'static str,
    /// How much better the best is, with its uncertainty.
    pub gain: Gain,
    /// All that was tried.
    pub grid: Vec<Tried>,
    /// What the user should know.
    pub warnings: Vec<String>,
    /// Rows of the inputs.
    pub rows: TuningRows,
    /// Seconds of everything.
    pub seconds: f64,
    /// The best of each prediction.
    #[serde(skip)]
    pub best_of_columns: Vec<ColumnBest>,
    /// The way that rows were chosen to score on.
    #[serde(skip)]
    pub scored_on: String,
    /// The file that was written.
    #[serde(skip)]
    pub output: Option<PathBuf>,
    #[serde(skip)]
    pub(super) measure: Measure,
}

/// Parameters that were tried.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tried {
    /// The column of predictions.
    pub prediction: String,
    /// σ as it was written.
    pub sigma: String,
    /// Mixing weight.
    pub c: f64,
    /// The weight of a label against a prediction.
    pub label_weight: f64,
    /// The correct step, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correct: Option<CorrectStep>,
    /// How well they scored.
    pub score: f64,
}

/// A prediction as it is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Unsmoothed {
    /// Its column.
    pub prediction: String,
    /// How well it scores.
    pub score: f64,
}

/// The best parameters for one prediction, with or without the correct step.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnBest {
    /// Whether it is corrected first.
    pub is_corrected: bool,
    /// The parameters.
    pub point: Tried,
}

/// Rows of the inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TuningRows {
    /// Labelled rows.
    pub train: usize,
    /// Rows to score on; 0 where the labelled rows stand in for them.
    pub validation: usize,
    /// Rows of both that took no part.
    pub skipped: usize,
}

impl TuningRows {
    pub(super) fn of(rows: &Rows) -> Self {
        match rows {
            Rows::Validation(data) => Self {
                train: data.train.as_ref().map_or(0, |table| table.rows),
                validation: data.test.rows,
                skipped: data.test.skipped() + data.train.as_ref().map_or(0, Table::skipped),
            },
            Rows::Training(table) => Self { train: table.rows, validation: 0, skipped: table.skipped() },
        }
    }
}

impl fmt::Display for TuningSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (best, unsmoothed) = (&self.best, &self.unsmoothed);
        let mut text = Lines::default();
        let TuningRows { train, validation, skipped } = self.rows;
        let skipped = if skipped > 0 { format!(", {} skipped", number(skipped)) } else { String::new() };
        let scored = if validation > 0 { format!("{} to score on, ", number(validation)) } else { String::new() };
        text.line("rows", &format!("{scored}{} labelled{skipped}", number(train)));
        text.line("scored on", &self.scored_on);
        text.line("tried", &format!("{} points in {:.2} s", number(self.grid.len()), self.seconds));
        let Tried { prediction, sigma, c, label_weight, .. } = best;
        text.line("best", &format!("{prediction}: sigma {sigma}, c {c}, label weight {label_weight}"));
        if let Some(CorrectStep { sigma, shrink }) = &best.correct {
            text.line("correct", &format!("by the errors of nearby training rows: sigma {sigma}, shrink {shrink}"));
        }
        let [before, after] = [unsmoothed.score, best.score].map(short);
        text.line(self.measure.title(), &format!("{before} ({} unsmoothed) -> {after}", unsmoothed.prediction));
        let [gain, low, high] = [self.gain.gain, self.gain.low, self.gain.high].map(short);
        text.line("gain", &format!("{gain}, 95 % interval {low} to {high}"));
        if let Some(output) = &self.output {
            text.line("output", &output.display().to_string());
        }
        let header = ["prediction", "", "sigma", "c", "label weight", self.measure.title()];
        let columns = table(&header, self.best_of_columns.iter().map(ColumnBest::cells));
        write!(f, "{}\n{columns}", text.finish())
    }
}

impl ColumnBest {
    fn cells(&self) -> Vec<String> {
        let how = if self.is_corrected { "corrected and smoothed" } else { "smoothed" };
        let Tried { prediction, sigma, c, label_weight, score, .. } = self.point.clone();
        vec![prediction, how.to_owned(), sigma, short(c), label_weight.to_string(), short(score)]
    }
}
