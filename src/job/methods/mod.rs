//! `geosmooth methods`: post-estimation smoothing beside the methods that the paper compares it with.

mod standings;

use std::path::PathBuf;

use self::standings::RowCounts;
pub(crate) use self::standings::{Standing, Standings};
use super::caller::Caller;
use super::data::{Inputs, refuse_same_file, warn_of_copies};
use super::lists::{items, numbers};
use super::machine::Stopwatch;
use super::options::{DataArgs, RunArgs, Told, missing};
use super::pages::{ReportArgs, methods_page};
use super::recipe::AccuracyArgs;
use super::table::Table;
use crate::baseline::{Contest, Grids, Method, Rows};
use crate::engine::EngineKind;
use crate::error::Error;
use crate::io::{Complete, Input};
use crate::score::Measure;
use crate::space::Sigma;

/// Shows how post-estimation smoothing fares beside other methods that know where rows are.
///
/// Each method is tuned on the validation rows, whose truth only scores, over the values that the paper tries, and what was
/// best there is scored on the test rows. A setting whose equations were not solved is reported and never chosen.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Rows to choose settings on, with predictions and the truth: a Parquet file, a directory or a quoted glob of them
    #[arg(long, value_name = "FILES", help_heading = "Data")]
    validation: PathBuf,
    /// Rows to score on, with predictions and the truth
    #[arg(long, value_name = "FILES", help_heading = "Data")]
    test: PathBuf,
    #[command(flatten)]
    data: DataArgs,
    /// Numeric columns of all rows that LapRLS is linear in; it is left out without
    #[arg(long, value_name = "COLUMNS", help_heading = "Data")]
    features: Option<String>,
    /// Which methods, of those listed below; all that can run if left out
    #[arg(long, value_name = "NAMES", help_heading = "Search")]
    methods: Option<String>,
    /// What to make best: r2, rmse, mae, mape or median_error
    #[arg(long, value_name = "NAME", default_value = "r2", help_heading = "Search")]
    metric: String,
    /// sigma of every method; the paper's values in degrees if left out, for which see below
    #[arg(long, value_name = "LENGTHS", allow_hyphen_values = true, help_heading = "Search")]
    sigma_grid: Option<String>,
    /// c of P-ES
    #[arg(long, value_name = "NUMBERS", allow_hyphen_values = true, help_heading = "Search")]
    c_grid: Option<String>,
    /// delta of shrinkage: 0 leaves predictions alone, 1 makes them all the mean
    #[arg(long, value_name = "NUMBERS", allow_hyphen_values = true, help_heading = "Search")]
    delta_grid: Option<String>,
    /// eta of HEM: how firmly predictions are attached
    #[arg(long, value_name = "NUMBERS", allow_hyphen_values = true, help_heading = "Search")]
    eta_grid: Option<String>,
    /// alpha of LGC: how much neighbours count
    #[arg(long, value_name = "NUMBERS", allow_hyphen_values = true, help_heading = "Search")]
    alpha_grid: Option<String>,
    /// Ridge penalty of LapRLS
    #[arg(long, value_name = "NUMBERS", allow_hyphen_values = true, help_heading = "Search")]
    ridge_grid: Option<String>,
    /// Laplacian penalty of LapRLS
    #[arg(long, value_name = "NUMBERS", allow_hyphen_values = true, help_heading = "Search")]
    laplacian_grid: Option<String>,
    /// Variance of the field of a Gaussian process
    #[arg(long, value_name = "NUMBERS", allow_hyphen_values = true, help_heading = "Search")]
    constant_grid: Option<String>,
    /// Variance of the noise of a Gaussian process
    #[arg(long, value_name = "NUMBERS", allow_hyphen_values = true, help_heading = "Search")]
    noise_grid: Option<String>,
    /// exact, sparse, fast, or auto for the cheapest
    #[arg(long, default_value = "auto", help_heading = "Search")]
    engine: String,
    #[command(flatten)]
    accuracy: AccuracyArgs,
    #[command(flatten)]
    report: ReportArgs,
    #[command(flatten)]
    pub(crate) running: RunArgs,
}

const EXAMPLES: &str = "\
Methods, and the values that the paper tries:
  unsmoothed  the predictions as they are
  shrinkage   predictions drawn to their mean                    delta 0, 0.1, ... 1
  kernel      average of the labels around, no predictions       9 sigma from 0.01deg to 1deg
  p-es        post-estimation smoothing                          5 sigma from 0.0001deg to 1deg, c 0, 0.1, ... 1
  hem         harmonic energy, predictions attached              the same sigma, 6 eta from 0.01 to 1
  hem+p-es    p-es of the best of hem; seconds come on top       as p-es
  lgc         local and global consistency                       the same sigma, alpha = 1 - eta
  laprls      linear in --features, smooth over space            the same sigma, 5 ridge 0.01 to 1e4, 5 laplacian 1e-4 to 100
  gpr         Gaussian process, kriging, no predictions          4 sigma 0.01deg to 100deg, 4 constant 0.01 to 100, noise 1e-6, 1e-3, 1

Examples:
  Everything that the paper compares
    geosmooth methods --train sold.parquet --validation check.parquet --test holdout.parquet --label price --prediction xgb \\
        --features rooms,area,age --report methods
  Two of them, in metres
    geosmooth methods --train sold.parquet --validation check.parquet --test holdout.parquet --label price --prediction xgb \\
        --methods p-es,hem --sigma-grid 100m,300m,1km";

pub(crate) fn run(args: &Args) -> Result<(), Error> {
    args.running.show(|caller| perform(args, caller))
}

pub(crate) fn perform(args: &Args, caller: &Caller) -> Result<Told, Error> {
    let watch = Stopwatch::start();
    let measure = args.metric.parse::<Measure>()?;
    let methods = args.chosen_methods()?;
    let (inputs, test) = args.open(caller)?;
    let grids = args.grids(&inputs)?;
    let features = args.features.as_deref().map_or(Vec::new(), |list| items(list).collect());
    let rows = inputs.rows() + test.rows();
    let memory = args.running.memory_for_engines(rows, inputs.predictions.len() + features.len())?;
    let options = args.accuracy.options(args.engine.parse::<EngineKind>()?, memory)?;
    let report = args.report.prepare(&[], caller)?;
    let tables = args.read(&inputs, &test, &features, caller)?;
    tables.warn_of_copies(caller);
    let contest = Contest {
        train: tables.rows(&tables.train, 0),
        validation: tables.rows(&tables.validation, inputs.predictions.len()),
        test: tables.rows(&tables.test, inputs.predictions.len()),
        measure,
        grids,
        options,
    };
    let outcomes = contest.run(&methods, caller.phase("tune").as_ref())?;
    let mut standings = Standings::new(&outcomes, measure, &inputs.predictions, tables.counts(), watch.total());
    if args.methods.is_none() && args.features.is_none() {
        standings.warnings.push("laprls is left out: it needs columns named with --features".to_owned());
    }
    for warning in &standings.warnings {
        caller.warn(warning);
    }
    if let Some(report) = report {
        Complete::name_all(report.write(&methods_page(&standings, measure))?)?;
    }
    Ok(Told::new(&standings, standings.for_people(measure)))
}

/// All rows: label first, then features, then predictions.
struct Tables {
    train: Table,
    validation: Table,
    test: Table,
    features: usize,
}

impl Tables {
    fn rows<'a>(&self, table: &'a Table, predictions: usize) -> Rows<'a> {
        let columns = |from: usize, count: usize| table.columns[from..from + count].iter().map(Vec::as_slice).collect();
        Rows {
            places: &table.places,
            labels: &table.columns[0],
            features: columns(1, self.features),
            predictions: columns(1 + self.features, predictions),
        }
    }

    fn warn_of_copies(&self, caller: &Caller) {
        warn_of_copies(self.train.with_label(), self.validation.with_label(), "validation", caller);
        warn_of_copies(self.train.with_label(), self.test.with_label(), "test", caller);
    }

    fn counts(&self) -> RowCounts {
        let Self { train, validation, test, .. } = self;
        let skipped = train.skipped() + validation.skipped() + test.skipped();
        RowCounts { train: train.rows, validation: validation.rows, test: test.rows, skipped }
    }
}

impl Args {
    fn chosen_methods(&self) -> Result<Vec<Method>, Error> {
        let runs = |method: &Method| self.features.is_some() || !method.uses_features();
        let Some(list) = &self.methods else { return Ok(Method::ALL.into_iter().filter(runs).collect()) };
        let mut methods = items(list).map(str::parse).collect::<Result<Vec<Method>, _>>()?;
        let mut seen = Vec::new();
        methods.retain(|method| {
            !seen.contains(method) && {
                seen.push(*method);
                true
            }
        });
        if methods.is_empty() {
            return Err(missing("--methods", "at least one method, such as --methods p-es,hem"));
        }
        match methods.iter().find(|method| !runs(method)) {
            None => Ok(methods),
            Some(method) => Err(missing("--features", &format!("the numeric columns that {method} is linear in"))),
        }
    }

    fn open(&self, caller: &Caller) -> Result<(Inputs, Input), Error> {
        if self.data.label.is_none() {
            return Err(missing("--label", "the column with the truth"));
        }
        if self.data.train.is_none() {
            return Err(missing("--train", "the labelled rows that methods learn from"));
        }
        if !self.data.train_prediction.is_empty() {
            caller.warn("--train-prediction is for the correct step, which no method here takes");
        }
        let inputs = self.data.open(&self.validation, None, caller)?;
        let test = caller.open(&self.test)?;
        if let Some(train) = &inputs.train {
            refuse_same_file(("--train", train), ("--validation", &inputs.test))?;
            refuse_same_file(("--train", train), ("--test", &test))?;
        }
        refuse_same_file(("--validation", &inputs.test), ("--test", &test))?;
        Ok((inputs, test))
    }

    fn read(&self, inputs: &Inputs, test: &Input, features: &[&str], caller: &Caller) -> Result<Tables, Error> {
        let label = inputs.label.iter().map(String::as_str);
        let known: Vec<&str> = label.chain(features.iter().copied()).collect();
        let all: Vec<&str> = known.iter().copied().chain(inputs.predictions.iter().map(String::as_str)).collect();
        let train = inputs.train.as_ref().map(|train| (train, known.as_slice()));
        let wanted: Vec<(&Input, &[&str])> =
            train.into_iter().chain([(&inputs.test, &all[..]), (test, &all)]).collect();
        let tables = self.data.read_tables(inputs, &wanted, caller)?;
        let [train, validation, test] =
            <[Table; 3]>::try_from(tables).map_err(|_| missing("--train", "labelled rows"))?;
        Ok(Tables { train, validation, test, features: features.len() })
    }

    fn grids(&self, inputs: &Inputs) -> Result<Grids, Error> {
        let mut grids = Grids::paper()?;
        match &self.sigma_grid {
            Some(list) => {
                let sigmas = items(list).map(str::parse::<Sigma>).collect::<Result<Vec<_>, _>>()?;
                grids = grids.with_sigmas(&sigmas);
            }
            None if !inputs.places.index.is_empty() => {
                return Err(missing(
                    "--sigma-grid",
                    "widths in the unit of the index columns: those of the paper are degrees",
                ));
            }
            None => {}
        }
        let lists = [
            ("--c-grid", &self.c_grid, &mut grids.c),
            ("--delta-grid", &self.delta_grid, &mut grids.delta),
            ("--eta-grid", &self.eta_grid, &mut grids.eta),
            ("--alpha-grid", &self.alpha_grid, &mut grids.alpha),
            ("--ridge-grid", &self.ridge_grid, &mut grids.ridge),
            ("--laplacian-grid", &self.laplacian_grid, &mut grids.laplacian),
            ("--constant-grid", &self.constant_grid, &mut grids.constant),
            ("--noise-grid", &self.noise_grid, &mut grids.noise),
        ];
        for (flag, given, values) in lists {
            if let Some(list) = given {
                *values = numbers(flag, list)?;
            }
        }
        Ok(grids)
    }
}
