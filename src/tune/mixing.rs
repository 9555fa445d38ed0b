//! Finds the best mixing weight c for given averages. All c share the averages, so that trying one more costs only a pass over
//! the rows.

use crate::score::Measure;
use crate::span::blend;

/// Predictions, the averages around them, and the truth.
pub(super) struct Mixing<'a> {
    pub(super) measure: Measure,
    pub(super) predictions: &'a [f64],
    pub(super) means: &'a [f64],
    pub(super) truth: &'a [f64],
}

/// Steps of the sweep over c: twentieths first, then hundredths around the best twentieth. Chosen, not measured.
const COARSE: usize = 20;
const FINE: usize = 100;

impl Mixing<'_> {
    /// The score at c.
    pub(super) fn score(&self, c: f64) -> f64 {
        let mixed = self.predictions.iter().zip(self.means).map(|(&prediction, &mean)| blend(c, mean, prediction));
        self.measure.of(mixed.zip(self.truth.iter().copied())).unwrap_or(f64::NAN)
    }

    /// The best of the given c (the first of equals), or of all c between 0 and 1 if none are given; with its score.
    pub(super) fn best(&self, given: Option<&[f64]>) -> (f64, f64) {
        match given {
            Some(cs) => self.best_of(cs.iter().copied()),
            None if self.measure.is_squared() => {
                let c = rounded(self.least_squares());
                (c, self.score(c))
            }
            None => self.sweep(),
        }
    }

    /// The c with the least squared error: `c* = ⟨y − ŷ, m − ŷ⟩ / ‖m − ŷ‖²`, clamped to between 0 and 1.
    fn least_squares(&self) -> f64 {
        let (mut along, mut length) = (0.0, 0.0);
        for ((prediction, mean), truth) in self.predictions.iter().zip(self.means).zip(self.truth) {
            let step = mean - prediction;
            along += (truth - prediction) * step;
            length += step * step;
        }
        if length > 0.0 { (along / length).clamp(0.0, 1.0) } else { 0.0 }
    }

    fn sweep(&self) -> (f64, f64) {
        let coarse = self.best_of((0..=COARSE).map(|step| step as f64 / COARSE as f64));
        let middle = (coarse.0 * FINE as f64).round() as usize;
        let reach = FINE / COARSE;
        let around = middle.saturating_sub(reach)..=(middle + reach).min(FINE);
        self.best_of(around.map(|step| step as f64 / FINE as f64))
    }

    fn best_of(&self, cs: impl Iterator<Item = f64>) -> (f64, f64) {
        cs.map(|c| (c, self.score(c)))
            .reduce(
                |best, next| if self.measure.gain(0.0, next.1) > self.measure.gain(0.0, best.1) { next } else { best },
            )
            .unwrap_or((0.0, f64::NAN))
    }
}

/// c with four decimals, as it is reported.
fn rounded(c: f64) -> f64 {
    (c * 1e4).round() / 1e4
}

#[cfg(test)]
mod tests {
    use super::*;

    const PREDICTIONS: [f64; 5] = [1.0, 4.0, 2.0, 6.0, 3.0];
    const MEANS: [f64; 5] = [2.0, 3.0, 2.5, 4.0, 3.5];
    const TRUTH: [f64; 5] = [1.2, 3.1, 2.4, 5.5, 3.0];

    fn mixing(measure: Measure, truth: &[f64; 5]) -> Mixing<'_> {
        Mixing { measure, predictions: &PREDICTIONS, means: &MEANS, truth }
    }

    #[test]
    fn the_closed_form_is_the_limit_of_the_sweep() {
        for measure in [Measure::R2, Measure::Rmse] {
            let mixing = mixing(measure, &TRUTH);
            let steps: Vec<f64> = (0..=10_000).map(|step| f64::from(step) / 1e4).collect();
            assert_eq!(mixing.best(None), mixing.best(Some(&steps)));
        }
    }

    #[test]
    fn the_sweep_finds_the_best_hundredth() {
        for measure in [Measure::Mae, Measure::Mape] {
            let mixing = mixing(measure, &TRUTH);
            let steps: Vec<f64> = (0..=100).map(|step| f64::from(step) / 100.0).collect();
            assert_eq!(mixing.best(None).1, mixing.best(Some(&steps)).1, "{measure}");
        }
    }

    #[test]
    fn correct_predictions_are_not_changed() {
        for measure in Measure::ALL {
            assert_eq!(mixing(measure, &PREDICTIONS).best(None).0, 0.0, "{measure}");
        }
    }
}
