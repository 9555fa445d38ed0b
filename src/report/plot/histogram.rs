//! Draws a histogram.

use super::WIDTH;
use super::axes::Axes;
use super::axis_scale::Range;
use super::drawing::Drawing;
use super::number::tidy;
use crate::report::Axis;

const HEIGHT: f64 = 280.0;

pub(super) fn draw(x: &Axis, edges: &[f64], counts: &[usize]) -> Drawing {
    let count = Axis::linear("rows");
    let across = Range::over(edges.iter().copied(), x.log);
    // Bars begin at zero: padding is added above only.
    let tallest = counts.iter().max().map(|&count| count.max(1) as f64 * 1.05);
    let up = tallest.and_then(|tallest| Range::over([0.0, tallest].into_iter(), false));
    let (Some(across), Some(up)) = (across, up) else { return Drawing::nothing(WIDTH) };
    let mut drawing = Drawing::new(WIDTH, HEIGHT);
    let axes = Axes::new((WIDTH, HEIGHT), 0.0, (across, x), (up, &count));
    axes.draw(&mut drawing);
    for (ends, &count) in edges.windows(2).zip(counts) {
        draw_bar(&mut drawing, &axes, ends, count);
    }
    drawing
}

fn draw_bar(drawing: &mut Drawing, axes: &Axes, ends: &[f64], count: usize) {
    let (Some(left), Some(right), Some(top)) = (axes.x.at(ends[0]), axes.x.at(ends[1]), axes.y.at(count as f64)) else {
        return;
    };
    let (left, width) = (left.min(right), (right - left).abs());
    // A thin gap between bars, if they are wide enough.
    let gap = if width > 4.0 { 0.5 } else { 0.0 };
    let note = format!("{} to {}: {} rows", tidy(ends[0], 4), tidy(ends[1], 4), tidy(count as f64, 12));
    drawing.rect("bar", (left + gap, top), ((width - 2.0 * gap).max(0.3), axes.y.start - top)).note(&note);
}
