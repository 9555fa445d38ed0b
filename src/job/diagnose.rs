//! Whether smoothing can help, why, and what it leaves behind.

use std::fmt;

use serde::Serialize;

use super::bandwidth::Bandwidth;
use super::caller::{Caller, Listener};
use super::data::Data;
use super::dataset::Dataset;
use super::inputs::refuse_same_file;
use super::options::{DataOptions, KernelOptions, ReportOptions, RunOptions};
use super::pages::{ShownRows, diagnose_page};
use super::recipe::Recipe;
use super::table::Table;
use crate::diagnose::{Diagnosis, EffectiveSources, Findings};
use crate::engine::EngineKind;
use crate::error::Error;
use crate::io::Complete;
use crate::report::{Lines, number, short};
use crate::tune::Trial;

/// A request to say whether smoothing can help a prediction.
#[derive(Clone, Debug)]
pub struct Diagnose {
    /// Rows with predictions and the truth.
    pub validation: Dataset,
    /// Labelled rows and columns.
    pub data: DataOptions,
    /// What to smooth with.
    pub kernel: KernelOptions,
    /// Mixing weight: 0 keeps each prediction, 1 replaces it by the average around it; the best if left out.
    pub c: Option<f64>,
    /// How to sum.
    pub engine: EngineKind,
    /// Pages of results, and whether outputs may be replaced.
    pub report: ReportOptions,
    /// How to run.
    pub running: RunOptions,
}

impl Diagnose {
    /// A request with the defaults of all options.
    #[must_use]
    pub fn new(validation: impl Into<Dataset>) -> Self {
        Self {
            validation: validation.into(),
            data: DataOptions::default(),
            kernel: KernelOptions::default(),
            c: None,
            engine: EngineKind::Auto,
            report: ReportOptions::default(),
            running: RunOptions::default(),
        }
    }
}

/// What the diagnosis gave.
#[derive(Clone, Debug)]
pub struct Diagnosed {
    /// The figures and what they mean.
    pub summary: DiagnosisSummary,
    /// The rows that took part, before and after.
    pub rows: ShownRows,
}

/// Says whether smoothing can help a prediction, why, and what it leaves behind.
///
/// # Errors
/// If options contradict each other, an input cannot be used, or memory does not suffice.
pub fn diagnose(request: &Diagnose, listener: &dyn Listener) -> Result<Diagnosed, Error> {
    Caller::work(&request.running, listener, |caller| perform(request, caller))
}

fn perform(request: &Diagnose, caller: &Caller) -> Result<Diagnosed, Error> {
    let recipe = request.kernel.recipe(request.c, &request.data, caller)?;
    let inputs = request.data.open(&request.validation, Some(&recipe), caller)?;
    let label = inputs.label.clone().or_else(|| recipe.parameters.as_ref().map(|file| file.label.clone()));
    let label = label.ok_or_else(|| Error::missing("label", "the column with the truth"))?;
    let [prediction] = inputs.predictions.as_slice() else {
        return Err(Error::Contradiction {
            message: format!("{} predictions to diagnose", inputs.predictions.len()),
            hint: "name one with `prediction`".to_owned(),
        });
    };
    let memory = request.running.memory_for_engines(inputs.rows(), 1)?;
    let options = request.kernel.truncation.options(request.engine, memory)?;
    let report = request.report.prepare(&[], caller)?;
    if let Some(train) = &inputs.train {
        refuse_same_file(("train", train), ("validation", &inputs.test))?;
    }
    let data = request.data.read_with_truth(&inputs, &label, caller)?;
    data.warn_of_copies(caller);
    let diagnosis = Diagnosis {
        sigma: recipe.sigma.sigma(),
        c: recipe.c,
        label_weight: recipe.label_weight,
        correction: recipe.correction,
        options,
    };
    let findings = examine(&diagnosis, &data, caller)?;
    let subject = Subject::new(prediction, &recipe, &data);
    let sentences = sentences(&findings);
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
    if let Some(report) = report {
        Complete::name_all(report.write(&diagnose_page(&findings, &sentences, &rows))?)?;
    }
    Ok(Diagnosed { summary: DiagnosisSummary { findings, sentences, subject }, rows })
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

/// The figures of a diagnosis. It serializes to what `--json` prints and displays as a few lines for people.
#[derive(Clone, Debug, Serialize)]
pub struct DiagnosisSummary {
    /// The figures.
    #[serde(flatten)]
    pub findings: Findings,
    /// What the figures mean.
    #[serde(skip)]
    pub sentences: Vec<String>,
    #[serde(skip)]
    subject: Subject,
}

/// What was diagnosed.
#[derive(Clone, Debug)]
struct Subject {
    prediction: String,
    sigma: Bandwidth,
    label_weight: f64,
    is_corrected: bool,
    rows: usize,
    labelled: Option<usize>,
    skipped: usize,
}

impl Subject {
    fn new(prediction: &str, recipe: &Recipe, data: &Data) -> Self {
        let train = data.train.as_ref();
        Self {
            prediction: prediction.to_owned(),
            sigma: recipe.sigma.clone(),
            label_weight: recipe.label_weight,
            is_corrected: recipe.correction.is_some(),
            rows: data.test.rows,
            labelled: train.map(|train| train.rows),
            skipped: data.test.skipped() + train.map_or(0, Table::skipped),
        }
    }
}

impl fmt::Display for DiagnosisSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Subject { prediction, sigma, label_weight, is_corrected, rows, labelled, skipped } = &self.subject;
        let findings = &self.findings;
        let EffectiveSources { min, median, max } = EffectiveSources::of(&findings.n_effective);
        let labelled = labelled.map_or(String::new(), |count| format!(", {} labelled", number(count)));
        let skipped = if *skipped > 0 { format!(", {} skipped", number(*skipped)) } else { String::new() };
        let mut text = Lines::default();
        text.line("rows", &format!("{}{labelled}{skipped}", number(*rows)));
        text.line("prediction", &format!("{prediction}, sigma {sigma}, label weight {label_weight}"));
        text.line("gamma", &format!("{}, the share of the errors that averaging keeps", short(findings.gamma)));
        text.line("beta", &format!("{}, the errors against what averaging does to the truth", short(findings.beta)));
        text.line("c", &format!("{} (the best is {})", short(findings.c), short(findings.c_star)));
        if *is_corrected {
            let corrected = from_to(findings.mse_before, findings.mse_corrected);
            text.line("corrected", &format!("MSE {corrected} before smoothing"));
        }
        text.line("MSE", &from_to(findings.mse_before, findings.mse_after));
        text.line("Moran's I", &from_to(findings.moran_before, findings.moran_after));
        text.line(
            "sources",
            &format!("{} behind the median row, from {} to {}", short(median), short(min), short(max)),
        );
        text.line("isolated", &format!("{} rows", number(findings.isolated_rows)));
        write!(f, "{}\n{}\n", text.finish(), self.sentences.join("\n"))
    }
}

fn from_to(before: f64, after: f64) -> String {
    format!("{} -> {}", short(before), short(after))
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
            "The correct step alone makes the mean squared error {change}; gamma, beta and c refer to the corrected predictions."
        ));
    }
    let change_by_c = change(findings.mse_corrected, findings.mse_after);
    let hint = if findings.mse_after > findings.mse_corrected { ": use a smaller c" } else { "" };
    sentences.push(format!("With c = {} the mean squared error becomes {change_by_c}{hint}.", short(findings.c)));
    sentences.push(correlation(findings.moran_before, findings.moran_after));
    let share = 100.0 * findings.isolated_rows as f64 / findings.n_effective.len().max(1) as f64;
    if share >= 1.0 {
        sentences.push(format!(
            "{share:.0} % of the rows have almost no neighbours at this sigma: smoothing hardly changes them."
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
        (true, true) => "Errors of neighbours are still correlated after smoothing: other parameters (geosmooth tune) or location among the model's features may gain more.".to_owned(),
        (true, false) => "Errors of neighbours were correlated before, and hardly are after: smoothing has used what location has to offer.".to_owned(),
        (false, true) => "Errors of neighbours are correlated only after smoothing: it adds errors of its own, and a smaller sigma or c may be better.".to_owned(),
        (false, false) => "Errors of neighbours are hardly correlated: location has little to offer.".to_owned(),
    }
}
