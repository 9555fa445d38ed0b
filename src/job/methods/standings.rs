//! How the methods fared: sorted, for people and for scripts.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::baseline::Outcome;
use crate::report::{Lines, number, short, table};
use crate::score::Measure;

/// Rows of each input.
#[derive(Clone, Copy, Serialize)]
pub(super) struct RowCounts {
    pub(super) train: usize,
    pub(super) validation: usize,
    pub(super) test: usize,
    pub(super) skipped: usize,
}

/// The methods from best to worst.
#[derive(Serialize)]
pub(crate) struct Standings {
    pub(crate) methods: Vec<Standing>,
    metric: &'static str,
    rows: RowCounts,
    pub(crate) warnings: Vec<String>,
    seconds: f64,
}

#[derive(Serialize)]
pub(crate) struct Standing {
    pub(crate) method: &'static str,
    /// On the test rows; null where nothing converged.
    pub(crate) score: f64,
    validation_score: f64,
    pub(crate) seconds: f64,
    configurations: usize,
    unconverged: usize,
    hyperparameters: Map<String, Value>,
    /// As people read them.
    #[serde(skip)]
    chosen: String,
}

impl Standings {
    pub(super) fn new(
        outcomes: &[Outcome],
        measure: Measure,
        predictions: &[String],
        rows: RowCounts,
        seconds: f64,
    ) -> Self {
        let standing = |outcome: &Outcome| {
            let chosen = outcome.chosen.as_ref().map_or(Vec::new(), |chosen| chosen.hyperparameters(predictions));
            let words = |(name, value): &(String, Value)| match value {
                Value::String(text) if name == "prediction" => text.clone(),
                Value::String(text) => format!("{name} {}", shown_sigma(text)),
                value => format!("{name} {}", value.as_f64().map_or(String::new(), few_digits)),
            };
            Standing {
                method: outcome.method.name(),
                score: outcome.score,
                validation_score: outcome.validation_score,
                seconds: outcome.seconds,
                configurations: outcome.configurations,
                unconverged: outcome.unconverged,
                chosen: chosen.iter().map(words).collect::<Vec<_>>().join(", "),
                hyperparameters: chosen.into_iter().collect(),
            }
        };
        let mut methods: Vec<Standing> = outcomes.iter().map(standing).collect();
        let merit = |standing: &Standing| {
            if standing.score.is_nan() { f64::NEG_INFINITY } else { measure.gain(0.0, standing.score) }
        };
        methods.sort_by(|a, b| merit(b).total_cmp(&merit(a)));
        let warnings = outcomes.iter().filter_map(warning).collect();
        Self { methods, metric: measure.name(), rows, warnings, seconds }
    }

    pub(super) fn for_people(&self, measure: Measure) -> String {
        let mut text = Lines::default();
        let RowCounts { train, validation, test, skipped } = self.rows;
        let skipped = if skipped > 0 { format!(", {} skipped", number(skipped)) } else { String::new() };
        let counts = [train, validation, test].map(number);
        text.line(
            "rows",
            &format!("{} labelled, {} to tune on, {} to score{skipped}", counts[0], counts[1], counts[2]),
        );
        text.line("seconds", &format!("{:.2}", self.seconds));
        let mut cells = self.cells();
        // Words are read from their left end.
        let widest = cells.iter().map(|row| row[5].chars().count()).max().unwrap_or(0);
        for row in &mut cells {
            row[5] = format!("{:<widest$}", row[5]);
        }
        text.finish() + "\n" + &table(&Self::header(measure), cells.into_iter())
    }

    pub(crate) fn header(measure: Measure) -> [&'static str; 6] {
        ["method", measure.title(), "", "seconds", "tried", "chosen"]
    }

    /// The table that people read, a bar beside each score.
    pub(crate) fn cells(&self) -> Vec<Vec<String>> {
        let most = self.methods.iter().map(|standing| standing.score).filter(|s| s.is_finite()).fold(0.0, f64::max);
        let row = |standing: &Standing| {
            let tried = match standing.unconverged {
                0 => number(standing.configurations),
                lost => format!("{} ({lost} unconverged)", number(standing.configurations)),
            };
            vec![
                standing.method.to_owned(),
                if standing.score.is_nan() { "-".to_owned() } else { short(standing.score) },
                bar(standing.score / most),
                format!("{:.2}", standing.seconds),
                tried,
                standing.chosen.clone(),
            ]
        };
        self.methods.iter().map(row).collect()
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
