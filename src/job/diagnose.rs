//! `geosmooth diagnose`: whether smoothing can help, why, and what it leaves behind.

use std::path::PathBuf;

use serde::Serialize;

use super::caller::Caller;
use super::data::{Data, refuse_same_file};
use super::options::{DataArgs, RunArgs, Told, missing};
use super::pages::{ReportArgs, ShownRows, diagnose_page};
use super::recipe::{KernelArgs, Recipe};
use super::table::Table;
use crate::diagnose::{Diagnosis, Findings};
use crate::engine::EngineKind;
use crate::error::Error;
use crate::io::Complete;
use crate::report::{Lines, number, short};
use crate::score::median;
use crate::tune::Trial;

/// Says whether smoothing can help a prediction, why, and what it leaves behind.
///
/// On rows whose truth is known: the quantities of the paper's Theorem 1, the best c and what it gains, the spatial
/// correlation of the errors before and after, and how many sources stand behind the averages.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Rows with predictions and the truth: a Parquet file, a directory or a quoted glob of them
    #[arg(long, value_name = "FILES", help_heading = "Data")]
    validation: PathBuf,
    #[command(flatten)]
    data: DataArgs,
    #[command(flatten)]
    kernel: KernelArgs,
    /// How far to go from each prediction (0) to the average around it (1); the best if left out
    #[arg(long, value_name = "0..1", allow_hyphen_values = true, help_heading = "Smoothing")]
    c: Option<f64>,
    /// exact, sparse, fast, or auto for the cheapest
    #[arg(long, default_value = "auto", help_heading = "Smoothing")]
    engine: String,
    #[command(flatten)]
    report: ReportArgs,
    #[command(flatten)]
    pub(crate) running: RunArgs,
}

const EXAMPLES: &str = "\
Examples:
  At a sigma of your own
    geosmooth diagnose --train sold.parquet --validation check.parquet --label price --prediction model --sigma 500m
  With tuned parameters
    geosmooth diagnose --train sold.parquet --validation check.parquet --params tuned.json";

pub(crate) fn run(args: &Args) -> Result<(), Error> {
    args.running.show(|caller| Ok(perform(args, caller)?.told))
}

/// What the diagnosis gave.
#[derive(Debug)]
pub struct Diagnosed {
    /// The figures and what they mean.
    pub told: Told,
    /// What the figures mean, in plain sentences.
    pub sentences: Vec<String>,
    /// Effective number of sources behind the average of each row that took part.
    pub n_effective: Vec<f64>,
    /// The rows that took part, before and after.
    pub rows: ShownRows,
}

pub(crate) fn perform(args: &Args, caller: &Caller) -> Result<Diagnosed, Error> {
    let recipe = args.kernel.recipe(args.c, &args.data, caller)?;
    let inputs = args.data.open(&args.validation, Some(&recipe), caller)?;
    let label = inputs.label.clone().or_else(|| recipe.parameters.as_ref().map(|file| file.label.clone()));
    let label = label.ok_or_else(|| missing("--label", "the column with the truth"))?;
    let [prediction] = inputs.predictions.as_slice() else {
        return Err(Error::Contradiction {
            message: format!("{} predictions to diagnose", inputs.predictions.len()),
            hint: "name one with --prediction".to_owned(),
        });
    };
    let memory = args.running.memory_for_engines(inputs.rows(), 1)?;
    let options = args.kernel.accuracy().options(args.engine.parse::<EngineKind>()?, memory)?;
    let report = args.report.prepare(&[], caller)?;
    inputs
        .train
        .as_ref()
        .map_or(Ok(()), |train| refuse_same_file(("--train", train), ("--validation", &inputs.test)))?;
    let data = args.data.read_with_truth(&inputs, &label, caller)?;
    data.warn_of_copies(caller);
    let diagnosis = Diagnosis {
        sigma: recipe.sigma.parse()?,
        c: recipe.c,
        label_weight: recipe.label_weight,
        correction: recipe.correction,
        options,
    };
    let findings = examine(&diagnosis, &data, caller)?;
    let told = Told::new(&Summary::of(&findings), for_people(&findings, prediction, &recipe, &data));
    let mut columns = data.test.columns;
    let rows = ShownRows {
        places: data.test.places,
        truth: data.truth,
        before: columns.swap_remove(0),
        after: findings.smoothed.clone(),
        prediction: prediction.clone(),
        label,
        sigma: diagnosis.sigma,
    };
    let sentences = sentences(&findings);
    if let Some(report) = report {
        Complete::name_all(report.write(&diagnose_page(&findings, sentences.clone(), &rows))?)?;
    }
    Ok(Diagnosed { told, sentences, n_effective: findings.n_effective, rows })
}

fn examine(diagnosis: &Diagnosis, data: &Data, caller: &Caller) -> Result<Findings, Error> {
    let _examining = caller.phase("sums");
    let truth = data.truth.as_deref().unwrap_or_default();
    if truth.is_empty() {
        return Err(Error::Contradiction {
            message: "no rows to diagnose".to_owned(),
            hint: "give rows with a prediction and the truth".to_owned(),
        });
    }
    let (targets, predictions) = (&data.test.places, data.predictions());
    diagnosis.examine(&Trial { targets, predictions, truth, labelled: data.labelled(), hides_own_label: false })
}

#[derive(Serialize)]
struct Summary {
    gamma: f64,
    beta: f64,
    c_star: f64,
    c: f64,
    mse_before: f64,
    mse_corrected: f64,
    mse_at_c_star: f64,
    mse_after: f64,
    moran_before: f64,
    moran_after: f64,
    n_effective: Effective,
    isolated_rows: usize,
    variogram: Vec<Class>,
}

#[derive(Serialize)]
struct Effective {
    min: f64,
    median: f64,
    max: f64,
}

#[derive(Serialize)]
struct Class {
    distance: f64,
    pairs: u64,
    before: f64,
    after: f64,
}

impl Summary {
    fn of(findings: &Findings) -> Self {
        Self {
            gamma: findings.gamma,
            beta: findings.beta,
            c_star: findings.c_star,
            c: findings.c,
            mse_before: findings.mse_before,
            mse_corrected: findings.mse_corrected,
            mse_at_c_star: findings.mse_at_c_star,
            mse_after: findings.mse_after,
            moran_before: findings.moran_before,
            moran_after: findings.moran_after,
            n_effective: Effective::of(&findings.n_effective),
            isolated_rows: findings.isolated_rows,
            variogram: findings
                .variogram
                .iter()
                .map(|lag| Class { distance: lag.distance, pairs: lag.pairs, before: lag.before, after: lag.after })
                .collect(),
        }
    }
}

impl Effective {
    fn of(values: &[f64]) -> Self {
        Self {
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            median: median(values.to_vec()).unwrap_or(0.0),
            max: values.iter().copied().fold(0.0, f64::max),
        }
    }
}

fn for_people(findings: &Findings, prediction: &str, recipe: &Recipe, data: &Data) -> String {
    let mut text = Lines::default();
    let labelled = data.train.as_ref().map_or(String::new(), |train| format!(", {} labelled", number(train.rows)));
    let skipped = data.test.skipped() + data.train.as_ref().map_or(0, Table::skipped);
    let skipped = if skipped > 0 { format!(", {} skipped", number(skipped)) } else { String::new() };
    text.line("rows", &format!("{}{labelled}{skipped}", number(data.test.rows)));
    text.line("prediction", &format!("{prediction}, sigma {}, label weight {}", recipe.sigma, recipe.label_weight));
    text.line("gamma", &format!("{}, the share of the errors that averaging keeps", short(findings.gamma)));
    text.line("beta", &format!("{}, the errors against what averaging does to the truth", short(findings.beta)));
    text.line("c", &format!("{} (the best is {})", short(findings.c), short(findings.c_star)));
    let change = |before: f64, after: f64| format!("{} -> {}", short(before), short(after));
    if recipe.correction.is_some() {
        text.line(
            "corrected",
            &format!("MSE {} before smoothing", change(findings.mse_before, findings.mse_corrected)),
        );
    }
    text.line("MSE", &change(findings.mse_before, findings.mse_after));
    text.line("Moran's I", &change(findings.moran_before, findings.moran_after));
    let Effective { min, median, max } = Effective::of(&findings.n_effective);
    text.line("sources", &format!("{} behind the median row, from {} to {}", short(median), short(min), short(max)));
    text.line("isolated", &format!("{} rows", number(findings.isolated_rows)));
    let sentences = sentences(findings);
    text.finish() + "\n" + &sentences.join("\n") + "\n"
}

/// What the figures mean, in plain sentences.
fn sentences(findings: &Findings) -> Vec<String> {
    if findings.mse_before == 0.0 {
        return vec!["The predictions have no errors: there is nothing to smooth.".to_owned()];
    }
    let sum = findings.gamma + findings.beta;
    let verdict = if findings.can_help() {
        format!("Smoothing can help: gamma + beta is {}, below 1 (Theorem 1).", short(sum))
    } else {
        format!("Smoothing cannot help at this sigma: gamma + beta is {}, not below 1 (Theorem 1).", short(sum))
    };
    let mut sentences = vec![verdict];
    if findings.mse_corrected != findings.mse_before {
        let change = change(findings.mse_before, findings.mse_corrected);
        sentences.push(format!(
            "Correcting alone makes the mean squared error {change}; gamma, beta and c are of what it leaves."
        ));
    }
    let change_by_c = change(findings.mse_corrected, findings.mse_after);
    let hint = if findings.mse_after > findings.mse_corrected { ": use a smaller c" } else { "" };
    sentences.push(format!("With c = {} the mean squared error becomes {change_by_c}{hint}.", short(findings.c)));
    sentences.push(correlation(findings.moran_before, findings.moran_after));
    let share = 100.0 * findings.isolated_rows as f64 / findings.n_effective.len().max(1) as f64;
    if share >= 1.0 {
        sentences.push(format!(
            "{share:.0} % of the rows have next to nothing around them at this sigma, so that smoothing leaves them as they are."
        ));
    }
    sentences
}

/// How much larger or smaller, in words.
fn change(before: f64, after: f64) -> String {
    let percent = 100.0 * (after / before - 1.0);
    format!("{:.1} % {}", percent.abs(), if percent > 0.0 { "larger" } else { "smaller" })
}

fn correlation(before: f64, after: f64) -> String {
    // Errors that differ from chance by less than this are not worth smoothing further.
    const LITTLE: f64 = 0.05;
    match (before > LITTLE, after > LITTLE) {
        (true, true) => "Neighbours still err alike after smoothing: other parameters (geosmooth tune) or location among the model's features may gain more.".to_owned(),
        (true, false) => "Neighbours erred alike before and hardly do after: smoothing has taken what space had to give.".to_owned(),
        (false, true) => "Neighbours err alike only after smoothing: it adds errors of its own, so that a smaller sigma or c may be better.".to_owned(),
        (false, false) => "Neighbours hardly err alike: there is little in space to gain from.".to_owned(),
    }
}
