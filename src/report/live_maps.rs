//! Maps in a page: canvases, and the numbers that `script/maps.js` draws on them.

use super::escape::escape;
use super::plot::{Plane, Shades, tidy};
use super::{Figure, Plot};

/// Beyond this many places a page would be slow to open and to move.
const MOST_PLACES: usize = 40_000;

/// Maps that move, if the figure is one and has places to show.
pub(super) fn markup(figure: &Figure, file: &str) -> Option<String> {
    let Plot::Maps { places, geographic, panels, scale, .. } = &figure.plot else { return None };
    let plane = Plane::around(places, *geographic).filter(|_| !panels.is_empty())?;
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

/// What the caption adds where a page does not hold all places.
pub(super) fn note(plot: &Plot) -> Option<String> {
    let Plot::Maps { places, .. } = plot else { return None };
    (places.len() > MOST_PLACES).then(|| {
        let [shown, all] = [MOST_PLACES, places.len()].map(|count| tidy(count as f64, 12));
        format!("The page holds {shown} of the {all} places, evenly spread over the rows; the SVG file has them all.")
    })
}

const TOOLS: &str = "<div class=\"tools\" hidden>\
<button type=\"button\" data-do=\"in\" aria-label=\"zoom in\">+</button>\
<button type=\"button\" data-do=\"out\" aria-label=\"zoom out\">−</button>\
<button type=\"button\" data-do=\"reset\">Reset</button>\
<output>Point at or tap a place to read its values</output></div>\n";

fn canvas(plane: &Plane, shown: &[Shown], (title, values): &(String, Vec<f64>)) -> String {
    let shape = (plane.width / plane.height).clamp(0.9, 2.4);
    let title = escape(title);
    format!(
        "<div class=\"panel\"><h4>{title}</h4><canvas tabindex=\"0\" role=\"img\" aria-label=\"map: {title}\" \
         data-title=\"{title}\" data-values=\"{}\" style=\"aspect-ratio:{shape:.3}\"></canvas></div>\n",
        pack_values(shown, values)
    )
}

/// A row of the places, and where it lies on the plane.
type Shown = (usize, (f64, f64));

/// The places that can be drawn, or every so-manieth of them.
fn shown(plane: &Plane, places: &[(f64, f64)]) -> Vec<Shown> {
    let all: Vec<Shown> = places.iter().enumerate().filter_map(|(row, &place)| Some((row, plane.at(place)?))).collect();
    let count = all.len().min(MOST_PLACES);
    (0..count).map(|at| all[at * all.len() / count]).collect()
}

/// East and south as shares of the plane, in 24 bits each: half a metre on a continent.
fn pack_places(plane: &Plane, shown: &[Shown]) -> String {
    let bits = |share: f64| ((share.clamp(0.0, 1.0) * f64::from(0xff_ffff)).round() as u32).to_le_bytes();
    let bytes = shown.iter().flat_map(|(_, (x, y))| {
        let ([a, b, c, _], [d, e, f, _]) = (bits(x / plane.width), bits(y / plane.height));
        [a, b, c, d, e, f]
    });
    base64(&bytes.collect::<Vec<u8>>())
}

/// Values in single precision; one that is missing is NaN.
fn pack_values(shown: &[Shown], values: &[f64]) -> String {
    let value = |row: usize| values.get(row).copied().filter(|value| value.is_finite()).unwrap_or(f64::NAN);
    let single = |value: f64| value.clamp(f64::from(f32::MIN), f64::from(f32::MAX)) as f32;
    base64(&shown.iter().flat_map(|(row, _)| single(value(*row)).to_le_bytes()).collect::<Vec<u8>>())
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            let index = (bits >> (18 - 6 * digit) & 63) as usize;
            text.push(if digit <= chunk.len() { DIGITS[index] as char } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_base64() {
        let texts = ["", "f", "fo", "foo", "foob", "fooba", "foobar"].map(|text| base64(text.as_bytes()));
        assert_eq!(texts, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"]);
    }

    #[test]
    fn many_places_are_thinned_evenly() {
        let places: Vec<(f64, f64)> = (0..100_001).map(|row| (f64::from(row), 0.0)).collect();
        let plane = Plane::around(&places, false).unwrap();
        let shown = shown(&plane, &places);
        assert_eq!(shown.len(), MOST_PLACES);
        assert!(shown.windows(2).all(|pair| (2..=3).contains(&(pair[1].0 - pair[0].0))));
    }

    #[test]
    fn missing_values_are_not_a_number() {
        let shown: Vec<Shown> = (0..3).map(|row| (row, (0.0, 0.0))).collect();
        let nan = base64(&[f32::NAN.to_le_bytes(), f32::MAX.to_le_bytes(), f32::NAN.to_le_bytes()].concat());
        assert_eq!(pack_values(&shown, &[f64::INFINITY, 1e300]), nan);
    }
}
