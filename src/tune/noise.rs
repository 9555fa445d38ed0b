//! Whether a gain could be chance: a paired bootstrap over rows.

use rayon::prelude::*;
use serde::Serialize;

use crate::chance::Chance;
use crate::score::Measure;

/// How much better one score is than another, and where that lies in 95 of 100 resamples of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Gain {
    /// The gain on all rows; positive is better whatever the measure.
    pub gain: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// Rows behind it.
    pub rows: usize,
}

impl Gain {
    /// Whether no gain at all lies within the interval, or there are too few rows to tell.
    #[must_use]
    pub fn is_within_noise(&self) -> bool {
        self.low <= 0.0 || self.rows < FEW_ROWS
    }
}

/// With fewer rows resamples are too alike to say anything: of 24 runs on pure noise 7 looked like a clear gain with 5 rows, 3
/// with 10.
const FEW_ROWS: usize = 30;
const RESAMPLES: u64 = 1000;
/// More rows than this are represented by as many, drawn at random: the interval is then wider than it need be.
const MOST_ROWS: usize = 20_000;
const SEED: u64 = 2020;

/// Compares two columns of predictions of the same truth.
pub(super) fn paired_bootstrap(measure: Measure, before: &[f64], after: &[f64], truth: &[f64]) -> Gain {
    let gain = |rows: &[usize]| {
        let score = |values: &[f64]| measure.of(rows.iter().map(|&row| (values[row], truth[row])));
        score(before).zip(score(after)).map(|(before, after)| measure.gain(before, after))
    };
    let all: Vec<usize> = (0..truth.len()).collect();
    let rows = Chance::new(SEED).sample(truth.len(), MOST_ROWS);
    let resample = |number: u64| {
        let mut chance = Chance::new(SEED + 1 + number);
        let drawn: Vec<usize> = (0..rows.len()).map(|_| rows[chance.below(rows.len())]).collect();
        // A resample that the measure has no meaning for shows no gain.
        gain(&drawn).unwrap_or(0.0)
    };
    let mut gains: Vec<f64> = (0..RESAMPLES).into_par_iter().map(resample).collect();
    gains.sort_by(f64::total_cmp);
    let quantile = |share: f64| gains.get((share * gains.len() as f64) as usize).copied().unwrap_or(0.0);
    Gain { gain: gain(&all).unwrap_or(0.0), low: quantile(0.025), high: quantile(0.975), rows: truth.len() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clear_gain_is_told_from_noise() {
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
