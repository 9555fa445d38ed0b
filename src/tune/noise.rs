//! Tests whether a gain is within noise: a paired bootstrap over rows.

use rayon::prelude::*;
use serde::Serialize;

use crate::chance::Chance;
use crate::score::Measure;

/// How much better one score is than another, with a 95 % bootstrap interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Gain {
    /// The gain on all rows; positive means better in every measure.
    pub gain: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// Number of rows.
    pub rows: usize,
}

impl Gain {
    /// Whether the interval includes 0, or there are too few rows to tell.
    #[must_use]
    pub fn is_within_noise(&self) -> bool {
        self.low <= 0.0 || self.rows < FEW_ROWS
    }
}

/// With fewer rows the interval is not reliable: of 24 runs on pure noise, 7 seemed to show a clear gain with 5 rows, and 3
/// with 10.
const FEW_ROWS: usize = 30;
/// Resamples; the ends of the interval are the 25th smallest and the 25th largest gain. Chosen, not measured.
const RESAMPLES: u64 = 1000;
/// If there are more rows, a random sample of this size is resampled; the interval is then wider than necessary.
const MOST_ROWS: usize = 20_000;
/// An arbitrary number: the year of the paper.
const SEED: u64 = 2020;

/// Compares two columns of predictions of the same truth.
pub(super) fn paired_bootstrap(measure: Measure, before: &[f64], after: &[f64], truth: &[f64]) -> Gain {
    let pair = Pair { measure, before, after, truth };
    let all: Vec<usize> = (0..truth.len()).collect();
    let rows = Chance::new(SEED).sample(truth.len(), MOST_ROWS);
    let mut gains: Vec<f64> = (0..RESAMPLES).into_par_iter().map(|number| pair.resampled(&rows, number)).collect();
    gains.sort_by(f64::total_cmp);
    let (low, high) = (quantile(&gains, 0.025), quantile(&gains, 0.975));
    Gain { gain: pair.gain(&all).unwrap_or(0.0), low, high, rows: truth.len() }
}

/// Two columns of predictions and the truth.
struct Pair<'a> {
    measure: Measure,
    before: &'a [f64],
    after: &'a [f64],
    truth: &'a [f64],
}

impl Pair<'_> {
    /// The gain on some rows; `None` if the measure is not defined for them.
    fn gain(&self, rows: &[usize]) -> Option<f64> {
        let [before, after] = [self.before, self.after]
            .map(|values| self.measure.of(rows.iter().map(|&row| (values[row], self.truth[row]))));
        Some(self.measure.gain(before?, after?))
    }

    /// The gain on rows drawn with replacement; 0 if the measure is not defined for them.
    fn resampled(&self, rows: &[usize], number: u64) -> f64 {
        let mut chance = Chance::new(SEED + 1 + number);
        let drawn: Vec<usize> = (0..rows.len()).map(|_| rows[chance.below(rows.len())]).collect();
        self.gain(&drawn).unwrap_or(0.0)
    }
}

fn quantile(sorted: &[f64], share: f64) -> f64 {
    sorted.get((share * sorted.len() as f64) as usize).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clear_gain_is_distinguished_from_noise() {
        let truth: Vec<f64> = (0..400).map(|row| f64::from(row % 37)).collect();
        let shifted =
            |by: f64| truth.iter().enumerate().map(|(row, y)| y + if row % 2 == 0 { by } else { -by }).collect();
        let (far, near): (Vec<f64>, Vec<f64>) = (shifted(3.0), shifted(1.0));
        let clear = paired_bootstrap(Measure::R2, &far, &near, &truth);
        assert!(!clear.is_within_noise() && clear.low < clear.gain && clear.gain < clear.high, "{clear:?}");
        // Errors of the same size in other rows: no gain.
        let other: Vec<f64> =
            truth.iter().enumerate().map(|(row, y)| y + f64::from(row as u32 * 7 % 5) - 2.0).collect();
        let same: Vec<f64> = truth.iter().enumerate().map(|(row, y)| y + f64::from(row as u32 * 3 % 5) - 2.0).collect();
        assert!(paired_bootstrap(Measure::Mae, &other, &same, &truth).is_within_noise());
        assert_eq!(clear, paired_bootstrap(Measure::R2, &far, &near, &truth));
    }
}
