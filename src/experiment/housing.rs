//! House prices: models with and without smoothing over several random trials, and every method of the paper's comparison.

use rayon::prelude::*;
use serde::Serialize;

use super::choice::{Chosen, SmoothingGrid, Way};
use super::homes::{Homes, Split};
use super::model::{Candidate, Model};
use super::statistics::{Summary, paired_t_test};
use crate::baseline::{Contest, Grids, Method, Outcome, Rows};
use crate::chance::Chance;
use crate::engine::{EngineOptions, Progress};
use crate::error::Error;
use crate::score::Measure;

/// What to run.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Housing {
    /// Homes in each of the three sets.
    pub rows: usize,
    /// Random draws.
    pub trials: usize,
    /// Where chance starts.
    pub seed: u64,
}

/// A model in one trial.
#[derive(Clone, Debug, Serialize)]
pub struct TrialScores {
    /// As it is.
    pub unsmoothed: Chosen,
    /// P-ES over the predictions alone.
    pub predictions_only: Chosen,
    /// P-ES over the predictions and the training labels.
    pub with_labels: Chosen,
}

/// A model over all trials.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    /// The model.
    pub model: Model,
    /// R² on holdout rows.
    pub ways: Vec<WayScores>,
    /// Every trial.
    pub trials: Vec<TrialScores>,
}

/// Holdout scores of one way over all trials.
#[derive(Clone, Debug, Serialize)]
pub struct WayScores {
    /// What was done to the predictions.
    pub way: Way,
    /// R².
    pub score: Summary,
    /// How much more R² than unsmoothed.
    pub gain: Summary,
    /// The p-value of that gain by the paired t-test; nothing for a single trial, and for doing nothing.
    pub p_value: Option<f64>,
}

impl TrialScores {
    fn of(&self, way: Way) -> &Chosen {
        match way {
            Way::Unsmoothed => &self.unsmoothed,
            Way::PredictionsOnly => &self.predictions_only,
            Way::WithLabels => &self.with_labels,
        }
    }
}

impl Housing {
    /// Every model in every trial.
    ///
    /// # Errors
    /// If there are not enough homes.
    pub fn run(&self, homes: &Homes, progress: &dyn Progress) -> Result<Vec<Line>, Error> {
        homes.check(self.rows, self.trials)?;
        progress.start((self.trials * Model::ALL.len()) as u64);
        let jobs: Vec<(Model, usize)> =
            Model::ALL.into_iter().flat_map(|model| (0..self.trials).map(move |trial| (model, trial))).collect();
        let run = |&(model, trial): &(Model, usize)| {
            let (split, candidates) = self.trained(homes, model, trial)?;
            let grid = smoothing_grid()?;
            let choose = |way| grid.choose(way, &candidates, &split);
            let scores = TrialScores {
                unsmoothed: choose(Way::Unsmoothed)?,
                predictions_only: choose(Way::PredictionsOnly)?,
                with_labels: choose(Way::WithLabels)?,
            };
            progress.advance(1);
            Ok(scores)
        };
        let scores = jobs.par_iter().map(run).collect::<Result<Vec<TrialScores>, Error>>()?;
        let models = Model::ALL.into_iter().zip(scores.chunks(self.trials));
        Ok(models.map(|(model, trials)| line(model, trials)).collect())
    }

    /// All methods of the paper's comparison on the splits of the first trials, with the predictions of trees.
    ///
    /// # Errors
    /// If there are not enough homes.
    pub fn compare(&self, homes: &Homes, trials: usize, progress: &dyn Progress) -> Result<Vec<Vec<Outcome>>, Error> {
        homes.check(self.rows, self.trials)?;
        progress.start(trials as u64);
        let run = |trial: usize| {
            let (Split { train, validation, test }, candidates) = self.trained(homes, Model::Trees, trial)?;
            let contest = Contest {
                train: rows(&train, Vec::new()),
                validation: rows(
                    &validation,
                    candidates.iter().map(|candidate| candidate.validation.as_slice()).collect(),
                ),
                test: rows(&test, candidates.iter().map(|candidate| candidate.test.as_slice()).collect()),
                measure: Measure::R2,
                grids: Grids::paper()?,
                options: EngineOptions::default(),
            };
            let outcomes = contest.run(&Method::ALL, &())?;
            progress.advance(1);
            Ok(outcomes)
        };
        (0..trials.min(self.trials)).map(run).collect()
    }

    fn trained(&self, homes: &Homes, model: Model, trial: usize) -> Result<(Split, Vec<Candidate>), Error> {
        let seed = self.seed.wrapping_mul(0x9E37_79B9).wrapping_add(trial as u64);
        let split = homes.draw(self.rows, &mut Chance::new(seed));
        let candidates = model.candidates(&split.train, [&split.validation, &split.test], seed)?;
        Ok((split, candidates))
    }
}

/// The paper's σ and c.
fn smoothing_grid() -> Result<SmoothingGrid, Error> {
    let Grids { sigmas, c, .. } = Grids::paper()?;
    Ok(SmoothingGrid { sigmas, cs: c })
}

fn rows<'a>(homes: &'a Homes, predictions: Vec<&'a [f64]>) -> Rows<'a> {
    let features = homes.features.iter().map(|(_, values)| values.as_slice()).collect();
    Rows { places: &homes.places, labels: &homes.labels, predictions, features }
}

fn line(model: Model, trials: &[TrialScores]) -> Line {
    let scores = |way: Way| trials.iter().map(|trial| trial.of(way).holdout).collect::<Vec<f64>>();
    let before = scores(Way::Unsmoothed);
    let of = |way: Way| {
        let after = scores(way);
        let gains: Vec<f64> = before.iter().zip(&after).map(|(before, after)| after - before).collect();
        let p_value = (way != Way::Unsmoothed).then(|| paired_t_test(&before, &after)).flatten();
        WayScores { way, score: Summary::of(&after), gain: Summary::of(&gains), p_value }
    };
    Line { model, ways: Way::ALL.map(of).to_vec(), trials: trials.to_vec() }
}
