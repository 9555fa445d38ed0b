//! Grid search: tries exactly the listed values.

use rayon::prelude::*;

use super::mixing::Mixing;
use super::trials::Trials;
use super::{Point, SEARCH_TOLERANCE, SearchResult, Trial, Tuner};
use crate::correct::Correction;
use crate::engine::Progress;
use crate::error::Error;
use crate::influence::KernelSums;
use crate::space::Sigma;

impl Tuner {
    /// Scores for each σ (rows) and each c (columns); all other parameters are those of `point`.
    ///
    /// # Errors
    /// As [`Tuner::tune`].
    pub fn surface(
        &self,
        trials: &[Trial],
        point: &Point,
        sigmas: &[Sigma],
        cs: &[f64],
    ) -> Result<Vec<Vec<f64>>, Error> {
        let mut trials = Trials::new(trials, point.sigma, self.options.with_tolerance_of_at_least(SEARCH_TOLERANCE))?;
        trials.expect(point.label_weight, point.correction.map_or(1.0, Correction::shrink));
        let predictions = Self::values(&trials, &Point { c: 0.0, ..*point })?;
        sigmas.iter().map(|&sigma| self.surface_row(&trials, &predictions, sigma, point.label_weight, cs)).collect()
    }

    /// Scores at one σ for each c.
    fn surface_row(
        &self,
        trials: &Trials,
        predictions: &[f64],
        sigma: Sigma,
        label_weight: f64,
        cs: &[f64],
    ) -> Result<Vec<f64>, Error> {
        let sums = trials.prediction_sums(sigma, &[predictions])?;
        let labels = trials.label_sums(sigma, &[])?;
        let means = trials.means(&sums, 0, &labels, label_weight);
        let mixing = Mixing { measure: self.measure, predictions, means: &means, truth: &trials.truth };
        Ok(cs.iter().map(|&c| mixing.score(c)).collect())
    }

    /// Tries every σ with every label weight, every c and every column; if no c are listed, only the best c of each.
    pub(super) fn grid(
        &self,
        trials: &Trials,
        sigmas: &[Sigma],
        label_weights: &[f64],
        progress: &dyn Progress,
    ) -> Result<SearchResult, Error> {
        let columns: Vec<&[f64]> = trials.predictions.iter().map(Vec::as_slice).collect();
        let mut tried = Vec::new();
        progress.start(sigmas.len() as u64);
        for &sigma in sigmas {
            let predictions = trials.prediction_sums(sigma, &columns)?;
            let labels = trials.label_sums(sigma, &[])?;
            let each: Vec<(usize, f64)> =
                (0..columns.len()).flat_map(|k| label_weights.iter().map(move |&weight| (k, weight))).collect();
            let points = each.par_iter().map(|&(prediction, label_weight)| {
                let start = Point { prediction, sigma, c: 0.0, label_weight, correction: None, score: 0.0 };
                self.listed(trials, start, &predictions, &labels)
            });
            tried.extend(points.collect::<Vec<_>>().into_iter().flatten());
            progress.advance(1);
        }
        let smallest = sigmas.iter().map(|sigma| sigma.value()).fold(f64::INFINITY, f64::min);
        let largest = sigmas.iter().map(|sigma| sigma.value()).fold(0.0, f64::max);
        Ok(SearchResult { points: tried, sigmas: (smallest, largest) })
    }

    /// The points at one σ and label weight: one for each listed c, or the best c.
    fn listed(&self, trials: &Trials, start: Point, predictions: &KernelSums, labels: &KernelSums) -> Vec<Point> {
        let means = trials.means(predictions, start.prediction, labels, start.label_weight);
        let mixing = Mixing {
            measure: self.measure,
            predictions: &trials.predictions[start.prediction],
            means: &means,
            truth: &trials.truth,
        };
        if let Some(cs) = &self.cs {
            return cs.iter().map(|&c| Point { c, score: mixing.score(c), ..start }).collect();
        }
        let (c, score) = mixing.best(None);
        vec![Point { c, score, ..start }]
    }
}
