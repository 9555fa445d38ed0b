//! A drawing in memory: SVG elements, and estimates of the width of text.

use crate::report::escape::escape;

/// SVG elements with coordinates in pixels, before they are placed in a page or a file.
#[derive(Debug)]
pub(super) struct Drawing {
    pub(super) width: f64,
    pub(super) height: f64,
    elements: Vec<Element>,
}

#[derive(Debug)]
pub(super) struct Element {
    tag: &'static str,
    attributes: String,
    inner: String,
}

type Point = (f64, f64);

impl Drawing {
    pub(super) fn new(width: f64, height: f64) -> Self {
        Self { width, height, elements: Vec::new() }
    }

    /// The drawing for a plot without any points.
    pub(super) fn nothing(width: f64) -> Self {
        let mut drawing = Self::new(width, 120.0);
        drawing.rect("blank", (0.5, 0.5), (width - 1.0, 119.0));
        drawing.text("quiet middle", (width / 2.0, 64.0), "nothing to show");
        drawing
    }

    fn push(&mut self, tag: &'static str, attributes: String) -> &mut Element {
        let at = self.elements.len();
        self.elements.push(Element { tag, attributes, inner: String::new() });
        &mut self.elements[at]
    }

    /// Adds text. The classes in `plot.css` define size, anchor and colour.
    pub(super) fn text(&mut self, class: &str, at: Point, text: &str) -> &mut Element {
        let element = self.push("text", format!("class=\"{class}\" x=\"{}\" y=\"{}\"", px(at.0), px(at.1)));
        element.inner = escape(text);
        element
    }

    pub(super) fn line(&mut self, class: &str, from: Point, to: Point) -> &mut Element {
        let [x1, y1, x2, y2] = [from.0, from.1, to.0, to.1].map(px);
        self.push("line", format!("class=\"{class}\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\""))
    }

    pub(super) fn rect(&mut self, class: &str, corner: Point, size: Point) -> &mut Element {
        let [x, y, width, height] = [corner.0, corner.1, size.0, size.1].map(px);
        self.push("rect", format!("class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\""))
    }

    pub(super) fn dot(&mut self, class: &str, at: Point, radius: f64) -> &mut Element {
        self.push("circle", format!("class=\"{class}\" cx=\"{}\" cy=\"{}\" r=\"{radius}\"", px(at.0), px(at.1)))
    }

    pub(super) fn path(&mut self, class: &str, path: &str) -> &mut Element {
        self.push("path", format!("class=\"{class}\" d=\"{path}\""))
    }

    /// Places another drawing into this one.
    pub(super) fn place(&mut self, other: &Drawing, at: Point) {
        let group = self.push("g", format!("transform=\"translate({} {})\"", px(at.0), px(at.1)));
        group.inner = other.inner();
    }

    /// The elements without the surrounding `svg`.
    pub(super) fn inner(&self) -> String {
        self.elements.iter().map(Element::markup).collect()
    }
}

impl Element {
    /// Adds a tooltip.
    pub(super) fn note(&mut self, text: &str) {
        self.inner.push_str(&["<title>", &escape(text), "</title>"].concat());
    }

    fn markup(&self) -> String {
        let Self { tag, attributes, inner } = self;
        if inner.is_empty() {
            format!("<{tag} {attributes}/>\n")
        } else {
            format!("<{tag} {attributes}>{inner}</{tag}>\n")
        }
    }
}

/// A length in pixels, rounded to a tenth: more digits are invisible, but would make up most of a file.
pub(super) fn px(length: f64) -> String {
    // Adding zero turns −0 into +0.
    format!("{}", (length * 10.0).round() / 10.0 + 0.0)
}

/// The approximate width of a text. Fonts differ; the estimate is on the large side for most.
pub(super) fn text_width(text: &str, size: f64) -> f64 {
    text.chars().map(character_width).sum::<f64>() * size
}

/// The width of a character in units of the font size.
fn character_width(character: char) -> f64 {
    match character {
        ' ' | 'i' | 'j' | 'l' | '.' | ',' | ':' | '|' | '\'' => 0.33,
        'f' | 'r' | 't' | '(' | ')' | '-' | '/' => 0.42,
        'm' | 'w' | 'M' | 'W' | '@' | '%' | '−' => 0.9,
        wide if wide >= '\u{1100}' && !('\u{2000}'..'\u{2e80}').contains(&wide) => 1.1,
        _ => 0.63,
    }
}

/// The text, cut to a width if necessary.
pub(super) fn cut(text: &str, size: f64, width: f64) -> String {
    if text_width(text, size) <= width {
        return text.to_owned();
    }
    let mut room = width - size;
    let mut kept = String::new();
    for character in text.chars() {
        room -= character_width(character) * size;
        if room < 0.0 {
            break;
        }
        kept.push(character);
    }
    kept.trim_end().to_owned() + "…"
}

/// The text in lines of at most this width, broken between words.
pub(super) fn wrap(text: &str, size: f64, width: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if text_width(line, size) + text_width(word, size) + size / 3.0 <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(cut(word, size, width)),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_hold_escaped_text() {
        let mut drawing = Drawing::new(10.0, 10.0);
        drawing.text("tick", (1.0, -0.01), "<&>").note("\"");
        assert_eq!(drawing.inner(), "<text class=\"tick\" x=\"1\" y=\"0\">&lt;&amp;&gt;<title>&quot;</title></text>\n");
    }

    #[test]
    fn long_text_is_cut_or_wrapped() {
        let long = "word ".repeat(30);
        assert!(text_width(&cut(&long, 12.0, 100.0), 12.0) <= 100.0);
        let lines = wrap(&long, 12.0, 100.0);
        assert!(lines.len() > 5 && lines.iter().all(|line| text_width(line, 12.0) <= 100.0));
        assert_eq!(cut("short", 12.0, 100.0), "short");
        assert!(wrap(" ", 12.0, 100.0).is_empty());
    }
}
