//! Homes to predict the prices of: where they are, what they are like, and what they were sold for.

use crate::chance::Chance;
use crate::error::Error;
use crate::points::Places;

/// Homes with their prices.
#[derive(Clone, Debug)]
pub struct Homes {
    /// Where they are.
    pub places: Places,
    /// What is to be predicted.
    pub labels: Vec<f64>,
    /// What models see: names and columns of numbers.
    pub features: Vec<(String, Vec<f64>)>,
}

impl Homes {
    /// Some of the homes, in the order given.
    pub(super) fn select(&self, rows: &[usize]) -> Self {
        let pick = |values: &Vec<f64>| rows.iter().map(|&row| values[row]).collect();
        Self {
            places: self.places.select(rows),
            labels: pick(&self.labels),
            features: self.features.iter().map(|(name, values)| (name.clone(), pick(values))).collect(),
        }
    }

    /// With the coordinates as features too.
    pub(super) fn with_places_as_features(&self) -> Self {
        let mut homes = self.clone();
        let named = ["latitude", "longitude"].iter().zip(self.places.axes());
        homes.features.extend(named.map(|(name, axis)| ((*name).to_owned(), axis.clone())));
        homes
    }

    /// All features behind each other.
    pub(super) fn column_major(&self) -> Vec<f64> {
        self.features.iter().flat_map(|(_, values)| values.iter().copied()).collect()
    }

    /// Training, validation and holdout homes: so many each, drawn at random, none in two of them.
    pub(super) fn draw(&self, rows: usize, chance: &mut Chance) -> Split {
        let mut drawn = chance.sample(self.labels.len(), 3 * rows);
        chance.shuffle(&mut drawn);
        let part = |at: usize| self.select(&drawn[at * rows..(at + 1) * rows]);
        Split { train: part(0), validation: part(1), test: part(2) }
    }

    /// Enough homes for three sets of so many, and trials to run.
    pub(super) fn check(&self, rows: usize, trials: usize) -> Result<(), Error> {
        if trials == 0 {
            return Err(Error::Parameter { name: "number of trials", value: "0".to_owned(), expected: "at least 1" });
        }
        if rows < LEAST || 3 * rows > self.labels.len() {
            return Err(Error::Contradiction {
                message: format!("three sets of {rows} homes cannot be drawn from {}", self.labels.len()),
                hint: format!("give `rows` between {LEAST} and a third of the homes"),
            });
        }
        Ok(())
    }
}

/// Fewer training rows than this teach no model anything.
const LEAST: usize = 50;

/// Three sets of homes.
pub(super) struct Split {
    pub(super) train: Homes,
    pub(super) validation: Homes,
    pub(super) test: Homes,
}
