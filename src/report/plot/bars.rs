//! Draws horizontal bars with names.

use super::WIDTH;
use super::axis_scale::{AxisScale, Range, drawable};
use super::drawing::{Drawing, cut, text_width};
use super::number::tidy;
use crate::report::Axis;

/// The distance between bars, and the thickness of a bar.
const STEP: f64 = 26.0;
const THICK: f64 = 16.0;
const HEAD: f64 = 8.0;
/// Space below for tick labels and the axis label.
const FOOT: f64 = 44.0;
/// Space for the value after the longest bar.
const VALUE: f64 = 58.0;
const TEXT: f64 = 13.0;
const APART: f64 = 70.0;

pub(super) fn draw(x: &Axis, bars: &[(String, f64)]) -> Drawing {
    let Some(range) = range(bars, x.log) else { return Drawing::nothing(WIDTH) };
    let names = bars.iter().map(|(name, _)| text_width(name, TEXT)).fold(0.0, f64::max).min(0.4 * WIDTH);
    let scale = AxisScale::new(range, names + 12.0, WIDTH - VALUE);
    let bottom = HEAD + STEP * bars.len() as f64;
    let mut drawing = Drawing::new(WIDTH, bottom + FOOT);
    for tick in scale.ticks(APART) {
        drawing.line("grid", (tick.at, HEAD), (tick.at, bottom));
        drawing.text("tick middle", (tick.at, bottom + 17.0), &tick.label);
    }
    // A logarithmic axis has no zero: there bars begin at its left end.
    let foot = if x.log { scale.start } else { scale.at(0.0).unwrap_or(scale.start) };
    for (at, (name, value)) in bars.iter().enumerate() {
        let middle = HEAD + STEP * (at as f64 + 0.5);
        drawing.text("end", (names + 6.0, middle + 4.5), &cut(name, TEXT, names));
        let end = scale.at(*value).unwrap_or(foot);
        let note = format!("{name}: {}", tidy(*value, 5));
        drawing.rect("bar", (foot.min(end), middle - THICK / 2.0), ((end - foot).abs().max(0.5), THICK)).note(&note);
        drawing.text("tick", (foot.max(end) + 5.0, middle + 4.5), &tidy(*value, 4));
    }
    drawing.line("axis", (foot, HEAD), (foot, bottom));
    let middle = f64::midpoint(scale.start, scale.end);
    drawing.text("label middle", (middle, bottom + 37.0), &cut(&x.label, TEXT, WIDTH - VALUE));
    drawing
}

/// From zero; on a logarithmic axis from half the shortest bar.
fn range(bars: &[(String, f64)], log: bool) -> Option<Range> {
    let values: Vec<f64> = bars.iter().map(|(_, value)| *value).filter(|&value| drawable(value, log)).collect();
    let least = values.iter().copied().reduce(f64::min)?;
    Range::over(values.into_iter().chain([if log { 0.5 * least } else { 0.0 }]), log)
}
