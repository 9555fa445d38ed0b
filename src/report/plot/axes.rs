//! Two rulers around a plot, with grid lines and labels.

use super::drawing::{Drawing, cut, text_width};
use super::ruler::{Range, Ruler, Tick, drawable};
use crate::report::Axis;

/// Room below for tick labels and the axis label.
const FOOT: f64 = 44.0;
/// Room above for the label of the vertical axis, which stands upright there.
const HEAD: f64 = 22.0;
const RIGHT: f64 = 14.0;
const TICK: f64 = 12.0;
/// Pixels between ticks, whose labels need more room across than up.
const APART: (f64, f64) = (70.0, 44.0);

#[derive(Debug)]
pub(super) struct Axes<'a> {
    pub(super) x: Ruler,
    pub(super) y: Ruler,
    labels: (&'a str, &'a str),
    /// Pixels between the vertical ticks.
    apart: f64,
}

impl<'a> Axes<'a> {
    /// Fills a drawing of this size below `top`.
    pub(super) fn new(size: (f64, f64), top: f64, x: (Range, &'a Axis), y: (Range, &'a Axis)) -> Self {
        let vertical = Ruler::new(y.0, size.1 - FOOT, top + HEAD);
        let left = left_of(&vertical, APART.1);
        let labels = (x.1.label.as_str(), y.1.label.as_str());
        Self { x: Ruler::new(x.0, left, size.0 - RIGHT), y: vertical, labels, apart: APART.1 }
    }

    /// As wide as high, with the same ticks both ways, so that a diagonal is one.
    pub(super) fn square(width: f64, top: f64, range: Range, x: &'a Axis, y: &'a Axis) -> Self {
        let guess = Ruler::new(range, top + HEAD + width - 70.0, top + HEAD);
        let left = left_of(&guess, APART.0);
        let side = width - left - RIGHT;
        let vertical = Ruler::new(range, top + HEAD + side, top + HEAD);
        Self { x: Ruler::new(range, left, width - RIGHT), y: vertical, labels: (&x.label, &y.label), apart: APART.0 }
    }

    /// How high a drawing must be to hold the axes.
    pub(super) fn bottom(&self) -> f64 {
        self.y.start + FOOT
    }

    pub(super) fn at(&self, (x, y): (f64, f64)) -> Option<(f64, f64)> {
        Some((self.x.at(x)?, self.y.at(y)?))
    }

    /// Grid and labels; to be drawn first, under the data.
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

/// The ranges of those points that have a place on both axes: half a point does not stretch the other axis.
pub(super) fn ranges(points: impl Iterator<Item = (f64, f64)>, logs: (bool, bool)) -> Option<(Range, Range)> {
    let seen: Vec<(f64, f64)> = points.filter(|point| drawable(point.0, logs.0) && drawable(point.1, logs.1)).collect();
    let across = Range::over(seen.iter().map(|point| point.0), logs.0)?;
    Some((across, Range::over(seen.iter().map(|point| point.1), logs.1)?))
}

fn left_of(vertical: &Ruler, apart: f64) -> f64 {
    let widest = vertical.ticks(apart).iter().map(|tick| text_width(&tick.label, TICK)).fold(0.0, f64::max);
    (widest + 12.0).max(24.0)
}

/// Moves labels into the drawing, and leaves out those that would touch the one before.
fn uncrowded(ticks: Vec<Tick>, width: f64) -> Vec<Tick> {
    let mut free_from = 0.0;
    let fit = |tick: Tick| {
        let half = text_width(&tick.label, TICK) / 2.0;
        let at = tick.at.min(width - half);
        let fits = at - half >= free_from;
        free_from = if fits { at + half + 6.0 } else { free_from };
        fits.then_some(Tick { at, ..tick })
    };
    ticks.into_iter().filter_map(fit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_point_does_not_stretch_an_axis() {
        let points = [(1.0, 2.0), (1e9, f64::NAN), (3.0, 5.0), (-4.0, 0.0)];
        let (x, y) = ranges(points.into_iter(), (false, true)).unwrap();
        let (across, up) = (Ruler::new(x, 0.0, 10.0), Ruler::new(y, 0.0, 10.0));
        assert_eq!(
            (across.at(1.0), across.at(3.0), up.at(2.0), up.at(5.0)),
            (Some(0.0), Some(10.0), Some(0.0), Some(10.0))
        );
        assert!(ranges([(1.0, f64::NAN), (f64::NAN, 1.0)].into_iter(), (false, false)).is_none());
    }

    #[test]
    fn labels_neither_touch_nor_leave() {
        let tick = |at: f64| Tick { at, label: "10,000".to_owned() };
        let kept = uncrowded([10.0, 60.0, 70.0, 130.0, 200.0].map(tick).to_vec(), 200.0);
        let half = text_width("10,000", TICK) / 2.0;
        assert!(kept.windows(2).all(|pair| pair[1].at - pair[0].at > 2.0 * half));
        assert_eq!((kept.len(), kept[kept.len() - 1].at), (3, 200.0 - half));
    }
}
