//! `geosmooth reproduce sizes`.

use super::homes::HomeArgs;
use super::{StudyArgs, finish, p_value, with_range};
use crate::cli::options::Outcome;
use crate::error::Error;
use crate::experiment::housing::HousingResult;
use crate::experiment::sizes::{self, SIZES, Size};
use crate::experiment::{Homes, Model, Way};
use crate::job::caller::Caller;
use crate::job::pages::strings;
use crate::report::{Axis, Figure, Page, Plot, Section, Series, Table, number, short};

/// How much smoothing gains as the data grow.
///
/// The experiment of `reproduce housing` with sets of 1,000 homes and more, up to what the data hold.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    homes: HomeArgs,
    /// Homes in each of the three sets, separated by commas; those of the paper that fit if left out
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "Data")]
    rows: Vec<usize>,
    /// Random draws at each size
    #[arg(long, value_name = "N", default_value_t = 10)]
    trials: usize,
    #[command(flatten)]
    pub(super) study: StudyArgs,
}

pub(super) fn perform(args: &Args, caller: &Caller) -> Result<Outcome, Error> {
    let (inputs, _folder) = args.homes.open(caller)?;
    let report = args.study.start(&inputs, caller)?;
    let homes = args.homes.read(&inputs)?;
    let fitting = || SIZES.into_iter().filter(|rows| 3 * rows <= homes.labels.len()).collect();
    let rows: Vec<usize> = if args.rows.is_empty() { fitting() } else { args.rows.clone() };
    if rows.is_empty() {
        return Err(Error::Contradiction {
            message: format!("{} homes are fewer than the smallest size needs", homes.labels.len()),
            hint: "give smaller sizes with --rows".to_owned(),
        });
    }
    let found = sizes::run(&homes, &rows, args.trials, args.study.seed, caller.phase("trials").as_ref())?;
    let settings = serde_json::json!({ "rows": rows, "trials": args.trials, "seed": args.study.seed });
    finish(report, &page(&homes, args.trials, &found), &serde_json::json!({ "settings": settings, "sizes": found }))
}

fn page(homes: &Homes, trials: usize, sizes: &[Size]) -> Page {
    let text = format!(
        "Gain: R² on holdout homes after smoothing less that before, the mean over {trials} trials with the least and the largest. The \
         p-value is that of the paired t-test, two-sided. All sizes are drawn from {} homes.",
        number(homes.labels.len())
    );
    let section = Section {
        heading: "Gain by size".to_owned(),
        text: vec![text],
        tables: vec![table(sizes)],
        figures: [Way::PredictionsOnly, Way::WithLabels].map(|way| figure(sizes, way)).to_vec(),
    };
    Page { title: "Gain as the data grow".to_owned(), lead: lead(sizes), sections: vec![section] }
}

fn gain(line: &HousingResult, way: Way) -> f64 {
    line.ways.iter().find(|scores| scores.way == way).map_or(f64::NAN, |scores| scores.gain.mean)
}

fn lead(sizes: &[Size]) -> String {
    let (Some(first), Some(last)) = (sizes.first(), sizes.last()) else { return String::new() };
    let change = |(from, to): (&HousingResult, &HousingResult)| {
        format!("{} {} to {}", from.model.title(), short(gain(from, Way::WithLabels)), short(gain(to, Way::WithLabels)))
    };
    let changes: Vec<String> = first.models.iter().zip(&last.models).map(change).collect();
    format!(
        "From {} to {} homes in each set, the gain in R² of smoothing with training labels goes: {}.",
        number(first.rows),
        number(last.rows),
        changes.join(", ")
    )
}

fn table(sizes: &[Size]) -> Table {
    let rows = sizes.iter().flat_map(|size| {
        size.models.iter().map(|line| {
            let mut cells = vec![number(size.rows), line.model.title().to_owned(), with_range(&line.ways[0].score)];
            for scores in &line.ways[1..] {
                cells.extend([with_range(&scores.gain), p_value(scores.p_value)]);
            }
            cells
        })
    });
    let header = ["homes", "model", "R² unsmoothed", "gain, predictions only", "p", "gain with labels", "p"];
    Table { caption: "Gains".to_owned(), header: strings(header), rows: rows.collect() }
}

fn figure(sizes: &[Size], way: Way) -> Figure {
    let curve = |at: usize, model: &Model| Series {
        name: model.title().to_owned(),
        points: sizes.iter().map(|size| (size.rows as f64, gain(&size.models[at], way))).collect(),
        dots_only: false,
    };
    Figure {
        name: format!("gain-{}", if way == Way::WithLabels { "with-labels" } else { "predictions-only" }),
        title: way.title().to_owned(),
        caption: "Means over trials.".to_owned(),
        plot: Plot::Curves {
            x: Axis { label: "homes in each set".to_owned(), log: true },
            y: Axis { label: "gain in R²".to_owned(), log: false },
            series: Model::ALL.iter().enumerate().map(|(at, model)| curve(at, model)).collect(),
            mark: None,
        },
    }
}
