//! Tuning each method on validation rows and scoring it on holdout rows.

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
    /// The truth.
    pub labels: &'a [f64],
    /// Columns of predictions; training rows need none.
    pub predictions: Vec<&'a [f64]>,
    /// Columns of features for LapRLS; none where it is left out.
    pub features: Vec<&'a [f64]>,
}

/// The methods against each other: labels of the training rows are seen, those of validation and holdout rows only score.
///
/// # Examples
/// ```
/// use geosmooth::baseline::{Contest, Grids, Method, Rows};
/// use geosmooth::{EngineOptions, Measure, Places, Sigma};
///
/// // A field that rises from left to right, and predictions that miss it by turns.
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
    /// The rows that settings are chosen on.
    pub validation: Rows<'a>,
    /// The holdout rows.
    pub test: Rows<'a>,
    /// What to make best.
    pub measure: Measure,
    /// What to try.
    pub grids: Grids,
    /// Which engine computes the sums, and how accurately.
    pub options: EngineOptions,
}

/// How a method fared.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Which method.
    pub method: Method,
    /// The setting that was best on the validation rows; `None` if none converged.
    pub chosen: Option<Setting>,
    /// What it reached on the validation rows.
    pub validation_score: f64,
    /// What it reached on the holdout rows; not a number if it did not converge there.
    pub score: f64,
    /// Seconds for tuning and scoring; for P-ES of HEM those on top of HEM.
    pub seconds: f64,
    /// How many settings were tried.
    pub configurations: usize,
    /// How many of them did not converge, and were not chosen.
    pub unconverged: usize,
    /// The predicted holdout rows; empty if it did not converge.
    pub values: Vec<f64>,
}

impl Contest<'_> {
    /// Runs the methods one after the other.
    ///
    /// # Errors
    /// If columns have the wrong length or values that are not finite, the measure has no meaning for the rows, a value of a
    /// grid is out of range, or σ does not fit the places.
    pub fn run(&self, methods: &[Method], progress: &dyn Progress) -> Result<Vec<Outcome>, Error> {
        self.check()?;
        let steps = |method: &Method| self.settings(*method).chunk_by(same_sigma).count() as u64 + 1;
        progress.start(methods.iter().map(steps).sum());
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

    fn settings(&self, method: Method) -> Vec<Setting> {
        self.grids.settings(method, self.validation.predictions.len())
    }

    fn hem<'c>(&self, known: &'c mut Option<Tuned>, progress: &dyn Progress) -> Result<&'c Tuned, Error> {
        let tuned = match known.take() {
            Some(tuned) => tuned,
            None => self.tuned(Method::Hem, progress)?,
        };
        Ok(known.insert(tuned))
    }

    /// P-ES of what another method predicts.
    fn smoothed(&self, base: &Tuned, progress: &dyn Progress) -> Result<Outcome, Error> {
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

    fn tuned(&self, method: Method, progress: &dyn Progress) -> Result<Tuned, Error> {
        let start = Instant::now();
        let settings = self.settings(method);
        let on_validation = self.problem(&self.validation, self.options.with_tolerance_of_at_least(SEARCH_TOLERANCE));
        let (mut best, mut unconverged): (Option<(f64, Setting, Vec<f64>)>, usize) = (None, 0);
        for settings in settings.chunk_by(same_sigma) {
            let solutions = on_validation.solve(method, settings)?;
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
        Ok(Tuned { outcome, validation_values })
    }

    /// The holdout rows with what was chosen.
    fn holdout(&self, method: Method, chosen: Option<&Setting>) -> Result<Solution, Error> {
        let Some(chosen) = chosen else { return Ok(None) };
        let mut solutions = self.problem(&self.test, self.options).solve(method, std::slice::from_ref(chosen))?;
        Ok(solutions.pop().flatten())
    }

    /// The rows to predict lose their labels here.
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

/// A method after tuning, with the rows that it was tuned on.
struct Tuned {
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
    /// Columns as long as the rows, and finite.
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
