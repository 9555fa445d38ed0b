//! Homes elsewhere: trained and chosen north of a latitude, held out south of it.

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

/// What to run.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Extrapolation {
    /// Homes at or above this latitude train and validate; those below are held out.
    pub latitude: f64,
    /// Homes in each of the three sets.
    pub rows: usize,
    /// Random draws.
    pub trials: usize,
    /// Where chance starts.
    pub seed: u64,
}

/// Boosted trees with one set of features and one way of smoothing.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    /// Whether latitude and longitude are features.
    pub with_location: bool,
    /// What was done to the predictions.
    pub way: Way,
    /// R² on validation rows, which lie among the training rows.
    pub validation: Summary,
    /// R² on holdout rows, which lie elsewhere.
    pub holdout: Summary,
    /// Every trial.
    pub trials: Vec<Chosen>,
}

/// Depths as in the paper.
const DEPTHS: [usize; 2] = [5, 10];
/// Features without and with location, each without and with smoothing.
const LINES: [(bool, Way); 4] =
    [(false, Way::Unsmoothed), (false, Way::WithLabels), (true, Way::Unsmoothed), (true, Way::WithLabels)];

impl Extrapolation {
    /// All trials.
    ///
    /// # Errors
    /// If there are not enough homes on both sides of the latitude.
    pub fn run(&self, homes: &Homes, progress: &dyn Progress) -> Result<Vec<Line>, Error> {
        let latitudes = &homes.places.axes()[0];
        let (north, south): (Vec<usize>, Vec<usize>) =
            (0..homes.labels.len()).partition(|&row| latitudes[row] >= self.latitude);
        self.check(homes, north.len(), south.len())?;
        progress.start(2 * self.trials as u64);
        let located = homes.with_places_as_features();
        let trial = |trial: usize| {
            let mut chance = Chance::new(self.seed.wrapping_mul(0x9E37_79B9).wrapping_add(trial as u64));
            let rows = self.draw(&north, &south, &mut chance);
            let mut chosen = Vec::new();
            for homes in [homes, &located] {
                let split = split(homes, &rows);
                let candidates = model::trees(&split.train, [&split.validation, &split.test], &DEPTHS)?;
                let grid = SmoothingGrid { sigmas: degrees(-4.0, 2.0, 9)?, cs: linspace(0.0, 1.0, 11) };
                chosen.push(grid.choose(Way::Unsmoothed, &candidates, &split)?);
                chosen.push(grid.choose(Way::WithLabels, &candidates, &split)?);
                progress.advance(1);
            }
            Ok(chosen)
        };
        let trials = (0..self.trials).into_par_iter().map(trial).collect::<Result<Vec<Vec<Chosen>>, Error>>()?;
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

    /// Rows to train, to validate and to hold out.
    fn draw(&self, north: &[usize], south: &[usize], chance: &mut Chance) -> [Vec<usize>; 3] {
        let mut above: Vec<usize> = chance.sample(north.len(), 2 * self.rows).into_iter().map(|at| north[at]).collect();
        chance.shuffle(&mut above);
        let below = chance.sample(south.len(), self.rows).into_iter().map(|at| south[at]).collect();
        let validation = above.split_off(self.rows);
        [above, validation, below]
    }
}

fn split(homes: &Homes, [train, validation, test]: &[Vec<usize>; 3]) -> Split {
    Split { train: homes.select(train), validation: homes.select(validation), test: homes.select(test) }
}

fn line(with_location: bool, way: Way, trials: &[Vec<Chosen>], at: usize) -> Line {
    let over = |of: fn(&Chosen) -> f64| Summary::of(&trials.iter().map(|trial| of(&trial[at])).collect::<Vec<_>>());
    Line {
        with_location,
        way,
        validation: over(|chosen| chosen.validation),
        holdout: over(|chosen| chosen.holdout),
        trials: trials.iter().map(|trial| trial[at].clone()).collect(),
    }
}
