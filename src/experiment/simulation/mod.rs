//! The paper's example of a hidden process: how close smoothing comes to the least error that any linear smoother can reach.
//!
//! ```text
//! z ~ N(0, K),  K(t, s) = exp(−(t − s)² / 2w²)      x = z + ω,  y = slope · z + μ      ω ~ N(0, σ_x²),  μ ~ N(0, σ_y²)
//! ```
//!
//! Half of the rows train the slope of ŷ = ĉ x, the other half is predicted and smoothed over t.

mod draw;
mod estimator;
mod process;

use rayon::prelude::*;
use serde::Serialize;

use self::draw::{Against, Draw, Measured};
pub use self::estimator::Estimator;
use self::process::Process;
use super::statistics::Summary;
use crate::chance::Chance;
use crate::engine::Progress;
use crate::error::Error;
use crate::points::Places;

/// What to simulate.
#[derive(Clone, Debug, Serialize)]
pub struct Simulation {
    /// Rows; half of them train.
    pub rows: usize,
    /// w: how far the hidden process reaches along t, which runs from 0 to 1.
    pub width: f64,
    /// How y follows the hidden process.
    pub slope: f64,
    /// σ_x: the standard deviations of the noise of x to try.
    pub noise_x: Vec<f64>,
    /// σ_y: those of the noise of y.
    pub noise_y: Vec<f64>,
    /// Random draws at each pair of noises.
    pub trials: usize,
    /// Where chance starts.
    pub seed: u64,
}

impl Default for Simulation {
    /// The paper's sizes. It does not list its noises; these span from little to as much as there is signal.
    fn default() -> Self {
        Self {
            rows: 2000,
            width: 0.2,
            slope: 1.0,
            noise_x: vec![0.1, 0.25, 0.5, 1.0],
            noise_y: vec![0.1, 0.5, 1.0],
            trials: 10,
            seed: 2020,
        }
    }
}

/// Squared errors of one estimator at one pair of noises.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    /// σ_x.
    pub noise_x: f64,
    /// σ_y.
    pub noise_y: f64,
    /// How the slope was learned.
    pub estimator: Estimator,
    /// Mean squared error of the predictions as they are.
    pub unsmoothed: Checked,
    /// P-ES with the best σ and c on the evaluated rows, as in the paper.
    pub smoothed: Summary,
    /// Those σ.
    pub sigma: Summary,
    /// Those c.
    pub c: Summary,
    /// S*, the best linear smoother there is if all distributions are known.
    pub optimal: Checked,
    /// σ_y²: no linear smoother of x does better.
    pub bound: f64,
}

/// An error that theory knows too.
#[derive(Clone, Debug, Serialize)]
pub struct Checked {
    /// As measured.
    pub measured: Summary,
    /// Its expectation in closed form, given the hidden processes that were drawn and the slopes that were learned.
    pub expected: f64,
    /// How far measurements are from that; around zero, if all is right.
    pub deviation: Summary,
    /// Its expectation over all hidden processes, with the slope that ever more rows teach, as the paper has it.
    pub limit: f64,
}

/// One evaluated half, to look at.
#[derive(Clone, Debug, Serialize)]
pub struct Example {
    /// Where the rows are.
    pub t: Vec<f64>,
    /// Their truth.
    pub y: Vec<f64>,
    /// Total least squares.
    pub predicted: Vec<f64>,
    /// After smoothing.
    pub smoothed: Vec<f64>,
}

impl Simulation {
    /// Runs all trials at all noises.
    ///
    /// # Errors
    /// If there are too few rows to halve, or a noise is not positive.
    pub fn run(&self, progress: &dyn Progress) -> Result<Vec<Line>, Error> {
        self.check()?;
        let process = Process::new(&self.places(), self.width);
        let cells: Vec<(f64, f64)> =
            self.noise_x.iter().flat_map(|&x| self.noise_y.iter().map(move |&y| (x, y))).collect();
        progress.start((cells.len() * self.trials) as u64);
        let jobs: Vec<(usize, usize)> =
            (0..cells.len()).flat_map(|cell| (0..self.trials).map(move |trial| (cell, trial))).collect();
        let measured = jobs
            .par_iter()
            .map(|&(cell, trial)| {
                let found = self.draw(&process, cells[cell], (cell * self.trials + trial) as u64).measure();
                progress.advance(1);
                found
            })
            .collect::<Result<Vec<_>, Error>>()?;
        let lines = cells.iter().zip(measured.chunks(self.trials)).flat_map(|(&noise, trials)| {
            let line = move |(at, &estimator): (usize, &Estimator)| {
                line(noise, estimator, &trials.iter().map(|trial| &trial[at]).collect::<Vec<_>>())
            };
            Estimator::ALL.iter().enumerate().map(line)
        });
        Ok(lines.collect())
    }

    /// One draw at the largest noise of x and the smallest of y, to look at.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn example(&self) -> Result<Example, Error> {
        self.check()?;
        let least = |values: &[f64]| values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
        let process = Process::new(&self.places(), self.width);
        let draw = self.draw(&process, (most(&self.noise_x), least(&self.noise_y)), 0);
        let predicted = draw.predictions(Estimator::TotalLeastSquares);
        let point = draw.tuned(&[&predicted])?[0];
        let places = Places::index(vec![draw.of(&draw.t)])?;
        let smoothed = crate::smoother::smooth(&places, &predicted, None, point.sigma, point.c)?;
        Ok(Example { t: draw.of(&draw.t), y: draw.of(&draw.y), predicted, smoothed })
    }

    fn check(&self) -> Result<(), Error> {
        let parameter = |name, value: String, expected| Err(Error::Parameter { name, value, expected });
        if self.rows < 8 || self.rows > 100_000 {
            return parameter("number of rows", self.rows.to_string(), "between 8 and 100000");
        }
        if self.trials == 0 {
            return parameter("number of trials", "0".to_owned(), "at least 1");
        }
        let noises = || self.noise_x.iter().chain(&self.noise_y);
        match noises().find(|noise| !(1e-3..=1e3).contains(*noise)) {
            Some(noise) => parameter("noise", noise.to_string(), "between 0.001 and 1000"),
            None => Ok(()),
        }
    }

    fn places(&self) -> Vec<f64> {
        (0..self.rows).map(|row| row as f64 / self.rows as f64).collect()
    }

    fn draw(&self, process: &Process, noise: (f64, f64), trial: u64) -> Draw {
        let mut chance = Chance::new(self.seed.wrapping_mul(0x9E37_79B9).wrapping_add(trial));
        let z = process.draw(&mut chance);
        let x = z.iter().map(|z| z + noise.0 * chance.normal()).collect();
        let y = z.iter().map(|z| self.slope * z + noise.1 * chance.normal()).collect();
        let trained = chance.sample(self.rows, self.rows / 2);
        let evaluated: Vec<usize> = (0..self.rows).filter(|row| trained.binary_search(row).is_err()).collect();
        let process = process.at(&evaluated);
        Draw { process, t: self.places(), z, x, y, trained, evaluated, noise, slope: self.slope }
    }
}

fn line(noise: (f64, f64), estimator: Estimator, trials: &[&Measured]) -> Line {
    let over = |of: fn(&Measured) -> f64| Summary::of(&trials.iter().map(|trial| of(trial)).collect::<Vec<_>>());
    Line {
        noise_x: noise.0,
        noise_y: noise.1,
        estimator,
        unsmoothed: checked(&trials.iter().map(|trial| &trial.unsmoothed).collect::<Vec<_>>()),
        smoothed: over(|trial| trial.best.score.powi(2)),
        sigma: over(|trial| trial.best.sigma.value()),
        c: over(|trial| trial.best.c),
        optimal: checked(&trials.iter().map(|trial| &trial.optimal).collect::<Vec<_>>()),
        bound: noise.1.powi(2),
    }
}

fn checked(trials: &[&Against]) -> Checked {
    let over = |of: fn(&Against) -> f64| Summary::of(&trials.iter().map(|trial| of(trial)).collect::<Vec<_>>());
    Checked {
        measured: over(|trial| trial.measured),
        expected: over(|trial| trial.expected).mean,
        deviation: over(|trial| trial.measured - trial.expected),
        limit: over(|trial| trial.limit).mean,
    }
}
