//! Statistics over several trials: summaries and the paired t-test.

use serde::Serialize;

use crate::score::mean;

/// The summary of a quantity over several trials.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// The mean.
    pub mean: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
    /// The standard error of the mean; 0 for a single trial.
    pub standard_error: f64,
}

impl Summary {
    /// Summarises one quantity of all trials.
    pub(super) fn over<T>(trials: &[T], of: impl Fn(&T) -> f64) -> Self {
        Self::of(&trials.iter().map(of).collect::<Vec<_>>())
    }

    /// Summarises the values of all trials.
    #[must_use]
    pub fn of(values: &[f64]) -> Self {
        let middle = mean(values.iter().copied()).unwrap_or(f64::NAN);
        let squares: f64 = values.iter().map(|value| (value - middle).powi(2)).sum();
        let count = values.len() as f64;
        let standard_error = if count > 1.0 { (squares / (count - 1.0) / count).sqrt() } else { 0.0 };
        Self {
            mean: middle,
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            standard_error,
        }
    }
}

/// The two-sided p-value of the paired t-test: the probability of a mean difference at least this large if differences are
/// normal with mean zero. `None` for fewer than two trials; 0 if all differences are equal.
#[must_use]
pub fn paired_t_test(before: &[f64], after: &[f64]) -> Option<f64> {
    let differences: Vec<f64> = before.iter().zip(after).map(|(before, after)| after - before).collect();
    let Summary { mean, standard_error, .. } = Summary::of(&differences);
    match differences.len() {
        0 | 1 => None,
        _ if mean == 0.0 => Some(1.0),
        count => Some(t_tails(mean / standard_error, count - 1)),
    }
}

/// Both tails of Student's t distribution: the regularised incomplete beta function `I_x(ν/2, ½)` at `x = ν / (ν + t²)`. All
/// terms of its power series are positive, so that even tiny p-values are accurate.
fn t_tails(t: f64, degrees: usize) -> f64 {
    let degrees = degrees as f64;
    let (x, a) = (degrees / (degrees + t * t), degrees / 2.0);
    let (mut term, mut sum, mut n) = (1.0, 1.0, 0.0);
    while term > 1e-17 * sum && n < 1e6 {
        term *= x * (a + 0.5 + n) / (a + 1.0 + n);
        sum += term;
        n += 1.0;
    }
    (x.powf(a) * (1.0 - x).sqrt() * sum / (a * beta_with_half(a))).min(1.0)
}

/// `B(a, ½)` if 2a is a whole number, by recursion from `B(½, ½) = π` or `B(1, ½) = 2`.
fn beta_with_half(a: f64) -> f64 {
    let (mut at, mut beta) = if a.fract() == 0.0 { (1.0, 2.0) } else { (0.5, std::f64::consts::PI) };
    while at < a {
        beta *= at / (at + 0.5);
        at += 1.0;
    }
    beta
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_agree_with_scipy() {
        // scipy.stats.t.sf(t, degrees) * 2
        for (t, degrees, p) in [
            (1.0, 1, 0.5),
            (2.262_157_162_740_991_4, 9, 0.05),
            (0.1, 4, 0.925_155_840_939_453_2),
            (25.0, 9, 1.258_945_037_899_036_8e-9),
            (3.0, 2, 0.095_465_966_266_709_13),
        ] {
            assert!((t_tails(t, degrees) / p - 1.0).abs() < 1e-9, "{t} {degrees}: {}", t_tails(t, degrees));
        }
    }

    #[test]
    fn constant_and_missing_differences() {
        assert_eq!(paired_t_test(&[1.0, 2.0, 3.0], &[2.0, 3.0, 4.0]), Some(0.0));
        assert_eq!(paired_t_test(&[1.0, 2.0], &[2.0, 1.0]), Some(1.0));
        assert_eq!(paired_t_test(&[1.0], &[2.0]), None);
    }

    #[test]
    fn summaries() {
        let summary = Summary::of(&[1.0, 2.0, 6.0]);
        assert_eq!((summary.mean, summary.min, summary.max), (3.0, 1.0, 6.0));
        assert!((summary.standard_error - (7.0_f64 / 3.0).sqrt()).abs() < 1e-15);
    }
}
