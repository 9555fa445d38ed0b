//! Draws plots: as panels and a legend, which a page arranges, and as SVG files.

mod axes;
mod axis_scale;
mod bars;
mod colour;
mod colour_bar;
mod curves;
mod drawing;
mod heat_map;
mod histogram;
mod map_frame;
mod maps;
mod number;
mod ranges;
mod scatter;
mod sheet;
mod squares;

pub(super) use map_frame::MapFrame;
pub(super) use maps::Shades;
pub(super) use number::tidy;

use super::escape::escape;
use super::{Figure, Plot};
use colour::Palette;
use drawing::{Drawing, px};
use heat_map::HeatMap;
use sheet::sheet;

/// The width of a panel in pixels: its text is legible on a phone, and two fit side by side on a wide screen.
const WIDTH: f64 = 460.0;

/// The font size at which a plain label is as wide as a bold one of 13 pixels.
const BOLD: f64 = 14.5;

const CSS: &str = include_str!("plot.css");

/// The style sheet of all plots, for light and dark mode.
pub(super) fn css() -> String {
    [CSS, &Palette::Diverging.css(), &Palette::Sequential.css()].concat()
}

impl Plot {
    /// The panels: at least one, which says "nothing to show" if there are no data.
    fn panels(&self) -> Vec<Drawing> {
        let panels = match self {
            Self::Curves { x, y, series, mark } => vec![curves::draw(x, y, series, mark.as_ref())],
            Self::HeatMap { .. } => self.heat_map().map(|map| map.draw()).into_iter().collect(),
            Self::Maps { places, geographic, panels, scale, .. } => maps::draw(places, *geographic, panels, *scale),
            Self::Scatter { x, y, panels } => scatter::draw(x, y, panels),
            Self::Bars { x, bars } => vec![bars::draw(x, bars)],
            Self::Histogram { x, edges, counts } => vec![histogram::draw(x, edges, counts)],
            Self::Ranges { x, rows, series } => vec![ranges::draw(x, rows, series)],
        };
        if panels.is_empty() { vec![Drawing::nothing(WIDTH)] } else { panels }
    }

    fn legend(&self) -> Option<Drawing> {
        match self {
            Self::Maps { panels, scale, unit, .. } => Some(maps::legend(panels, *scale, unit)),
            Self::Scatter { x, y, panels } => scatter::legend(x, y, panels),
            Self::Curves { .. }
            | Self::HeatMap { .. }
            | Self::Bars { .. }
            | Self::Histogram { .. }
            | Self::Ranges { .. } => None,
        }
    }

    fn palette(&self) -> Option<Palette> {
        match self {
            Self::HeatMap { .. } | Self::Scatter { .. } => Some(Palette::Sequential),
            Self::Maps { scale, .. } => Some(maps::palette(*scale)),
            Self::Curves { .. } | Self::Bars { .. } | Self::Histogram { .. } | Self::Ranges { .. } => None,
        }
    }

    fn heat_map(&self) -> Option<HeatMap<'_>> {
        let Self::HeatMap { x, y, columns, rows, values, chosen, unit } = self else { return None };
        Some(HeatMap { axes: (x, y), columns, rows, values, chosen: *chosen, unit })
    }
}

impl Figure {
    /// The figure as an SVG file, in light or dark mode as the viewer's system prefers.
    #[must_use]
    pub fn svg(&self) -> String {
        let drawing = sheet(&self.title, &self.plot.panels(), self.plot.legend());
        let (width, height) = (drawing.width, drawing.height);
        let (title, caption) = (escape(&self.title), escape(&self.caption));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" role=\"img\" viewBox=\"0 0 {0} {1}\" width=\"{2}\" \
             height=\"{3}\">\n<title>{title}</title>\n<desc>{caption}</desc>\n<style>\n{4}</style>\n{5}</svg>\n",
            px(width),
            px(height),
            px(width * 1.5),
            px(height * 1.5),
            [CSS, &self.plot.palette().map_or_else(String::new, Palette::css)].concat(),
            drawing.inner()
        )
    }

    /// The panels as SVG elements for a page, which contains the style sheet.
    pub(super) fn inline_panels(&self) -> Vec<String> {
        self.plot.panels().iter().map(|panel| inline(panel, &self.title)).collect()
    }

    pub(super) fn inline_legend(&self) -> Option<String> {
        self.plot.legend().map(|legend| inline(&legend, "colours"))
    }

    /// Whether the figure needs the full width of the page.
    pub(super) fn is_wide(&self) -> bool {
        match &self.plot {
            Plot::Maps { panels, .. } => panels.len() > 1,
            Plot::Scatter { panels, .. } => panels.len() > 1,
            plot => plot.panels().iter().any(|panel| panel.width > 1.25 * WIDTH),
        }
    }
}

/// An SVG element that fills its container, but never gets so small that text is illegible; then the container scrolls.
fn inline(drawing: &Drawing, label: &str) -> String {
    let (width, height) = (px(drawing.width), px(drawing.height));
    let least = if drawing.width > WIDTH { px(drawing.width * 0.85) } else { "0".to_owned() };
    format!(
        "<svg class=\"plot\" role=\"img\" aria-label=\"{}\" viewBox=\"0 0 {width} {height}\" \
         style=\"min-width:{least}px;max-width:{}px\">\n{}</svg>\n",
        escape(label),
        px(drawing.width * 1.35),
        drawing.inner()
    )
}
