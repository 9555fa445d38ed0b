//! Interactive maps of a page: canvas elements, and the packed data that `script/maps.js` draws on them.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::escape::escape;
use super::plot::{MapFrame, Shades, tidy};
use super::{Figure, Plot};

/// The most places of a page: with more, opening the page and panning would be slow. Chosen, not measured.
const MOST_PLACES: usize = 40_000;

/// The interactive maps of a figure; `None` if it is not a map or has no places.
pub(super) fn markup(figure: &Figure, file: &str) -> Option<String> {
    let Plot::Maps { places, geographic, panels, scale, .. } = &figure.plot else { return None };
    let plane = MapFrame::around(places, *geographic).filter(|_| !panels.is_empty())?;
    let shown = shown(&plane, places);
    let shades = Shades::new(*scale, panels);
    let canvases: String = panels.iter().map(|panel| canvas(&plane, &shown, panel)).collect();
    Some(format!(
        "<div class=\"maps\" data-places=\"{}\" data-plane=\"{}\" data-metres=\"{}\" data-geographic=\"{}\" \
         data-low=\"{}\" data-high=\"{}\">\n{TOOLS}<div class=\"panels\">\n{canvases}</div>\n\
         <noscript><img src=\"{}.svg\" alt=\"{}\"></noscript>\n{}</div>\n",
        pack_places(&plane, &shown),
        [plane.west, plane.north, plane.width, plane.height, plane.squeeze].map(|part| part.to_string()).join(" "),
        plane.metres().unwrap_or(0.0),
        u8::from(*geographic),
        shades.low,
        shades.high,
        escape(file),
        escape(&figure.title),
        figure.inline_legend().unwrap_or_default(),
    ))
}

/// A note for the caption, if the page does not hold all places.
pub(super) fn note(plot: &Plot) -> Option<String> {
    let Plot::Maps { places, .. } = plot else { return None };
    (places.len() > MOST_PLACES).then(|| {
        let [shown, all] = [MOST_PLACES, places.len()].map(|count| tidy(count as f64, 12));
        format!("The page shows {shown} of the {all} places, evenly spread over the rows; the SVG file shows all.")
    })
}

const TOOLS: &str = "<div class=\"tools\" hidden>\
<button type=\"button\" data-do=\"in\" aria-label=\"zoom in\">+</button>\
<button type=\"button\" data-do=\"out\" aria-label=\"zoom out\">−</button>\
<button type=\"button\" data-do=\"reset\">Reset</button>\
<output>Point at or tap a place to read its values</output></div>\n";

fn canvas(plane: &MapFrame, shown: &[Shown], (title, values): &(String, Vec<f64>)) -> String {
    let shape = (plane.width / plane.height).clamp(0.9, 2.4);
    let title = escape(title);
    format!(
        "<div class=\"panel\"><h4>{title}</h4><canvas tabindex=\"0\" role=\"img\" aria-label=\"map: {title}\" \
         data-title=\"{title}\" data-values=\"{}\" style=\"aspect-ratio:{shape:.3}\"></canvas></div>\n",
        pack_values(shown, values)
    )
}

/// The row of a place, and its position on the map.
type Shown = (usize, (f64, f64));

/// The places that can be drawn, thinned evenly to at most [`MOST_PLACES`].
fn shown(plane: &MapFrame, places: &[(f64, f64)]) -> Vec<Shown> {
    let all: Vec<Shown> = places.iter().enumerate().filter_map(|(row, &place)| Some((row, plane.at(place)?))).collect();
    let count = all.len().min(MOST_PLACES);
    (0..count).map(|at| all[at * all.len() / count]).collect()
}

/// Positions as fractions of the map's width and height, in 24 bits each: half a metre on a continent.
fn pack_places(plane: &MapFrame, shown: &[Shown]) -> String {
    let bytes = shown.iter().flat_map(|(_, (x, y))| {
        let ([a, b, c, _], [d, e, f, _]) = (fraction(x / plane.width), fraction(y / plane.height));
        [a, b, c, d, e, f]
    });
    BASE64_STANDARD.encode(bytes.collect::<Vec<u8>>())
}

/// A fraction in 24 bits, the lowest byte first; the fourth byte is 0.
fn fraction(share: f64) -> [u8; 4] {
    ((share.clamp(0.0, 1.0) * f64::from(0xff_ffff)).round() as u32).to_le_bytes()
}

/// Values in single precision; missing values are NaN.
fn pack_values(shown: &[Shown], values: &[f64]) -> String {
    let bytes = shown.iter().flat_map(|(row, _)| single(values.get(*row).copied()).to_le_bytes());
    BASE64_STANDARD.encode(bytes.collect::<Vec<u8>>())
}

/// The nearest number in single precision; NaN if there is none or it is not finite.
fn single(value: Option<f64>) -> f32 {
    let value = value.filter(|value| value.is_finite()).unwrap_or(f64::NAN);
    value.clamp(f64::from(f32::MIN), f64::from(f32::MAX)) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `script/numbers.js` reads six bytes for each place: x and y in 24 bits, the lowest byte first.
    #[test]
    fn places_are_packed_as_the_script_reads_them() {
        let plane = MapFrame::around(&[(0.0, 0.0), (2.0, 4.0)], false).unwrap();
        let packed = pack_places(&plane, &[(0, (0.0, plane.height)), (1, (plane.width / 2.0, 0.0))]);
        assert_eq!(BASE64_STANDARD.decode(packed).unwrap(), [0, 0, 0, 255, 255, 255, 0, 0, 128, 0, 0, 0]);
    }

    #[test]
    fn many_places_are_thinned_evenly() {
        let places: Vec<(f64, f64)> = (0..100_001).map(|row| (f64::from(row), 0.0)).collect();
        let plane = MapFrame::around(&places, false).unwrap();
        let shown = shown(&plane, &places);
        assert_eq!(shown.len(), MOST_PLACES);
        assert!(shown.windows(2).all(|pair| (2..=3).contains(&(pair[1].0 - pair[0].0))));
    }

    #[test]
    fn missing_values_are_not_a_number() {
        let shown: Vec<Shown> = (0..3).map(|row| (row, (0.0, 0.0))).collect();
        let expected = [f32::NAN.to_le_bytes(), f32::MAX.to_le_bytes(), f32::NAN.to_le_bytes()].concat();
        assert_eq!(pack_values(&shown, &[f64::INFINITY, 1e300]), BASE64_STANDARD.encode(expected));
    }
}
