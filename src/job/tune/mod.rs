//! `geosmooth tune`: finds σ, c, the label weight and the correct step on rows whose truth is known.

mod findings;

use std::path::PathBuf;

use self::findings::Findings;
use super::caller::Caller;
use super::data::{Data, Inputs, refuse_same_file};
use super::lists::{items, numbers};
use super::machine::Stopwatch;
use super::options::{DataArgs, RunArgs, Told, missing};
use super::pages::{ReportArgs, ShownRows, Surface};
use super::recipe::AccuracyArgs;
use super::table::Table;
use crate::engine::EngineKind;
use crate::error::Error;
use crate::io::{Complete, Output};
use crate::parameters::Parameters;
use crate::score::Measure;
use crate::space::Sigma;
use crate::tune::{Fold, Trial, Tuner};

/// Finds how to smooth: sigma, c and the label weight that score best on rows whose truth is known.
///
/// The truth of the validation rows only scores: it is never smoothed with. If nothing beats the predictions as they are,
/// c = 0 is chosen and said. Several predictions compete. Without grids, sigma and the label weight are searched
/// continuously, and c follows from them. With --train-prediction the correct step is tried too and kept if it pays.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Rows to score on, with predictions and the truth: a Parquet file, a directory or a quoted glob of them
    #[arg(long, value_name = "FILES", help_heading = "Data")]
    validation: Option<PathBuf>,
    #[command(flatten)]
    data: DataArgs,
    /// Score on the training rows themselves, each with its own label hidden; their predictions must be out of fold. Right
    /// where the rows to predict lie among the training rows
    #[arg(long, conflicts_with_all = ["validation", "folds"], help_heading = "Data")]
    leave_one_out: bool,
    /// Score on the training rows, cut into so many folds of whole blocks; each fold sees the labels of the others only. Right
    /// where the rows to predict lie in other neighbourhoods than the training rows
    #[arg(long, value_name = "N", conflicts_with = "validation", requires = "block", help_heading = "Data")]
    folds: Option<usize>,
    /// Side of the blocks, such as 5km
    #[arg(long, value_name = "LENGTH", requires = "folds", help_heading = "Data")]
    block: Option<String>,
    /// What to make best: r2, rmse, mae, mape or median_error
    #[arg(long, value_name = "NAME", default_value = "r2", help_heading = "Search")]
    metric: String,
    /// Try exactly these sigma, such as 50m,100m,200m; the label weight is then 1 unless given
    #[arg(
        long,
        value_name = "LENGTHS",
        conflicts_with = "sigma_range",
        allow_hyphen_values = true,
        help_heading = "Search"
    )]
    sigma_grid: Option<String>,
    /// Search sigma between two lengths, such as 20m,5km; from the data if left out, in metres for latitude and longitude
    #[arg(long, value_name = "LOW,HIGH", allow_hyphen_values = true, help_heading = "Search")]
    sigma_range: Option<String>,
    /// Try exactly these c, such as 0,0.5,1
    #[arg(long, value_name = "NUMBERS", allow_hyphen_values = true, help_heading = "Search")]
    c_grid: Option<String>,
    /// Try exactly these label weights; one or several separated by commas
    #[arg(long, value_name = "NUMBERS", allow_hyphen_values = true, help_heading = "Search")]
    label_weight: Option<String>,
    /// exact, sparse, fast, or auto for the cheapest
    #[arg(long, default_value = "auto", help_heading = "Search")]
    engine: String,
    #[command(flatten)]
    accuracy: AccuracyArgs,
    /// Where the parameters go, for smooth --params
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,
    #[command(flatten)]
    report: ReportArgs,
    #[command(flatten)]
    pub(crate) running: RunArgs,
}

const EXAMPLES: &str = "\
Examples:
  Two models compete, everything is searched
    geosmooth tune --train sold.parquet --validation check.parquet --label price --prediction xgb,ridge -o tuned.json
    geosmooth smooth --train sold.parquet --test unsold.parquet --params tuned.json -o smoothed.parquet
  With the correct step, which needs out-of-fold predictions on the training rows
    geosmooth tune --train sold.parquet --validation check.parquet --label price --prediction xgb --train-prediction xgb_oof -o tuned.json
  The grids of the paper
    geosmooth tune --train sold.parquet --validation check.parquet --label price --prediction xgb \\
        --sigma-grid 0.0001deg,0.001deg,0.01deg,0.1deg,1deg --c-grid 0,0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1
  Without validation rows: each fold of 5 km blocks is predicted from the others
    geosmooth tune --train sold.parquet --label price --prediction xgb --train-prediction xgb_oof --folds 5 --block 5km -o tuned.json

When is which honest?
  --validation     always, if neither the model nor its settings were chosen on those rows
  --leave-one-out  if the rows to predict lie among the training rows, and predictions are out of fold
  --folds --block  if the rows to predict lie elsewhere; blocks as large as the gap between them and the training rows";

pub(crate) fn run(args: &Args) -> Result<(), Error> {
    args.running.show(|caller| Ok(perform(args, caller)?.told))
}

/// What tuning gave.
#[derive(Debug)]
pub struct Tuning {
    /// The best, all that was tried, and what to know about it.
    pub told: Told,
    /// All that smoothing needs to know.
    pub parameters: Parameters,
    /// The rows that were scored on, before and after, with the best parameters.
    pub rows: ShownRows,
    /// Scores over σ and c with everything else as chosen, where a page or the caller asked for them.
    pub surface: Option<Surface>,
}

pub(crate) fn perform(args: &Args, caller: &Caller) -> Result<Tuning, Error> {
    let watch = Stopwatch::start();
    let (tuner, sigmas) = args.tuner()?;
    let inputs = args.open(caller)?;
    args.explain_untried_correction(caller);
    let memory = args.running.memory_for_engines(inputs.rows(), inputs.predictions.len())?;
    let options = args.accuracy.options(args.engine.parse::<EngineKind>()?, memory)?;
    let output = args.output.as_ref().map(|path| caller.create(path, args.report.overwrite)).transpose()?;
    let report = args.report.prepare(&[("--output", output.as_ref())], caller)?;

    let rows = args.read(&inputs, caller)?;
    if let Rows::Validation(data) = &rows {
        data.warn_of_copies(caller);
    }
    let folds = args.folds(&rows)?;
    let trials = args.trials(&rows, &folds);
    let tuner = tuner.engine_options(options);
    let tuned = tuner.tune(&trials, &*caller.phase("tune"))?;
    let findings = Findings { args, inputs: &inputs, tuned: &tuned, sigmas: &sigmas, measure: args.metric.parse()? };
    for warning in &tuned.warnings {
        caller.warn(&warning.to_string());
    }
    let parameters = findings.parameters(&rows);
    let write = |output: Output| output.write_bytes(parameters.to_json().as_bytes());
    let mut written: Vec<Complete> = output.map(write).transpose()?.into_iter().collect();
    let shown = findings.rows(&trials);
    let mut surface = None;
    if let Some(report) = report {
        let scores = findings.surface(&tuner, &trials)?;
        written.extend(report.write(&findings.page(&scores, &shown)?)?);
        surface = Some(scores);
    } else if caller.surface {
        surface = Some(findings.surface(&tuner, &trials)?);
    }
    Complete::name_all(written)?;
    let summary = findings.summary(&rows, watch.total());
    let told = Told::new(&summary, findings.for_people(&summary));
    Ok(Tuning { told, parameters, rows: shown, surface })
}

/// The rows that are tuned on.
enum Rows {
    Validation(Data),
    /// The training rows stand in for those to predict.
    Training(Table),
}

impl Args {
    /// What to search, and the σ of a grid as they were written.
    fn tuner(&self) -> Result<(Tuner, Vec<(Sigma, String)>), Error> {
        let mut tuner = Tuner::new(self.metric.parse::<Measure>()?);
        let mut written = Vec::new();
        if let Some(list) = &self.sigma_grid {
            for text in items(list) {
                written.push((text.parse::<Sigma>()?, text.to_owned()));
            }
            tuner = tuner.sigma_grid(written.iter().map(|(sigma, _)| *sigma).collect())?;
        }
        if let Some(list) = &self.sigma_range {
            let ends = items(list).map(str::parse::<Sigma>).collect::<Result<Vec<_>, _>>()?;
            let [low, high] = ends[..] else {
                return Err(Error::Contradiction {
                    message: format!("--sigma-range '{list}' is not two lengths"),
                    hint: "write the smallest and the largest, such as 20m,5km".to_owned(),
                });
            };
            tuner = tuner.sigma_range(low, high)?;
        }
        if let Some(list) = &self.c_grid {
            tuner = tuner.c_grid(numbers("--c-grid", list)?)?;
        }
        if let Some(list) = &self.label_weight {
            tuner = tuner.label_weights(numbers("--label-weight", list)?)?;
        }
        Ok((tuner, written))
    }

    fn open(&self, caller: &Caller) -> Result<Inputs, Error> {
        if self.data.label.is_none() {
            return Err(missing("--label", "the column with the truth"));
        }
        if self.label_weight.is_some() && self.data.train.is_none() {
            return Err(missing("--train", "the labelled rows that the label weight is about"));
        }
        let on_training = self.leave_one_out || self.folds.is_some();
        match (&self.validation, &self.data.train) {
            (Some(validation), _) => {
                let inputs = self.data.open(validation, None, caller)?;
                inputs
                    .train
                    .as_ref()
                    .map_or(Ok(()), |train| refuse_same_file(("--train", train), ("--validation", &inputs.test)))?;
                Ok(inputs)
            }
            (None, Some(train)) if on_training => self.data.open(train, None, caller),
            (None, None) if on_training => Err(missing("--train", "the rows to tune on")),
            (None, _) => Err(missing(
                "--validation",
                "rows to score on; or tune on the training rows with --leave-one-out or --folds 5 --block 5km",
            )),
        }
    }

    fn read(&self, inputs: &Inputs, caller: &Caller) -> Result<Rows, Error> {
        if self.validation.is_some() {
            let label = inputs.label.as_deref().unwrap_or_default();
            return self.data.read_with_truth(inputs, label, caller).map(Rows::Validation);
        }
        let out_of_fold =
            if inputs.train_predictions.is_empty() { &inputs.predictions } else { &inputs.train_predictions };
        self.data.read_labelled(inputs, out_of_fold, caller).map(Rows::Training)
    }

    /// The blocked folds, if they were asked for.
    fn folds(&self, rows: &Rows) -> Result<Vec<Fold>, Error> {
        match (rows, self.folds, &self.block) {
            (Rows::Training(table), Some(count), Some(block)) => {
                Fold::blocked(&table.labelled(), count, side(block, table)?)
            }
            _ => Ok(Vec::new()),
        }
    }

    fn trials<'a>(&self, rows: &'a Rows, folds: &'a [Fold]) -> Vec<Trial<'a>> {
        let mut trials: Vec<Trial> = match rows {
            Rows::Validation(data) => vec![Trial {
                targets: &data.test.places,
                predictions: data.predictions(),
                truth: data.truth.as_deref().unwrap_or_default(),
                labelled: data.labelled(),
                hides_own_label: false,
            }],
            Rows::Training(table) if folds.is_empty() => vec![Trial::leave_one_out(table.labelled())],
            Rows::Training(_) => folds.iter().map(Fold::trial).collect(),
        };
        if self.data.train_prediction.is_empty() {
            let labelled = trials.iter_mut().filter_map(|trial| trial.labelled.as_mut());
            labelled.for_each(|labelled| labelled.predictions.clear());
        }
        trials
    }

    /// Says why the correct step is not tried although it could be.
    fn explain_untried_correction(&self, caller: &Caller) {
        if self.data.train_prediction.is_empty() {
            return;
        }
        if self.leave_one_out {
            caller.warn(
                "the correct step is not tried with --leave-one-out: a hidden label would come back through its neighbours; use --folds or --validation",
            );
        } else if self.sigma_grid.is_some() {
            caller.warn("the correct step is not tried with --sigma-grid; leave the grid out to search it");
        }
    }

    /// The way that rows were chosen to score on.
    fn way(&self) -> String {
        match (&self.validation, self.folds, &self.block) {
            (Some(_), ..) => "validation rows".to_owned(),
            (None, Some(folds), Some(block)) => format!("{folds} folds of blocks of {block}"),
            _ => "leave-one-out over the training rows".to_owned(),
        }
    }
}

/// The side of blocks, in a unit that fits the places.
fn side(block: &str, table: &Table) -> Result<Sigma, Error> {
    let side = block.parse::<Sigma>().ok().filter(|side| table.places.metric(*side).is_ok());
    side.ok_or_else(|| Error::Contradiction {
        message: format!("--block '{}' is not a length that fits the places", crate::io::shortened(block, 80)),
        hint: "write 5km or 0.05deg for latitude and longitude, a plain number with --index".to_owned(),
    })
}
