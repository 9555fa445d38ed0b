//! [`Contest`]: tunes each method on validation rows and scores it on holdout rows.

use std::time::Instant;

use super::{Grids, Method, Problem, Setting, Solution};
use crate::engine::{EngineOptions, Progress};
use crate::error::Error;
use crate::points::Places;
use crate::score::Measure;
use crate::tune::{SEARCH_TOLERANCE, check_scorable, too_few};

/// Rows whose truth is known.
#[derive(Clone, Debug)]
pub struct Rows<'a> {
    /// Where they are.
    pub places: &'a Places,
    /// Their true values.
    pub labels: &'a [f64],
    /// Columns of predictions; training rows need none.
    pub predictions: Vec<&'a [f64]>,
    /// Columns of features for LapRLS; other methods need none.
    pub features: Vec<&'a [f64]>,
}

/// A comparison of methods. Labels of the training rows are seen; those of validation and holdout rows are used only for
/// scoring.
///
/// # Examples
/// ```
/// use geosmooth::baseline::{Contest, Grids, Method, Rows};
/// use geosmooth::{EngineOptions, Measure, Places, Sigma};
///
/// // A field that rises from left to right, and predictions that are too high and too low by turns.
/// let line = |from: f64| (0..50).map(|x| from + f64::from(x)).collect::<Vec<f64>>();
/// let missed = |truth: &[f64]| truth.iter().enumerate().map(|(row, y)| y + [3.0, -3.0][row % 2]).collect::<Vec<f64>>();
/// let places = [0.0, 0.3, 0.6].map(|from| Places::index(vec![line(from)]).unwrap());
/// let truth = [100.0, 100.3, 100.6].map(line);
/// let predictions = truth.each_ref().map(|truth| missed(truth));
/// let rows = |k: usize| Rows { places: &places[k], labels: &truth[k], predictions: vec![&predictions[k]], features: vec![] };
///
/// let contest = Contest {
///     train: rows(0),
///     validation: rows(1),
///     test: rows(2),
///     measure: Measure::Rmse,
///     grids: Grids::paper()?.with_sigmas(&[Sigma::index(0.5)?, Sigma::index(2.0)?]),
///     options: EngineOptions::default(),
/// };
/// let outcomes = contest.run(&[Method::Unsmoothed, Method::Pes, Method::Hem], &())?;
/// assert!(outcomes[1].score < outcomes[0].score && outcomes[2].score < outcomes[0].score);
/// # Ok::<(), geosmooth::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Contest<'a> {
    /// The labelled rows.
    pub train: Rows<'a>,
    /// The rows for choosing settings.
    pub validation: Rows<'a>,
    /// The holdout rows.
    pub test: Rows<'a>,
    /// The measure that settings are chosen by.
    pub measure: Measure,
    /// The settings to try.
    pub grids: Grids,
    /// Engine, accuracy and memory limit.
    pub options: EngineOptions,
}

/// The result of a method.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The method.
    pub method: Method,
    /// The best setting on the validation rows; `None` if none converged.
    pub chosen: Option<Setting>,
    /// Its score on the validation rows.
    pub validation_score: f64,
    /// Its score on the holdout rows; NaN if it did not converge there.
    pub score: f64,
    /// Seconds for tuning and scoring; for P-ES on HEM without those of HEM itself.
    pub seconds: f64,
    /// Number of settings tried.
    pub configurations: usize,
    /// Number of settings that did not converge and were not considered.
    pub unconverged: usize,
    /// The predicted holdout rows; empty if it did not converge.
    pub values: Vec<f64>,
}

impl Contest<'_> {
    /// Runs the methods one after the other.
    ///
    /// # Errors
    /// If columns have the wrong length or values that are not finite, the measure is not defined for the rows, a value of a
    /// grid is out of range, or σ does not fit the places.
    pub fn run(&self, methods: &[Method], progress: &dyn Progress) -> Result<Vec<Outcome>, Error> {
        self.check()?;
        progress.start(methods.iter().map(|method| self.steps(*method)).sum());
        let mut hem = None;
        let mut outcomes = Vec::new();
        for &method in methods {
            let outcome = match method {
                Method::Hem => self.hem(&mut hem, progress)?.outcome.clone(),
                Method::HemPes => self.smoothed(self.hem(&mut hem, &())?, progress)?,
                _ => self.tuned(method, progress)?.outcome,
            };
            outcomes.push(outcome);
        }
        Ok(outcomes)
    }

    /// Steps of progress: one for each σ, and one for the holdout rows.
    fn steps(&self, method: Method) -> u64 {
        self.settings(method).chunk_by(same_sigma).count() as u64 + 1
    }

    fn settings(&self, method: Method) -> Vec<Setting> {
        self.grids.settings(method, self.validation.predictions.len())
    }

    /// HEM after tuning; tuned once and kept in `known` for P-ES on its predictions.
    fn hem<'c>(&self, known: &'c mut Option<TunedMethod>, progress: &dyn Progress) -> Result<&'c TunedMethod, Error> {
        let tuned = match known.take() {
            Some(tuned) => tuned,
            None => self.tuned(Method::Hem, progress)?,
        };
        Ok(known.insert(tuned))
    }

    /// P-ES of the predictions of another method.
    fn smoothed(&self, base: &TunedMethod, progress: &dyn Progress) -> Result<Outcome, Error> {
        let Some(before) = &base.outcome.chosen else {
            return Ok(Outcome { method: Method::HemPes, ..base.outcome.clone() });
        };
        let mut contest = self.clone();
        contest.validation.predictions = vec![&base.validation_values];
        contest.test.predictions = vec![&base.outcome.values];
        let mut outcome = contest.tuned(Method::HemPes, progress)?.outcome;
        if let Some(chosen) = &mut outcome.chosen {
            chosen.before = Some(Box::new(before.clone()));
        }
        Ok(outcome)
    }

    fn tuned(&self, method: Method, progress: &dyn Progress) -> Result<TunedMethod, Error> {
        let start = Instant::now();
        let settings = self.settings(method);
        let (best, unconverged) = self.best_on_validation(method, &settings, progress)?;
        let (validation_score, chosen, validation_values) =
            best.map_or((f64::NAN, None, Vec::new()), |(score, setting, values)| (score, Some(setting), values));
        let values = self.holdout(method, chosen.as_ref())?.unwrap_or_default();
        progress.advance(1);
        let outcome = Outcome {
            method,
            chosen,
            validation_score,
            score: if values.is_empty() { f64::NAN } else { self.score(&values, &self.test) },
            seconds: start.elapsed().as_secs_f64(),
            configurations: settings.len(),
            unconverged,
            values,
        };
        Ok(TunedMethod { outcome, validation_values })
    }

    /// The setting with the best score on the validation rows, and the number of settings that did not converge.
    fn best_on_validation(
        &self,
        method: Method,
        settings: &[Setting],
        progress: &dyn Progress,
    ) -> Result<(Option<ScoredSetting>, usize), Error> {
        let problem = self.problem(&self.validation, self.options.with_tolerance_of_at_least(SEARCH_TOLERANCE));
        let (mut best, mut unconverged): (Option<ScoredSetting>, usize) = (None, 0);
        for settings in settings.chunk_by(same_sigma) {
            let solutions = problem.solve(method, settings)?;
            unconverged += solutions.iter().filter(|solution| solution.is_none()).count();
            for (setting, values) in
                settings.iter().zip(solutions).filter_map(|(setting, values)| Some((setting, values?)))
            {
                let score = self.score(&values, &self.validation);
                if best.as_ref().is_none_or(|(known, ..)| self.measure.gain(*known, score) > 0.0) {
                    best = Some((score, setting.clone(), values));
                }
            }
            progress.advance(1);
        }
        Ok((best, unconverged))
    }

    /// Predicts the holdout rows with the chosen setting.
    fn holdout(&self, method: Method, chosen: Option<&Setting>) -> Result<Solution, Error> {
        let Some(chosen) = chosen else { return Ok(None) };
        let mut solutions = self.problem(&self.test, self.options).solve(method, std::slice::from_ref(chosen))?;
        Ok(solutions.pop().flatten())
    }

    /// The problem that a method sees: the rows to predict come without their labels.
    fn problem<'p>(&'p self, rows: &'p Rows, options: EngineOptions) -> Problem<'p> {
        Problem {
            labelled: self.train.places,
            labels: self.train.labels,
            labelled_features: &self.train.features,
            targets: rows.places,
            predictions: &rows.predictions,
            features: &rows.features,
            options,
        }
    }

    fn score(&self, values: &[f64], rows: &Rows) -> f64 {
        self.measure.of(values.iter().copied().zip(rows.labels.iter().copied())).unwrap_or(f64::NAN)
    }
}

/// A setting with its score and its values on the validation rows.
type ScoredSetting = (f64, Setting, Vec<f64>);

/// A method after tuning, with its predictions of the validation rows.
struct TunedMethod {
    outcome: Outcome,
    validation_values: Vec<f64>,
}

fn same_sigma(left: &Setting, right: &Setting) -> bool {
    left.sigma == right.sigma
}

impl Contest<'_> {
    fn check(&self) -> Result<(), Error> {
        self.grids.check()?;
        for rows in [&self.train, &self.validation, &self.test] {
            rows.check()?;
        }
        if self.train.labels.is_empty() {
            return Err(Error::Contradiction {
                message: "there are no labelled rows to learn from".to_owned(),
                hint: "give rows with labels with `train`".to_owned(),
            });
        }
        if self.validation.labels.len() < 2 {
            return Err(too_few());
        }
        for rows in [&self.validation, &self.test] {
            check_scorable(self.measure, rows.labels, &rows.predictions)?;
            one_for_each_of(self.validation.predictions.len(), rows.predictions.len(), "predictions")?;
            one_for_each_of(self.train.features.len(), rows.features.len(), "features")?;
        }
        check_scorable(Measure::Rmse, self.train.labels, &[])
    }
}

fn one_for_each_of(expected: usize, found: usize, what: &'static str) -> Result<(), Error> {
    if expected == found { Ok(()) } else { Err(Error::Length { what, found, expected }) }
}

impl Rows<'_> {
    /// Checks that columns have one finite value for each row.
    fn check(&self) -> Result<(), Error> {
        let predictions = self.predictions.iter().map(|values| ("prediction", *values));
        let features = self.features.iter().map(|values| ("feature", *values));
        for (what, values) in predictions.chain(features).chain([("label", self.labels)]) {
            if values.len() != self.places.len() {
                return Err(Error::Length { what, found: values.len(), expected: self.places.len() });
            }
            if let Some(row) = values.iter().position(|value| !value.is_finite()) {
                return Err(Error::Value { what, value: values[row], row });
            }
        }
        Ok(())
    }
}
