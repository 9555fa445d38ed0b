//! The search with the correct step: σ of smoothing, σ of the correction and its shrinkage, in turn.

use super::ladder::{climb, tidy};
use super::{LOOKS_A_ROUND, Look, ROUNDS, Search, at};
use crate::correct::Correction;
use crate::error::Error;
use crate::space::Sigma;
use crate::tune::Point;

/// The range of σ to try with a correction, relative to the best σ without one: the correction does not move it far. Chosen,
/// not measured.
const NEAR_PLAIN: std::ops::Range<f64> = 0.15..7.0;

impl Search<'_> {
    /// Searches the parameters of smoothing after the correct step, for all columns: first a ladder of σ with the correction
    /// that is best without smoothing, then σ of the correction, its shrinkage and σ of smoothing in turn.
    pub(super) fn correct(&mut self, ladder: &[Sigma], corrections: &[Option<Correction>]) -> Result<(), Error> {
        for (prediction, correction) in corrections.iter().enumerate() {
            let Some(correction) = *correction else { continue };
            let corrected = self.corrected(prediction, correction)?;
            let Some(plain) = self.best_where(|point| point.prediction == prediction && point.correction.is_none())
            else {
                continue;
            };
            let near = ladder.iter().filter(|sigma| NEAR_PLAIN.contains(&(sigma.value() / plain.sigma.value())));
            for &sigma in near {
                self.smooth_corrected(prediction, &corrected, sigma, correction)?;
                self.progress.advance(1);
            }
            self.climb_correction(prediction)?;
        }
        Ok(())
    }

    /// Evaluates smoothing of corrected predictions at one σ.
    fn smooth_corrected(
        &mut self,
        prediction: usize,
        corrected: &[f64],
        sigma: Sigma,
        correction: Correction,
    ) -> Result<f64, Error> {
        let predictions = self.trials.prediction_sums(sigma, &[corrected])?;
        let labels = self.labels(sigma)?;
        let look = Look { values: corrected, predictions: &predictions, column: 0, labels: &labels };
        self.look(&look, Point { prediction, correction: Some(correction), ..at(sigma) })
    }

    /// Refines each parameter in turn, in a smaller range each round.
    fn climb_correction(&mut self, prediction: usize) -> Result<(), Error> {
        for factor in ROUNDS {
            self.climb_width(prediction, factor)?;
            self.climb_shrink(prediction, factor)?;
            self.climb_corrected_sigma(prediction, factor)?;
        }
        Ok(())
    }

    /// The best point of a column with a correction.
    fn corrected_leader(&self, prediction: usize) -> Option<(Point, Correction)> {
        let best = self.best_where(|point| point.prediction == prediction && point.correction.is_some())?;
        Some((best, best.correction?))
    }

    /// The corrected predictions of a column.
    fn corrected(&self, prediction: usize, correction: Correction) -> Result<Vec<f64>, Error> {
        let residuals = self.trials.label_sums(correction.sigma(), &[prediction])?;
        Ok(self.trials.corrected(prediction, &residuals, 1, correction.shrink()))
    }

    fn climb_width(&mut self, prediction: usize, factor: f64) -> Result<(), Error> {
        let Some((best, correction)) = self.corrected_leader(prediction) else { return Ok(()) };
        self.around(correction.sigma(), factor, LOOKS_A_ROUND, |search, sigma| {
            let correction = Correction::new(sigma, correction.shrink())?;
            let corrected = search.corrected(prediction, correction)?;
            search.smooth_corrected(prediction, &corrected, best.sigma, correction)
        })
    }

    fn climb_shrink(&mut self, prediction: usize, factor: f64) -> Result<(), Error> {
        let Some((best, correction)) = self.corrected_leader(prediction) else { return Ok(()) };
        let (trials, middle) = (self.trials, correction.shrink());
        let residuals = trials.label_sums(correction.sigma(), &[prediction])?;
        climb(middle / factor, middle * factor, LOOKS_A_ROUND, |shrink| {
            self.progress.advance(1);
            let correction = Correction::new(correction.sigma(), tidy(shrink))?;
            let corrected = trials.corrected(prediction, &residuals, 1, correction.shrink());
            self.smooth_corrected(prediction, &corrected, best.sigma, correction)
        })
    }

    fn climb_corrected_sigma(&mut self, prediction: usize, factor: f64) -> Result<(), Error> {
        let Some((best, correction)) = self.corrected_leader(prediction) else { return Ok(()) };
        let corrected = self.corrected(prediction, correction)?;
        self.around(best.sigma, factor, LOOKS_A_ROUND, |search, sigma| {
            search.smooth_corrected(prediction, &corrected, sigma, correction)
        })
    }
}
