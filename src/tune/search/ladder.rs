//! The two one-dimensional searches: a geometric ladder of σ, and golden-section search on a logarithmic scale.

use super::RUNG;
use crate::error::Error;
use crate::space::Sigma;

/// Values of σ between two others, with equal factors of at most [`RUNG`] between them.
pub(super) fn ladder(low: Sigma, high: Sigma) -> Result<Vec<Sigma>, Error> {
    let span = (high.value() / low.value()).ln();
    let rungs = (span / RUNG.ln()).ceil().max(1.0);
    (0..=rungs as usize).map(|rung| tidy_sigma(low.scaled((span * rung as f64 / rungs).exp())?)).collect()
}

/// Searches the maximum of `merit` between two positive numbers, by golden sections of their logarithms.
pub(super) fn climb(
    low: f64,
    high: f64,
    looks: usize,
    mut merit: impl FnMut(f64) -> Result<f64, Error>,
) -> Result<(), Error> {
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

/// Rounds to four digits, as values are reported: the reported values are exactly those that were tried.
pub(super) fn tidy(value: f64) -> f64 {
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
