//! What was found, with the names that belong to it: parameters, rows, scores over σ and c, and a page.

use super::Tune;
use super::rows::{Rows, ScoredOn};
use super::summary::{ColumnBest, Tried, TuningRows, TuningSummary, Unsmoothed};
use crate::error::Error;
use crate::job::bandwidth::Bandwidth;
use crate::job::dataset::Dataset;
use crate::job::inputs::Inputs;
use crate::job::pages::{ShownRows, Surface, tune_page};
use crate::job::recipe::CorrectStep;
use crate::parameters::{CorrectParameters, Parameters};
use crate::points::Places;
use crate::report::Page;
use crate::space::Sigma;
use crate::tune::{Point, Trial, Tuned, Tuner};

/// What was found, with what it was found on.
pub(super) struct Found<'a> {
    pub(super) request: &'a Tune,
    pub(super) inputs: &'a Inputs,
    pub(super) tuned: &'a Tuned,
}

impl Found<'_> {
    /// σ as the user wrote it, or as we do.
    fn sigma(&self, sigma: Sigma) -> String {
        let written = self.request.sigmas.grid().iter().find(|known| known.sigma() == sigma);
        written.map_or_else(|| sigma.to_string(), ToString::to_string)
    }

    fn name(&self, point: &Point) -> String {
        self.inputs.predictions[point.prediction].clone()
    }

    fn tried(&self, point: &Point) -> Tried {
        Tried {
            prediction: self.name(point),
            sigma: self.sigma(point.sigma),
            c: point.c,
            label_weight: point.label_weight,
            correct: point.correction.map(CorrectStep::from),
            score: point.score,
        }
    }

    fn unsmoothed(&self) -> Unsmoothed {
        Unsmoothed { prediction: self.name(&self.tuned.unsmoothed), score: self.tuned.unsmoothed.score }
    }

    fn warnings(&self) -> Vec<String> {
        self.tuned.warnings.iter().map(ToString::to_string).collect()
    }

    pub(super) fn summary(&self, rows: &Rows, seconds: f64) -> TuningSummary {
        TuningSummary {
            best: self.tried(&self.tuned.best),
            unsmoothed: self.unsmoothed(),
            metric: self.request.metric.name(),
            gain: self.tuned.gain,
            grid: self.tuned.tried.iter().map(|point| self.tried(point)).collect(),
            warnings: self.warnings(),
            rows: TuningRows::of(rows),
            seconds,
            best_of_columns: self.best_of_columns(),
            scored_on: self.request.way(),
            output: self.request.output.clone(),
            measure: self.request.metric,
        }
    }

    /// The best of each prediction: smoothed, and corrected too.
    fn best_of_columns(&self) -> Vec<ColumnBest> {
        let mut best = Vec::new();
        for prediction in 0..self.inputs.predictions.len() {
            for corrected in [false, true] {
                let point = self.tuned.best_of(self.request.metric, prediction, corrected);
                best.extend(point.map(|point| ColumnBest { is_corrected: corrected, point: self.tried(&point) }));
            }
        }
        best
    }

    pub(super) fn parameters(&self, rows: &Rows) -> Parameters {
        let best = &self.tuned.best;
        let validation = match &self.request.scored_on {
            Some(ScoredOn::Validation(rows)) => Some(named(rows)),
            _ => None,
        };
        Parameters {
            version: Parameters::VERSION,
            prediction: self.name(best),
            label: self.inputs.label.clone().unwrap_or_default(),
            sigma: self.sigma(best.sigma),
            c: best.c,
            label_weight: best.label_weight,
            correct: best.correction.map(|correction| CorrectParameters {
                sigma: self.sigma(correction.sigma()),
                shrink: correction.shrink(),
                train_prediction: self.inputs.train_predictions.get(best.prediction).cloned().unwrap_or_default(),
            }),
            places: self.inputs.places.clone(),
            provenance: serde_json::json!({
                "program": concat!("geosmooth ", env!("CARGO_PKG_VERSION")),
                "train": self.request.data.train.as_ref().map(named),
                "validation": validation,
                "scored_on": self.request.way(),
                "predictions": self.inputs.predictions,
                "rows": TuningRows::of(rows),
                "metric": self.request.metric.name(),
                "unsmoothed": self.unsmoothed(),
                "score": best.score,
                "gain": self.tuned.gain,
                "warnings": self.warnings(),
            }),
        }
    }

    /// The rows that were scored on, in the order of the trials.
    pub(super) fn rows(&self, trials: &[Trial]) -> ShownRows {
        let best = &self.tuned.best;
        ShownRows {
            places: Places::concatenated(&trials.iter().map(|trial| trial.targets).collect::<Vec<_>>()),
            truth: Some(trials.iter().flat_map(|trial| trial.truth).copied().collect()),
            before: trials.iter().flat_map(|trial| trial.predictions[best.prediction]).copied().collect(),
            after: self.tuned.values.clone(),
            prediction: self.name(best),
            label: self.inputs.label.clone().unwrap_or_else(|| "truth".to_owned()),
            sigma: best.sigma,
        }
    }

    pub(super) fn page(&self, surface: &Surface, rows: &ShownRows) -> Result<Page, Error> {
        let Tune { metric, .. } = self.request;
        tune_page(self.tuned, *metric, &self.inputs.predictions, &self.request.way(), surface, rows)
    }

    /// Scores over σ and c: of the grids if there are any, around the best otherwise.
    pub(super) fn surface(&self, tuner: &Tuner, trials: &[Trial]) -> Result<Surface, Error> {
        let best = &self.tuned.best;
        let mut sigmas: Vec<Sigma> = self.request.sigmas.grid().iter().map(Bandwidth::sigma).collect();
        if sigmas.is_empty() {
            sigmas = (-6..=6).map(|step| best.sigma.scaled(1.5_f64.powi(step))).collect::<Result<_, _>>()?;
        }
        sigmas.sort_by(|a, b| a.value().total_cmp(&b.value()));
        let mut cs: Vec<f64> = match &self.request.c_grid {
            Some(grid) => grid.clone(),
            None => (0..=20).map(|step| f64::from(step) / 20.0).collect(),
        };
        cs.sort_by(f64::total_cmp);
        let scores = tuner.surface(trials, best, &sigmas, &cs)?;
        Ok(Surface { sigmas, cs, scores })
    }
}

fn named(rows: &Dataset) -> String {
    rows.name().to_string()
}
