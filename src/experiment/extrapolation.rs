//! Extrapolation to another region: models are trained and chosen on homes north of a latitude, and scored south of it.

use rayon::prelude::*;
use serde::Serialize;

use super::choice::{Chosen, SmoothingGrid, Way};
use super::homes::{Homes, Split};
use super::model;
use super::statistics::Summary;
use crate::baseline::{degrees, linspace};
use crate::chance::Chance;
use crate::engine::Progress;
use crate::error::Error;

/// The parameters of the experiment.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Extrapolation {
    /// Homes at or above this latitude train and validate; those below are held out.
    pub latitude: f64,
    /// Homes in each of the three sets.
    pub rows: usize,
    /// Random draws.
    pub trials: usize,
    /// Seed of the random numbers.
    pub seed: u64,
}

/// The result of boosted trees with one set of features and one kind of smoothing.
#[derive(Clone, Debug, Serialize)]
pub struct ExtrapolationResult {
    /// Whether latitude and longitude are features.
    pub with_location: bool,
    /// How the predictions were smoothed.
    pub way: Way,
    /// R² on validation rows, which lie in the same region as the training rows.
    pub validation: Summary,
    /// R² on holdout rows, which lie in the other region.
    pub holdout: Summary,
    /// Every trial.
    pub trials: Vec<Chosen>,
}

/// Depths of the trees, as in the paper.
const DEPTHS: [usize; 2] = [5, 10];
/// Features without and with location, each without and with smoothing.
const LINES: [(bool, Way); 4] =
    [(false, Way::Unsmoothed), (false, Way::WithLabels), (true, Way::Unsmoothed), (true, Way::WithLabels)];

impl Extrapolation {
    /// Runs all trials.
    ///
    /// # Errors
    /// If there are not enough homes on both sides of the latitude.
    pub fn run(&self, homes: &Homes, progress: &dyn Progress) -> Result<Vec<ExtrapolationResult>, Error> {
        let latitudes = &homes.places.axes()[0];
        let (north, south): (Vec<usize>, Vec<usize>) =
            (0..homes.labels.len()).partition(|&row| latitudes[row] >= self.latitude);
        self.check(homes, north.len(), south.len())?;
        progress.start(2 * self.trials as u64);
        let sets = [homes, &homes.with_places_as_features()];
        let trials = (0..self.trials).into_par_iter().map(|trial| {
            let rows = self.draw(&north, &south, &mut Chance::of_trial(self.seed, trial as u64));
            one_trial(sets, &rows, progress)
        });
        let trials = trials.collect::<Result<Vec<Vec<Chosen>>, Error>>()?;
        Ok(LINES.iter().enumerate().map(|(at, &(with_location, way))| line(with_location, way, &trials, at)).collect())
    }

    fn check(&self, homes: &Homes, north: usize, south: usize) -> Result<(), Error> {
        homes.check(self.rows, self.trials)?;
        if 2 * self.rows <= north && self.rows <= south {
            return Ok(());
        }
        let Self { rows, latitude, .. } = self;
        Err(Error::Contradiction {
            message: format!(
                "{north} homes north of {latitude} and {south} south of it do not make two sets and one of {rows}"
            ),
            hint: "give another `latitude`, or fewer `rows`".to_owned(),
        })
    }

    /// Draws training, validation and holdout rows.
    fn draw(&self, north: &[usize], south: &[usize], chance: &mut Chance) -> [Vec<usize>; 3] {
        let mut above: Vec<usize> = chance.sample(north.len(), 2 * self.rows).into_iter().map(|at| north[at]).collect();
        chance.shuffle(&mut above);
        let below = chance.sample(south.len(), self.rows).into_iter().map(|at| south[at]).collect();
        let validation = above.split_off(self.rows);
        [above, validation, below]
    }
}

/// Trains and scores with each set of features, without and with smoothing.
fn one_trial(sets: [&Homes; 2], rows: &[Vec<usize>; 3], progress: &dyn Progress) -> Result<Vec<Chosen>, Error> {
    let mut chosen = Vec::new();
    for homes in sets {
        let split = split(homes, rows);
        let candidates = model::trees(&split.train, [&split.validation, &split.test], &DEPTHS)?;
        let grid = SmoothingGrid { sigmas: degrees(-4.0, 2.0, 9)?, cs: linspace(0.0, 1.0, 11) };
        chosen.push(grid.choose(Way::Unsmoothed, &candidates, &split)?);
        chosen.push(grid.choose(Way::WithLabels, &candidates, &split)?);
        progress.advance(1);
    }
    Ok(chosen)
}

fn split(homes: &Homes, [train, validation, test]: &[Vec<usize>; 3]) -> Split {
    Split { train: homes.select(train), validation: homes.select(validation), test: homes.select(test) }
}

fn line(with_location: bool, way: Way, trials: &[Vec<Chosen>], at: usize) -> ExtrapolationResult {
    ExtrapolationResult {
        with_location,
        way,
        validation: Summary::over(trials, |trial| trial[at].validation),
        holdout: Summary::over(trials, |trial| trial[at].holdout),
        trials: trials.iter().map(|trial| trial[at].clone()).collect(),
    }
}
