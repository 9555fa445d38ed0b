//! Draws maps for a file: values at places with one colour scale, averaged over squares.

use super::colour::Palette;
use super::colour_bar::colour_bar;
use super::drawing::{Drawing, cut};
use super::map_frame::MapFrame;
use super::number::tidy;
use super::squares::Squares;
use super::{BOLD, WIDTH};
use crate::report::Scale;

type Panel = (String, Vec<f64>);

/// The side of the squares that values are averaged over: single places would hide each other.
const SIDE: f64 = 4.0;
const HEAD: f64 = 26.0;
const FOOT: f64 = 34.0;
const HIGHEST: f64 = 440.0;

pub(super) fn draw(places: &[(f64, f64)], geographic: bool, panels: &[Panel], scale: Scale) -> Vec<Drawing> {
    let Some(plane) = MapFrame::around(places, geographic) else { return vec![Drawing::nothing(WIDTH)] };
    let shades = Shades::new(scale, panels);
    panels.iter().map(|panel| draw_panel(&plane, places, panel, &shades)).collect()
}

pub(super) fn legend(panels: &[Panel], scale: Scale, unit: &str) -> Drawing {
    let shades = Shades::new(scale, panels);
    colour_bar(shades.palette, &shades.labels(), unit)
}

pub(super) fn palette(scale: Scale) -> Palette {
    match scale {
        Scale::Diverging { .. } => Palette::Diverging,
        Scale::Sequential { .. } => Palette::Sequential,
    }
}

fn draw_panel(plane: &MapFrame, places: &[(f64, f64)], (title, values): &Panel, shades: &Shades) -> Drawing {
    let zoom = ((WIDTH - SIDE) / plane.width).min(HIGHEST / plane.height);
    let mut drawing = Drawing::new(WIDTH, HEAD + plane.height * zoom + SIDE + FOOT);
    drawing.text("label strong", (2.0, 15.0), &cut(title, BOLD, WIDTH - 4.0));
    let left = (WIDTH - SIDE - plane.width * zoom) / 2.0;
    let mut squares = Squares::new(SIDE);
    for (&place, &value) in places.iter().zip(values).filter(|(_, value)| value.abs() < 1e290) {
        if let Some((x, y)) = plane.at(place) {
            squares.add((left + x * zoom, HEAD + y * zoom), value);
        }
    }
    if squares.most() == 0 {
        drawing.text("quiet middle", (WIDTH / 2.0, HEAD + plane.height * zoom / 2.0), "nothing to show");
    }
    squares.draw(&mut drawing, shades.palette, |sum, count| shades.share(sum / f64::from(count)));
    if let Some(metres) = plane.metres() {
        draw_scale_bar(&mut drawing, metres / zoom);
    }
    drawing
}

/// Draws a scale bar with a round length, about a fifth of the panel wide.
fn draw_scale_bar(drawing: &mut Drawing, metres_per_pixel: f64) {
    let metres = metres_per_pixel * WIDTH / 5.0;
    let power = 10_f64.powf(metres.log10().floor());
    let round = [5.0, 2.0].into_iter().find(|digit| digit * power <= metres).unwrap_or(1.0) * power;
    let (right, y) = (drawing.width - 4.0, drawing.height - 6.0);
    let left = right - round / metres_per_pixel;
    drawing.path("scale", &format!("M{left:.1} {:.1}v4H{right}v-4", y - 4.0));
    drawing.text("tick middle", (f64::midpoint(left, right), y - 8.0), &length(round));
}

fn length(metres: f64) -> String {
    if metres < 1000.0 { format!("{} m", tidy(metres, 3)) } else { format!("{} km", tidy(metres / 1000.0, 3)) }
}

/// The colour scale of the maps.
#[derive(Clone, Copy, Debug)]
pub(in crate::report) struct Shades {
    palette: Palette,
    pub(in crate::report) low: f64,
    pub(in crate::report) high: f64,
}

impl Shades {
    /// The given scale; if it is empty or not finite, the range of the values.
    pub(in crate::report) fn new(scale: Scale, panels: &[Panel]) -> Self {
        let values = panels.iter().flat_map(|panel| &panel.1).copied().filter(|value| value.abs() < 1e290);
        let (least, most) =
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        let (low, high) = match scale {
            Scale::Diverging { limit } if limit > 0.0 && limit < 1e300 => (-limit, limit),
            Scale::Diverging { .. } => {
                let limit = most.max(-least).max(0.0);
                (-limit, limit)
            }
            Scale::Sequential { low, high } if low < high && high - low < 1e300 => (low, high),
            Scale::Sequential { .. } => (least, most),
        };
        let palette = palette(scale);
        if low < high {
            return Self { palette, low, high };
        }
        // All values are equal, or there are none.
        let middle = if low.is_finite() { low } else { 0.0 };
        Self { palette, low: middle - 1.0, high: middle + 1.0 }
    }

    fn share(&self, value: f64) -> f64 {
        (value - self.low) / (self.high - self.low)
    }

    fn labels(&self) -> [String; 3] {
        let middle = f64::midpoint(self.low, self.high);
        let sign = if self.palette == Palette::Diverging { "+" } else { "" };
        [tidy(self.low, 4), tidy(middle, 4), format!("{sign}{}", tidy(self.high, 4))]
    }
}
