//! The automatic search: a ladder of σ from end to end, then climbing around the best rung.

use std::sync::Arc;

use rayon::prelude::*;

use super::mixing::Mixing;
use super::trials::Trials;
use super::{Outcome, Point, Tuner};
use crate::correct::Correction;
use crate::engine::Progress;
use crate::error::Error;
use crate::influence::KernelSums;
use crate::space::Sigma;
use crate::span::blend;

/// Factor between the rungs of the ladder of σ. On the sample the score changes by under 2e-3 from rung to rung near the best.
const RUNG: f64 = 1.5;
/// Rungs beyond the best after which the ladder is left: σ is then over seven times the best.
const LOST: i32 = 5;
/// Rungs from the first after which the ladder is left if nothing has helped: σ is then over thirty times the spacing.
const HOPELESS: i32 = 12;
/// Looks at a parameter while climbing from a rung: σ is then known to 7 %, where R² on the sample changes by under 1e-4.
const LOOKS: usize = 6;
/// The label weights of the ladder: 0, then powers of four.
pub(super) const LABEL_WEIGHT_POWERS: std::ops::RangeInclusive<i32> = -3..=7;
/// The shrinkages of the ladder: powers of four.
const SHRINK_POWERS: std::ops::RangeInclusive<i32> = -3..=4;
/// Less than any shrinkage that climbing can reach from the lowest power.
pub(super) const LEAST_SHRINK: f64 = 1.0 / 512.0;
/// How far to look in each round of climbing along the parameters of the correct step and σ in turn. A third round gained
/// under 1e-4 of R² on the sample.
const ROUNDS: [f64; 2] = [1.7, 1.2];
const LOOKS_A_ROUND: usize = 4;

/// A search under way.
struct Search<'a> {
    tuner: &'a Tuner,
    trials: &'a Trials,
    progress: &'a dyn Progress,
    label_weights: Vec<f64>,
    /// Smallest and largest width.
    ends: (f64, f64),
    tried: Vec<Point>,
    /// The sums of labels at the last σ: climbing along the correct step keeps σ.
    last_labels: Option<(Sigma, Arc<KernelSums>)>,
}

impl Tuner {
    /// Searches σ between two others, and everything else along with it.
    pub(super) fn search(
        &self,
        trials: &Trials,
        (low, high): (Sigma, Sigma),
        label_weights: Vec<f64>,
        progress: &dyn Progress,
    ) -> Result<Outcome, Error> {
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
        Ok(Outcome { tried: search.tried, sigmas: range })
    }

    /// The tuned rows with the parameters of a point.
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
    /// One look at each σ of the ladder, for all columns at once. Gives the best correction of each column by itself.
    fn climb_ladder(&mut self, ladder: &[Sigma]) -> Result<Vec<Option<Correction>>, Error> {
        let columns: Vec<&[f64]> = self.trials.predictions.iter().map(Vec::as_slice).collect();
        let residuals: Vec<usize> = if self.trials.can_correct { (0..columns.len()).collect() } else { Vec::new() };
        let mut corrections: Vec<Option<(Correction, f64)>> = vec![None; columns.len()];
        for (rung, &sigma) in ladder.iter().enumerate() {
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
            let lost = |sigma: Sigma| ladder[rung].value() > sigma.value() * RUNG.powi(LOST);
            let hopeless = ladder[rung].value() > ladder[0].value() * RUNG.powi(HOPELESS);
            let mut leaders = self.leaders(columns.len());
            let far_from_best = leaders.all(|best| if best.c > 0.0 { lost(best.sigma) } else { hopeless });
            if far_from_best && corrections.iter().flatten().all(|(correction, _)| lost(correction.sigma())) {
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

    /// The sums of the labels.
    fn labels(&mut self, sigma: Sigma) -> Result<Arc<KernelSums>, Error> {
        if let Some((_, sums)) = self.last_labels.as_ref().filter(|(known, _)| *known == sigma) {
            return Ok(sums.clone());
        }
        let sums = Arc::new(self.trials.label_sums(sigma, &[])?);
        self.last_labels = Some((sigma, sums.clone()));
        Ok(sums)
    }

    /// The best shrinkage of residuals spread by σ, and the score of predictions that are only corrected.
    fn best_shrink(&self, prediction: usize, sigma: Sigma, labels: &KernelSums) -> Result<(Correction, f64), Error> {
        let score = |&shrink: &f64| {
            let corrected = self.trials.corrected(prediction, labels, 1 + prediction, shrink);
            let pairs = corrected.iter().copied().zip(self.trials.truth.iter().copied());
            self.tuner.measure.of(pairs).unwrap_or(f64::NAN)
        };
        let shrinks: Vec<f64> = SHRINK_POWERS.map(|power| 4_f64.powi(power)).collect();
        let scores: Vec<f64> = shrinks.par_iter().map(score).collect();
        let better = |best: usize, next: usize| {
            if self.tuner.measure.gain(scores[best], scores[next]) > 0.0 { next } else { best }
        };
        let best = (0..shrinks.len()).fold(0, better);
        Ok((Correction::new(sigma, shrinks[best])?, scores[best]))
    }

    /// Tries the label weights, each with its best c, and keeps the best of all.
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

    fn weigh(&self, look: &Look, start: Point, label_weight: f64) -> Point {
        let means = self.trials.means(look.predictions, look.column, look.labels, label_weight);
        let mixing =
            Mixing { measure: self.tuner.measure, predictions: look.values, means: &means, truth: &self.trials.truth };
        let (c, score) = mixing.best(self.tuner.cs.as_deref());
        Point { c, label_weight, score, ..start }
    }

    /// Higher is better, whatever the measure.
    fn merit(&self, point: &Point) -> f64 {
        self.tuner.measure.gain(0.0, point.score)
    }

    /// Climbs from the best rung of a column without correction.
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

    /// Climbs along lengths around one of them, as far as a factor either way.
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

    /// Smooths the predictions after correcting them, for all columns: first by a ladder of σ with the correction that is
    /// best by itself, then by climbing along σ, the width of the correction and its shrinkage in turn.
    fn correct(&mut self, ladder: &[Sigma], corrections: &[Option<Correction>]) -> Result<(), Error> {
        for (prediction, correction) in corrections.iter().enumerate() {
            let Some(correction) = *correction else { continue };
            let corrected = self.corrected(prediction, correction)?;
            // Where plain smoothing is best, give or take a few rungs: correcting does not move it far.
            let Some(plain) = self.best_where(|point| point.prediction == prediction && point.correction.is_none())
            else {
                continue;
            };
            for &sigma in ladder.iter().filter(|sigma| (0.15..7.0).contains(&(sigma.value() / plain.sigma.value()))) {
                self.smooth_corrected(prediction, &corrected, sigma, correction)?;
                self.progress.advance(1);
            }
            self.climb_correction(prediction)?;
        }
        Ok(())
    }

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

    /// Climbs along each parameter in turn, less and less far.
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

/// What a look at one σ sees: a column of predictions and the sums around its rows.
struct Look<'a> {
    values: &'a [f64],
    predictions: &'a KernelSums,
    column: usize,
    labels: &'a KernelSums,
}

/// A point that is only a σ so far.
fn at(sigma: Sigma) -> Point {
    Point { prediction: 0, sigma, c: 0.0, label_weight: 0.0, correction: None, score: f64::NAN }
}

/// Widths from one to another, evenly by factors of at most [`RUNG`].
fn ladder(low: Sigma, high: Sigma) -> Result<Vec<Sigma>, Error> {
    let span = (high.value() / low.value()).ln();
    let rungs = (span / RUNG.ln()).ceil().max(1.0);
    (0..=rungs as usize).map(|rung| tidy_sigma(low.scaled((span * rung as f64 / rungs).exp())?)).collect()
}

/// Looks for the top of a merit between two positive numbers by golden sections of their logarithms.
fn climb(low: f64, high: f64, looks: usize, mut merit: impl FnMut(f64) -> Result<f64, Error>) -> Result<(), Error> {
    let golden = 0.5 * (5_f64.sqrt() - 1.0);
    let (mut low, mut high) = (low.ln(), high.ln());
    let (mut left, mut right) = (high - golden * (high - low), low + golden * (high - low));
    let (mut at_left, mut at_right) = (merit(left.exp())?, merit(right.exp())?);
    for _ in 2..looks {
        if at_left >= at_right {
            (high, right, at_right) = (right, left, at_left);
            left = high - golden * (high - low);
            at_left = merit(left.exp())?;
        } else {
            (low, left, at_left) = (left, right, at_right);
            right = low + golden * (high - low);
            at_right = merit(right.exp())?;
        }
    }
    Ok(())
}

/// Four digits, as they are written down: what is tried is what is reported.
fn tidy(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

fn tidy_sigma(sigma: Sigma) -> Result<Sigma, Error> {
    sigma.with_value(tidy(sigma.value()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn climbing_finds_the_top() {
        let mut best = (0.0, f64::NEG_INFINITY);
        climb(0.1, 10.0, 20, |x| {
            let merit = -(x.ln() - 1.0_f64).powi(2);
            best = if merit > best.1 { (x, merit) } else { best };
            Ok(merit)
        })
        .unwrap();
        assert!((best.0 - std::f64::consts::E).abs() < 1e-2, "{best:?}");
    }

    #[test]
    fn a_ladder_has_both_ends_and_no_wide_gap() {
        let ladder = ladder(Sigma::metres(3.0).unwrap(), Sigma::metres(5000.0).unwrap()).unwrap();
        assert_eq!((ladder[0].value(), ladder[ladder.len() - 1].value()), (3.0, 5000.0));
        assert!(ladder.windows(2).all(|pair| (1.3..1.51).contains(&(pair[1].value() / pair[0].value()))));
    }

    #[test]
    fn four_digits_are_kept() {
        assert_eq!([tidy(123.456), tidy(0.000_123_449), tidy(98_765.4)], [123.5, 0.000_123_4, 98_770.0]);
    }
}
