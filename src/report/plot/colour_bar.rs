//! The legend of a colour scale.

use super::WIDTH;
use super::colour::{Palette, STEPS};
use super::drawing::{Drawing, text_width, wrap};

const BAR: f64 = 264.0;

/// A bar of all colours, with labels at its ends and its middle, and the unit below.
pub(super) fn colour_bar(palette: Palette, labels: &[String; 3], unit: &str) -> Drawing {
    let lines = wrap(unit, 13.0, WIDTH - 8.0);
    let mut drawing = Drawing::new(WIDTH, 40.0 + 18.0 * lines.len() as f64);
    let left = (WIDTH - BAR) / 2.0;
    let step = BAR / STEPS as f64;
    for at in 0..STEPS {
        drawing.rect(&palette.step_class(at), (left + at as f64 * step, 6.0), (step + 0.3, 12.0));
    }
    for (label, share) in labels.iter().zip([0.0, 0.5, 1.0]) {
        let half = text_width(label, 12.0) / 2.0;
        let at = (left + share * BAR).clamp(half.min(WIDTH / 2.0), (WIDTH - half).max(WIDTH / 2.0));
        drawing.text("tick middle", (at, 34.0), label);
    }
    for (at, line) in lines.iter().enumerate() {
        drawing.text("label middle", (WIDTH / 2.0, 54.0 + 18.0 * at as f64), line);
    }
    drawing
}
