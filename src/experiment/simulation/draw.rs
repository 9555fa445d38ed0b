//! One draw of the process: predictions, smoothing and scores, with their theoretical expectations.

use super::estimator::{Estimator, SampleMoments};
use super::process::Process;
use crate::error::Error;
use crate::points::Places;
use crate::score::{Measure, mean};
use crate::space::Sigma;
use crate::tune::{Point, Trial, Tuner};

/// Errors of one estimator in one trial.
pub(super) struct Measured {
    pub(super) unsmoothed: Against,
    pub(super) best: Point,
    pub(super) optimal: Against,
}

/// An error, its expectation, and the limit of the expectation for many rows.
pub(super) struct Against {
    pub(super) measured: f64,
    pub(super) expected: f64,
    pub(super) limit: f64,
}

/// One draw, with the rows for training and those for evaluation.
pub(super) struct Draw {
    pub(super) process: Process,
    /// Of all rows: t, z, x, y.
    pub(super) t: Vec<f64>,
    pub(super) z: Vec<f64>,
    pub(super) x: Vec<f64>,
    pub(super) y: Vec<f64>,
    pub(super) trained: Vec<usize>,
    pub(super) evaluated: Vec<usize>,
    pub(super) noise: (f64, f64),
    pub(super) slope: f64,
}

impl Draw {
    /// The values of the evaluated rows.
    pub(super) fn of(&self, values: &[f64]) -> Vec<f64> {
        self.evaluated.iter().map(|&row| values[row]).collect()
    }

    /// σ_y² / σ_x².
    fn ratio(&self) -> f64 {
        (self.noise.1 / self.noise.0).powi(2)
    }

    /// The slope learned from the training rows.
    fn learned(&self, estimator: Estimator) -> f64 {
        let (x, y) = (&self.x, &self.y);
        let moments =
            SampleMoments { xx: self.mean_product(x, x), xy: self.mean_product(x, y), yy: self.mean_product(y, y) };
        estimator.slope(moments, self.ratio())
    }

    fn mean_product(&self, a: &[f64], b: &[f64]) -> f64 {
        average(self.trained.iter().map(|&row| a[row] * b[row]))
    }

    /// The limit of the learned slope for many rows; the hidden process has variance 1.
    fn limit(&self, estimator: Estimator) -> f64 {
        let (x, y) = (self.noise.0.powi(2), self.noise.1.powi(2));
        let moments = SampleMoments { xx: 1.0 + x, xy: self.slope, yy: self.slope.powi(2) + y };
        estimator.slope(moments, self.ratio())
    }

    pub(super) fn predictions(&self, estimator: Estimator) -> Vec<f64> {
        let slope = self.learned(estimator);
        self.evaluated.iter().map(|&row| slope * self.x[row]).collect()
    }

    /// The best σ and c for each column on the evaluated rows.
    pub(super) fn tuned(&self, columns: &[&[f64]]) -> Result<Vec<Point>, Error> {
        let (places, truth) = (Places::index(vec![self.of(&self.t)])?, self.of(&self.y));
        let sigmas = (0..SIGMAS).map(|at| Sigma::index(0.002 * 250_f64.powf(at as f64 / (SIGMAS - 1) as f64)));
        let trial = Trial {
            targets: &places,
            predictions: columns.to_vec(),
            truth: &truth,
            labelled: None,
            hides_own_label: false,
        };
        let tuner = Tuner::new(Measure::Rmse).sigma_grid(sigmas.collect::<Result<_, _>>()?)?;
        let tuned = tuner.tune(&[trial], &())?;
        Ok((0..columns.len()).filter_map(|column| tuned.best_of(Measure::Rmse, column, false)).collect())
    }

    pub(super) fn measure(&self) -> Result<Vec<Measured>, Error> {
        let columns: Vec<Vec<f64>> = Estimator::ALL.iter().map(|estimator| self.predictions(*estimator)).collect();
        let best = self.tuned(&columns.iter().map(Vec::as_slice).collect::<Vec<_>>())?;
        let estimators = Estimator::ALL.iter().zip(best);
        Ok(estimators.map(|(&estimator, best)| self.measured(estimator, best)).collect())
    }

    fn measured(&self, estimator: Estimator, best: Point) -> Measured {
        let smoother = self.process.optimal_smoother(self.noise.0.powi(2));
        let (x, z, y) = (self.of(&self.x), self.of(&self.z), self.of(&self.y));
        let signal: Vec<f64> = z.iter().map(|z| self.slope * z).collect();
        let (noise_x, noise_y) = (self.noise.0.powi(2), self.noise.1.powi(2));
        let (learned, limit) = (self.learned(estimator), self.limit(estimator));
        // S* knows the limit of the learned slope, and corrects for it.
        let back = learned * self.slope / limit;
        Measured {
            unsmoothed: Against {
                measured: squared(learned, &x, &y),
                expected: noise_y + squared(learned, &z, &signal) + learned.powi(2) * noise_x,
                limit: noise_y + (self.slope - limit).powi(2) + limit.powi(2) * noise_x,
            },
            best,
            optimal: Against {
                measured: squared(back, &smoother.apply(&x), &y),
                expected: noise_y
                    + squared(back, &smoother.apply(&z), &signal)
                    + back.powi(2) * noise_x * smoother.mean_square(),
                limit: noise_y + self.slope.powi(2) * noise_x * smoother.mean_diagonal(),
            },
        }
    }
}

/// The number of σ to try, from 0.002, far below the width of the process, to 0.5, beyond it. Chosen, not measured.
const SIGMAS: usize = 25;

fn average(values: impl Iterator<Item = f64>) -> f64 {
    mean(values).unwrap_or(f64::NAN)
}

/// The mean squared error of values times a slope.
fn squared(slope: f64, values: &[f64], truth: &[f64]) -> f64 {
    average(values.iter().zip(truth).map(|(value, truth)| (slope * value - truth).powi(2)))
}
