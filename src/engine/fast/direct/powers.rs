//! Cheap powers of two and logarithms, rounded to the safe side.

/// A whole number that is at most `log₂ x` for a normal x > 0, and less than one below; cheaper than `log2`.
#[inline(always)]
pub(crate) fn log2_below(x: f64) -> f64 {
    ((x.to_bits() >> 52) as i64 - 1023) as f64
}

/// A power of two that is at least `2^(x + 1/4)`, and at most `2^(x + 5/4)` or the smallest; cheaper than `exp2` and
/// never too small.
#[inline(always)]
pub(crate) fn power_of_two_above(x: f64) -> f64 {
    /// Adding 1.5·2⁵² leaves the nearest whole number in the low bits; 1023 is the exponent of one.
    const TO_EXPONENT: f64 = 6_755_399_441_055_744.0 + 1023.0;
    let x = if x > SMALLEST { x } else { SMALLEST };
    f64::from_bits(((x + 0.75) + TO_EXPONENT).to_bits() << 52)
}

/// The least exponent of [`power_of_two_above`]: smaller ones give the same power.
pub(crate) const SMALLEST: f64 = -1021.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_logarithms_are_never_too_large() {
        for x in [1e-300, 0.3, 0.5, 1.0, 1.5, 2.0, 1e200_f64] {
            assert!((x.log2() - 1.0..=x.log2()).contains(&log2_below(x)), "{x}");
        }
    }

    #[test]
    fn powers_of_two_are_never_too_small() {
        for x in [-1e9, -1022.0, -1021.5, -3.0, -0.25, 0.0, 0.75, 10.0] {
            let power = power_of_two_above(x);
            let slack = power.log2() - x;
            assert!(slack >= 0.25 && (slack <= 1.25 || x < -1020.0), "{x}: {power}");
        }
    }
}
