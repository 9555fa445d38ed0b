//! `geosmooth smooth`: Parquet in, smoothed Parquet out.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::machine::{self, Stopwatch};
use super::options::{Data, DataArgs, Inputs, KernelArgs, RunArgs};
use super::terminal::{self, Bar};
use crate::engine::{Choice, EngineKind};
use crate::error::{Error, bytes};
use crate::io::{NewColumn, Output};
use crate::report::{Lines, number, share, short};
use crate::score::Score;
use crate::smoother::{Smoothed, SmoothingPlan};

/// Smooths predictions over space, together with known labels.
///
/// Every column of the test rows comes back untouched, and <PREDICTION>_smoothed is added: c times the average around each
/// row plus (1 - c) times its own prediction. The average runs over the predictions of the test rows and the labels of
/// the training rows, weighted by exp(-distance² / 2 sigma²).
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    data: DataArgs,
    #[command(flatten)]
    kernel: KernelArgs,
    /// How far to go from each prediction (0) to the average around it (1)
    #[arg(long, value_name = "0..1", allow_hyphen_values = true, help_heading = "Smoothing")]
    c: f64,
    /// exact: all pairs; sparse: a truncated weight matrix; fast: any sigma at near-linear cost; auto: the cheapest
    #[arg(long, default_value = "auto", help_heading = "Smoothing")]
    engine: String,
    /// Where the result goes: a Parquet file, written whole or not at all
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    output: PathBuf,
    /// Replace the output if it exists
    #[arg(long, help_heading = "Output")]
    overwrite: bool,
    /// Add <PREDICTION>_error_bound, the proven error of each row, and n_effective, the sources behind it
    #[arg(long, help_heading = "Output")]
    certificate: bool,
    /// Write the weight matrix of the sparse engine as Parquet (row, column, weight); columns count the test rows, then the training rows
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    matrix: Option<PathBuf>,
    #[command(flatten)]
    running: RunArgs,
}

const EXAMPLES: &str = "\
Examples:
  Known prices help: 500 m around each house, predictions and sales count alike
    geosmooth smooth --train sold.parquet --test unsold.parquet --label price --prediction model \\
        --sigma 500m --c 0.6 -o smoothed.parquet
  Predictions only, two models at once, on plain degrees as in the paper
    geosmooth smooth --test unsold.parquet --prediction xgb,ridge --sigma 0.005deg --c 0.4 -o smoothed.parquet
  Along the frames of each video
    geosmooth smooth --test poses.parquet --prediction x,y --index frame --group video --sigma 3 --c 0.8 -o smoothed.parquet";

pub(super) fn run(args: &Args) -> Result<(), Error> {
    let mut watch = Stopwatch::start();
    args.running.start()?;
    let engine: EngineKind = args.engine.parse()?;
    if args.matrix.is_some() && engine != EngineKind::Sparse {
        return Err(Error::Contradiction {
            message: format!("--matrix needs the weight matrix, which --engine {engine} may not keep"),
            hint: "add --engine sparse".to_owned(),
        });
    }
    let inputs = args.data.open()?;
    let names = new_names(args, &inputs)?;
    let memory = args.running.memory_for_matrix(inputs.rows(), inputs.predictions.len())?;
    let smoother = args.kernel.smoother(args.c, engine, memory)?;
    let output = Output::create(&args.output, args.overwrite, &inputs.all())?;
    let matrix = args.matrix.as_deref().map(|path| Output::create(path, args.overwrite, &inputs.all())).transpose()?;
    if matrix.as_ref().is_some_and(|matrix| matrix.destination() == output.destination()) {
        return Err(Error::Contradiction {
            message: format!("--matrix and --output are the same file, {}", args.output.display()),
            hint: "give them different names".to_owned(),
        });
    }

    let data = args.data.read(&inputs, args.running.quiet)?;
    let read = watch.lap();
    let labelled = data.train.as_ref().map(|train| &train.places);
    let plan = smoother.plan_with(&data.test.places, labelled, &Bar::new("plan", args.running.quiet))?;
    let planned = watch.lap();
    let smoothed = plan.apply_with(&data.predictions(), data.labels(), &Bar::new("apply", args.running.quiet))?;
    let n_effective = if args.certificate { Some(plan.n_effective()?) } else { None };
    let applied = watch.lap();
    let writing = terminal::spinner("write", args.running.quiet);
    output.write(&inputs.test, &new_columns(&names, &data, &smoothed, n_effective.as_deref()))?;
    if let Some(matrix) = matrix {
        write_matrix(matrix, &plan, &data)?;
    }
    drop(writing);
    let written = watch.lap();

    let seconds = Seconds { read, plan: planned, apply: applied, write: written, total: watch.total() };
    let summary = Summary::new(args, &inputs, &data, plan.choice(), &smoothed, seconds);
    if args.running.json {
        terminal::print(&(serde_json::to_string(&summary).unwrap_or_default() + "\n"))
    } else if args.running.quiet {
        Ok(())
    } else {
        terminal::print(&summary.for_people(plan.choice(), &args.output))
    }
}

/// The names of the columns to add, none of which may exist.
fn new_names(args: &Args, inputs: &Inputs) -> Result<Vec<String>, Error> {
    let mut names: Vec<String> = inputs.predictions.iter().map(|prediction| format!("{prediction}_smoothed")).collect();
    if args.certificate {
        names.extend(inputs.predictions.iter().map(|prediction| format!("{prediction}_error_bound")));
        names.push("n_effective".to_owned());
    }
    match names.iter().find(|name| inputs.test.has(name)) {
        None => Ok(names),
        Some(name) => {
            Err(inputs.test.wrong_column(name, "exists already", "rename or drop it: the result would have that name"))
        }
    }
}

fn new_columns(names: &[String], data: &Data, smoothed: &[Smoothed], n_effective: Option<&[f64]>) -> Vec<NewColumn> {
    let table = &data.test;
    let mut columns: Vec<Vec<Option<f64>>> =
        smoothed.iter().map(|column| table.spread(column.values.iter().copied())).collect();
    if let Some(n_effective) = n_effective {
        columns.extend(smoothed.iter().map(|column| table.spread(column.error_bound.iter().copied().map(Some))));
        columns.push(table.spread(n_effective.iter().copied().map(Some)));
    }
    names.iter().cloned().zip(columns).map(|(name, values)| NewColumn { name, values }).collect()
}

/// W between rows rather than places: test rows first, then training rows, as they stand in the files.
fn write_matrix(output: Output, plan: &SmoothingPlan, data: &Data) -> Result<(), Error> {
    let test_rows = data.test.places.len();
    let column = |source: usize| match source.checked_sub(test_rows) {
        None => data.test.row(source),
        Some(training) => data.test.rows + data.train.as_ref().map_or(training, |train| train.row(training)),
    };
    output.write_triplets(plan.weights()?.map(|batch| {
        let rows = batch.rows.iter().map(|&row| data.test.row(row) as i64).collect();
        let columns = batch.columns.iter().map(|&source| column(source) as i64).collect();
        (rows, columns, batch.weights)
    }))
}

#[derive(Serialize)]
struct Summary<'a> {
    engine: &'static str,
    sigma: &'a str,
    c: f64,
    label_weight: f64,
    tolerance: Option<f64>,
    rows: Rows,
    seconds: Seconds,
    error_bound: Bound,
    peak_memory_bytes: Option<u64>,
    scores: Vec<Scores<'a>>,
}

#[derive(Serialize)]
struct Rows {
    train: usize,
    test: usize,
    skipped: usize,
}

#[derive(Serialize)]
struct Seconds {
    read: f64,
    plan: f64,
    apply: f64,
    write: f64,
    total: f64,
}

/// Relative to the range of the values.
#[derive(Serialize)]
struct Bound {
    max: f64,
    mean: f64,
}

#[derive(Serialize)]
pub(super) struct Scores<'a> {
    pub(super) prediction: &'a str,
    pub(super) before: Score,
    pub(super) after: Score,
}

impl<'a> Summary<'a> {
    fn new(
        args: &'a Args,
        inputs: &'a Inputs,
        data: &Data,
        choice: Choice,
        smoothed: &[Smoothed],
        seconds: Seconds,
    ) -> Self {
        let train = data.train.as_ref();
        Self {
            engine: choice.engine.name(),
            sigma: &args.kernel.sigma,
            c: args.c,
            label_weight: args.kernel.label_weight,
            tolerance: args.kernel.tolerance(),
            rows: Rows {
                train: train.map_or(0, |table| table.rows),
                test: data.test.rows,
                skipped: data.test.skipped() + train.map_or(0, super::table::Table::skipped),
            },
            seconds,
            error_bound: bound(smoothed),
            peak_memory_bytes: machine::peak_memory(),
            scores: scores(&inputs.predictions, data, smoothed),
        }
    }

    fn for_people(&self, choice: Choice, output: &Path) -> String {
        let mut text = Lines::default();
        let labelled =
            if self.rows.train > 0 { format!(", {} labelled", number(self.rows.train)) } else { String::new() };
        let skipped =
            if self.rows.skipped > 0 { format!(", {} skipped", number(self.rows.skipped)) } else { String::new() };
        text.line("rows", &format!("{} to predict{labelled}{skipped}", number(self.rows.test)));
        text.line("engine", &format!("{} ({})", self.engine, choice.reason));
        text.line("sigma", &format!("{}, c {}, label weight {}", self.sigma, self.c, self.label_weight));
        let wanted = self.tolerance.map_or("cut by hand".to_owned(), |tolerance| format!("tolerance {tolerance:e}"));
        text.line("error", &format!("at most {} of the range, proven ({wanted})", share(self.error_bound.max)));
        let Seconds { read, plan, apply, write, total } = self.seconds;
        text.line(
            "seconds",
            &format!("{total:.2} (read {read:.2}, plan {plan:.2}, apply {apply:.2}, write {write:.2})"),
        );
        if let Some(peak) = self.peak_memory_bytes {
            text.line("memory", &format!("{} at the peak", bytes(peak)));
        }
        text.line("output", &output.display().to_string());
        let mut text = text.finish();
        if !self.scores.is_empty() {
            let _ = write!(text, "\n{}", score_table(&self.scores));
        }
        text
    }
}

/// Scores before and after, for people.
pub(super) fn score_table(scores: &[Scores]) -> String {
    let change = |before: f64, after: f64| format!("{} -> {}", short(before), short(after));
    let r2 = |score: &Score| score.r2.unwrap_or(f64::NAN);
    let rows = scores.iter().map(|s| {
        vec![
            s.prediction.to_owned(),
            change(r2(&s.before), r2(&s.after)),
            change(s.before.rmse, s.after.rmse),
            change(s.before.mae, s.after.mae),
        ]
    });
    crate::report::table(&["prediction", "R²", "RMSE", "MAE"], rows)
}

fn bound(smoothed: &[Smoothed]) -> Bound {
    let relative = || smoothed.iter().flat_map(Smoothed::relative_bounds);
    let count = relative().count().max(1) as f64;
    Bound { max: relative().fold(0.0, f64::max), mean: relative().sum::<f64>() / count }
}

/// Scores of each prediction where the test rows have labels.
pub(super) fn scores<'a>(predictions: &'a [String], data: &Data, smoothed: &[Smoothed]) -> Vec<Scores<'a>> {
    let Some(truth) = &data.truth else { return Vec::new() };
    let score = |(k, prediction): (usize, &'a String)| {
        let known = |values: &mut dyn Iterator<Item = Option<f64>>| {
            let pairs: Vec<(f64, f64)> =
                values.zip(truth).filter_map(|(value, &label)| label.is_finite().then_some((value?, label))).collect();
            Score::of(&pairs)
        };
        let before = known(&mut data.test.columns[k].iter().copied().map(Some))?;
        let after = known(&mut smoothed[k].values.iter().copied())?;
        Some(Scores { prediction, before, after })
    };
    predictions.iter().enumerate().filter_map(score).collect()
}
