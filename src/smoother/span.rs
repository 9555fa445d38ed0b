//! Values in units of their own range, and back.

/// The interval of the source values, and the way to units of it: centred and scaled so that sums neither overflow
/// nor lose a common offset, and a constant comes back bit for bit.
pub(super) struct Span {
    pub(super) low: f64,
    pub(super) high: f64,
    half_centre: f64,
    pub(super) half: f64,
}

impl Span {
    pub(super) fn of(parts: &[&[f64]]) -> Self {
        let values = || parts.iter().flat_map(|part| part.iter().copied());
        let low = values().fold(f64::INFINITY, f64::min);
        let high = values().fold(f64::NEG_INFINITY, f64::max);
        Self { low, high, half_centre: 0.25 * low + 0.25 * high, half: 0.5 * high - 0.5 * low }
    }

    pub(super) fn range(&self) -> f64 {
        2.0 * self.half
    }

    /// From −½ for the lowest value to ½ for the highest.
    pub(super) fn to_unit(&self, value: f64) -> f64 {
        if self.half == 0.0 { 0.0 } else { (0.5 * value - self.half_centre) / self.half }
    }

    pub(super) fn value_at(&self, unit: f64) -> f64 {
        if self.half == 0.0 {
            return self.low;
        }
        (2.0 * (self.half_centre + self.half * unit)).clamp(self.low, self.high)
    }
}

/// `c·mean + (1 − c)·prediction`, exact where the two are equal or c is 0 or 1.
pub(super) fn blend(c: f64, mean: f64, prediction: f64) -> f64 {
    if c == 1.0 {
        return mean;
    }
    let step = mean - prediction;
    if step.is_finite() { prediction + c * step } else { c * mean + (1.0 - c) * prediction }
}
