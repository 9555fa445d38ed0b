//! The data of the housing experiments: homes with places, features and prices.

use crate::chance::Chance;
use crate::error::Error;
use crate::points::Places;

/// Homes with their prices.
#[derive(Clone, Debug)]
pub struct Homes {
    /// Where they are.
    pub places: Places,
    /// Their prices, which are to be predicted.
    pub labels: Vec<f64>,
    /// Features for the models: names and columns of numbers.
    pub features: Vec<(String, Vec<f64>)>,
}

impl Homes {
    /// Some of the homes, in the order given.
    pub(super) fn select(&self, rows: &[usize]) -> Self {
        Self {
            places: self.places.select(rows),
            labels: select(&self.labels, rows),
            features: self.features.iter().map(|(name, values)| (name.clone(), select(values, rows))).collect(),
        }
    }

    /// The homes with their coordinates as additional features.
    pub(super) fn with_places_as_features(&self) -> Self {
        let mut homes = self.clone();
        let named = ["latitude", "longitude"].iter().zip(self.places.axes());
        homes.features.extend(named.map(|(name, axis)| ((*name).to_owned(), axis.clone())));
        homes
    }

    /// All features, one column after the other.
    pub(super) fn column_major(&self) -> Vec<f64> {
        self.features.iter().flat_map(|(_, values)| values.iter().copied()).collect()
    }

    /// Draws disjoint sets of training, validation and holdout homes, with this many rows each.
    pub(super) fn draw(&self, rows: usize, chance: &mut Chance) -> Split {
        let mut drawn = chance.sample(self.labels.len(), 3 * rows);
        chance.shuffle(&mut drawn);
        let [train, validation, test] = [0, 1, 2].map(|at| self.select(&drawn[at * rows..(at + 1) * rows]));
        Split { train, validation, test }
    }

    /// Checks that there are enough homes for three sets of this size, and at least one trial.
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

fn select(values: &[f64], rows: &[usize]) -> Vec<f64> {
    rows.iter().map(|&row| values[row]).collect()
}

/// The fewest training rows. Chosen, not measured.
const LEAST: usize = 50;

/// Three sets of homes.
pub(super) struct Split {
    pub(super) train: Homes,
    pub(super) validation: Homes,
    pub(super) test: Homes,
}
