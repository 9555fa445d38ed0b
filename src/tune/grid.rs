//! Trying exactly the listed values.

use rayon::prelude::*;

use super::mixing::Mixing;
use super::trials::Trials;
use super::{Outcome, Point, SEARCH_TOLERANCE, Trial, Tuner};
use crate::correct::Correction;
use crate::engine::Progress;
use crate::error::Error;
use crate::influence::KernelSums;
use crate::space::Sigma;

impl Tuner {
    /// Scores over σ (rows) and c (columns) with everything else as at a point.
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
        let row = |&sigma: &Sigma| {
            let sums = trials.prediction_sums(sigma, &[&predictions])?;
            let labels = trials.label_sums(sigma, &[])?;
            let means = trials.means(&sums, 0, &labels, point.label_weight);
            let mixing =
                Mixing { measure: self.measure, predictions: &predictions, means: &means, truth: &trials.truth };
            Ok(cs.iter().map(|&c| mixing.score(c)).collect())
        };
        sigmas.iter().map(row).collect()
    }

    /// Every σ with every label weight, every c and every column; the best c alone where none are listed.
    pub(super) fn grid(
        &self,
        trials: &Trials,
        sigmas: &[Sigma],
        label_weights: &[f64],
        progress: &dyn Progress,
    ) -> Result<Outcome, Error> {
        let columns: Vec<&[f64]> = trials.predictions.iter().map(Vec::as_slice).collect();
        let mut tried = Vec::new();
        progress.start(sigmas.len() as u64);
        for &sigma in sigmas {
            let predictions = trials.prediction_sums(sigma, &columns)?;
            let labels = trials.label_sums(sigma, &[])?;
            let each: Vec<(usize, f64)> =
                (0..columns.len()).flat_map(|k| label_weights.iter().map(move |&weight| (k, weight))).collect();
            let points = |&(prediction, label_weight): &(usize, f64)| {
                let start = Point { prediction, sigma, c: 0.0, label_weight, correction: None, score: 0.0 };
                self.listed(trials, start, &predictions, &labels)
            };
            tried.extend(each.par_iter().map(points).collect::<Vec<_>>().into_iter().flatten());
            progress.advance(1);
        }
        let values = || sigmas.iter().map(|sigma| sigma.value());
        let range = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
        Ok(Outcome { tried, sigmas: range })
    }

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
