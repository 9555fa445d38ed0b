//! What `tune` found: as JSON, for people, as a file of parameters and as a page.

use std::path::PathBuf;

use serde::Serialize;

use super::{Args, Rows};
use crate::error::Error;
use crate::job::data::Inputs;
use crate::job::lists::numbers;
use crate::job::pages::{ShownRows, Surface, tune_page};
use crate::job::recipe::Correct;
use crate::job::table::Table;
use crate::parameters::{CorrectParameters, Parameters};
use crate::points::Places;
use crate::report::{Lines, Page, number, short};
use crate::score::Measure;
use crate::space::Sigma;
use crate::tune::{Gain, Point, Trial, Tuned, Tuner};

/// Everything, for scripts.
#[derive(Serialize)]
pub(super) struct Summary<'a> {
    best: Tried<'a>,
    unsmoothed: Unsmoothed<'a>,
    metric: &'static str,
    gain: Gain,
    grid: Vec<Tried<'a>>,
    warnings: Vec<String>,
    rows: RowCounts,
    seconds: f64,
}

#[derive(Serialize)]
struct Tried<'a> {
    prediction: &'a str,
    sigma: String,
    c: f64,
    label_weight: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    correct: Option<Correct>,
    score: f64,
}

#[derive(Serialize)]
struct Unsmoothed<'a> {
    prediction: &'a str,
    score: f64,
}

#[derive(Clone, Copy, Serialize)]
struct RowCounts {
    train: usize,
    validation: usize,
    skipped: usize,
}

impl Rows {
    fn counts(&self) -> RowCounts {
        match self {
            Self::Validation(data) => RowCounts {
                train: data.train.as_ref().map_or(0, |table| table.rows),
                validation: data.test.rows,
                skipped: data.test.skipped() + data.train.as_ref().map_or(0, Table::skipped),
            },
            Self::Training(table) => RowCounts { train: table.rows, validation: 0, skipped: table.skipped() },
        }
    }
}

/// What was found, with the names that belong to it.
pub(super) struct Findings<'a> {
    pub(super) args: &'a Args,
    pub(super) inputs: &'a Inputs,
    pub(super) tuned: &'a Tuned,
    /// The σ of a grid as they were written.
    pub(super) sigmas: &'a [(Sigma, String)],
    pub(super) measure: Measure,
}

impl<'a> Findings<'a> {
    /// σ as the user wrote it, or as we do.
    fn sigma(&self, sigma: Sigma) -> String {
        let written = self.sigmas.iter().find(|(known, _)| *known == sigma);
        written.map_or_else(|| sigma.to_string(), |(_, text)| text.clone())
    }

    fn name(&self, point: &Point) -> &'a str {
        &self.inputs.predictions[point.prediction]
    }

    fn tried(&self, point: &Point) -> Tried<'a> {
        Tried {
            prediction: self.name(point),
            sigma: self.sigma(point.sigma),
            c: point.c,
            label_weight: point.label_weight,
            correct: point.correction.map(Correct::from),
            score: point.score,
        }
    }

    pub(super) fn summary(&self, rows: &Rows, seconds: f64) -> Summary<'a> {
        let unsmoothed = &self.tuned.unsmoothed;
        Summary {
            best: self.tried(&self.tuned.best),
            unsmoothed: Unsmoothed { prediction: self.name(unsmoothed), score: unsmoothed.score },
            metric: self.measure.name(),
            gain: self.tuned.gain,
            grid: self.tuned.tried.iter().map(|point| self.tried(point)).collect(),
            warnings: self.tuned.warnings.iter().map(ToString::to_string).collect(),
            rows: rows.counts(),
            seconds,
        }
    }

    pub(super) fn parameters(&self, rows: &Rows) -> Parameters {
        let best = &self.tuned.best;
        let train_prediction = || self.inputs.train_predictions.get(best.prediction).cloned().unwrap_or_default();
        let file = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
        Parameters {
            version: Parameters::VERSION,
            prediction: self.name(best).to_owned(),
            label: self.inputs.label.clone().unwrap_or_default(),
            sigma: self.sigma(best.sigma),
            c: best.c,
            label_weight: best.label_weight,
            correct: best.correction.map(|correction| CorrectParameters {
                sigma: self.sigma(correction.sigma()),
                shrink: correction.shrink(),
                train_prediction: train_prediction(),
            }),
            places: self.inputs.places.clone(),
            provenance: serde_json::json!({
                "program": concat!("geosmooth ", env!("CARGO_PKG_VERSION")),
                "train": file(&self.args.data.train),
                "validation": file(&self.args.validation),
                "scored_on": self.args.way(),
                "predictions": self.inputs.predictions,
                "rows": rows.counts(),
                "metric": self.measure.name(),
                "unsmoothed": Unsmoothed { prediction: self.name(&self.tuned.unsmoothed), score: self.tuned.unsmoothed.score },
                "score": best.score,
                "gain": self.tuned.gain,
                "warnings": self.tuned.warnings.iter().map(ToString::to_string).collect::<Vec<_>>(),
            }),
        }
    }

    /// The rows that were scored on, in the order of the trials.
    pub(super) fn rows(&self, trials: &[Trial]) -> ShownRows {
        let best = &self.tuned.best;
        let all = |part: &dyn Fn(&Trial) -> Vec<f64>| trials.iter().flat_map(part).collect::<Vec<f64>>();
        ShownRows {
            places: Places::concatenated(&trials.iter().map(|trial| trial.targets).collect::<Vec<_>>()),
            truth: Some(all(&|trial| trial.truth.to_vec())),
            before: all(&|trial| trial.predictions[best.prediction].to_vec()),
            after: self.tuned.values.clone(),
            prediction: self.name(best).to_owned(),
            label: self.inputs.label.clone().unwrap_or_else(|| "truth".to_owned()),
            sigma: best.sigma,
        }
    }

    pub(super) fn page(&self, surface: &Surface, rows: &ShownRows) -> Result<Page, Error> {
        tune_page(self.tuned, self.measure, &self.inputs.predictions, &self.args.way(), surface, rows)
    }

    /// Scores over σ and c: of the grids if there are any, around the best otherwise.
    pub(super) fn surface(&self, tuner: &Tuner, trials: &[Trial]) -> Result<Surface, Error> {
        let best = &self.tuned.best;
        let mut sigmas: Vec<Sigma> = self.sigmas.iter().map(|(sigma, _)| *sigma).collect();
        if sigmas.is_empty() {
            sigmas = (-6..=6).map(|step| best.sigma.scaled(1.5_f64.powi(step))).collect::<Result<_, _>>()?;
        }
        sigmas.sort_by(|a, b| a.value().total_cmp(&b.value()));
        let mut cs = match &self.args.c_grid {
            Some(list) => numbers("--c-grid", list)?,
            None => (0..=20).map(|step| f64::from(step) / 20.0).collect(),
        };
        cs.sort_by(f64::total_cmp);
        let scores = tuner.surface(trials, best, &sigmas, &cs)?;
        Ok(Surface { sigmas, cs, scores })
    }

    pub(super) fn for_people(&self, summary: &Summary) -> String {
        let (best, measure) = (&summary.best, self.measure);
        let mut text = Lines::default();
        let RowCounts { train, validation, skipped } = summary.rows;
        let skipped = if skipped > 0 { format!(", {} skipped", number(skipped)) } else { String::new() };
        let scored = if validation > 0 { format!("{} to score on, ", number(validation)) } else { String::new() };
        text.line("rows", &format!("{scored}{} labelled{skipped}", number(train)));
        text.line("scored on", &self.args.way());
        text.line("tried", &format!("{} points in {:.2} s", number(summary.grid.len()), summary.seconds));
        text.line(
            "best",
            &format!("{}: sigma {}, c {}, label weight {}", best.prediction, best.sigma, best.c, best.label_weight),
        );
        if let Some(Correct { sigma, shrink }) = &best.correct {
            text.line("correct", &format!("errors of training rows spread first: sigma {sigma}, shrink {shrink}"));
        }
        text.line(
            measure.title(),
            &format!(
                "{} ({} unsmoothed) -> {}",
                short(summary.unsmoothed.score),
                summary.unsmoothed.prediction,
                short(best.score)
            ),
        );
        let Gain { low, high, .. } = summary.gain;
        text.line(
            "gain",
            &format!(
                "{}; 95 of 100 resamples of the rows between {} and {}",
                short(summary.gain.gain),
                short(low),
                short(high)
            ),
        );
        if let Some(output) = &self.args.output {
            text.line("output", &output.display().to_string());
        }
        text.finish() + "\n" + &self.columns_table()
    }

    /// The best of each prediction: as it is, smoothed, and corrected too.
    fn columns_table(&self) -> String {
        let measure = self.measure;
        let rows = self.inputs.predictions.iter().enumerate().flat_map(|(prediction, name)| {
            [(false, "smoothed"), (true, "corrected and smoothed")].into_iter().filter_map(move |(corrected, how)| {
                let point = self.tuned.best_of(measure, prediction, corrected)?;
                Some(vec![
                    name.clone(),
                    how.to_owned(),
                    self.sigma(point.sigma),
                    short(point.c),
                    point.label_weight.to_string(),
                    short(point.score),
                ])
            })
        });
        crate::report::table(&["prediction", "", "sigma", "c", "label weight", measure.title()], rows)
    }
}
