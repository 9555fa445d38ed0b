//! `geosmooth smooth`: Parquet in, smoothed Parquet out.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde::Serialize;

mod results;
mod streamed;

use self::results::Bounds;
use self::streamed::{LEAST_MEMORY, Streamed, StreamedRun};
use super::caller::Caller;
use super::data::{Data, Inputs};
use super::machine::{self, Stopwatch};
use super::options::{DataArgs, RunArgs, Told, missing};
use super::pages::{ReportArgs, ShownRows, smooth_page};
use super::recipe::{Correct, KernelArgs, Recipe};
use super::weights::between_rows;
use crate::engine::{Choice, EngineKind};
use crate::error::{Error, bytes};
use crate::finding::Finding;
use crate::io::{Complete, NewColumn, Output};
use crate::report::{Lines, Page, number, share, short};
use crate::score::Score;
use crate::smoother::{Smoothed, SmoothingPlan};

/// Smooths predictions over space, together with known labels.
///
/// Every column of the test rows comes back untouched, and <PREDICTION>_smoothed is added: c times the average around each
/// row plus (1 - c) times its own prediction. The average runs over the predictions of the test rows and the labels of
/// the training rows, weighted by exp(-distance² / 2 sigma²).
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Rows to predict: a Parquet file, a directory or a quoted glob of them
    #[arg(long, value_name = "FILES", help_heading = "Data")]
    test: PathBuf,
    #[command(flatten)]
    data: DataArgs,
    #[command(flatten)]
    kernel: KernelArgs,
    /// How far to go from each prediction (0) to the average around it (1)
    #[arg(long, value_name = "0..1", allow_hyphen_values = true, help_heading = "Smoothing")]
    c: Option<f64>,
    /// exact: all pairs; sparse: a truncated weight matrix; fast: any sigma at near-linear cost; auto: the cheapest
    #[arg(long, default_value = "auto", help_heading = "Smoothing")]
    engine: String,
    /// Where the result goes: a Parquet file, written whole or not at all
    #[arg(long, short, value_name = "FILE", required = true, help_heading = "Output")]
    output: Option<PathBuf>,
    /// Add <PREDICTION>_error_bound, the proven error of each row, and n_effective, the sources behind it
    #[arg(long, help_heading = "Output")]
    certificate: bool,
    /// Write the weight matrix of the sparse engine as Parquet (row, column, weight); columns count the test rows, then the training rows
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    matrix: Option<PathBuf>,
    #[command(flatten)]
    report: ReportArgs,
    #[command(flatten)]
    pub(crate) running: RunArgs,
    /// Folder for rows that memory does not hold, which are then smoothed tile by tile; that of temporary files if left out
    #[arg(long, value_name = "DIR", help_heading = "Running")]
    spill_dir: Option<PathBuf>,
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

pub(crate) fn run(args: &Args) -> Result<(), Error> {
    args.running.show(|caller| Ok(perform(args, caller)?.told))
}

/// What smoothing gave.
#[derive(Debug)]
pub struct Smoothing {
    /// The run: engine, parameters, bounds, seconds, scores.
    pub told: Told,
    /// The columns to add to the rows, in their order.
    pub columns: Vec<NewColumn>,
    /// The rows that took part, before and after, by the first prediction; none where memory did not hold them all.
    pub rows: Option<ShownRows>,
}

pub(crate) fn perform(args: &Args, caller: &Caller) -> Result<Smoothing, Error> {
    let engine: EngineKind = args.engine.parse()?;
    if args.matrix.is_some() && engine != EngineKind::Sparse {
        return Err(Error::Contradiction {
            message: format!("--matrix needs the weight matrix, which --engine {engine} may not keep"),
            hint: "add --engine sparse".to_owned(),
        });
    }
    let recipe = args.kernel.recipe(args.c, &args.data, caller)?;
    let c =
        recipe.c.ok_or_else(|| missing("--c", "how far to go, such as --c 0.6, or --params from geosmooth tune"))?;
    let inputs = args.data.open(&args.test, Some(&recipe), caller)?;
    let held = caller.budget.taken();
    let job = Job { args, recipe: &recipe, c, engine, inputs: &inputs, held, caller };
    match job.at_once() {
        Err(Error::Memory { .. } | Error::MatrixTooLarge { .. }) if job.can_be_streamed() => job.streamed(),
        done => done,
    }
}

/// What is to be smoothed, and how.
struct Job<'a> {
    args: &'a Args,
    recipe: &'a Recipe,
    c: f64,
    engine: EngineKind,
    inputs: &'a Inputs,
    /// Bytes that the metadata of the inputs hold.
    held: u64,
    caller: &'a Caller<'a>,
}

impl Job<'_> {
    /// Smooths all rows at once.
    fn at_once(&self) -> Result<Smoothing, Error> {
        let Self { args, recipe, c, engine, inputs, caller, .. } = *self;
        let mut watch = Stopwatch::start();
        let names = new_names(args, inputs)?;
        let (output, matrix) = args.destinations(inputs, names.len(), caller)?;
        let (test_rows, columns) = (inputs.test.rows(), inputs.predictions.len());
        let memory = args.running.memory_for_smoothers(inputs.rows(), columns * test_rows, names.len() * test_rows)?;
        let memory = self.beside_files(memory, output.as_ref());
        let options = args.kernel.accuracy().options(engine, memory)?;
        let smoother = recipe.smoother(c, options)?;
        let smoother = if args.certificate { smoother.with_room_for_n_effective() } else { smoother };
        smoother.expect(test_rows, inputs.labelled_rows(), inputs.metric(recipe.sigma.parse()?))?;
        let report = args.report.prepare(&[("--output", output.as_ref()), ("--matrix", matrix.as_ref())], caller)?;

        let data = args.data.read(inputs, caller)?;
        let read = watch.lap();
        let labelled = data.train.as_ref().map(|train| &train.places);
        // First, so that what it lays out is gone when the smoother plans.
        let corrected = data.corrected(recipe.correction, &options)?;
        let corrected_after = watch.lap();
        let plan = smoother.plan_with(&data.test.places, labelled, &*caller.phase("plan"))?;
        let planned = watch.lap();
        let smoothed = data.smooth(&plan, corrected.as_deref(), &*caller.phase("apply"))?;
        drop(corrected);
        let n_effective = if args.certificate { Some(plan.n_effective()?) } else { None };
        let applied = corrected_after + watch.lap();
        let writing = caller.phase("write");
        let columns = new_columns(&names, &data, &smoothed, n_effective.as_deref());
        let output = output.map(|output| output.write(&inputs.test, &columns)).transpose()?;
        let matrix = matrix.map(|matrix| write_matrix(matrix, &plan, &data)).transpose()?;
        drop(writing);
        let written = watch.lap();

        let seconds = Seconds { read, plan: planned, apply: applied, write: written, total: watch.total() };
        let summary = Summary::new(args, recipe, inputs, &data, plan.choice(), &smoothed, seconds);
        caller.tell(&summary.findings);
        let told = Told::new(&summary, summary.for_people(plan.choice(), args.output.as_deref()));
        let rows = shown(recipe, inputs, data, &smoothed[0])?;
        let page = report.map(|report| report.write(&summary.page(plan.choice(), &rows)?)).transpose()?;
        Complete::name_all(output.into_iter().chain(matrix).chain(page.into_iter().flatten()).collect())?;
        Ok(Smoothing { told, columns, rows: Some(rows) })
    }

    /// What is left of memory beside the metadata of inputs and output, which are there all the time.
    fn beside_files(&self, memory: u64, output: Option<&Output>) -> u64 {
        memory.saturating_sub(self.held + output.map_or(0, Output::held))
    }

    /// Whether it can be done tile by tile: from files to a file, with nothing that needs all rows together.
    fn can_be_streamed(&self) -> bool {
        let args = self.args;
        let whole = args.matrix.is_some() || args.report.is_wanted() || self.recipe.correction.is_some();
        let files = !self.inputs.test.is_in_memory() && args.output.is_some();
        files && !whole && self.engine != EngineKind::Exact && args.running.memory() >= LEAST_MEMORY
    }

    /// Smooths tile by tile.
    fn streamed(&self) -> Result<Smoothing, Error> {
        let Self { args, recipe, c, engine, inputs, caller, .. } = *self;
        let mut watch = Stopwatch::start();
        let names = new_names(args, inputs)?;
        let (output, _) = args.destinations(inputs, names.len(), caller)?;
        let memory = self.beside_files(args.running.memory(), output.as_ref());
        let options = args.kernel.accuracy().options(engine, memory - memory / 4)?;
        let run = Streamed { args, recipe, inputs, smoother: recipe.smoother(c, options)?, c, memory, caller };
        run.check_folder()?;
        let counted = run.count()?;
        let read = watch.lap();
        let strategy = run.choose(&counted)?;
        let plan = watch.lap();
        let (results, streamed) = run.smooth(&counted, &strategy)?;
        // Before anything has its final name: this reads rows once more.
        let scores = run.scores(&results)?;
        let apply = watch.lap();
        let writing = caller.phase("write");
        let columns: Vec<&str> = names.iter().map(String::as_str).collect();
        let values = |column: usize, rows: std::ops::Range<usize>| results.values(column, rows);
        output.map_or(Ok(()), |output| output.write_from(&inputs.test, &columns, &values)?.name())?;
        drop(writing);
        let seconds = Seconds { read, plan, apply, write: watch.lap(), total: watch.total() };
        let choice = Choice { engine: engine.if_chosen(EngineKind::Fast), reason: strategy.reason() };
        let summary = Summary {
            engine: choice.engine.name(),
            sigma: &recipe.sigma,
            c,
            label_weight: recipe.label_weight,
            correct: None,
            tolerance: args.kernel.accuracy().tolerance(),
            rows: Rows {
                train: inputs.train.as_ref().map_or(0, crate::io::Input::rows),
                test: inputs.test.rows(),
                skipped: counted.skipped,
            },
            streamed: Some(streamed),
            seconds,
            error_bound: results.bounds.into(),
            findings: results.bounds.finding().into_iter().collect(),
            peak_memory_bytes: machine::peak_memory(),
            scores,
        };
        caller.tell(&summary.findings);
        let told = Told::new(&summary, summary.for_people(choice, args.output.as_deref()));
        Ok(Smoothing { told, columns: Vec::new(), rows: None })
    }
}

impl Args {
    /// Where the rows with so many new columns go, and the matrix, checked before the work.
    fn destinations(
        &self,
        inputs: &Inputs,
        columns: usize,
        caller: &Caller,
    ) -> Result<(Option<Output>, Option<Output>), Error> {
        match (&self.output, inputs.test.is_in_memory()) {
            (Some(_), true) => return Err(inputs.test.no_file()),
            (None, false) => return Err(missing("--output", "the Parquet file that the result goes to")),
            _ => {}
        }
        let create = |path: &PathBuf| caller.create(path, self.report.overwrite);
        let rows = |path: &PathBuf| create(path)?.for_rows_of(&inputs.test, columns);
        let (output, matrix) =
            (self.output.as_ref().map(rows).transpose()?, self.matrix.as_ref().map(create).transpose()?);
        match (&output, &matrix) {
            (Some(output), Some(matrix)) if output.destination() == matrix.destination() => Err(Error::Contradiction {
                message: format!("--matrix and --output are the same file, {}", output.destination().display()),
                hint: "give them different names".to_owned(),
            }),
            _ => Ok((output, matrix)),
        }
    }
}

/// The rows that took part, before and after, by the first prediction.
fn shown(recipe: &Recipe, inputs: &Inputs, data: Data, smoothed: &Smoothed) -> Result<ShownRows, Error> {
    let mut columns = data.test.columns;
    Ok(ShownRows {
        places: data.test.places,
        truth: data.truth,
        before: columns.swap_remove(0),
        after: smoothed.values.iter().map(|value| value.unwrap_or(f64::NAN)).collect(),
        prediction: inputs.predictions[0].clone(),
        label: inputs.label.clone().unwrap_or_else(|| "truth".to_owned()),
        sigma: recipe.sigma.parse()?,
    })
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

fn write_matrix(output: Output, plan: &SmoothingPlan, data: &Data) -> Result<Complete, Error> {
    let integers = |rows: Vec<usize>| rows.into_iter().map(|row| row as i64).collect();
    let batches = between_rows(plan, &data.test, data.train.as_ref())?;
    output.write_triplets(batches.map(|batch| (integers(batch.rows), integers(batch.columns), batch.weights)))
}

#[derive(Serialize)]
struct Summary<'a> {
    engine: &'static str,
    sigma: &'a str,
    c: f64,
    label_weight: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    correct: Option<Correct>,
    tolerance: Option<f64>,
    rows: Rows,
    /// Where memory did not hold all rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    streamed: Option<StreamedRun>,
    seconds: Seconds,
    error_bound: Bound,
    peak_memory_bytes: Option<u64>,
    scores: Vec<Scores<'a>>,
    findings: Vec<Finding>,
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

impl From<Bounds> for Bound {
    fn from(bounds: Bounds) -> Self {
        Self { max: bounds.largest, mean: bounds.mean() }
    }
}

#[derive(Serialize)]
pub(super) struct Scores<'a> {
    pub(super) prediction: &'a str,
    pub(super) before: Score,
    pub(super) after: Score,
}

impl<'a> Summary<'a> {
    fn new(
        args: &Args,
        recipe: &'a Recipe,
        inputs: &'a Inputs,
        data: &Data,
        choice: Choice,
        smoothed: &[Smoothed],
        seconds: Seconds,
    ) -> Self {
        let train = data.train.as_ref();
        let mut bounds = Bounds::new(args.kernel.accuracy().tolerance());
        for column in smoothed {
            bounds.add(column);
        }
        Self {
            engine: choice.engine.name(),
            sigma: &recipe.sigma,
            c: recipe.c.unwrap_or_default(),
            label_weight: recipe.label_weight,
            correct: recipe.correction.map(Correct::from),
            tolerance: args.kernel.accuracy().tolerance(),
            rows: Rows {
                train: train.map_or(0, |table| table.rows),
                test: data.test.rows,
                skipped: data.test.skipped() + train.map_or(0, super::table::Table::skipped),
            },
            streamed: None,
            seconds,
            error_bound: bounds.into(),
            findings: bounds.finding().into_iter().collect(),
            peak_memory_bytes: machine::peak_memory(),
            scores: scores(&inputs.predictions, data, smoothed),
        }
    }

    fn for_people(&self, choice: Choice, output: Option<&Path>) -> String {
        let mut text = Lines::default();
        for (name, line) in self.lines(choice) {
            text.line(name, &line);
        }
        if let Some(output) = output {
            text.line("output", &output.display().to_string());
        }
        let mut text = text.finish();
        if !self.scores.is_empty() {
            let _ = write!(text, "\n{}", score_table(&self.scores));
        }
        text
    }

    /// The run in a few lines.
    fn lines(&self, choice: Choice) -> Vec<(&'static str, String)> {
        let part = |count: usize, what: &str| {
            if count > 0 { format!(", {} {what}", number(count)) } else { String::new() }
        };
        let Rows { train, test, skipped } = self.rows;
        let mut lines = vec![
            ("rows", format!("{} to predict{}{}", number(test), part(train, "labelled"), part(skipped, "skipped"))),
            ("engine", format!("{} ({})", self.engine, choice.reason)),
            ("sigma", format!("{}, c {}, label weight {}", self.sigma, self.c, self.label_weight)),
        ];
        if let Some(Correct { sigma, shrink }) = &self.correct {
            lines.push(("correct", format!("errors of training rows spread first: sigma {sigma}, shrink {shrink}")));
        }
        lines.extend(self.streamed.map(|run| ("on disk", run.for_people())));
        let wanted = self.tolerance.map_or("cut by hand".to_owned(), |tolerance| format!("tolerance {tolerance:e}"));
        lines.push(("error", format!("at most {} of the range, proven ({wanted})", share(self.error_bound.max))));
        let Seconds { read, plan, apply, write, total } = self.seconds;
        let phases = format!("read {read:.2}, plan {plan:.2}, apply {apply:.2}, write {write:.2}");
        lines.push(("seconds", format!("{total:.2} ({phases})")));
        lines.extend(self.peak_memory_bytes.map(|peak| ("memory", format!("{} at the peak", bytes(peak)))));
        lines
    }

    /// The run as a page, with the rows of the first prediction.
    fn page(&self, choice: Choice, rows: &ShownRows) -> Result<Page, Error> {
        let prediction = &rows.prediction;
        let r2 = |score: &Score| short(score.r2.unwrap_or(f64::NAN));
        let lead = match self.scores.first() {
            Some(scores) => {
                format!("Smoothing takes the R² of {prediction} from {} to {}.", r2(&scores.before), r2(&scores.after))
            }
            None => format!(
                "{} rows smoothed, each within {} of the range.",
                number(self.rows.test),
                share(self.error_bound.max)
            ),
        };
        let scores: Vec<_> = self.scores.iter().map(|s| (s.prediction, s.before, s.after)).collect();
        smooth_page(lead, &self.lines(choice), &scores, rows)
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
            change(s.before.mape.unwrap_or(f64::NAN), s.after.mape.unwrap_or(f64::NAN)),
            change(s.before.median_error, s.after.median_error),
        ]
    });
    crate::report::table(&["prediction", "R²", "RMSE", "MAE", "MAPE", "median error"], rows)
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
