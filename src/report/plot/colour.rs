//! Perceptually uniform colour scales, computed in OKLab. Plots refer to colours by CSS class; the style sheet generated here
//! defines the classes for light and dark mode.

/// A scale from the first to the last of [`STEPS`] colours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Palette {
    /// Blue, neutral, red.
    Diverging,
    /// From pale yellow over green to dark blue; reversed in dark mode, so that larger values always have more contrast.
    Sequential,
}

/// The number of colours of a scale: odd, so that there is a middle one.
pub(super) const STEPS: usize = 33;

/// Lightness and the two opponent axes of OKLab.
type Lab = [f64; 3];

impl Palette {
    /// The class of a fraction of the scale, from 0 to 1; fractions outside have the colour of the end.
    pub(super) fn class(self, share: f64) -> String {
        self.step_class((share.clamp(0.0, 1.0) * (STEPS - 1) as f64).round() as usize)
    }

    pub(super) fn step_class(self, step: usize) -> String {
        format!("{}{step}", self.letter())
    }

    /// The class of legible text on this colour.
    pub(super) fn text_class(self, share: f64) -> String {
        self.class(share) + "t"
    }

    fn letter(self) -> char {
        match self {
            Self::Diverging => 'd',
            Self::Sequential => 's',
        }
    }

    /// Rules for all classes, for light and dark mode.
    pub(super) fn css(self) -> String {
        format!("{}@media (prefers-color-scheme: dark) {{\n{}}}\n", self.rules(false), self.rules(true))
    }

    fn rules(self, dark: bool) -> String {
        (0..STEPS).map(|step| self.rule(step, dark)).collect()
    }

    fn rule(self, step: usize, dark: bool) -> String {
        let colour = srgb(self.lab(step as f64 / (STEPS - 1) as f64, dark));
        let text = if luminance(colour) > 0.2 { "#14171c" } else { "#ffffff" };
        let class = self.step_class(step);
        format!(".plot .{class}{{fill:{}}}.plot .{class}t{{fill:{text}}}\n", hex(colour))
    }

    fn lab(self, share: f64, dark: bool) -> Lab {
        match self {
            Self::Diverging => diverging(2.0 * share - 1.0, dark),
            Self::Sequential => sequential(if dark { 1.0 - share } else { share }),
        }
    }
}

/// A colour from lightness, chroma and hue in degrees.
fn from_polar(lightness: f64, chroma: f64, hue: f64) -> Lab {
    let (sin, cos) = hue.to_radians().sin_cos();
    [lightness, chroma * cos, chroma * sin]
}

/// Straight lines from a neutral middle. Both ends are about equally far from it, so that neither sign looks stronger.
fn diverging(share: f64, dark: bool) -> Lab {
    let (middle, low, high) = if dark {
        (from_polar(0.33, 0.006, 260.0), from_polar(0.76, 0.13, 248.0), from_polar(0.74, 0.16, 30.0))
    } else {
        (from_polar(0.92, 0.006, 90.0), from_polar(0.46, 0.15, 255.0), from_polar(0.47, 0.18, 25.0))
    };
    let end = if share < 0.0 { low } else { high };
    std::array::from_fn(|axis| middle[axis] + (end[axis] - middle[axis]) * share.abs())
}

/// Lightness falls evenly, so that the order is visible without colour vision; hue is an additional cue.
fn sequential(share: f64) -> Lab {
    // The largest chroma within the sRGB gamut along the whole scale; it is smallest at the turquoise near 0.62.
    let chroma = 0.094 + 0.1 * (share - 0.62).powi(2);
    from_polar(0.93 - 0.57 * share, chroma, 103.0 + 172.0 * share)
}

/// Red, green and blue from 0 to 1; colours outside the sRGB gamut are clipped.
fn srgb(lab: Lab) -> [f64; 3] {
    linear_rgb(lab).map(|part| {
        let part = part.clamp(0.0, 1.0);
        if part <= 0.003_130_8 { 12.92 * part } else { 1.055 * part.powf(1.0 / 2.4) - 0.055 }
    })
}

fn linear_rgb([lightness, a, b]: Lab) -> [f64; 3] {
    let l = (lightness + 0.396_337_777_4 * a + 0.215_803_757_3 * b).powi(3);
    let m = (lightness - 0.105_561_345_8 * a - 0.063_854_172_8 * b).powi(3);
    let s = (lightness - 0.089_484_177_5 * a - 1.291_485_548 * b).powi(3);
    [
        4.076_741_662_1 * l - 3.307_711_591_3 * m + 0.230_969_929_2 * s,
        -1.268_438_004_6 * l + 2.609_757_401_1 * m - 0.341_319_396_5 * s,
        -0.004_196_086_3 * l - 0.703_418_614_7 * m + 1.707_614_701 * s,
    ]
}

/// Relative luminance as defined by the Web Content Accessibility Guidelines.
fn luminance(colour: [f64; 3]) -> f64 {
    let [red, green, blue] =
        colour.map(|part| if part <= 0.040_45 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) });
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

fn hex(colour: [f64; 3]) -> String {
    let [red, green, blue] = colour.map(|part| (part * 255.0).round() as u8);
    format!("#{red:02x}{green:02x}{blue:02x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn luminances(palette: Palette, dark: bool) -> Vec<f64> {
        (0..STEPS).map(|step| luminance(srgb(palette.lab(step as f64 / (STEPS - 1) as f64, dark)))).collect()
    }

    #[test]
    fn the_sequential_scale_is_ordered_by_lightness() {
        let light = luminances(Palette::Sequential, false);
        assert!(light.windows(2).all(|pair| pair[1] < pair[0] - 0.003), "{light:?}");
        let dark = luminances(Palette::Sequential, true);
        assert!(dark.iter().rev().eq(&light));
    }

    #[test]
    fn every_colour_is_within_the_gamut() {
        for (palette, dark) in [(Palette::Diverging, false), (Palette::Diverging, true), (Palette::Sequential, false)] {
            for step in 0..STEPS {
                let rgb = linear_rgb(palette.lab(step as f64 / (STEPS - 1) as f64, dark));
                assert!(rgb.iter().all(|part| (-0.005..=1.005).contains(part)), "{palette:?} {step} {rgb:?}");
            }
        }
    }

    #[test]
    fn the_diverging_scale_is_ordered_both_ways_from_the_middle() {
        let middle = STEPS / 2;
        let light = luminances(Palette::Diverging, false);
        assert!(light[..=middle].is_sorted_by(|a, b| a < b) && light[middle..].is_sorted_by(|a, b| a > b), "{light:?}");
        let dark = luminances(Palette::Diverging, true);
        assert!(dark[..=middle].is_sorted_by(|a, b| a > b) && dark[middle..].is_sorted_by(|a, b| a < b), "{dark:?}");
    }

    #[test]
    fn text_on_colours_is_legible() {
        for (palette, dark) in [(Palette::Diverging, false), (Palette::Diverging, true), (Palette::Sequential, false)] {
            for luminance in luminances(palette, dark) {
                let contrast = if luminance > 0.2 { (luminance + 0.05) / 0.0582 } else { 1.05 / (luminance + 0.05) };
                assert!(contrast > 4.0, "{palette:?} {luminance}");
            }
        }
    }

    #[test]
    fn values_beyond_the_scale_have_the_colours_of_its_ends() {
        let classes = [-3.0, 0.0, 0.5, 1.0, 9.0].map(|share| Palette::Diverging.class(share));
        assert_eq!(classes, ["d0", "d0", "d16", "d32", "d32"]);
    }
}
