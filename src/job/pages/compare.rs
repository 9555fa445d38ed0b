//! The page of `compare`: the engines in a table, and how their errors spread.

use crate::report::{Axis, Figure, Page, Plot, Section, Table};

/// The errors of one engine.
#[derive(Clone, Debug)]
pub struct EngineErrors {
    /// Its name.
    pub engine: &'static str,
    /// How far each value is from that of all pairs, relative to the range of the values.
    pub errors: Vec<f64>,
}

/// The page: a table as it is printed, and a histogram for each engine that errs at all.
pub(crate) fn page(lead: String, table: Table, errors: &[EngineErrors]) -> Page {
    let figures = errors.iter().filter_map(histogram).collect();
    let sections = vec![
        Section { heading: "Engines side by side".to_owned(), tables: vec![table], ..Section::default() },
        Section {
            heading: "Errors against all pairs".to_owned(),
            text: vec![
                "Relative to the range of the values. Rows without any error are left out; what rounding leaves is around 1e-16.".to_owned(),
            ],
            figures,
            ..Section::default()
        },
    ];
    Page { title: "Engines compared".to_owned(), lead, sections }
}

/// Bars for each factor of ten.
const BARS_PER_DECADE: f64 = 4.0;

fn histogram(EngineErrors { engine, errors }: &EngineErrors) -> Option<Figure> {
    let known = errors.iter().filter(|error| **error > 0.0);
    let bars: Vec<i32> = known.map(|error| (error.log10() * BARS_PER_DECADE).floor() as i32).collect();
    let (first, last) = (*bars.iter().min()?, *bars.iter().max()?);
    let mut counts = vec![0; (last - first + 1) as usize];
    for bar in &bars {
        counts[(bar - first) as usize] += 1;
    }
    let edges = (first..=last + 1).map(|bar| 10_f64.powf(f64::from(bar) / BARS_PER_DECADE)).collect();
    Some(Figure {
        name: format!("errors-{engine}"),
        title: format!("Errors of {engine}"),
        caption: format!("{} of {} rows differ from all pairs.", bars.len(), errors.len()),
        plot: Plot::Histogram { x: Axis::log("error relative to the range"), edges, counts },
    })
}
