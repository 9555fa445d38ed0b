//! The models whose predictions are smoothed. They are small, and trained in every trial with every setting of the paper.

mod features;
mod ridge;
mod trees;

use serde::Serialize;

use super::homes::Homes;
use crate::error::Error;

/// A kind of model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Model {
    /// Ridge regression.
    Ridge,
    /// Ridge regression on random cosines of the features.
    RandomFeatures,
    /// Gradient-boosted trees.
    Trees,
}

impl Model {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Ridge, Self::RandomFeatures, Self::Trees];

    /// Its name in reports.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Ridge => "ridge",
            Self::RandomFeatures => "random features",
            Self::Trees => "boosted trees",
        }
    }

    /// Trains the model with every setting of the paper's table, and predicts the two other sets of homes.
    pub(super) fn candidates(self, train: &Homes, asked: [&Homes; 2], seed: u64) -> Result<Vec<Candidate>, Error> {
        match self {
            Self::Ridge => Ok(ridge::candidates(train, asked)),
            Self::RandomFeatures => Ok(features::candidates(train, asked, seed)),
            Self::Trees => trees::candidates(train, asked, &trees::DEPTHS),
        }
    }
}

pub(super) use trees::candidates as trees;

/// The predictions of a model with one setting, for the validation rows and for the holdout rows.
pub(super) struct Candidate {
    pub(super) setting: String,
    pub(super) validation: Vec<f64>,
    pub(super) test: Vec<f64>,
}
