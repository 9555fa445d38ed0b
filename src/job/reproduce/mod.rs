//! The experiments of the paper. Each writes a folder with a page, its plots, its tables as Markdown and CSV, and all figures as
//! JSON.

mod extrapolation;
mod feature;
mod homes;
mod housing;
mod pose;
mod simulation;
mod sizes;

use std::path::PathBuf;

use serde_json::Value;

pub use self::extrapolation::ExtrapolationStudy;
pub use self::homes::HomeColumns;
pub use self::housing::HousingStudy;
pub use self::pose::Videos;
pub use self::sizes::SizesStudy;
use super::caller::{Caller, Listener};
use super::options::RunOptions;
use super::pages::Report;
use crate::error::Error;
use crate::experiment::Summary;
use crate::experiment::simulation::Simulation;
use crate::io::{Complete, Input};
use crate::report::{Interval, Page, short, table};
use crate::text::printable;

/// A request to run an experiment of the paper.
#[derive(Clone, Debug)]
pub struct Reproduce {
    /// Which experiment, with its parameters.
    pub study: Study,
    /// Folder for the page, the plots and the tables.
    pub out: PathBuf,
    /// Whether files that exist are replaced.
    pub overwrite: bool,
    /// How to run.
    pub running: RunOptions,
}

/// An experiment of the paper.
#[derive(Clone, Debug)]
pub enum Study {
    /// A hidden process seen through noise.
    Simulation(Simulation),
    /// House prices by three models, before and after smoothing, and beside other methods.
    Housing(HousingStudy),
    /// Location as a feature beside smoothing, where the rows to predict lie far from the training rows.
    Extrapolation(ExtrapolationStudy),
    /// How much smoothing gains as the data grow.
    Sizes(SizesStudy),
    /// Human poses in video, smoothed along the frames of each video.
    Pose(Videos),
}

/// What an experiment gave.
#[derive(Clone, Debug)]
pub struct Reproduced {
    /// All figures, as they are in `results.json`.
    pub results: Value,
    /// The main result, its table and where the page is, for people.
    pub text: String,
}

/// Runs an experiment of the paper and writes its tables, plots and a page.
///
/// # Errors
/// If options contradict each other, an input cannot be used, or memory does not suffice.
pub fn reproduce(request: &Reproduce, listener: &dyn Listener) -> Result<Reproduced, Error> {
    Caller::work(&request.running, listener, |caller| request.perform(caller))
}

impl Reproduce {
    fn perform(&self, caller: &Caller) -> Result<Reproduced, Error> {
        match &self.study {
            Study::Simulation(simulation) => simulation::perform(self, simulation, caller),
            Study::Housing(study) => study.perform(self, caller),
            Study::Extrapolation(study) => study.perform(self, caller),
            Study::Sizes(study) => study.perform(self, caller),
            Study::Pose(videos) => videos.perform(self, caller),
        }
    }

    /// Finds out before the work whether the rows fit into memory and the page could be written.
    fn prepare<'a, 'i>(
        &self,
        inputs: impl IntoIterator<Item = &'i Input>,
        caller: &'a Caller,
    ) -> Result<Report<'a>, Error> {
        self.running.memory_for_engines(inputs.into_iter().map(Input::rows).sum(), COLUMNS)?;
        Report::prepare(self.out.clone(), "choose another with `out`", self.overwrite, caller)
    }
}

/// Columns that a row has in an experiment: its features, and the predictions of every setting of a model.
const COLUMNS: usize = 50;

/// Writes the page, its tables and the results, and shows the first table.
fn finish(report: Report, page: &Page, results: Value) -> Result<Reproduced, Error> {
    let json = serde_json::to_string_pretty(&results).unwrap_or_default();
    let place = report.page().display().to_string();
    let more = page.render_tables().into_iter().chain([("results.json".to_owned(), json + "\n")]);
    Complete::name_all(report.write_with(page, more.collect())?)?;
    let tables = page.sections.iter().flat_map(|section| &section.tables).take(1).map(|first| {
        let header: Vec<&str> = first.header.iter().map(String::as_str).collect();
        table(&header, first.rows.iter().cloned())
    });
    let [lead, place] = [&page.lead, &place].map(|text| printable(text));
    let text = format!("{lead}\n\n{}\npage  {place}\n", tables.collect::<String>());
    Ok(Reproduced { results, text })
}

/// A mean with its extremes.
fn with_range(summary: &Summary) -> String {
    format!("{} ({} to {})", short(summary.mean), short(summary.min), short(summary.max))
}

/// A p-value in few digits.
fn p_value(p: Option<f64>) -> String {
    p.map_or("–".to_owned(), |p| if p < 0.01 { format!("{p:.0e}") } else { format!("{p:.2}") })
}

fn interval(summary: &Summary) -> Interval {
    Interval { low: summary.min, middle: summary.mean, high: summary.max }
}
