//! The contents of figures, as plain data. `plot` draws them, `page` places them.

/// A plot with title and caption; `name` becomes the file name NAME.svg.
#[derive(Clone, Debug)]
pub struct Figure {
    /// Name of its file, without `.svg`; characters that are not allowed in file names become dashes.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// How to read it; placed below the plot.
    pub caption: String,
    /// The plot.
    pub plot: Plot,
}

/// The contents of a plot. Values that are not finite, or not positive on a logarithmic axis, are left out.
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
        /// A highlighted point.
        mark: Option<Mark>,
    },
    /// A value for each pair; e.g. score over σ (rows) × c (columns).
    HeatMap {
        /// The axis of the columns.
        x: Axis,
        /// The axis of the rows.
        y: Axis,
        /// The x of each column.
        columns: Vec<f64>,
        /// The y of each row; the first is drawn at the bottom.
        rows: Vec<f64>,
        /// One row of values for each of `rows`; NaN means not evaluated.
        values: Vec<Vec<f64>>,
        /// The (row, column) to outline.
        chosen: Option<(usize, usize)>,
        /// What the colours mean.
        unit: String,
    },
    /// Values at places, in maps side by side with one colour scale. In a page, all maps zoom and pan together; in a file,
    /// values are averaged over squares.
    Maps {
        /// (latitude, longitude) in degrees, or (y, x).
        places: Vec<(f64, f64)>,
        /// Whether places are latitudes and longitudes.
        geographic: bool,
        /// A title and a value for each place.
        panels: Vec<(String, Vec<f64>)>,
        /// The range of values of the colour scale.
        scale: Scale,
        /// What the colours mean.
        unit: String,
    },
    /// Pairs such as true and predicted values, in panels with the same axes and the diagonal.
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
    /// A histogram: the number of values between consecutive edges.
    Histogram {
        /// The axis of the values.
        x: Axis,
        /// Edges in ascending order; one more than `counts`.
        edges: Vec<f64>,
        /// The height of each bar.
        counts: Vec<usize>,
    },
    /// A value and a range around it, for each series in each row; e.g. the mean score of each model before and after smoothing,
    /// with the range from the worst to the best trial.
    Ranges {
        /// The axis of the values.
        x: Axis,
        /// The names of the rows.
        rows: Vec<String>,
        /// A name and one range for each row, each series in its own colour.
        series: Vec<(String, Vec<Option<Interval>>)>,
    },
}

/// A value and a range around it.
#[derive(Clone, Copy, Debug)]
pub struct Interval {
    /// The lower end of the range.
    pub low: f64,
    /// The value.
    pub middle: f64,
    /// The upper end of the range.
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

impl Axis {
    /// A linear scale.
    #[must_use]
    pub fn linear(label: &str) -> Self {
        Self { label: label.to_owned(), log: false }
    }

    /// A logarithmic scale.
    #[must_use]
    pub fn log(label: &str) -> Self {
        Self { label: label.to_owned(), log: true }
    }
}

/// A series of points, connected by a line unless `dots_only`.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// Its name in the legend; a series without a name is not listed there.
    pub name: String,
    /// (x, y).
    pub points: Vec<(f64, f64)>,
    /// Whether to leave out the line.
    pub dots_only: bool,
}

/// A highlighted point with a short label.
#[derive(Clone, Debug)]
pub struct Mark {
    /// Its position on the horizontal axis.
    pub x: f64,
    /// Its position on the vertical axis.
    pub y: f64,
    /// The label.
    pub text: String,
}

/// The range of values of a colour scale.
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
