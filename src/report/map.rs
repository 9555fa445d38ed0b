//! Maps side by side on one colour scale, as SVG.

use std::collections::BTreeMap;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::error::Error;
use crate::space::{Metres, great_circle};

/// One map: a value at each place.
#[derive(Clone, Debug)]
pub struct MapPanel<'a> {
    /// What it shows.
    pub title: String,
    /// (latitude, longitude) in degrees.
    pub places: &'a [(f64, f64)],
    /// A value for each place; zero is the middle of the colours.
    pub values: Vec<f64>,
}

const PANEL: (u32, u32) = (640, 490);
const FOOT: u32 = 74;
const MARGIN: f64 = 18.0;
const HEAD: f64 = 52.0;
/// Side of the squares that values are averaged over, in pixels: single houses would hide each other.
const CELL: f64 = 6.0;

const INK: RGBColor = RGBColor(34, 40, 49);
const PAPER: RGBColor = RGBColor(250, 250, 248);
const NO_ERROR: (f64, f64, f64) = (236.0, 234.0, 228.0);
const TOO_LOW: (f64, f64, f64) = (33.0, 102.0, 172.0);
const TOO_HIGH: (f64, f64, f64) = (178.0, 24.0, 43.0);

/// Draws the panels side by side. Colours run from `−limit` over zero to `limit`; `legend` says what they mean.
///
/// # Errors
/// If the drawing fails, which an SVG in memory does not.
pub fn draw_maps(panels: &[MapPanel], limit: f64, legend: &str) -> Result<String, Error> {
    let mut svg = String::new();
    let size = (PANEL.0 * panels.len() as u32, PANEL.1 + FOOT);
    let drawn = (|| {
        let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        root.fill(&PAPER)?;
        let (maps, foot) = root.split_vertically(PANEL.1);
        for (area, panel) in maps.split_evenly((1, panels.len())).iter().zip(panels) {
            draw_panel(area, panel, limit)?;
        }
        draw_legend(&foot, size.0, limit, legend)?;
        root.present()
    })();
    drawn.map_err(|error: DrawingAreaErrorKind<_>| Error::Contradiction {
        message: format!("cannot draw the map: {error}"),
        hint: String::new(),
    })?;
    Ok(svg)
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), DrawingAreaErrorKind<std::io::Error>>;

fn draw_panel(area: &Area, panel: &MapPanel, limit: f64) -> Drawn {
    let title = ("sans-serif", 21).into_font().color(&INK);
    area.draw(&Text::new(panel.title.clone(), (MARGIN as i32, 18), title))?;
    let Some(frame) = Frame::around(panel.places) else { return Ok(()) };
    for ((column, row), (sum, count)) in frame.cells(panel) {
        let corner = ((f64::from(column) * CELL) as i32, (f64::from(row) * CELL) as i32);
        let opposite = (corner.0 + CELL as i32, corner.1 + CELL as i32);
        area.draw(&Rectangle::new([corner, opposite], colour(sum / f64::from(count) / limit).filled()))?;
    }
    frame.draw_scale(area)
}

fn draw_legend(area: &Area, width: u32, limit: f64, legend: &str) -> Drawn {
    const STEPS: i32 = 120;
    const STEP: i32 = 3;
    let left = width as i32 / 2 - STEPS * STEP / 2;
    for step in 0..STEPS {
        let share = 2.0 * (f64::from(step) + 0.5) / f64::from(STEPS) - 1.0;
        let x = left + step * STEP;
        area.draw(&Rectangle::new([(x, 8), (x + STEP, 24)], colour(share).filled()))?;
    }
    let label = |anchor| TextStyle::from(("sans-serif", 15).into_font()).color(&INK).pos(Pos::new(anchor, VPos::Top));
    area.draw(&Text::new(format!("-{limit}"), (left - 8, 9), label(HPos::Right)))?;
    area.draw(&Text::new(format!("+{limit}"), (left + STEPS * STEP + 8, 9), label(HPos::Left)))?;
    area.draw(&Text::new(legend.to_owned(), (width as i32 / 2, 34), label(HPos::Center)))
}

/// The colour of a share of the limit, from −1 to 1.
fn colour(share: f64) -> RGBColor {
    let share = share.clamp(-1.0, 1.0);
    let end = if share < 0.0 { TOO_LOW } else { TOO_HIGH };
    let mix = |from: f64, to: f64| (from + (to - from) * share.abs()).round() as u8;
    RGBColor(mix(NO_ERROR.0, end.0), mix(NO_ERROR.1, end.1), mix(NO_ERROR.2, end.2))
}

/// From degrees to pixels: as large as fits, east and north to scale at the middle latitude.
struct Frame {
    west: f64,
    north: f64,
    pixels_per_degree: (f64, f64),
    middle: f64,
}

impl Frame {
    fn around(places: &[(f64, f64)]) -> Option<Self> {
        let bounds = |value: fn(&(f64, f64)) -> f64| {
            let values = || places.iter().map(value);
            (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max))
        };
        let ((south, north), (west, east)) = (bounds(|place| place.0), bounds(|place| place.1));
        if places.is_empty() {
            return None;
        }
        let middle = f64::midpoint(south, north);
        let squeeze = middle.to_radians().cos().max(0.01);
        let room = (f64::from(PANEL.0) - 2.0 * MARGIN, f64::from(PANEL.1) - HEAD - MARGIN);
        let scale = (room.0 / ((east - west).max(1e-6) * squeeze)).min(room.1 / (north - south).max(1e-6));
        Some(Self { west, north, pixels_per_degree: (scale * squeeze, scale), middle })
    }

    fn cells(&self, panel: &MapPanel) -> BTreeMap<(u16, u16), (f64, u32)> {
        let mut cells = BTreeMap::new();
        for ((latitude, longitude), value) in panel.places.iter().zip(&panel.values) {
            let x = MARGIN + (longitude - self.west) * self.pixels_per_degree.0;
            let y = HEAD + (self.north - latitude) * self.pixels_per_degree.1;
            let cell: &mut (f64, u32) = cells.entry(((x / CELL) as u16, (y / CELL) as u16)).or_default();
            cell.0 += value;
            cell.1 += 1;
        }
        cells
    }

    /// A bar of a round number of kilometres, about a fifth of the panel long.
    fn draw_scale(&self, area: &Area) -> Drawn {
        let Metres(metres) =
            great_circle((self.middle, self.west), (self.middle, self.west + 1.0 / self.pixels_per_degree.0));
        let kilometres = metres * f64::from(PANEL.0) / 5.0 / 1000.0;
        let power = 10_f64.powf(kilometres.log10().floor());
        let round = [5.0, 2.0, 1.0].into_iter().find(|digit| digit * power <= kilometres).unwrap_or(1.0) * power;
        let (right, y) = (PANEL.0 as i32 - MARGIN as i32, PANEL.1 as i32 - 12);
        let left = right - (round * 1000.0 / metres) as i32;
        area.draw(&Rectangle::new([(left, y), (right, y + 3)], INK.filled()))?;
        let label =
            TextStyle::from(("sans-serif", 14).into_font()).color(&INK).pos(Pos::new(HPos::Right, VPos::Bottom));
        area.draw(&Text::new(format!("{round} km"), (right, y - 4), label))
    }
}
