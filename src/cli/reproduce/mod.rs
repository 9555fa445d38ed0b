//! `geosmooth reproduce`: the experiments of the paper, one command each.

mod extrapolation;
mod homes;
mod housing;
mod pose;
mod simulation;
mod sizes;

use std::path::PathBuf;

use clap::Subcommand;

use super::options::RunArgs;
use crate::error::Error;
use crate::job::{self, Reproduce, Study};

/// Runs an experiment of the paper and writes its tables, plots and a page.
///
/// Post-Estimation Smoothing (Rolf, Jordan and Recht 2020) never released its data or most of its code. These are its
/// experiments on data that everybody can get: simulated data, or the house sales that come with the program. The folder gets
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
    let study = args.experiment.study();
    let StudyArgs { out, overwrite, running, .. } = args.experiment.shared();
    let request = Reproduce { study, out: out.clone(), overwrite: *overwrite, running: running.options() };
    let done = job::reproduce(&request, &running.terminal())?;
    running.print_either(|| serde_json::to_string_pretty(&done.results).unwrap_or_default(), || done.text)
}

impl Experiment {
    fn study(&self) -> Study {
        match self {
            Self::Simulation(args) => Study::Simulation(args.study()),
            Self::Housing(args) => Study::Housing(args.study()),
            Self::Extrapolation(args) => Study::Extrapolation(args.study()),
            Self::Sizes(args) => Study::Sizes(args.study()),
            Self::Pose(args) => Study::Pose(args.study()),
        }
    }

    fn shared(&self) -> &StudyArgs {
        match self {
            Self::Simulation(args) => &args.shared,
            Self::Housing(args) => &args.shared,
            Self::Extrapolation(args) => &args.shared,
            Self::Sizes(args) => &args.shared,
            Self::Pose(args) => &args.shared,
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
    /// Seed of the random numbers: the same seed gives the same results
    #[arg(long, value_name = "N", default_value_t = 2020, allow_hyphen_values = true, help_heading = "Running")]
    seed: u64,
    #[command(flatten)]
    running: RunArgs,
}
