//! `geosmooth reproduce extrapolation`.

use super::homes::HomeArgs;
use super::{StudyArgs, finish, interval, with_range};
use crate::cli::options::Outcome;
use crate::error::Error;
use crate::experiment::extrapolation::{Extrapolation, ExtrapolationResult};
use crate::experiment::{Homes, Summary, Way};
use crate::job::caller::Caller;
use crate::job::pages::strings;
use crate::report::{Axis, Figure, Page, Plot, Section, Table, number, short};

/// Homes elsewhere: location as a feature beside smoothing, where the rows to predict lie far from the training rows.
///
/// Boosted trees are trained and everything is chosen north of a latitude; the holdout homes lie south of it. Models with
/// and without latitude and longitude among their features, each with and without smoothing.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    homes: HomeArgs,
    /// Homes at or above this latitude train and validate; if left out, the one with a third of the homes below it
    #[arg(long, value_name = "DEGREES", allow_hyphen_values = true, help_heading = "Data")]
    latitude: Option<f64>,
    /// Homes in each of the three sets; a fifth of all if left out, so that draws differ
    #[arg(long, value_name = "N", help_heading = "Data")]
    rows: Option<usize>,
    /// Random draws
    #[arg(long, value_name = "N", default_value_t = 10)]
    trials: usize,
    #[command(flatten)]
    pub(super) study: StudyArgs,
}

pub(super) fn perform(args: &Args, caller: &Caller) -> Result<Outcome, Error> {
    let (inputs, _folder) = args.homes.open(caller)?;
    let report = args.study.start(&inputs, caller)?;
    let homes = args.homes.read(&inputs)?;
    let study = Extrapolation {
        latitude: args.latitude.unwrap_or_else(|| third(&homes)),
        rows: args.rows.unwrap_or(homes.labels.len() / 5),
        trials: args.trials,
        seed: args.study.seed,
    };
    let lines = study.run(&homes, caller.phase("trials").as_ref())?;
    let results = serde_json::json!({ "settings": study, "homes": homes.labels.len(), "lines": lines });
    finish(report, &page(&study, &homes, &lines), &results)
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
    let holdout = |with_location: bool, way: Way| {
        let line = lines.iter().find(|line| line.with_location == with_location && line.way == way);
        line.map_or("–".to_owned(), |line| short(line.holdout.mean))
    };
    format!(
        "On homes elsewhere, trees without location reach R² {}, and {} after smoothing; trees with location {}, and {} after smoothing.",
        holdout(false, Way::Unsmoothed),
        holdout(false, Way::WithLabels),
        holdout(true, Way::Unsmoothed),
        holdout(true, Way::WithLabels)
    )
}

fn table(lines: &[ExtrapolationResult]) -> Table {
    let row = |line: &ExtrapolationResult| vec![name(line), with_range(&line.validation), with_range(&line.holdout)];
    let header = strings(["boosted trees", "validation, north", "holdout, south"]);
    Table { caption: "Extrapolation".to_owned(), header, rows: lines.iter().map(row).collect() }
}

fn figure(lines: &[ExtrapolationResult]) -> Figure {
    let series = |title: &str, of: fn(&ExtrapolationResult) -> &Summary| {
        (title.to_owned(), lines.iter().map(|line| Some(interval(of(line)))).collect())
    };
    Figure {
        name: "extrapolation".to_owned(),
        title: "R² here and elsewhere".to_owned(),
        caption: "Dots are means over trials, lines run from the worst to the best trial.".to_owned(),
        plot: Plot::Ranges {
            x: Axis { label: "R²".to_owned(), log: false },
            rows: lines.iter().map(name).collect(),
            series: vec![
                series("validation, north", |line| &line.validation),
                series("holdout, south", |line| &line.holdout),
            ],
        },
    }
}
