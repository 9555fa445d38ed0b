//! `geosmooth reproduce`: the experiments of the paper, one command each. Every one writes a folder with a page, its plots, its
//! tables as Markdown and CSV, and all figures as JSON.

mod extrapolation;
mod feature;
mod homes;
mod housing;
mod pose;
mod simulation;
mod sizes;

use std::path::PathBuf;

use clap::Subcommand;
use serde::Serialize;

use super::options::{Outcome, RunArgs};
use crate::error::Error;
use crate::experiment::Summary;
use crate::io::{Complete, Input};
use crate::job::caller::Caller;
use crate::job::pages::Report;
use crate::report::{Interval, Page, short, table};
use crate::text::printable;

/// Runs an experiment of the paper and writes its tables, plots and a page.
///
/// Post-Estimation Smoothing (Rolf, Jordan and Recht 2020) never released its data or most of its code. These are its
/// experiments on data that everybody may have: made up, or the house sales that come with the program. The folder gets
/// index.html to look at, one SVG for each plot, tables.md and a CSV for each table, and results.json with every figure. The
/// same seed gives the same results, with any number of threads.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(subcommand)]
    experiment: Experiment,
}

const EXAMPLES: &str = "\
Examples:
  geosmooth reproduce simulation --out simulation
  geosmooth reproduce housing --out housing
  geosmooth reproduce housing --data sales.parquet --label price --features 'beds,log(area),kind' --rows 20000 --out housing
  geosmooth reproduce pose --validation val.parquet --test test.parquet --out pose";

#[derive(Debug, Subcommand)]
enum Experiment {
    Simulation(simulation::Args),
    Housing(housing::Args),
    Extrapolation(extrapolation::Args),
    Sizes(sizes::Args),
    Pose(pose::Args),
}

pub(super) fn run(args: &Args) -> Result<(), Error> {
    let study = match &args.experiment {
        Experiment::Simulation(args) => &args.study,
        Experiment::Housing(args) => &args.study,
        Experiment::Extrapolation(args) => &args.study,
        Experiment::Sizes(args) => &args.study,
        Experiment::Pose(args) => &args.study,
    };
    study.running.show(|caller| args.experiment.perform(caller))
}

impl Experiment {
    fn perform(&self, caller: &Caller) -> Result<Outcome, Error> {
        match self {
            Self::Simulation(args) => simulation::perform(args, caller),
            Self::Housing(args) => housing::perform(args, caller),
            Self::Extrapolation(args) => extrapolation::perform(args, caller),
            Self::Sizes(args) => sizes::perform(args, caller),
            Self::Pose(args) => pose::perform(args, caller),
        }
    }
}

/// Where results go, and how to run.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Output")]
struct StudyArgs {
    /// Folder for the page, the plots and the tables
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Replace files that exist
    #[arg(long)]
    overwrite: bool,
    /// Where chance starts: the same seed gives the same results
    #[arg(long, value_name = "N", default_value_t = 2020, allow_hyphen_values = true, help_heading = "Running")]
    seed: u64,
    #[command(flatten)]
    running: RunArgs,
}

/// Columns that a row has in an experiment: its features, and the predictions of every setting of a model.
const COLUMNS: usize = 50;

impl StudyArgs {
    /// Finds out before the work whether the rows fit into memory and the page could be written.
    fn start<'a, 'i>(
        &self,
        inputs: impl IntoIterator<Item = &'i Input>,
        caller: &'a Caller,
    ) -> Result<Report<'a>, Error> {
        self.running.options().memory_for_engines(inputs.into_iter().map(Input::rows).sum(), COLUMNS)?;
        Report::prepare(self.out.clone(), "choose another with --out", self.overwrite, caller)
    }
}

/// Writes the page, its tables and the results, and shows the first table.
fn finish(report: Report, page: &Page, results: &impl Serialize) -> Result<Outcome, Error> {
    let json = serde_json::to_string_pretty(results).unwrap_or_default();
    let place = report.page().display().to_string();
    let more = page.render_tables().into_iter().chain([("results.json".to_owned(), json.clone() + "\n")]);
    Complete::name_all(report.write_with(page, more.collect())?)?;
    let tables = page.sections.iter().flat_map(|section| &section.tables).take(1).map(|first| {
        let header: Vec<&str> = first.header.iter().map(String::as_str).collect();
        table(&header, first.rows.iter().cloned())
    });
    let [lead, place] = [&page.lead, &place].map(|text| printable(text));
    let text = format!("{lead}\n\n{}\npage  {place}\n", tables.collect::<String>());
    Ok(Outcome { json, text })
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
