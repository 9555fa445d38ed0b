//! Draws a dot and a range for each series in each row, for instance means over trials with their extremes.

use super::axis_scale::{AxisScale, Range, drawable};
use super::curves::{class, draw_legend, legend};
use super::drawing::{Drawing, cut};
use super::number::tidy;
use super::{BOLD, WIDTH};
use crate::report::{Axis, Interval};

/// The height of the name of a row, and of each of its ranges.
const NAME: f64 = 24.0;
const LINE: f64 = 15.0;
const FOOT: f64 = 44.0;

pub(super) fn draw(x: &Axis, rows: &[String], series: &[(String, Vec<Option<Interval>>)]) -> Drawing {
    let Some(range) = range(series, x.log) else { return Drawing::nothing(WIDTH) };
    let entries = legend(series.iter().map(|(name, _)| (name.as_str(), true)));
    let top = entries.last().map_or(0.0, |entry| entry.corner.1 + 28.0);
    let band = NAME + LINE * series.len() as f64 + 6.0;
    let bottom = top + band * rows.len() as f64;
    let mut drawing = Drawing::new(WIDTH, bottom + FOOT);
    let scale = AxisScale::new(range.padded(0.04), 8.0, WIDTH - 14.0);
    draw_legend(&mut drawing, &entries);
    draw_axis(&mut drawing, &scale, x, (top, bottom));
    for (row, name) in rows.iter().enumerate() {
        let head = top + band * row as f64;
        drawing.text("label strong halo", (8.0, head + 16.0), &cut(name, BOLD, WIDTH - 16.0));
        for (at, (of, intervals)) in series.iter().enumerate() {
            let height = head + NAME + LINE * (at as f64 + 0.5);
            if let Some(interval) = intervals.get(row).copied().flatten() {
                let title = if of.is_empty() { name.clone() } else { format!("{name}, {of}") };
                draw_interval(&mut drawing, &scale, &interval, height, at, &title);
            }
        }
    }
    drawing
}

/// The range of all intervals that can be drawn completely.
fn range(series: &[(String, Vec<Option<Interval>>)], log: bool) -> Option<Range> {
    let intervals = series.iter().flat_map(|(_, intervals)| intervals.iter().flatten());
    let values = intervals.map(|interval| [interval.low, interval.middle, interval.high]);
    let complete = values.filter(|values| values.iter().all(|&value| drawable(value, log)));
    Range::over(complete.flatten(), log)
}

fn draw_axis(drawing: &mut Drawing, scale: &AxisScale, x: &Axis, (top, bottom): (f64, f64)) {
    for tick in scale.ticks(70.0) {
        drawing.line("grid", (tick.at, top), (tick.at, bottom));
        drawing.text("tick middle", (tick.at, bottom + 17.0), &tick.label);
    }
    drawing.line("axis", (scale.start, bottom), (scale.end, bottom));
    drawing.text("label middle", (WIDTH / 2.0, bottom + 37.0), &cut(&x.label, 13.0, WIDTH - 8.0));
}

fn draw_interval(drawing: &mut Drawing, scale: &AxisScale, interval: &Interval, height: f64, at: usize, name: &str) {
    let (Some(low), Some(middle), Some(high)) =
        (scale.at(interval.low), scale.at(interval.middle), scale.at(interval.high))
    else {
        return;
    };
    let class = class(at);
    drawing.line(&format!("line {class}"), (low, height), (high, height));
    drawing.dot(&format!("dot {class}"), (middle, height), 4.0);
    let [from, value, to] = [interval.low, interval.middle, interval.high].map(|value| tidy(value, 5));
    drawing.dot("touch", (middle, height), 8.0).note(&format!("{name}\n{value}, from {from} to {to}"));
}
