//! Post-estimation smoothing beside the methods that the paper compares it with.

mod page;
mod standings;

pub use self::standings::{ContestRows, Standing, Standings};
use super::caller::{Caller, Listener};
use super::data::warn_of_copies;
use super::dataset::Dataset;
use super::inputs::{Inputs, refuse_same_file};
use super::machine::Stopwatch;
use super::options::{DataOptions, ReportOptions, RunOptions};
use super::table::Table;
use crate::baseline::{Contest, Grids, Method, Rows};
use crate::engine::{EngineKind, Truncation};
use crate::error::Error;
use crate::io::{Complete, Input};
use crate::score::Measure;
use crate::space::Sigma;

/// A request to compare post-estimation smoothing with other methods.
#[derive(Clone, Debug)]
pub struct Methods {
    /// Rows to score on.
    pub test: Dataset,
    /// Rows to choose settings on.
    pub validation: Dataset,
    /// Labelled rows and columns.
    pub data: DataOptions,
    /// Numeric columns of all rows that LapRLS is linear in; it is left out without.
    pub features: Option<Vec<String>>,
    /// Which methods; all that can run if left out.
    pub methods: Option<Vec<Method>>,
    /// Metric to optimize.
    pub metric: Measure,
    /// Settings to try.
    pub grids: MethodGrids,
    /// How to sum.
    pub engine: EngineKind,
    /// Where the kernel is cut: by a tolerance, or by hand.
    pub truncation: Truncation,
    /// Pages of results, and whether outputs may be replaced.
    pub report: ReportOptions,
    /// How to run.
    pub running: RunOptions,
}

/// Settings to try; those of the paper where nothing is given.
#[derive(Clone, Debug, Default)]
pub struct MethodGrids {
    /// σ of every method.
    pub sigma: Option<Vec<Sigma>>,
    /// c of P-ES.
    pub c: Option<Vec<f64>>,
    /// δ of shrinkage: 0 leaves predictions alone, 1 makes them all the mean.
    pub delta: Option<Vec<f64>>,
    /// η of HEM: how firmly predictions are attached.
    pub eta: Option<Vec<f64>>,
    /// α of LGC: how much neighbours count.
    pub alpha: Option<Vec<f64>>,
    /// Ridge penalty of LapRLS.
    pub ridge: Option<Vec<f64>>,
    /// Laplacian penalty of LapRLS.
    pub laplacian: Option<Vec<f64>>,
    /// Variance of the field of a Gaussian process.
    pub constant: Option<Vec<f64>>,
    /// Variance of the noise of a Gaussian process.
    pub noise: Option<Vec<f64>>,
}

impl Methods {
    /// A request with the defaults of all options.
    #[must_use]
    pub fn new(test: impl Into<Dataset>, validation: impl Into<Dataset>) -> Self {
        Self {
            test: test.into(),
            validation: validation.into(),
            data: DataOptions::default(),
            features: None,
            methods: None,
            metric: Measure::R2,
            grids: MethodGrids::default(),
            engine: EngineKind::Auto,
            truncation: Truncation::default(),
            report: ReportOptions::default(),
            running: RunOptions::default(),
        }
    }
}

/// Tunes each method on the validation rows, whose truth only scores, and scores what was best there on the test rows.
///
/// # Errors
/// If options contradict each other, an input cannot be used, or memory does not suffice.
pub fn methods(request: &Methods, listener: &dyn Listener) -> Result<Standings, Error> {
    Caller::work(&request.running, listener, |caller| request.perform(caller))
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
        let (features, rest) = table.columns[1..].split_at(self.features);
        Rows {
            places: &table.places,
            labels: &table.columns[0],
            features: features.iter().map(Vec::as_slice).collect(),
            predictions: rest[..predictions].iter().map(Vec::as_slice).collect(),
        }
    }

    fn warn_of_copies(&self, caller: &Caller) {
        warn_of_copies(self.train.with_label(), self.validation.with_label(), "validation", caller);
        warn_of_copies(self.train.with_label(), self.test.with_label(), "test", caller);
    }

    fn counts(&self) -> ContestRows {
        let Self { train, validation, test, .. } = self;
        let skipped = train.skipped() + validation.skipped() + test.skipped();
        ContestRows { train: train.rows, validation: validation.rows, test: test.rows, skipped }
    }
}

impl Methods {
    fn perform(&self, caller: &Caller) -> Result<Standings, Error> {
        let watch = Stopwatch::start();
        let methods = self.chosen_methods()?;
        let (inputs, test) = self.open(caller)?;
        let grids = self.grids.beside_the_paper(&inputs)?;
        let features: Vec<&str> = self.features.iter().flatten().map(String::as_str).collect();
        let rows = inputs.rows() + test.rows();
        let memory = self.running.memory_for_engines(rows, inputs.predictions.len() + features.len())?;
        let options = self.truncation.options(self.engine, memory)?;
        let report = self.report.prepare(&[], caller)?;
        let tables = self.read(&inputs, &test, &features, caller)?;
        tables.warn_of_copies(caller);
        let contest = Contest {
            train: tables.rows(&tables.train, 0),
            validation: tables.rows(&tables.validation, inputs.predictions.len()),
            test: tables.rows(&tables.test, inputs.predictions.len()),
            measure: self.metric,
            grids,
            options,
        };
        let outcomes = contest.run(&methods, caller.phase("tune").as_ref())?;
        let mut standings = Standings::new(&outcomes, self.metric, &inputs.predictions, tables.counts(), watch.total());
        if self.methods.is_none() && self.features.is_none() {
            let message = "laprls is left out: it needs columns named with `features`";
            standings.warnings.push(caller.spelled(message));
        }
        for warning in &standings.warnings {
            caller.warn(warning);
        }
        if let Some(report) = report {
            Complete::name_all(report.write(&page::page(&standings, self.metric))?)?;
        }
        Ok(standings)
    }

    fn chosen_methods(&self) -> Result<Vec<Method>, Error> {
        let Some(list) = &self.methods else {
            return Ok(Method::ALL.into_iter().filter(|method| self.can_run(*method)).collect());
        };
        let mut methods: Vec<Method> = Vec::new();
        for method in list {
            if !methods.contains(method) {
                methods.push(*method);
            }
        }
        if methods.is_empty() {
            return Err(Error::missing("methods", "at least one method, such as `methods p-es,hem`"));
        }
        match methods.iter().find(|method| !self.can_run(**method)) {
            None => Ok(methods),
            Some(method) => Err(Error::missing("features", &format!("the numeric columns that {method} is linear in"))),
        }
    }

    fn can_run(&self, method: Method) -> bool {
        self.features.is_some() || !method.uses_features()
    }

    fn open(&self, caller: &Caller) -> Result<(Inputs, Input), Error> {
        if self.data.label.is_none() {
            return Err(Error::missing("label", "the column with the truth"));
        }
        if self.data.train.is_none() {
            return Err(Error::missing("train", "the labelled rows that methods learn from"));
        }
        if !self.data.train_prediction.is_empty() {
            caller.warn(&caller.spelled("`train-prediction` is for the correct step, which no method here takes"));
        }
        let inputs = self.data.open(&self.validation, None, caller)?;
        let test = caller.open(&self.test)?;
        if let Some(train) = &inputs.train {
            refuse_same_file(("train", train), ("validation", &inputs.test))?;
            refuse_same_file(("train", train), ("test", &test))?;
        }
        refuse_same_file(("validation", &inputs.test), ("test", &test))?;
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
            <[Table; 3]>::try_from(tables).map_err(|_| Error::missing("train", "labelled rows"))?;
        Ok(Tables { train, validation, test, features: features.len() })
    }
}

impl MethodGrids {
    /// The settings of the paper, but for those that are given.
    fn beside_the_paper(&self, inputs: &Inputs) -> Result<Grids, Error> {
        let mut grids = Grids::paper()?;
        match &self.sigma {
            Some(sigmas) => grids = grids.with_sigmas(sigmas),
            None if !inputs.places.index.is_empty() => {
                let what = "widths in the unit of the index columns: those of the paper are degrees";
                return Err(Error::missing("sigma-grid", what));
            }
            None => {}
        }
        let lists = [
            (&self.c, &mut grids.c),
            (&self.delta, &mut grids.delta),
            (&self.eta, &mut grids.eta),
            (&self.alpha, &mut grids.alpha),
            (&self.ridge, &mut grids.ridge),
            (&self.laplacian, &mut grids.laplacian),
            (&self.constant, &mut grids.constant),
            (&self.noise, &mut grids.noise),
        ];
        for (given, values) in lists {
            if let Some(given) = given {
                values.clone_from(given);
            }
        }
        Ok(grids)
    }
}
