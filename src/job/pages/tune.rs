//! The page of `tune`: how the score depends on what is chosen, then the rows.

use super::rows::ShownRows;
use super::{facts, strings};
use crate::error::Error;
use crate::report::{Axis, Figure, Mark, Page, Plot, Section, Series, Table, short};
use crate::score::Measure;
use crate::space::Sigma;
use crate::tune::Tuned;

/// Scores over σ (rows) and c (columns), with everything else as chosen.
#[derive(Clone, Debug)]
pub struct Surface {
    /// The σ, ascending.
    pub sigmas: Vec<Sigma>,
    /// The c, ascending.
    pub cs: Vec<f64>,
    /// A row for each σ.
    pub scores: Vec<Vec<f64>>,
}

pub(crate) fn page(
    tuned: &Tuned,
    measure: Measure,
    predictions: &[String],
    way: &str,
    surface: &Surface,
    rows: &ShownRows,
) -> Result<Page, Error> {
    let lead = lead(tuned, measure, predictions, way);
    let mut sections = vec![
        choice(tuned, measure, predictions),
        by_sigma(tuned, measure, predictions),
        over_both(tuned, measure, surface),
    ];
    sections.extend(rows.sections()?);
    Ok(Page { title: "Tuning".to_owned(), lead, sections })
}

fn lead(tuned: &Tuned, measure: Measure, predictions: &[String], way: &str) -> String {
    let (best, unsmoothed, title) = (&tuned.best, &tuned.unsmoothed, measure.title());
    let (name, from, to) = (&predictions[best.prediction], short(unsmoothed.score), short(best.score));
    if best.c == 0.0 && best.correction.is_none() {
        return format!("Nothing beats {name} as it is on {way}: {title} stays at {to}.");
    }
    let corrected = if best.correction.is_some() { "Correcting and smoothing" } else { "Smoothing" };
    let other = if unsmoothed.prediction == best.prediction {
        String::new()
    } else {
        format!(" (that of {})", predictions[unsmoothed.prediction])
    };
    let settings = format!("σ = {}, c = {} and label weight {}", best.sigma, best.c, best.label_weight);
    format!("{corrected} {name} with {settings} takes {title} from {from}{other} to {to} on {way}.")
}

fn choice(tuned: &Tuned, measure: Measure, predictions: &[String]) -> Section {
    let best = &tuned.best;
    let mut lines = vec![
        ("prediction", predictions[best.prediction].clone()),
        ("σ", best.sigma.to_string()),
        ("c", best.c.to_string()),
        ("label weight", best.label_weight.to_string()),
    ];
    if let Some(correction) = best.correction {
        lines.push(("correct step", format!("σ {}, shrink {}", correction.sigma(), correction.shrink())));
    }
    lines.push((measure.title(), short(best.score)));
    lines.push((
        "unsmoothed",
        format!("{} ({})", short(tuned.unsmoothed.score), predictions[tuned.unsmoothed.prediction]),
    ));
    let (gain, low, high) = (short(tuned.gain.gain), short(tuned.gain.low), short(tuned.gain.high));
    lines.push(("gain", format!("{gain}, 95 % interval {low} to {high}")));
    let columns = predictions.iter().enumerate().flat_map(|(prediction, name)| {
        [false, true].into_iter().filter_map(move |corrected| {
            let point = tuned.best_of(measure, prediction, corrected)?;
            let how = if corrected { "corrected and smoothed" } else { "smoothed" };
            let numbers = [point.sigma.to_string(), short(point.c), point.label_weight.to_string(), short(point.score)];
            Some(strings([name, how]).into_iter().chain(numbers).collect())
        })
    });
    let header = strings(["prediction", "", "σ", "c", "label weight", measure.title()]);
    Section {
        heading: "What was chosen".to_owned(),
        text: tuned.warnings.iter().map(|warning| format!("Note: {warning}.")).collect(),
        tables: vec![
            facts("", &lines),
            Table { caption: "The best of each prediction".to_owned(), header, rows: columns.collect() },
        ],
        figures: Vec::new(),
    }
}

fn by_sigma(tuned: &Tuned, measure: Measure, predictions: &[String]) -> Section {
    let series = predictions.iter().enumerate().flat_map(|(prediction, name)| {
        [(false, name.clone()), (true, format!("{name}, corrected first"))].into_iter().filter_map(
            move |(corrected, name)| {
                let points = best_by_sigma(tuned, measure, prediction, corrected);
                (!points.is_empty()).then_some(Series { name, points, dots_only: false })
            },
        )
    });
    let best = &tuned.best;
    let mark = Mark { x: best.sigma.value(), y: best.score, text: format!("σ = {}", best.sigma) };
    let unit = match best.sigma {
        Sigma::Sphere(_) => "σ in metres",
        Sigma::LatLon(_) => "σ in degrees",
        Sigma::Index(_) => "σ",
    };
    let plot = Plot::Curves {
        x: Axis::log(unit),
        y: Axis::linear(measure.title()),
        series: series.collect(),
        mark: Some(mark),
    };
    let figure = Figure {
        name: "score-by-sigma".to_owned(),
        title: "Score against σ".to_owned(),
        caption: "At each σ the best c and label weight that were tried.".to_owned(),
        plot,
    };
    Section { heading: "How the score depends on σ".to_owned(), figures: vec![figure], ..Section::default() }
}

/// The best score at each σ, in the order of σ.
fn best_by_sigma(tuned: &Tuned, measure: Measure, prediction: usize, corrected: bool) -> Vec<(f64, f64)> {
    let tried = tuned.tried.iter().filter(|point| point.is_of(prediction, corrected));
    let mut points: Vec<(f64, f64)> = tried.map(|point| (point.sigma.value(), point.score)).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0).then(measure.gain(0.0, b.1).total_cmp(&measure.gain(0.0, a.1))));
    points.dedup_by_key(|point| point.0);
    points
}

/// The position of the value nearest to another.
fn nearest(values: &[f64], value: f64) -> Option<usize> {
    (0..values.len()).min_by(|&a, &b| (values[a] - value).abs().total_cmp(&(values[b] - value).abs()))
}

fn over_both(tuned: &Tuned, measure: Measure, surface: &Surface) -> Section {
    let rows: Vec<f64> = surface.sigmas.iter().map(|sigma| sigma.value()).collect();
    let chosen = nearest(&rows, tuned.best.sigma.value()).zip(nearest(&surface.cs, tuned.best.c));
    let plot = Plot::HeatMap {
        x: Axis::linear("c"),
        y: Axis::log("σ"),
        columns: surface.cs.clone(),
        rows,
        values: surface.scores.clone(),
        chosen,
        unit: measure.title().to_owned(),
    };
    let figure = Figure {
        name: "score-by-sigma-and-c".to_owned(),
        title: "Score over σ and c".to_owned(),
        caption: "With the chosen prediction, label weight and correct step. The outlined square holds the choice."
            .to_owned(),
        plot,
    };
    Section { heading: "σ and c together".to_owned(), figures: vec![figure], ..Section::default() }
}
