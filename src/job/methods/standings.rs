//! How the methods fared: sorted, for people and for scripts.

use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::baseline::Outcome;
use crate::report::{Lines, number, short, table};
use crate::score::Measure;

/// Rows of each input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ContestRows {
    /// Labelled rows.
    pub train: usize,
    /// Rows to choose settings on.
    pub validation: usize,
    /// Rows to score on.
    pub test: usize,
    /// Rows of all three that took no part.
    pub skipped: usize,
}

/// The methods from best to worst. It serializes to what `--json` prints and displays as a table for people.
#[derive(Clone, Debug, Serialize)]
pub struct Standings {
    /// A line for each method.
    pub methods: Vec<Standing>,
    /// The name of what was made best.
    pub metric: &'static str,
    /// Rows of the inputs.
    pub rows: ContestRows,
    /// What the user should know.
    pub warnings: Vec<String>,
    /// Seconds of everything.
    pub seconds: f64,
    #[serde(skip)]
    measure: Measure,
}

/// How a method fared.
#[derive(Clone, Debug, Serialize)]
pub struct Standing {
    /// Its name.
    pub method: &'static str,
    /// On the test rows; null where nothing converged.
    pub score: f64,
    /// On the validation rows.
    pub validation_score: f64,
    /// To tune and to score.
    pub seconds: f64,
    /// How many settings were tried.
    pub configurations: usize,
    /// How many of them did not converge.
    pub unconverged: usize,
    /// What was best on the validation rows.
    pub hyperparameters: Map<String, Value>,
    /// The same as people read it.
    #[serde(skip)]
    chosen: String,
}

impl Standings {
    pub(super) fn new(
        outcomes: &[Outcome],
        measure: Measure,
        predictions: &[String],
        rows: ContestRows,
        seconds: f64,
    ) -> Self {
        let mut methods: Vec<Standing> = outcomes.iter().map(|outcome| Standing::of(outcome, predictions)).collect();
        methods.sort_by(|a, b| b.merit(measure).total_cmp(&a.merit(measure)));
        let warnings = outcomes.iter().filter_map(warning).collect();
        Self { methods, metric: measure.name(), rows, warnings, seconds, measure }
    }

    pub(crate) fn header(measure: Measure) -> [&'static str; 6] {
        ["method", measure.title(), "", "seconds", "tried", "chosen"]
    }

    /// The table that people read, a bar beside each score.
    pub(crate) fn cells(&self) -> Vec<Vec<String>> {
        let scores = self.methods.iter().map(|standing| standing.score);
        let most = scores.filter(|score| score.is_finite()).fold(0.0, f64::max);
        self.methods.iter().map(|standing| standing.cells(most)).collect()
    }
}

impl Standing {
    fn of(outcome: &Outcome, predictions: &[String]) -> Self {
        let chosen = outcome.chosen.as_ref().map_or(Vec::new(), |chosen| chosen.hyperparameters(predictions));
        Self {
            method: outcome.method.name(),
            score: outcome.score,
            validation_score: outcome.validation_score,
            seconds: outcome.seconds,
            configurations: outcome.configurations,
            unconverged: outcome.unconverged,
            chosen: chosen.iter().map(words).collect::<Vec<_>>().join(", "),
            hyperparameters: chosen.into_iter().collect(),
        }
    }

    /// What methods are sorted by: the larger the better, without a score last.
    fn merit(&self, measure: Measure) -> f64 {
        if self.score.is_nan() { f64::NEG_INFINITY } else { measure.gain(0.0, self.score) }
    }

    fn cells(&self, most: f64) -> Vec<String> {
        let tried = match self.unconverged {
            0 => number(self.configurations),
            lost => format!("{} ({lost} unconverged)", number(self.configurations)),
        };
        vec![
            self.method.to_owned(),
            if self.score.is_nan() { "-".to_owned() } else { short(self.score) },
            bar(self.score / most),
            format!("{:.2}", self.seconds),
            tried,
            self.chosen.clone(),
        ]
    }
}

impl fmt::Display for Standings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = Lines::default();
        let ContestRows { train, validation, test, skipped } = self.rows;
        let skipped = if skipped > 0 { format!(", {} skipped", number(skipped)) } else { String::new() };
        let [train, validation, test] = [train, validation, test].map(number);
        text.line("rows", &format!("{train} labelled, {validation} to tune on, {test} to score{skipped}"));
        text.line("seconds", &format!("{:.2}", self.seconds));
        let mut cells = self.cells();
        // Words are read from their left end.
        let widest = cells.iter().map(|row| row[5].chars().count()).max().unwrap_or(0);
        for row in &mut cells {
            row[5] = format!("{:<widest$}", row[5]);
        }
        write!(f, "{}\n{}", text.finish(), table(&Self::header(self.measure), cells.into_iter()))
    }
}

/// A hyperparameter as people read it.
fn words((name, value): &(String, Value)) -> String {
    match value {
        Value::String(text) if name == "prediction" => text.clone(),
        Value::String(text) => format!("{name} {}", shown_sigma(text)),
        value => format!("{name} {}", value.as_f64().map_or(String::new(), few_digits)),
    }
}

/// What the user should know about how a method fared.
fn warning(outcome: &Outcome) -> Option<String> {
    let Outcome { method, unconverged, configurations, .. } = outcome;
    if outcome.chosen.is_none() {
        return Some(format!("{method}: none of {configurations} settings converged"));
    }
    if outcome.values.is_empty() {
        return Some(format!("{method}: what was best on the validation rows did not converge on the test rows"));
    }
    (*unconverged > 0)
        .then(|| format!("{method}: {unconverged} of {configurations} settings did not converge and were not chosen"))
}

/// Characters of the longest bar.
const BAR: usize = 20;

/// A bar of eighths of a character, padded to the longest.
fn bar(share: f64) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = if share > 0.0 { (share.min(1.0) * 8.0 * BAR as f64).round() as usize } else { 0 };
    let text = "█".repeat(eighths / 8) + EIGHTHS[eighths % 8];
    format!("{text:<BAR$}")
}

fn few_digits(value: f64) -> String {
    let rounded: f64 = format!("{value:.3e}").parse().unwrap_or(value);
    crate::error::plain(rounded)
}

/// σ in few digits, its unit behind it.
fn shown_sigma(text: &str) -> String {
    let unit = text.find(|c: char| c.is_alphabetic() && c != 'e').unwrap_or(text.len());
    let (number, unit) = text.split_at(unit);
    number.parse().map_or_else(|_| text.to_owned(), |value| few_digits(value) + unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_long_as_they_say() {
        assert_eq!([bar(1.0), bar(0.5)], ["█".repeat(20), "█".repeat(10) + &" ".repeat(10)]);
        assert_eq!(bar(0.03).trim_end(), "▋");
        for nothing in [0.0, -0.3, f64::NAN, f64::NEG_INFINITY] {
            assert_eq!(bar(nothing), " ".repeat(20));
        }
    }

    #[test]
    fn widths_are_shown_in_few_digits() {
        assert_eq!(
            ["0.017782794100389229deg", "500m", "2.5", "0.0001deg"].map(shown_sigma),
            ["0.01778deg", "500m", "2.5", "0.0001deg"]
        );
    }
}
