//! The automatic search: a geometric ladder of σ over the whole range, then golden-section search around the best rung.

mod corrected;
mod ladder;

use std::sync::Arc;

use rayon::prelude::*;

use self::ladder::{climb, ladder, tidy};
use super::mixing::Mixing;
use super::trials::Trials;
use super::{Point, SearchResult, Tuner};
use crate::correct::Correction;
use crate::engine::Progress;
use crate::error::Error;
use crate::influence::KernelSums;
use crate::space::Sigma;
use crate::span::blend;

/// The factor between rungs. On the sample, the score changes by less than 2e-3 from rung to rung near the best.
const RUNG: f64 = 1.5;
/// The ladder ends this many rungs beyond the best σ, where σ is over seven times the best. Chosen, not measured.
const LOST: i32 = 5;
/// The ladder ends at this rung if nothing has helped: σ is then over thirty times the spacing. Chosen, not measured.
const HOPELESS: i32 = 12;
/// Evaluations of a golden-section search around a rung. σ is then known to 7 %, within which R² on the sample changes by less
/// than 1e-4.
const LOOKS: usize = 6;
/// The label weights to try first: powers of four, beside 0. Chosen, not measured.
pub(super) const LABEL_WEIGHT_POWERS: std::ops::RangeInclusive<i32> = -3..=7;
/// The shrinkages to try first: powers of four. Chosen, not measured.
const SHRINK_POWERS: std::ops::RangeInclusive<i32> = -3..=4;
/// Less than any shrinkage that the search can reach: 4⁻³ / (1.7 · 1.2) = 1/131.
pub(super) const LEAST_SHRINK: f64 = 1.0 / 512.0;
/// The factor by which each round of the search with the correct step varies its parameters. A third round gained less than
/// 1e-4 of R² on the sample.
const ROUNDS: [f64; 2] = [1.7, 1.2];
/// Evaluations for each parameter in a round. Chosen, not measured.
const LOOKS_A_ROUND: usize = 4;

/// The state of a search.
struct Search<'a> {
    tuner: &'a Tuner,
    trials: &'a Trials,
    progress: &'a dyn Progress,
    label_weights: Vec<f64>,
    /// The smallest and the largest σ.
    ends: (f64, f64),
    tried: Vec<Point>,
    /// The label sums at the last σ: the search for the correct step uses them again.
    last_labels: Option<(Sigma, Arc<KernelSums>)>,
}

impl Tuner {
    /// Searches σ between two others, and all other parameters with it.
    pub(super) fn search(
        &self,
        trials: &Trials,
        (low, high): (Sigma, Sigma),
        label_weights: Vec<f64>,
        progress: &dyn Progress,
    ) -> Result<SearchResult, Error> {
        let ladder = ladder(low, high)?;
        let range = (ladder[0].value(), ladder[ladder.len() - 1].value());
        let columns = trials.predictions.len();
        let climbs = if trials.can_correct { LOOKS + 3 * ROUNDS.len() * LOOKS_A_ROUND } else { LOOKS };
        progress.start((ladder.len() * (1 + usize::from(trials.can_correct)) + columns * climbs) as u64);
        let mut search =
            Search { tuner: self, trials, progress, label_weights, ends: range, tried: Vec::new(), last_labels: None };
        let corrections = search.climb_ladder(&ladder)?;
        for prediction in 0..columns {
            search.climb_sigma(prediction)?;
        }
        if trials.can_correct {
            search.correct(&ladder, &corrections)?;
        }
        Ok(SearchResult { points: search.tried, sigmas: range })
    }

    /// The rows of the trials, smoothed with the parameters of a point.
    pub(super) fn values(trials: &Trials, point: &Point) -> Result<Vec<f64>, Error> {
        let predictions = match point.correction {
            None => trials.predictions[point.prediction].clone(),
            Some(correction) => {
                let residuals = trials.label_sums(correction.sigma(), &[point.prediction])?;
                trials.corrected(point.prediction, &residuals, 1, correction.shrink())
            }
        };
        if point.c == 0.0 {
            return Ok(predictions);
        }
        let labels = trials.label_sums(point.sigma, &[])?;
        let sums = trials.prediction_sums(point.sigma, &[&predictions])?;
        let means = trials.means(&sums, 0, &labels, point.label_weight);
        Ok(predictions.iter().zip(means).map(|(&prediction, mean)| blend(point.c, mean, prediction)).collect())
    }
}

impl Search<'_> {
    /// Evaluates each σ of the ladder, for all columns at once. Returns the best correction of each column without smoothing.
    fn climb_ladder(&mut self, ladder: &[Sigma]) -> Result<Vec<Option<Correction>>, Error> {
        let columns: Vec<&[f64]> = self.trials.predictions.iter().map(Vec::as_slice).collect();
        let residuals: Vec<usize> = if self.trials.can_correct { (0..columns.len()).collect() } else { Vec::new() };
        let mut corrections: Vec<Option<(Correction, f64)>> = vec![None; columns.len()];
        for &sigma in ladder {
            let predictions = self.trials.prediction_sums(sigma, &columns)?;
            let labels = self.trials.label_sums(sigma, &residuals)?;
            for (prediction, values) in columns.iter().enumerate() {
                let look = Look { values, predictions: &predictions, column: prediction, labels: &labels };
                self.look(&look, Point { prediction, ..at(sigma) })?;
            }
            if self.trials.can_correct {
                for (prediction, best) in corrections.iter_mut().enumerate() {
                    let found = self.best_shrink(prediction, sigma, &labels)?;
                    if best.is_none_or(|(_, score)| self.tuner.measure.gain(score, found.1) > 0.0) {
                        *best = Some(found);
                    }
                }
            }
            self.progress.advance(1);
            let is_hopeless = sigma.value() > ladder[0].value() * RUNG.powi(HOPELESS);
            let mut leaders = self.leaders(columns.len());
            let far_from_best =
                leaders.all(|best| if best.c > 0.0 { is_far_beyond(sigma, best.sigma) } else { is_hopeless });
            let mut corrected = corrections.iter().flatten();
            if far_from_best && corrected.all(|(correction, _)| is_far_beyond(sigma, correction.sigma())) {
                break;
            }
        }
        Ok(corrections.into_iter().map(|found| found.map(|(correction, _)| correction)).collect())
    }

    /// The best point of each column so far.
    fn leaders(&self, columns: usize) -> impl Iterator<Item = Point> {
        (0..columns).filter_map(|prediction| self.best_where(|point| point.prediction == prediction))
    }

    fn best_where(&self, wanted: impl Fn(&Point) -> bool) -> Option<Point> {
        self.tuner.best_of(self.tried.iter().filter(|point| wanted(point)))
    }

    /// The kernel sums of the labels.
    fn labels(&mut self, sigma: Sigma) -> Result<Arc<KernelSums>, Error> {
        if let Some((_, sums)) = self.last_labels.as_ref().filter(|(known, _)| *known == sigma) {
            return Ok(sums.clone());
        }
        let sums = Arc::new(self.trials.label_sums(sigma, &[])?);
        self.last_labels = Some((sigma, sums.clone()));
        Ok(sums)
    }

    /// The best shrinkage of residuals spread by σ, and the score of corrected predictions without smoothing.
    fn best_shrink(&self, prediction: usize, sigma: Sigma, labels: &KernelSums) -> Result<(Correction, f64), Error> {
        let shrinks: Vec<f64> = SHRINK_POWERS.map(|power| 4_f64.powi(power)).collect();
        let corrected = shrinks.par_iter().map(|&shrink| {
            let corrected = self.trials.corrected(prediction, labels, 1 + prediction, shrink);
            self.tuner.score(&corrected, &self.trials.truth)
        });
        let scores: Vec<f64> = corrected.collect();
        let best = (1..shrinks.len())
            .fold(0, |best, next| if self.tuner.measure.gain(scores[best], scores[next]) > 0.0 { next } else { best });
        Ok((Correction::new(sigma, shrinks[best])?, scores[best]))
    }

    /// Tries the label weights, each with its best c, and records the best of them. Returns its merit.
    fn look(&mut self, look: &Look, start: Point) -> Result<f64, Error> {
        let weights: Vec<Point> =
            self.label_weights.par_iter().map(|&weight| self.weigh(look, start, weight)).collect();
        let mut best = self.tuner.best_of(&weights).unwrap_or(start);
        if self.tuner.label_weights.is_none() && best.label_weight > 0.0 && best.c > 0.0 {
            best = self.finer_weight(look, best)?;
        }
        self.tried.push(best);
        Ok(self.merit(&best))
    }

    /// Refines the label weight by golden-section search.
    fn finer_weight(&self, look: &Look, mut best: Point) -> Result<Point, Error> {
        let middle = best.label_weight;
        let ends = [*LABEL_WEIGHT_POWERS.start(), *LABEL_WEIGHT_POWERS.end()].map(|power| 4_f64.powi(power));
        climb((middle / 4.0).max(ends[0]), (middle * 4.0).min(ends[1]), LOOKS, |weight| {
            let point = self.weigh(look, best, tidy(weight));
            if self.tuner.measure.gain(best.score, point.score) > 0.0 {
                best = point;
            }
            Ok(self.merit(&point))
        })?;
        Ok(best)
    }

    /// The best c at a label weight.
    fn weigh(&self, look: &Look, start: Point, label_weight: f64) -> Point {
        let means = self.trials.means(look.predictions, look.column, look.labels, label_weight);
        let mixing =
            Mixing { measure: self.tuner.measure, predictions: look.values, means: &means, truth: &self.trials.truth };
        let (c, score) = mixing.best(self.tuner.cs.as_deref());
        Point { c, label_weight, score, ..start }
    }

    /// The score, negated for measures of error: higher is better.
    fn merit(&self, point: &Point) -> f64 {
        self.tuner.measure.gain(0.0, point.score)
    }

    /// Refines σ around the best rung of a column, without correction.
    fn climb_sigma(&mut self, prediction: usize) -> Result<(), Error> {
        let Some(best) = self.best_where(|point| point.prediction == prediction && point.c > 0.0) else {
            return Ok(());
        };
        let (trials, values) = (self.trials, self.trials.predictions[prediction].as_slice());
        self.around(best.sigma, RUNG, LOOKS, |search, sigma| {
            let predictions = trials.prediction_sums(sigma, &[values])?;
            let labels = search.labels(sigma)?;
            let look = Look { values, predictions: &predictions, column: 0, labels: &labels };
            search.look(&look, Point { prediction, ..at(sigma) })
        })
    }

    /// Searches σ around a value, up to a factor in either direction.
    fn around(
        &mut self,
        middle: Sigma,
        factor: f64,
        looks: usize,
        mut merit: impl FnMut(&mut Self, Sigma) -> Result<f64, Error>,
    ) -> Result<(), Error> {
        let low = (middle.value() / factor).max(self.ends.0);
        let high = (middle.value() * factor).min(self.ends.1);
        climb(low, high, looks, |width| {
            self.progress.advance(1);
            merit(self, middle.with_value(tidy(width))?)
        })
    }
}

/// A column of predictions with its kernel sums at one σ.
struct Look<'a> {
    values: &'a [f64],
    predictions: &'a KernelSums,
    column: usize,
    labels: &'a KernelSums,
}

/// Whether σ is so far beyond another that the ladder may end.
fn is_far_beyond(sigma: Sigma, other: Sigma) -> bool {
    sigma.value() > other.value() * RUNG.powi(LOST)
}

/// A point of which only σ is known.
fn at(sigma: Sigma) -> Point {
    Point { prediction: 0, sigma, c: 0.0, label_weight: 0.0, correction: None, score: f64::NAN }
}
