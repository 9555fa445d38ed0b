//! The two axes of a plot, with grid lines and labels.

use super::axis_scale::{AxisScale, Range, Tick, drawable};
use super::drawing::{Drawing, cut, text_width};
use crate::report::Axis;

// Sizes in the files of this folder are in pixels and were chosen by eye.

/// Space below for tick labels and the axis label.
const FOOT: f64 = 44.0;
/// Space above for the label of the vertical axis, which is written horizontally there.
const HEAD: f64 = 22.0;
const RIGHT: f64 = 14.0;
const TICK: f64 = 12.0;
/// The least distance between ticks, horizontally and vertically; labels are wider than high.
const APART: (f64, f64) = (70.0, 44.0);

#[derive(Debug)]
pub(super) struct Axes<'a> {
    pub(super) x: AxisScale,
    pub(super) y: AxisScale,
    labels: (&'a str, &'a str),
    /// The least distance between the vertical ticks.
    apart: f64,
}

impl<'a> Axes<'a> {
    /// Axes that fill a drawing of this size below `top`.
    pub(super) fn new(size: (f64, f64), top: f64, x: (Range, &'a Axis), y: (Range, &'a Axis)) -> Self {
        let vertical = AxisScale::new(y.0, size.1 - FOOT, top + HEAD);
        let left = left_of(&vertical, APART.1);
        let labels = (x.1.label.as_str(), y.1.label.as_str());
        Self { x: AxisScale::new(x.0, left, size.0 - RIGHT), y: vertical, labels, apart: APART.1 }
    }

    /// Square axes with the same ticks in both directions, so that the diagonal runs from corner to corner.
    pub(super) fn square(width: f64, top: f64, range: Range, x: &'a Axis, y: &'a Axis) -> Self {
        let guess = AxisScale::new(range, top + HEAD + width - 70.0, top + HEAD);
        let left = left_of(&guess, APART.0);
        let side = width - left - RIGHT;
        let vertical = AxisScale::new(range, top + HEAD + side, top + HEAD);
        Self {
            x: AxisScale::new(range, left, width - RIGHT),
            y: vertical,
            labels: (&x.label, &y.label),
            apart: APART.0,
        }
    }

    /// The height of a drawing that holds the axes.
    pub(super) fn bottom(&self) -> f64 {
        self.y.start + FOOT
    }

    pub(super) fn at(&self, (x, y): (f64, f64)) -> Option<(f64, f64)> {
        Some((self.x.at(x)?, self.y.at(y)?))
    }

    /// Draws grid and labels; must be called first, so that they lie under the data.
    pub(super) fn draw(&self, drawing: &mut Drawing) {
        let ((left, right), (top, bottom)) = (self.x.ends(), self.y.ends());
        for Tick { at, label } in self.y.ticks(self.apart) {
            drawing.line("grid", (left, at), (right, at));
            drawing.text("tick end", (left - 7.0, at + 4.0), &label);
        }
        let ticks = self.x.ticks(APART.0);
        for Tick { at, .. } in &ticks {
            drawing.line("grid", (*at, top), (*at, bottom));
        }
        for Tick { at, label } in uncrowded(ticks, drawing.width) {
            drawing.text("tick middle", (at, bottom + 17.0), &label);
        }
        drawing.line("axis", (left, bottom), (right, bottom));
        drawing.text("label", (2.0, top - 10.0), &cut(self.labels.1, 13.0, drawing.width - 4.0));
        let room = drawing.width - 8.0;
        let label = cut(self.labels.0, 13.0, room);
        let half = text_width(&label, 13.0) / 2.0;
        let middle = f64::midpoint(left, right).min(drawing.width - half - 2.0).max(half + 2.0);
        drawing.text("label middle", (middle, bottom + 37.0), &label);
    }
}

/// The ranges of the points that can be drawn on both axes. A point that is missing on one axis does not extend the other.
pub(super) fn ranges(points: impl Iterator<Item = (f64, f64)>, logs: (bool, bool)) -> Option<(Range, Range)> {
    let seen: Vec<(f64, f64)> = points.filter(|point| drawable(point.0, logs.0) && drawable(point.1, logs.1)).collect();
    let across = Range::over(seen.iter().map(|point| point.0), logs.0)?;
    Some((across, Range::over(seen.iter().map(|point| point.1), logs.1)?))
}

fn left_of(vertical: &AxisScale, apart: f64) -> f64 {
    let widest = vertical.ticks(apart).iter().map(|tick| text_width(&tick.label, TICK)).fold(0.0, f64::max);
    (widest + 12.0).max(24.0)
}

/// Moves labels into the drawing, and leaves out those that would overlap the one before.
fn uncrowded(ticks: Vec<Tick>, width: f64) -> Vec<Tick> {
    let mut free_from = 0.0;
    let mut kept = Vec::new();
    for tick in ticks {
        let half = text_width(&tick.label, TICK) / 2.0;
        let at = tick.at.min(width - half);
        if at - half >= free_from {
            free_from = at + half + 6.0;
            kept.push(Tick { at, ..tick });
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_incomplete_point_does_not_extend_an_axis() {
        let points = [(1.0, 2.0), (1e9, f64::NAN), (3.0, 5.0), (-4.0, 0.0)];
        let (x, y) = ranges(points.into_iter(), (false, true)).unwrap();
        let (across, up) = (AxisScale::new(x, 0.0, 10.0), AxisScale::new(y, 0.0, 10.0));
        assert_eq!(
            (across.at(1.0), across.at(3.0), up.at(2.0), up.at(5.0)),
            (Some(0.0), Some(10.0), Some(0.0), Some(10.0))
        );
        assert!(ranges([(1.0, f64::NAN), (f64::NAN, 1.0)].into_iter(), (false, false)).is_none());
    }

    #[test]
    fn labels_do_not_overlap_and_stay_inside() {
        let ticks = [10.0, 60.0, 70.0, 130.0, 200.0].map(|at| Tick { at, label: "10,000".to_owned() });
        let kept = uncrowded(ticks.to_vec(), 200.0);
        let half = text_width("10,000", TICK) / 2.0;
        assert!(kept.windows(2).all(|pair| pair[1].at - pair[0].at > 2.0 * half));
        assert_eq!((kept.len(), kept[kept.len() - 1].at), (3, 200.0 - half));
    }
}
