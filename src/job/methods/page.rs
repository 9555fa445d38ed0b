//! The page of `methods`: scores and seconds side by side.

use super::{Standing, Standings};
use crate::report::{Axis, Figure, Page, Plot, Section, Table};
use crate::score::Measure;

pub(super) fn page(standings: &Standings, measure: Measure) -> Page {
    let header = Standings::header(measure).map(str::to_owned).to_vec();
    let table = Table {
        caption: "Tuned on the validation rows, scored on the test rows".to_owned(),
        header: without_bar(header),
        rows: standings.cells().into_iter().map(without_bar).collect(),
    };
    let figures = vec![
        Figure {
            name: "scores".to_owned(),
            title: format!("{} on the test rows", measure.title()),
            caption: "Each method with what was best on the validation rows.".to_owned(),
            plot: Plot::Bars { x: Axis::linear(measure.title()), bars: bars(standings, |standing| standing.score) },
        },
        Figure {
            name: "seconds".to_owned(),
            title: "Seconds to tune and to score".to_owned(),
            caption: "All settings of a method together; for hem+p-es those on top of hem.".to_owned(),
            plot: Plot::Bars { x: Axis::log("seconds"), bars: bars(standings, |standing| standing.seconds.max(1e-3)) },
        },
    ];
    let section = Section {
        heading: "Methods side by side".to_owned(),
        text: standings.warnings.iter().map(|warning| format!("Note: {warning}.")).collect(),
        tables: vec![table],
        figures,
    };
    Page { title: "Methods compared".to_owned(), lead: lead(standings), sections: vec![section] }
}

/// The cells of a row without the bar that text draws: the page has figures instead.
fn without_bar(mut cells: Vec<String>) -> Vec<String> {
    cells.remove(2);
    cells
}

fn bars(standings: &Standings, length: impl Fn(&Standing) -> f64) -> Vec<(String, f64)> {
    standings.methods.iter().map(|standing| (standing.method.to_owned(), length(standing))).collect()
}

fn lead(standings: &Standings) -> String {
    match &standings.methods[..] {
        [best, next, ..] => format!("{} does best on the test rows, then {}.", best.method, next.method),
        [only] => format!("Only {} was tried.", only.method),
        [] => String::new(),
    }
}
