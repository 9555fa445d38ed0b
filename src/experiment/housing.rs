//! House prices: models with and without smoothing in several random trials, and all methods of the paper's comparison.

use rayon::prelude::*;
use serde::Serialize;

use super::choice::{Chosen, SmoothingGrid, Way};
use super::homes::{Homes, Split};
use super::model::{Candidate, Model};
use super::statistics::{Summary, paired_t_test};
use crate::baseline::{Contest, Grids, Method, Outcome, Rows};
use crate::chance::{Chance, trial_seed};
use crate::engine::{EngineOptions, Progress};
use crate::error::Error;
use crate::score::Measure;

/// The parameters of the experiment.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Housing {
    /// Homes in each of the three sets.
    pub rows: usize,
    /// Random draws.
    pub trials: usize,
    /// Seed of the random numbers.
    pub seed: u64,
}

/// The scores of a model in one trial.
#[derive(Clone, Debug, Serialize)]
pub struct TrialScores {
    /// Without smoothing.
    pub unsmoothed: Chosen,
    /// P-ES over the predictions alone.
    pub predictions_only: Chosen,
    /// P-ES over the predictions and the training labels.
    pub with_labels: Chosen,
}

/// The result of a model over all trials.
#[derive(Clone, Debug, Serialize)]
pub struct HousingResult {
    /// The model.
    pub model: Model,
    /// R² on holdout rows.
    pub ways: Vec<WayScores>,
    /// Every trial.
    pub trials: Vec<TrialScores>,
}

/// Holdout scores of one kind of smoothing over all trials.
#[derive(Clone, Debug, Serialize)]
pub struct WayScores {
    /// How the predictions were smoothed.
    pub way: Way,
    /// R².
    pub score: Summary,
    /// The gain in R² over no smoothing.
    pub gain: Summary,
    /// The p-value of the gain by a paired t-test; `None` for a single trial, and without smoothing.
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
    /// Runs every model in every trial.
    ///
    /// # Errors
    /// If there are not enough homes.
    pub fn run(&self, homes: &Homes, progress: &dyn Progress) -> Result<Vec<HousingResult>, Error> {
        homes.check(self.rows, self.trials)?;
        progress.start((self.trials * Model::ALL.len()) as u64);
        let jobs: Vec<(Model, usize)> =
            Model::ALL.into_iter().flat_map(|model| (0..self.trials).map(move |trial| (model, trial))).collect();
        let scores = jobs.par_iter().map(|&(model, trial)| {
            let scores = self.one_trial(homes, model, trial)?;
            progress.advance(1);
            Ok(scores)
        });
        let scores = scores.collect::<Result<Vec<TrialScores>, Error>>()?;
        let models = Model::ALL.into_iter().zip(scores.chunks(self.trials));
        Ok(models.map(|(model, trials)| line(model, trials)).collect())
    }

    fn one_trial(&self, homes: &Homes, model: Model, trial: usize) -> Result<TrialScores, Error> {
        let (split, candidates) = self.trained(homes, model, trial)?;
        let grid = smoothing_grid()?;
        Ok(TrialScores {
            unsmoothed: grid.choose(Way::Unsmoothed, &candidates, &split)?,
            predictions_only: grid.choose(Way::PredictionsOnly, &candidates, &split)?,
            with_labels: grid.choose(Way::WithLabels, &candidates, &split)?,
        })
    }

    /// Compares all methods of the paper on the splits of the first trials, with the predictions of boosted trees.
    ///
    /// # Errors
    /// If there are not enough homes.
    pub fn compare(&self, homes: &Homes, trials: usize, progress: &dyn Progress) -> Result<Vec<Vec<Outcome>>, Error> {
        homes.check(self.rows, self.trials)?;
        progress.start(trials as u64);
        let mut all = Vec::new();
        for trial in 0..trials.min(self.trials) {
            all.push(self.contest(homes, trial)?);
            progress.advance(1);
        }
        Ok(all)
    }

    fn contest(&self, homes: &Homes, trial: usize) -> Result<Vec<Outcome>, Error> {
        let (Split { train, validation, test }, candidates) = self.trained(homes, Model::Trees, trial)?;
        let (on_validation, on_test) =
            candidates.iter().map(|one| (one.validation.as_slice(), one.test.as_slice())).unzip();
        let contest = Contest {
            train: rows(&train, Vec::new()),
            validation: rows(&validation, on_validation),
            test: rows(&test, on_test),
            measure: Measure::R2,
            grids: Grids::paper()?,
            options: EngineOptions::default(),
        };
        contest.run(&Method::ALL, &())
    }

    /// Draws the homes of a trial and trains a model with all of its settings.
    fn trained(&self, homes: &Homes, model: Model, trial: usize) -> Result<(Split, Vec<Candidate>), Error> {
        let seed = trial_seed(self.seed, trial as u64);
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

fn line(model: Model, trials: &[TrialScores]) -> HousingResult {
    HousingResult { model, ways: Way::ALL.map(|way| way_scores(way, trials)).to_vec(), trials: trials.to_vec() }
}

fn way_scores(way: Way, trials: &[TrialScores]) -> WayScores {
    let before: Vec<f64> = trials.iter().map(|trial| trial.unsmoothed.holdout).collect();
    let after: Vec<f64> = trials.iter().map(|trial| trial.of(way).holdout).collect();
    let gains: Vec<f64> = before.iter().zip(&after).map(|(before, after)| after - before).collect();
    let p_value = (way != Way::Unsmoothed).then(|| paired_t_test(&before, &after)).flatten();
    WayScores { way, score: Summary::of(&after), gain: Summary::of(&gains), p_value }
}
