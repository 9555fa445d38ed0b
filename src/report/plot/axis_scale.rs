//! Maps values to pixels along one axis, and chooses round values for its ticks.

use super::number::{fixed, tidy};

/// The range of values of an axis: finite, not empty, and positive if the axis is logarithmic.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    /// The ends; for a logarithmic axis, their decimal logarithms.
    low: f64,
    high: f64,
    log: bool,
}

impl Range {
    /// The range of the values that can be drawn; `None` if there are none.
    pub(super) fn over(values: impl Iterator<Item = f64>, log: bool) -> Option<Self> {
        let seen = values.filter(|&value| drawable(value, log)).map(|value| warp(value, log));
        let (low, high) =
            seen.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        (low <= high).then(|| Self { low, high, log }.widened())
    }

    /// Enlarges the range of a single value, or of values that differ only by rounding.
    fn widened(self) -> Self {
        let size = self.low.abs().max(self.high.abs());
        if self.high - self.low > 1e-11 * size {
            return self;
        }
        let more = if self.log {
            0.3
        } else if size > 1e-290 {
            0.1 * size
        } else {
            1.0
        };
        Self { low: self.low - more, high: self.high + more, ..self }
    }

    /// Extends both ends by a fraction of the width, so that no point lies on the frame.
    pub(super) fn padded(self, part: f64) -> Self {
        let more = part * (self.high - self.low);
        Self { low: self.low - more, high: self.high + more, ..self }
    }

    /// Extends the end closer to this value by a fraction of the width, for a label beside it.
    pub(super) fn padded_near(self, value: f64, part: f64) -> Self {
        let more = part * (self.high - self.low);
        if self.is_upper(value) {
            Self { high: self.high + more, ..self }
        } else {
            Self { low: self.low - more, ..self }
        }
    }

    pub(super) fn is_upper(self, value: f64) -> bool {
        warp(value, self.log) >= f64::midpoint(self.low, self.high)
    }

    /// The union of two ranges, both linear or both logarithmic.
    pub(super) fn joined(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high), ..self }
    }
}

/// A range mapped to pixels.
#[derive(Clone, Copy, Debug)]
pub(super) struct AxisScale {
    range: Range,
    pub(super) start: f64,
    pub(super) end: f64,
}

/// A position on the axis with its label.
#[derive(Clone, Debug)]
pub(super) struct Tick {
    pub(super) at: f64,
    pub(super) label: String,
}

impl AxisScale {
    pub(super) fn new(range: Range, start: f64, end: f64) -> Self {
        Self { range, start, end }
    }

    /// The pixel of a value; `None` if it cannot be drawn.
    pub(super) fn at(&self, value: f64) -> Option<f64> {
        drawable(value, self.range.log).then(|| self.warped_at(warp(value, self.range.log)))
    }

    fn warped_at(&self, warped: f64) -> f64 {
        let Range { low, high, .. } = self.range;
        self.start + (warped - low) / (high - low) * (self.end - self.start)
    }

    /// The pixels of both ends, the smaller one first.
    pub(super) fn ends(&self) -> (f64, f64) {
        (self.start.min(self.end), self.start.max(self.end))
    }

    /// Ticks at round values, about `apart` pixels from each other.
    pub(super) fn ticks(&self, apart: f64) -> Vec<Tick> {
        let Range { low, high, log } = self.range;
        let wanted = ((self.end - self.start).abs() / apart).max(2.0);
        let values = if log { log_ticks(low, high, wanted) } else { linear_ticks(low, high, wanted) };
        let ticks = values.into_iter().filter_map(|(value, label)| Some(Tick { at: self.at(value)?, label }));
        ticks.collect()
    }
}

/// Whether a value can be drawn on an axis. Differences of larger values could overflow.
pub(super) fn drawable(value: f64, log: bool) -> bool {
    value.abs() < 1e300 && (!log || value > 1e-300)
}

fn warp(value: f64, log: bool) -> f64 {
    if log { value.log10() } else { value }
}

type Labelled = Vec<(f64, String)>;

/// Multiples of 1, 2 or 5 times a power of ten.
fn linear_ticks(low: f64, high: f64, wanted: f64) -> Labelled {
    let raw = (high - low) / wanted;
    let exponent = raw.log10().floor();
    let power = 10_f64.powf(exponent);
    let step = [1.0, 2.0, 5.0].into_iter().map(|digit| digit * power).find(|step| *step >= raw).unwrap_or(10.0 * power);
    let exponent = if step >= 10.0 * power { exponent + 1.0 } else { exponent };
    let (first, last) = ((low / step - 1e-9).ceil(), (high / step + 1e-9).floor());
    let huge = low.abs().max(high.abs()) >= 1e7 || exponent < -6.0;
    let count = (last - first).clamp(0.0, 50.0) as u32;
    let values = (0..=count).map(|at| (first + f64::from(at)) * step);
    values.map(|value| (value, if huge { tidy(value, 4) } else { fixed(value, -exponent as i32) })).collect()
}

/// 1, 2, 5, 10, 20, …; only powers of ten if these were too many, linear ticks if they were too few.
fn log_ticks(low: f64, high: f64, wanted: f64) -> Labelled {
    let (first, last) = (low.floor() as i32, high.ceil() as i32);
    let decades = high - low;
    let digits: &[f64] = if decades * 3.0 <= wanted.max(6.0) * 1.5 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let stride = (decades / wanted).ceil().max(1.0) as usize;
    let values: Vec<f64> = (first..=last)
        .step_by(stride)
        .flat_map(|power| digits.iter().map(move |digit| digit * 10_f64.powi(power)))
        .filter(|value| (low - 1e-9..=high + 1e-9).contains(&value.log10()))
        .collect();
    if values.len() < 3 && decades < 2.0 {
        return linear_ticks(10_f64.powf(low), 10_f64.powf(high), wanted);
    }
    values.into_iter().map(|value| (value, tidy(value, 3))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(values: &[f64], log: bool) -> Vec<String> {
        let range = Range::over(values.iter().copied(), log).unwrap();
        AxisScale::new(range, 0.0, 400.0).ticks(80.0).into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(labels(&[0.0, 1.0], false), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(labels(&[0.8136, 0.8552], false), ["0.82", "0.83", "0.84", "0.85"]);
        assert_eq!(labels(&[-30.0, 270.0], false), ["0", "100", "200"]);
        assert_eq!(labels(&[12_000.0, 480_000.0], false), ["100,000", "200,000", "300,000", "400,000"]);
        assert_eq!(labels(&[1e8, 5e8], false), ["1e8", "2e8", "3e8", "4e8", "5e8"]);
    }

    #[test]
    fn log_ticks_are_one_two_five() {
        assert_eq!(labels(&[20.0, 500.0], true), ["20", "50", "100", "200", "500"]);
        assert_eq!(labels(&[1e-6, 1e3], true), ["1e−6", "0.0001", "0.01", "1", "100"]);
        assert_eq!(labels(&[30.0, 45.0], true), ["30", "35", "40", "45"]);
        assert_eq!(labels(&[5e-4, 95.0], true), ["0.01", "1"]);
    }

    #[test]
    fn invalid_numbers_are_not_drawn() {
        let hostile = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX];
        assert!(Range::over(hostile.into_iter(), false).is_none());
        assert!(Range::over([0.0, -1.0].into_iter(), true).is_none());
        let scale = AxisScale::new(Range::over(hostile.into_iter().chain([1.0, 2.0]), false).unwrap(), 0.0, 10.0);
        assert_eq!(
            (scale.at(f64::NAN), scale.at(f64::MAX), scale.at(1.0), scale.at(2.0)),
            (None, None, Some(0.0), Some(10.0))
        );
    }

    #[test]
    fn equal_and_extreme_values_have_ticks() {
        let cases = [
            [0.0, 0.0],
            [3.0, 3.0],
            [1.0, 1.0 + f64::EPSILON],
            [-9.9e299, 9.9e299],
            [1e-320, 3e-320],
            [-1e-299, 1e-299],
        ];
        for values in cases {
            let range = Range::over(values.into_iter(), false).unwrap();
            let ticks = AxisScale::new(range, 0.0, 400.0).ticks(80.0);
            assert!(!ticks.is_empty() && ticks.len() < 20, "{values:?} {ticks:?}");
            assert!(ticks.iter().all(|tick| (-1.0..=401.0).contains(&tick.at)), "{values:?} {ticks:?}");
        }
        for values in [[5.0, 5.0], [1e-299, 9e299], [1.0, 1.000_000_1]] {
            assert!(!labels(&values, true).is_empty(), "{values:?}");
        }
    }
}
