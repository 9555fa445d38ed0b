//! How much smoothing gains as the data grow.

use super::homes::HomeColumns;
use super::{Reproduce, Reproduced, finish, p_value, with_range};
use crate::error::Error;
use crate::experiment::housing::HousingResult;
use crate::experiment::sizes::{self, SIZES, Size};
use crate::experiment::{Homes, Model, Way};
use crate::job::caller::Caller;
use crate::job::pages::strings;
use crate::report::{Axis, Figure, Page, Plot, Section, Series, Table, number, short};

/// The housing experiment at several sizes.
#[derive(Clone, Debug)]
pub struct SizesStudy {
    /// The homes.
    pub homes: HomeColumns,
    /// Homes in each of the three sets; those of the paper that fit if empty.
    pub rows: Vec<usize>,
    /// Random draws at each size.
    pub trials: usize,
    /// Seed of the random numbers.
    pub seed: u64,
}

impl SizesStudy {
    pub(super) fn perform(&self, request: &Reproduce, caller: &Caller) -> Result<Reproduced, Error> {
        let (inputs, _folder) = self.homes.open(caller)?;
        let report = request.prepare(&inputs, caller)?;
        let homes = self.homes.read(&inputs)?;
        let rows = self.sizes(homes.labels.len())?;
        let found = sizes::run(&homes, &rows, self.trials, self.seed, caller.phase("trials").as_ref())?;
        let settings = serde_json::json!({ "rows": rows, "trials": self.trials, "seed": self.seed });
        let results = serde_json::json!({ "settings": settings, "sizes": found });
        finish(report, &page(&homes, self.trials, &found), results)
    }

    /// The sizes to try with so many homes.
    fn sizes(&self, homes: usize) -> Result<Vec<usize>, Error> {
        if !self.rows.is_empty() {
            return Ok(self.rows.clone());
        }
        let fitting: Vec<usize> = SIZES.into_iter().filter(|rows| 3 * rows <= homes).collect();
        if fitting.is_empty() {
            return Err(Error::Contradiction {
                message: format!("{homes} homes are fewer than the smallest size needs"),
                hint: "give smaller sizes with `rows`".to_owned(),
            });
        }
        Ok(fitting)
    }
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
    let changes: Vec<String> = first.models.iter().zip(&last.models).map(|(from, to)| change(from, to)).collect();
    format!(
        "From {} to {} homes in each set, the gain in R² of smoothing with training labels goes: {}.",
        number(first.rows),
        number(last.rows),
        changes.join(", ")
    )
}

fn change(from: &HousingResult, to: &HousingResult) -> String {
    let [before, after] = [from, to].map(|line| short(gain(line, Way::WithLabels)));
    format!("{} {before} to {after}", from.model.title())
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
    let series = Model::ALL.iter().enumerate().map(|(at, model)| Series {
        name: model.title().to_owned(),
        points: sizes.iter().map(|size| (size.rows as f64, gain(&size.models[at], way))).collect(),
        dots_only: false,
    });
    Figure {
        name: format!("gain-{}", if way == Way::WithLabels { "with-labels" } else { "predictions-only" }),
        title: way.title().to_owned(),
        caption: "Means over trials.".to_owned(),
        plot: Plot::Curves {
            x: Axis::log("homes in each set"),
            y: Axis::linear("gain in R²"),
            series: series.collect(),
            mark: None,
        },
    }
}
