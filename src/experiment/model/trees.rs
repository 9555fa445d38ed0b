//! Gradient-boosted trees, by the crate `forust-ml`: XGBoost's algorithm on histograms.

use forust_ml::objective::ObjectiveType;
use forust_ml::{GradientBooster, Matrix};

use super::Candidate;
use crate::error::Error;
use crate::experiment::homes::Homes;

/// Depths, as in the paper.
pub(super) const DEPTHS: [usize; 3] = [2, 5, 10];
/// Numbers of trees, as in the paper. A shorter model is the beginning of the longer one.
const COUNTS: [usize; 2] = [200, 100];
/// That of XGBoost's regressor when the paper was written.
const LEARNING_RATE: f32 = 0.1;

pub(in crate::experiment) fn candidates(
    train: &Homes,
    asked: [&Homes; 2],
    depths: &[usize],
) -> Result<Vec<Candidate>, Error> {
    let columns = [train, asked[0], asked[1]].map(Homes::column_major);
    let matrix = |at: usize, homes: &Homes| Matrix::new(&columns[at], homes.labels.len(), homes.features.len());
    let mut all = Vec::new();
    for &depth in depths {
        // Trials run side by side: inside one, a single thread gives one order to all sums.
        let mut booster = GradientBooster::default()
            .set_objective_type(ObjectiveType::SquaredLoss)
            .set_learning_rate(LEARNING_RATE)
            .set_iterations(COUNTS[0])
            .set_max_depth(depth)
            .set_max_leaves(1 << depth)
            .set_parallel(false);
        booster.fit_unweighted(&matrix(0, train), &train.labels, None).map_err(|error| Error::Contradiction {
            message: format!("the trees cannot be trained: {error}"),
            hint: "look at the features: are there any that vary?".to_owned(),
        })?;
        for count in COUNTS {
            booster.trees.truncate(count);
            let predict = |at: usize| booster.predict(&matrix(1 + at, asked[at]), false);
            let setting = format!("depth {depth}, {count} trees");
            all.push(Candidate { setting, validation: predict(0), test: predict(1) });
        }
    }
    Ok(all)
}
