//! A self-contained HTML page of results: it loads no fonts, scripts or other files from the network.

use super::escape::{escape, file_names};
use super::{Figure, live_maps, plot};

/// A page of results.
///
/// # Examples
/// ```
/// use geosmooth::report::{Axis, Figure, Page, Plot, Section, Series};
///
/// let scores = Series { name: "xgb".to_owned(), points: vec![(50.0, 0.84), (100.0, 0.86)], dots_only: false };
/// let plot = Plot::Curves {
///     x: Axis::log("σ in m"),
///     y: Axis::linear("R²"),
///     series: vec![scores],
///     mark: None,
/// };
/// let figure =
///     Figure { name: "scores".to_owned(), title: "Score by σ".to_owned(), caption: String::new(), plot };
/// let section = Section { heading: "Choice of σ".to_owned(), figures: vec![figure], ..Section::default() };
/// let page = Page { title: "Tuning".to_owned(), lead: "100 m is best.".to_owned(), sections: vec![section] };
/// let names: Vec<String> = page.render().into_iter().map(|(name, _)| name).collect();
/// assert_eq!(names, ["index.html", "scores.svg"]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// The title.
    pub title: String,
    /// The result in one or two sentences.
    pub lead: String,
    /// The sections, in order.
    pub sections: Vec<Section>,
}

/// A section of a page.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// The heading.
    pub heading: String,
    /// Paragraphs of plain text.
    pub text: Vec<String>,
    /// Tables below the text.
    pub tables: Vec<Table>,
    /// Figures below the tables.
    pub figures: Vec<Figure>,
}

/// A table; columns of numbers are aligned to the right.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// How to read it; placed above the table.
    pub caption: String,
    /// The names of the columns.
    pub header: Vec<String>,
    /// Cells of plain text.
    pub rows: Vec<Vec<String>>,
}

const CSS: &str = include_str!("page.css");
/// The scripts in one function: each file sees the names of those before it, and none of them is global.
const SCRIPT: &str = concat!(
    "(() => {\n\"use strict\";\n",
    include_str!("script/numbers.js"),
    include_str!("script/view.js"),
    include_str!("script/panel.js"),
    include_str!("script/gestures.js"),
    include_str!("script/maps.js"),
    include_str!("script/notes.js"),
    "})();\n"
);
/// The page may not load anything from the network, even if its text contains markup.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src 'self' data: file:";

impl Page {
    /// The files of the page: `("index.html", …)`, and one `("NAME.svg", …)` for each figure.
    #[must_use]
    pub fn render(&self) -> Vec<(String, String)> {
        let figures: Vec<&Figure> = self.sections.iter().flat_map(|section| &section.figures).collect();
        let names = file_names(figures.iter().map(|figure| figure.name.as_str()));
        let mut files = vec![("index.html".to_owned(), self.html(&names))];
        files.extend(names.iter().zip(figures).map(|(name, figure)| (format!("{name}.svg"), figure.svg())));
        files
    }

    fn html(&self, names: &[String]) -> String {
        let mut names = names.iter();
        let sections: String = self.sections.iter().map(|section| section.html(&mut names)).collect();
        let (title, lead) = (escape(&self.title), element("p class=\"lead\"", &self.lead));
        let version = env!("CARGO_PKG_VERSION");
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
             <link rel=\"icon\" href=\"data:,\">\n<title>{title}</title>\n<style>\n{CSS}{}</style>\n</head>\n<body>\n\
             <header>\n<h1>{title}</h1>\n{lead}</header>\n<main>\n{sections}</main>\n\
             <footer>geosmooth {version}</footer>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n",
            plot::css()
        )
    }
}

impl Section {
    fn html<'a>(&self, names: &mut impl Iterator<Item = &'a String>) -> String {
        let text: String = self.text.iter().map(|paragraph| element("p", paragraph)).collect();
        let tables: String = self.tables.iter().map(Table::html).collect();
        let figures = self.figures.iter().zip(names);
        let figures: String = figures.map(|(figure, name)| figure_html(figure, name, &self.title(figure))).collect();
        let figures = if figures.is_empty() { figures } else { format!("<div class=\"figures\">\n{figures}</div>\n") };
        format!("<section>\n{}{text}{tables}{figures}</section>\n", element("h2", &self.heading))
    }

    /// The heading of a figure; none if it has the same title as the section.
    fn title(&self, figure: &Figure) -> String {
        if figure.title == self.heading { String::new() } else { element("h3", &figure.title) }
    }
}

impl Table {
    fn html(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0).max(self.header.len());
        let numeric: Vec<bool> = (0..columns).map(|column| self.is_numeric(column)).collect();
        let head = if self.header.is_empty() {
            String::new()
        } else {
            format!("<thead>{}</thead>\n", row_html("th", &self.header, &numeric))
        };
        let body: String = self.rows.iter().map(|cells| row_html("td", cells, &numeric)).collect();
        // With a tabindex, the scrollable box can be reached by keyboard.
        format!(
            "<div class=\"scroll\" tabindex=\"0\">\n<table>\n{}{head}<tbody>\n{body}</tbody>\n</table>\n</div>\n",
            element("caption", &self.caption)
        )
    }

    /// Whether all cells of a column are numbers, empty or placeholders.
    pub(super) fn is_numeric(&self, column: usize) -> bool {
        let mut cells = self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.trim()).peekable();
        cells.peek().is_some() && cells.all(is_number)
    }
}

/// Whether a cell begins like a number, or stands for a missing one.
fn is_number(cell: &str) -> bool {
    let unsigned = cell.trim_start_matches(['-', '−', '+', '.', '≤', '<', '±', ' ']);
    matches!(cell, "" | "-" | "–" | "—" | "NaN" | "n/a") || unsigned.starts_with(|first: char| first.is_ascii_digit())
}

fn row_html(tag: &str, cells: &[String], numeric: &[bool]) -> String {
    let cells = numeric.iter().enumerate().map(|(column, numeric)| {
        let text = escape(cells.get(column).map_or("", String::as_str));
        let class = if *numeric { " class=\"number\"" } else { "" };
        format!("<{tag}{class}>{text}</{tag}>")
    });
    format!("<tr>{}</tr>\n", cells.collect::<String>())
}

fn figure_html(figure: &Figure, name: &str, title: &str) -> String {
    let class = if figure.is_wide() { " class=\"wide\"" } else { "" };
    let body = live_maps::markup(figure, name).unwrap_or_else(|| {
        let panels = figure.inline_panels().concat();
        format!("<div class=\"panels\">\n{panels}</div>\n{}", figure.inline_legend().unwrap_or_default())
    });
    let (name, caption) = (escape(name), escape(&figure.caption));
    let note = live_maps::note(&figure.plot).unwrap_or_default();
    format!(
        "<figure{class} id=\"{name}\">\n{title}{body}<figcaption>{caption} {note} \
         <a href=\"{name}.svg\" download>{name}.svg</a></figcaption>\n</figure>\n"
    )
}

/// An element with text; nothing without text.
fn element(tag: &str, text: &str) -> String {
    let name = tag.split(' ').next().unwrap_or(tag);
    if text.is_empty() { String::new() } else { format!("<{tag}>{}</{name}>\n", escape(text)) }
}
