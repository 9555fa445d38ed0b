//! Homes elsewhere: location as a feature beside smoothing, where the rows to predict lie far from the training rows.

use super::homes::HomeColumns;
use super::{Reproduce, Reproduced, finish, interval, with_range};
use crate::error::Error;
use crate::experiment::extrapolation::{Extrapolation, ExtrapolationResult};
use crate::experiment::{Homes, Summary, Way};
use crate::job::caller::Caller;
use crate::job::pages::strings;
use crate::report::{Axis, Figure, Interval, Page, Plot, Section, Table, number, short};

/// Boosted trees trained north of a latitude and held out south of it, with and without location among their features.
#[derive(Clone, Debug)]
pub struct ExtrapolationStudy {
    /// The homes.
    pub homes: HomeColumns,
    /// Homes at or above this latitude train and validate; if left out, the one with a third of the homes below it.
    pub latitude: Option<f64>,
    /// Homes in each of the three sets; a fifth of all if left out.
    pub rows: Option<usize>,
    /// Random draws.
    pub trials: usize,
    /// Seed of the random numbers.
    pub seed: u64,
}

impl ExtrapolationStudy {
    pub(super) fn perform(&self, request: &Reproduce, caller: &Caller) -> Result<Reproduced, Error> {
        let (inputs, _folder) = self.homes.open(caller)?;
        let report = request.prepare(&inputs, caller)?;
        let homes = self.homes.read(&inputs)?;
        let study = Extrapolation {
            latitude: self.latitude.unwrap_or_else(|| third(&homes)),
            rows: self.rows.unwrap_or(homes.labels.len() / 5),
            trials: self.trials,
            seed: self.seed,
        };
        let lines = study.run(&homes, caller.phase("trials").as_ref())?;
        let results = serde_json::json!({ "settings": study, "homes": homes.labels.len(), "lines": lines });
        finish(report, &page(&study, &homes, &lines), results)
    }
}

/// The latitude with a third of the homes below it.
fn third(homes: &Homes) -> f64 {
    let mut latitudes = homes.places.axes()[0].clone();
    let at = latitudes.len() / 3;
    if latitudes.is_empty() { 0.0 } else { *latitudes.select_nth_unstable_by(at, f64::total_cmp).1 }
}

fn name(line: &ExtrapolationResult) -> String {
    let features = if line.with_location { "with location" } else { "without location" };
    format!("{features}, {}", line.way.title())
}

fn page(study: &Extrapolation, homes: &Homes, lines: &[ExtrapolationResult]) -> Page {
    let data = format!(
        "{} homes. In each of {} trials, {} homes north of latitude {} train boosted trees and as many others choose the settings; \
         {} homes south of it are held out.",
        number(homes.labels.len()),
        study.trials,
        number(study.rows),
        study.latitude,
        number(study.rows)
    );
    let clipped = "R², the mean over trials with the least and the largest. Below 0 a model is worse than the mean of the holdout homes; \
                   the paper cuts such values to 0, this table does not.";
    let section = Section {
        heading: "Here and elsewhere".to_owned(),
        text: vec![data, clipped.to_owned()],
        tables: vec![table(lines)],
        figures: vec![figure(lines)],
    };
    Page { title: "Homes elsewhere".to_owned(), lead: lead(lines), sections: vec![section] }
}

fn lead(lines: &[ExtrapolationResult]) -> String {
    format!(
        "On homes elsewhere, trees without location reach R² {}, and {} after smoothing; trees with location {}, and {} after smoothing.",
        holdout(lines, false, Way::Unsmoothed),
        holdout(lines, false, Way::WithLabels),
        holdout(lines, true, Way::Unsmoothed),
        holdout(lines, true, Way::WithLabels)
    )
}

/// R² on the holdout homes.
fn holdout(lines: &[ExtrapolationResult], with_location: bool, way: Way) -> String {
    let line = lines.iter().find(|line| line.with_location == with_location && line.way == way);
    line.map_or("–".to_owned(), |line| short(line.holdout.mean))
}

fn table(lines: &[ExtrapolationResult]) -> Table {
    let rows = lines.iter().map(|line| vec![name(line), with_range(&line.validation), with_range(&line.holdout)]);
    let header = strings(["boosted trees", "validation, north", "holdout, south"]);
    Table { caption: "Extrapolation".to_owned(), header, rows: rows.collect() }
}

fn figure(lines: &[ExtrapolationResult]) -> Figure {
    Figure {
        name: "extrapolation".to_owned(),
        title: "R² here and elsewhere".to_owned(),
        caption: "Dots are means over trials, lines run from the worst to the best trial.".to_owned(),
        plot: Plot::Ranges {
            x: Axis::linear("R²"),
            rows: lines.iter().map(name).collect(),
            series: vec![
                ("validation, north".to_owned(), intervals(lines.iter().map(|line| &line.validation))),
                ("holdout, south".to_owned(), intervals(lines.iter().map(|line| &line.holdout))),
            ],
        },
    }
}

fn intervals<'a>(summaries: impl Iterator<Item = &'a Summary>) -> Vec<Option<Interval>> {
    summaries.map(|summary| Some(interval(summary))).collect()
}
