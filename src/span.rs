//! Scales values to units of their own range, and back.

use rayon::prelude::*;

/// Values that one task scans: 128 KiB, enough that starting the task costs little. Chosen, not measured.
const PIECE: usize = 1 << 14;

/// The interval of the source values. Values are centred and scaled by it, so that sums neither overflow nor lose digits
/// to a common offset, and a constant column comes back bit for bit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) low: f64,
    pub(crate) high: f64,
    half_centre: f64,
    pub(crate) half: f64,
}

impl Span {
    pub(crate) fn of(parts: &[&[f64]]) -> Self {
        let pieces: Vec<&[f64]> = parts.iter().flat_map(|part| part.chunks(PIECE)).collect();
        let ends: Vec<(f64, f64)> = pieces.into_par_iter().map(ends).collect();
        let low = ends.iter().fold(f64::INFINITY, |low, piece| low.min(piece.0));
        let high = ends.iter().fold(f64::NEG_INFINITY, |high, piece| high.max(piece.1));
        Self::between(low, high)
    }

    /// The interval from the lowest value to the highest.
    pub(crate) fn between(low: f64, high: f64) -> Self {
        Self { low, high, half_centre: 0.25 * low + 0.25 * high, half: 0.5 * high - 0.5 * low }
    }

    pub(crate) fn range(self) -> f64 {
        2.0 * self.half
    }

    /// Maps the lowest value to −½ and the highest to ½.
    pub(crate) fn to_unit(self, value: f64) -> f64 {
        if self.half == 0.0 { 0.0 } else { (0.5 * value - self.half_centre) / self.half }
    }

    /// [`to_unit`](Self::to_unit) of a column.
    pub(crate) fn to_units(self, values: &[f64]) -> Vec<f64> {
        values.iter().map(|&value| self.to_unit(value)).collect()
    }

    /// The inverse of [`to_unit`](Self::to_unit), clamped to the interval.
    pub(crate) fn value_at(self, unit: f64) -> f64 {
        if self.half == 0.0 {
            return self.low;
        }
        self.stretched(unit).clamp(self.low, self.high)
    }

    /// The inverse of [`to_unit`](Self::to_unit) for values that may lie outside the interval.
    pub(crate) fn stretched(self, unit: f64) -> f64 {
        2.0 * (self.half_centre + self.half * unit)
    }
}

/// The lowest and the highest value. Eight lanes at a time: comparisons of different lanes do not wait for each other.
fn ends(values: &[f64]) -> (f64, f64) {
    let (whole, rest) = values.as_chunks::<8>();
    let (mut low, mut high) = ([f64::INFINITY; 8], [f64::NEG_INFINITY; 8]);
    for values in whole {
        for lane in 0..8 {
            low[lane] = if values[lane] < low[lane] { values[lane] } else { low[lane] };
            high[lane] = if values[lane] > high[lane] { values[lane] } else { high[lane] };
        }
    }
    let low = low.iter().chain(rest).copied().fold(f64::INFINITY, f64::min);
    (low, high.iter().chain(rest).copied().fold(f64::NEG_INFINITY, f64::max))
}

/// `c·mean + (1 − c)·prediction`; exact if both are equal or c is 0 or 1.
pub(crate) fn blend(c: f64, mean: f64, prediction: f64) -> f64 {
    if c == 1.0 {
        return mean;
    }
    let step = mean - prediction;
    if step.is_finite() { prediction + c * step } else { c * mean + (1.0 - c) * prediction }
}
