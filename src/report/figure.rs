//! What a figure shows, as plain data. `plot` draws it, `page` sets it.

/// A plot with its words: `name` becomes the file name NAME.svg, `caption` stands below it.
#[derive(Clone, Debug)]
pub struct Figure {
    /// Name of its file, without `.svg`; characters that file names do not take become dashes.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// How to read it; stands below.
    pub caption: String,
    /// What is drawn.
    pub plot: Plot,
}

/// What is drawn. Numbers that are not finite, or not positive on a logarithmic axis, are left out.
#[derive(Clone, Debug)]
pub enum Plot {
    /// Lines or points over one axis; e.g. score against σ with the chosen point.
    Curves {
        /// The axis that all series share.
        x: Axis,
        /// The axis of their values.
        y: Axis,
        /// The lines, each in its own colour.
        series: Vec<Series>,
        /// A point to point out.
        mark: Option<Mark>,
    },
    /// A value for each pair; e.g. score over σ (rows) × c (columns).
    HeatMap {
        /// What the columns are.
        x: Axis,
        /// What the rows are.
        y: Axis,
        /// The value that each column stands for.
        columns: Vec<f64>,
        /// The value that each row stands for; the first is drawn at the bottom.
        rows: Vec<f64>,
        /// One row of values for each of `rows`; NaN was not evaluated.
        values: Vec<Vec<f64>>,
        /// (row, column) to be outlined.
        chosen: Option<(usize, usize)>,
        /// What the colours mean.
        unit: String,
    },
    /// Values at places, side by side on one colour scale. In a page they zoom, pan and answer together; in a file the
    /// values are averaged over squares.
    Maps {
        /// (latitude, longitude) in degrees, or (y, x).
        places: Vec<(f64, f64)>,
        /// Whether places are latitudes and longitudes.
        geographic: bool,
        /// A title and a value for each place.
        panels: Vec<(String, Vec<f64>)>,
        /// Which values the colours span.
        scale: Scale,
        /// What the colours mean.
        unit: String,
    },
    /// Pairs such as true and predicted values, side by side on the same axes, with the diagonal.
    Scatter {
        /// The horizontal axis of all panels.
        x: Axis,
        /// The vertical axis of all panels.
        y: Axis,
        /// A title and (x, y) pairs.
        panels: Vec<(String, Vec<(f64, f64)>)>,
    },
    /// A bar for each name, from top to bottom; e.g. the scores of methods.
    Bars {
        /// The axis of their lengths.
        x: Axis,
        /// A name and a value each.
        bars: Vec<(String, f64)>,
    },
    /// How often values fall between edges.
    Histogram {
        /// What is counted.
        x: Axis,
        /// Ascending; one more than `counts`.
        edges: Vec<f64>,
        /// The height of each bar.
        counts: Vec<usize>,
    },
    /// A value with the range around it, for each series in each row; e.g. the mean score of each model, from the worst to the
    /// best trial, before and after.
    Ranges {
        /// The axis of the values.
        x: Axis,
        /// The names of the rows.
        rows: Vec<String>,
        /// A name and one range for each row, each series in its own colour.
        series: Vec<(String, Vec<Option<Interval>>)>,
    },
}

/// A value and the range around it.
#[derive(Clone, Copy, Debug)]
pub struct Interval {
    /// Where the range begins.
    pub low: f64,
    /// The value.
    pub middle: f64,
    /// Where the range ends.
    pub high: f64,
}

/// An axis.
#[derive(Clone, Debug, Default)]
pub struct Axis {
    /// What it measures, with its unit.
    pub label: String,
    /// Whether it is logarithmic.
    pub log: bool,
}

/// Points in a row, joined by a line unless `dots_only`.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// Its name in the legend; nameless series are not in it.
    pub name: String,
    /// (x, y).
    pub points: Vec<(f64, f64)>,
    /// Whether to leave out the line.
    pub dots_only: bool,
}

/// A point to point out, with a few words.
#[derive(Clone, Debug)]
pub struct Mark {
    /// Where it is.
    pub x: f64,
    /// Where it is.
    pub y: f64,
    /// What it says.
    pub text: String,
}

/// Which values the colours of a map span.
#[derive(Clone, Copy, Debug)]
pub enum Scale {
    /// From −limit over zero to limit, e.g. errors: blue, neutral, red.
    Diverging {
        /// The value of the strongest colour.
        limit: f64,
    },
    /// From low to high, e.g. prices.
    Sequential {
        /// The first colour's value.
        low: f64,
        /// The last colour's value.
        high: f64,
    },
}
