//! Gradient-boosted trees, from the crate `forust-ml`: XGBoost's histogram algorithm.

use forust_ml::objective::ObjectiveType;
use forust_ml::{GradientBooster, Matrix};

use super::Candidate;
use crate::error::Error;
use crate::experiment::homes::Homes;

/// Depths, as in the paper.
pub(super) const DEPTHS: [usize; 3] = [2, 5, 10];
/// Numbers of trees, as in the paper. The smaller model consists of the first trees of the larger one.
const COUNTS: [usize; 2] = [200, 100];
/// The default of XGBoost's regressor when the paper was written.
const LEARNING_RATE: f32 = 0.1;

pub(in crate::experiment) fn candidates(
    train: &Homes,
    asked: [&Homes; 2],
    depths: &[usize],
) -> Result<Vec<Candidate>, Error> {
    let homes = [train, asked[0], asked[1]];
    let columns = homes.map(Homes::column_major);
    let [train_matrix, validation, test] =
        [0, 1, 2].map(|at| Matrix::new(&columns[at], homes[at].labels.len(), homes[at].features.len()));
    let mut all = Vec::new();
    for &depth in depths {
        // Trials run in parallel. Within a trial, a single thread keeps the order of sums fixed.
        let mut booster = GradientBooster::default()
            .set_objective_type(ObjectiveType::SquaredLoss)
            .set_learning_rate(LEARNING_RATE)
            .set_iterations(COUNTS[0])
            .set_max_depth(depth)
            .set_max_leaves(1 << depth)
            .set_parallel(false);
        booster.fit_unweighted(&train_matrix, &train.labels, None).map_err(|error| Error::Contradiction {
            message: format!("the trees cannot be trained: {error}"),
            hint: "check the features: at least one of them must vary".to_owned(),
        })?;
        for count in COUNTS {
            booster.trees.truncate(count);
            let [validation, test] = [&validation, &test].map(|matrix| booster.predict(matrix, false));
            all.push(Candidate { setting: format!("depth {depth}, {count} trees"), validation, test });
        }
    }
    Ok(all)
}
