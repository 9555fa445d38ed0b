//! Draws lines or points over one axis.

use super::axes::{Axes, ranges};
use super::drawing::{Drawing, cut, px, text_width};
use super::number::tidy;
use super::{BOLD, WIDTH};
use crate::report::{Axis, Mark, Series};

const HEIGHT: f64 = 300.0;
/// The number of colours in `plot.css`; further series use them again with dashed and dotted lines.
const COLOURS: usize = 6;
/// A line with more points than this has no dots.
const MOST_DOTS: usize = 60;
/// With more points than this, points have no tooltips: the file would be large, and points too dense to hit.
const MOST_NOTES: usize = 1500;
const NAME: f64 = 13.0;
const SWATCH: f64 = 26.0;

pub(super) fn draw(x: &Axis, y: &Axis, series: &[Series], mark: Option<&Mark>) -> Drawing {
    let mark = mark.filter(|mark| mark.x.is_finite() && mark.y.is_finite());
    let points = series.iter().flat_map(|one| &one.points).copied().chain(mark.map(|mark| (mark.x, mark.y)));
    let points: Vec<(f64, f64)> = points.collect();
    let Some((across, up)) = ranges(points.iter().copied(), (x.log, y.log)) else { return Drawing::nothing(WIDTH) };
    let entries = legend(series.iter().map(|one| (one.name.as_str(), !one.dots_only)));
    let top = entries.last().map_or(0.0, |entry| entry.corner.1 + 28.0);
    let mut drawing = Drawing::new(WIDTH, HEIGHT + top);
    let padded = mark.map_or(up, |mark| up.padded_near(mark.y, 0.1)).padded(0.06);
    let axes = Axes::new((WIDTH, HEIGHT + top), top, (across.padded(0.02), x), (padded, y));
    draw_legend(&mut drawing, &entries);
    axes.draw(&mut drawing);
    for (at, one) in series.iter().enumerate() {
        draw_series(&mut drawing, &axes, one, at);
    }
    if let Some(mark) = mark {
        draw_mark(&mut drawing, &axes, mark, up.is_upper(mark.y));
    }
    if points.len() <= MOST_NOTES {
        for one in series {
            draw_notes(&mut drawing, &axes, one, (x, y));
        }
    }
    drawing
}

/// The class of a series, by its position: its colour and dashes.
pub(super) fn class(at: usize) -> String {
    format!("c{}{}", at % COLOURS, ["", " dashed", " dotted"][at / COLOURS % 3])
}

fn draw_series(drawing: &mut Drawing, axes: &Axes, series: &Series, at: usize) {
    let class = class(at);
    if !series.dots_only {
        drawing.path(&format!("line {class}"), &line(axes, &series.points));
    }
    if series.dots_only || series.points.len() <= MOST_DOTS {
        for point in series.points.iter().filter_map(|&point| axes.at(point)) {
            drawing.dot(&format!("dot {class}"), point, 2.6);
        }
    }
}

/// The path of a line, with a gap where a point cannot be drawn.
fn line(axes: &Axes, points: &[(f64, f64)]) -> String {
    let mut path = String::new();
    let mut command = 'M';
    for point in points {
        let Some((x, y)) = axes.at(*point) else {
            command = 'M';
            continue;
        };
        path.push(command);
        path.push_str(&[px(x), px(y)].join(" "));
        command = 'L';
    }
    path
}

/// Invisible circles with tooltips, larger than the dots so that they are easy to hit.
fn draw_notes(drawing: &mut Drawing, axes: &Axes, series: &Series, (x, y): (&Axis, &Axis)) {
    let name = if series.name.is_empty() { String::new() } else { format!("{}\n", series.name) };
    for &(across, up) in &series.points {
        if let Some(at) = axes.at((across, up)) {
            let note = format!("{name}{}: {}\n{}: {}", x.label, tidy(across, 5), y.label, tidy(up, 5));
            drawing.dot("touch", at, 8.0).note(&note);
        }
    }
}

/// Draws the highlighted point. Its label is above a maximum and below a minimum, outside the bend of the curve.
fn draw_mark(drawing: &mut Drawing, axes: &Axes, mark: &Mark, above: bool) {
    let Some((x, y)) = axes.at((mark.x, mark.y)) else { return };
    drawing.line("guide", (x, y), (x, axes.y.start));
    drawing.dot("ring", (x, y), 6.0);
    let (left, right) = axes.x.ends();
    let text = cut(&mark.text, BOLD, right - left);
    let half = text_width(&text, BOLD) / 2.0;
    let middle = x.min(right - half).max(left + half);
    drawing.text("label strong halo middle", (middle, if above { y - 13.0 } else { y + 22.0 }), &text);
}

/// An entry of the legend.
pub(super) struct Entry {
    class: String,
    name: String,
    line: bool,
    pub(super) corner: (f64, f64),
}

/// A legend above the plot, in as many rows as needed, so that it does not cover data. The flag says whether a series has a line.
pub(super) fn legend<'a>(series: impl Iterator<Item = (&'a str, bool)>) -> Vec<Entry> {
    let mut corner = (2.0, 0.0);
    let mut entries = Vec::new();
    for (at, (name, line)) in series.enumerate().filter(|(_, (name, _))| !name.is_empty()) {
        let name = cut(name, NAME, WIDTH - SWATCH - 8.0);
        let width = SWATCH + text_width(&name, NAME) + 16.0;
        if corner.0 + width - 16.0 > WIDTH && corner.0 > 2.0 {
            corner = (2.0, corner.1 + 20.0);
        }
        entries.push(Entry { class: class(at), name, line, corner });
        corner.0 += width;
    }
    entries
}

pub(super) fn draw_legend(drawing: &mut Drawing, entries: &[Entry]) {
    for Entry { class, name, line, corner: (x, y) } in entries {
        if *line {
            drawing.path(&format!("line {class}"), &format!("M{} {}h20", px(*x), px(y + 9.0)));
        }
        drawing.dot(&format!("dot {class}"), (x + 10.0, y + 9.0), 2.6);
        drawing.text("label", (x + SWATCH, y + 13.5), name);
    }
}
