//! Draws scatter plots with the diagonal, in panels with the same axes.

use super::axes::{Axes, ranges};
use super::axis_scale::Range;
use super::colour::Palette;
use super::colour_bar::colour_bar;
use super::drawing::{Drawing, cut};
use super::number::tidy;
use super::squares::Squares;
use super::{BOLD, WIDTH};
use crate::report::Axis;

type Panel = (String, Vec<(f64, f64)>);

/// Panels with more points than this show counts in squares instead of points.
const MOST_DOTS: usize = 1500;
const SIDE: f64 = 5.0;
const HEAD: f64 = 24.0;

pub(super) fn draw(x: &Axis, y: &Axis, panels: &[Panel]) -> Vec<Drawing> {
    let Some(range) = range(x, y, panels) else { return vec![Drawing::nothing(WIDTH)] };
    let axes = Axes::square(WIDTH, HEAD, range, x, y);
    let most = most(&axes, panels);
    panels.iter().map(|panel| draw_panel(&axes, panel, most)).collect()
}

pub(super) fn legend(x: &Axis, y: &Axis, panels: &[Panel]) -> Option<Drawing> {
    let axes = Axes::square(WIDTH, HEAD, range(x, y, panels)?, x, y);
    let most = most(&axes, panels)?;
    let labels = ["1".to_owned(), String::new(), tidy(f64::from(most), 6)];
    Some(colour_bar(Palette::Sequential, &labels, "rows in a square, logarithmic"))
}

/// One range for both axes, logarithmic if both are.
fn range(x: &Axis, y: &Axis, panels: &[Panel]) -> Option<Range> {
    let log = x.log && y.log;
    let (across, up) = ranges(panels.iter().flat_map(|panel| panel.1.iter().copied()), (log, log))?;
    Some(across.joined(up).padded(0.02))
}

/// The largest count of a square in all panels; `None` if points are drawn.
fn most(axes: &Axes, panels: &[Panel]) -> Option<u32> {
    let dense = panels.iter().any(|panel| panel.1.len() > MOST_DOTS);
    dense.then(|| panels.iter().map(|panel| count(axes, &panel.1).most()).max().unwrap_or(1).max(2))
}

fn count(axes: &Axes, points: &[(f64, f64)]) -> Squares {
    let mut squares = Squares::new(SIDE);
    points.iter().filter_map(|&point| axes.at(point)).for_each(|at| squares.add(at, 1.0));
    squares
}

fn draw_panel(axes: &Axes, (title, points): &Panel, most: Option<u32>) -> Drawing {
    let mut drawing = Drawing::new(WIDTH, axes.bottom());
    drawing.text("label strong", (2.0, 15.0), &cut(title, BOLD, WIDTH - 4.0));
    axes.draw(&mut drawing);
    match most {
        Some(most) => {
            let squares = count(axes, points);
            squares
                .draw(&mut drawing, Palette::Sequential, |_, count: u32| f64::from(count).ln() / f64::from(most).ln());
        }
        None => {
            for at in points.iter().filter_map(|&point| axes.at(point)) {
                drawing.dot("dot c0 faint", at, 2.4);
            }
        }
    }
    drawing.line("diagonal", (axes.x.start, axes.y.start), (axes.x.end, axes.y.end));
    drawing
}
