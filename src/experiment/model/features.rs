//! Random Fourier features (Rahimi and Recht 2007): ridge regression on `cos(wᵀx + b)` with w normal and b uniform on the circle.

use faer::Mat;

use super::Candidate;
use super::ridge::{Units, fitted};
use crate::chance::Chance;
use crate::experiment::homes::Homes;
use crate::score::mean;

/// Numbers of features, as in the paper.
const COUNTS: [usize; 2] = [100, 200];
/// Standard deviations of w. Those of the paper, 1e-8 to 1e-4, are for raw features; here features are standardised.
const SPREADS: [f64; 3] = [0.01, 0.1, 1.0];
/// λ as in the paper.
const PENALTIES: [f64; 3] = [1e-6, 1e-5, 1e-4];

pub(super) fn candidates(train: &Homes, asked: [&Homes; 2], seed: u64) -> Vec<Candidate> {
    let units = Units::of(train);
    let designs = [train, asked[0], asked[1]].map(|homes| units.design(homes));
    let mut chance = Chance::new(seed);
    let most = COUNTS[COUNTS.len() - 1];
    let normals = Mat::from_fn(designs[0].ncols(), most, |_, _| chance.normal());
    let phases: Vec<f64> = (0..most).map(|_| std::f64::consts::TAU * chance.unit()).collect();
    let each = SPREADS.into_iter().flat_map(|spread| COUNTS.map(|count| (spread, count)));
    each.flat_map(|(spread, count)| {
        let [train_cosines, validation, test] = cosines(&designs, &normals, &phases[..count], spread);
        let setting = format!("{count} features, σ {spread}, ");
        fitted(&train_cosines, &train.labels, &[validation, test], &PENALTIES, &setting)
    })
    .collect()
}

/// The cosines of each set, centred by their means over the training rows, so that no column for an intercept is needed.
fn cosines(designs: &[Mat<f64>; 3], normals: &Mat<f64>, phases: &[f64], spread: f64) -> [Mat<f64>; 3] {
    let raw = [0, 1, 2].map(|at| {
        let angles = &designs[at] * normals.get(.., ..phases.len());
        Mat::from_fn(angles.nrows(), phases.len(), |row, column| {
            (spread * angles[(row, column)] + phases[column]).cos()
        })
    });
    let means: Vec<f64> =
        (0..phases.len()).map(|column| mean(raw[0].col(column).iter().copied()).unwrap_or(0.0)).collect();
    raw.map(|cosines| Mat::from_fn(cosines.nrows(), means.len(), |row, column| cosines[(row, column)] - means[column]))
}
