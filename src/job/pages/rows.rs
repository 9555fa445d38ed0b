//! Rows before and after: on the map, against the truth, and their errors by distance.

use crate::diagnose::{Lag, variogram};
use crate::error::Error;
use crate::points::Places;
use crate::report::{Axis, Figure, Plot, Scale, Section, Series};
use crate::space::Sigma;

/// Rows with their predictions before and after.
#[derive(Clone, Debug)]
pub struct ShownRows {
    /// Where they are.
    pub places: Places,
    /// The truth, NaN where unknown.
    pub truth: Option<Vec<f64>>,
    /// The predictions.
    pub before: Vec<f64>,
    /// The same smoothed, NaN where there is no value.
    pub after: Vec<f64>,
    /// The name of the prediction.
    pub prediction: String,
    /// The name of the truth.
    pub label: String,
    /// The bandwidth.
    pub sigma: Sigma,
}

/// Values beyond these shares of all of them share the colour at the end of a scale.
const LOW_SHARE: f64 = 0.02;
const HIGH_SHARE: f64 = 0.98;

impl ShownRows {
    /// Everything that there is to see of them.
    pub(crate) fn sections(&self) -> Result<Vec<Section>, Error> {
        let mut sections = vec![self.values()];
        if let Some(truth) = &self.truth {
            sections.push(self.errors(truth));
            sections.push(self.against(truth));
            sections.push(self.by_distance(truth)?);
        }
        Ok(sections)
    }

    fn values(&self) -> Section {
        let after = format!("{}, smoothed", self.prediction);
        let panels = vec![(self.prediction.clone(), self.before.clone()), (after, self.after.clone())];
        let scale =
            Scale::Sequential { low: quantile(&self.before, LOW_SHARE), high: quantile(&self.before, HIGH_SHARE) };
        let figure = self.at_places("values", "Predictions before and after", panels, scale, &self.prediction);
        Section { heading: "Predictions".to_owned(), figures: vec![figure], ..Section::default() }
    }

    pub(crate) fn errors(&self, truth: &[f64]) -> Section {
        let (before, after) = (errors(&self.before, truth), errors(&self.after, truth));
        let sizes: Vec<f64> = before.iter().map(|error| error.abs()).collect();
        let scale = Scale::Diverging { limit: quantile(&sizes, HIGH_SHARE) };
        let panels = vec![("before".to_owned(), before), ("after".to_owned(), after)];
        let unit = format!("{} minus {}: blue too low, red too high", self.prediction, self.label);
        Section {
            heading: "Errors".to_owned(),
            text: vec![
                "Patches of one colour are neighbourhoods where the model errs in one direction; smoothing should break them up.".to_owned(),
            ],
            figures: vec![self.at_places("errors", "Errors before and after", panels, scale, &unit)],
            ..Section::default()
        }
    }

    fn against(&self, truth: &[f64]) -> Section {
        let plot = Plot::Scatter {
            x: Axis::linear(&format!("true {}", self.label)),
            y: Axis::linear("predicted"),
            panels: vec![
                ("before".to_owned(), paired(truth, &self.before)),
                ("after".to_owned(), paired(truth, &self.after)),
            ],
        };
        let figure = Figure {
            name: "predicted-against-true".to_owned(),
            title: "Predicted against true".to_owned(),
            caption: "The colour counts the rows in a square; perfect predictions would lie on the diagonal."
                .to_owned(),
            plot,
        };
        Section { heading: "Predicted against true".to_owned(), figures: vec![figure], ..Section::default() }
    }

    fn by_distance(&self, truth: &[f64]) -> Result<Section, Error> {
        let known: Vec<usize> = (0..truth.len()).filter(|&row| truth[row].is_finite()).collect();
        let [before, after] = [&self.before, &self.after]
            .map(|values| known.iter().map(|&row| values[row] - truth[row]).collect::<Vec<f64>>());
        let lags = variogram(&self.places.select(&known), self.sigma, &before, &after)?;
        Ok(variogram_section(&lags, self.sigma))
    }

    /// Values on a map, or along the index where there is only one.
    fn at_places(&self, name: &str, title: &str, panels: Vec<(String, Vec<f64>)>, scale: Scale, unit: &str) -> Figure {
        let axes = self.places.clone().into_axes();
        let (plot, caption) = if let [index] = axes.as_slice() {
            let series = panels.into_iter().map(|(name, values)| Series {
                name,
                points: paired(index, &values),
                dots_only: true,
            });
            let (x, y) = (Axis::linear("index"), Axis::linear(unit));
            (Plot::Curves { x, y, series: series.collect(), mark: None }, String::new())
        } else {
            let geographic = self.places.is_geographic();
            // Maps want (y, x): latitude before longitude, but northing after easting.
            let (y, x) = if geographic { (&axes[0], &axes[1]) } else { (&axes[1], &axes[0]) };
            let places = paired(y, x);
            let caption = "Wheel or pinch to zoom, drag to move, point at a place for its values.".to_owned();
            (Plot::Maps { places, geographic, panels, scale, unit: unit.to_owned() }, caption)
        };
        Figure { name: name.to_owned(), title: title.to_owned(), caption, plot }
    }
}

/// The variogram of errors.
pub(crate) fn variogram_section(lags: &[Lag], sigma: Sigma) -> Section {
    let curves = [
        ("before", lags.iter().map(|lag| (lag.distance, lag.before)).collect()),
        ("after", lags.iter().map(|lag| (lag.distance, lag.after)).collect()),
    ];
    let series = curves.map(|(name, points)| Series { name: name.to_owned(), points, dots_only: false });
    let unit = match sigma {
        Sigma::Sphere(_) => "distance in metres",
        Sigma::LatLon(_) => "distance in degrees",
        Sigma::Index(_) => "distance",
    };
    let plot = Plot::Curves {
        x: Axis::linear(unit),
        y: Axis::linear("semivariance of the errors"),
        series: series.to_vec(),
        mark: None,
    };
    let figure = Figure {
        name: "variogram".to_owned(),
        title: "Errors by distance".to_owned(),
        caption: "Half the mean squared difference of the errors of two rows, by the distance between them.".to_owned(),
        plot,
    };
    Section {
        heading: "Errors by distance".to_owned(),
        text: vec![
            "A rising curve means that the errors of neighbours are correlated; a flat one means that location has no more to offer."
                .to_owned(),
        ],
        figures: vec![figure],
        ..Section::default()
    }
}

/// Two columns as pairs.
fn paired(first: &[f64], second: &[f64]) -> Vec<(f64, f64)> {
    first.iter().copied().zip(second.iter().copied()).collect()
}

fn errors(values: &[f64], truth: &[f64]) -> Vec<f64> {
    values.iter().zip(truth).map(|(value, truth)| value - truth).collect()
}

/// The value below which a share of the finite values lies; 0 if there are none.
fn quantile(values: &[f64], share: f64) -> f64 {
    let mut values: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    if values.is_empty() {
        return 0.0;
    }
    let at = ((values.len() - 1) as f64 * share).round() as usize;
    *values.select_nth_unstable_by(at, f64::total_cmp).1
}
