//! The paper's simulation of a hidden process: how close smoothing comes to the error of the best linear smoother.
//!
//! ```text
//! z ~ N(0, K),  K(t, s) = exp(−(t − s)² / 2w²)      x = z + ω,  y = slope · z + μ      ω ~ N(0, σ_x²),  μ ~ N(0, σ_y²)
//! ```
//!
//! Half of the rows are used to learn the slope of ŷ = ĉ x; the other half is predicted and smoothed over t.

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

/// The parameters of the simulation.
#[derive(Clone, Debug, Serialize)]
pub struct Simulation {
    /// Number of rows; half of them are for training.
    pub rows: usize,
    /// w: the correlation length of the hidden process along t, which runs from 0 to 1.
    pub width: f64,
    /// The slope of y over the hidden process.
    pub slope: f64,
    /// The standard deviations σ_x of the noise of x to try.
    pub noise_x: Vec<f64>,
    /// The standard deviations σ_y of the noise of y to try.
    pub noise_y: Vec<f64>,
    /// Random draws at each pair of noises.
    pub trials: usize,
    /// Seed of the random numbers.
    pub seed: u64,
}

impl Default for Simulation {
    /// The paper's sizes. It does not list its noises; these range from small to as large as the signal.
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

/// The result of one estimator at one pair of noises: squared errors.
#[derive(Clone, Debug, Serialize)]
pub struct SimulationResult {
    /// σ_x.
    pub noise_x: f64,
    /// σ_y.
    pub noise_y: f64,
    /// How the slope was learned.
    pub estimator: Estimator,
    /// Mean squared error of the predictions without smoothing.
    pub unsmoothed: Checked,
    /// P-ES with the best σ and c on the evaluated rows, as in the paper.
    pub smoothed: Summary,
    /// The chosen σ.
    pub sigma: Summary,
    /// The chosen c.
    pub c: Summary,
    /// S*, the best linear smoother, which knows all distributions.
    pub optimal: Checked,
    /// σ_y²: a lower bound for every linear smoother of x.
    pub bound: f64,
}

/// An error with its theoretical expectation.
#[derive(Clone, Debug, Serialize)]
pub struct Checked {
    /// The measured error.
    pub measured: Summary,
    /// Its expectation in closed form, given the drawn hidden processes and the learned slopes.
    pub expected: f64,
    /// The difference between the two; it should be about zero.
    pub deviation: Summary,
    /// Its expectation over all hidden processes, with the limit of the slope for many rows, as in the paper.
    pub limit: f64,
}

/// The evaluated rows of one draw, for a plot.
#[derive(Clone, Debug, Serialize)]
pub struct Example {
    /// Positions of the rows.
    pub t: Vec<f64>,
    /// True values.
    pub y: Vec<f64>,
    /// Predictions by total least squares.
    pub predicted: Vec<f64>,
    /// After smoothing.
    pub smoothed: Vec<f64>,
}

impl Simulation {
    /// Runs all trials at all noises.
    ///
    /// # Errors
    /// If there are too few rows to halve, or a noise is not positive.
    pub fn run(&self, progress: &dyn Progress) -> Result<Vec<SimulationResult>, Error> {
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
            Estimator::ALL.iter().enumerate().map(move |(at, &estimator)| {
                line(noise, estimator, &trials.iter().map(|trial| &trial[at]).collect::<Vec<_>>())
            })
        });
        Ok(lines.collect())
    }

    /// One draw at the largest noise of x and the smallest noise of y, for a plot.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn example(&self) -> Result<Example, Error> {
        self.check()?;
        let process = Process::new(&self.places(), self.width);
        let noise_x = self.noise_x.iter().copied().fold(0.0, f64::max);
        let noise_y = self.noise_y.iter().copied().fold(f64::INFINITY, f64::min);
        let draw = self.draw(&process, (noise_x, noise_y), 0);
        let predicted = draw.predictions(Estimator::TotalLeastSquares);
        let point = draw.tuned(&[&predicted])?[0];
        let places = Places::index(vec![draw.of(&draw.t)])?;
        let smoothed = crate::smoother::smooth(&places, &predicted, None, point.sigma, point.c)?;
        Ok(Example { t: draw.of(&draw.t), y: draw.of(&draw.y), predicted, smoothed })
    }

    fn check(&self) -> Result<(), Error> {
        let bad_noise = self.noise_x.iter().chain(&self.noise_y).find(|noise| !(1e-3..=1e3).contains(*noise));
        let (name, value, expected) = match bad_noise {
            _ if self.rows < 8 || self.rows > 100_000 => {
                ("number of rows", self.rows.to_string(), "between 8 and 100000")
            }
            _ if self.trials == 0 => ("number of trials", "0".to_owned(), "at least 1"),
            Some(noise) => ("noise", noise.to_string(), "between 0.001 and 1000"),
            None => return Ok(()),
        };
        Err(Error::Parameter { name, value, expected })
    }

    fn places(&self) -> Vec<f64> {
        (0..self.rows).map(|row| row as f64 / self.rows as f64).collect()
    }

    fn draw(&self, process: &Process, noise: (f64, f64), trial: u64) -> Draw {
        let mut chance = Chance::of_trial(self.seed, trial);
        let z = process.draw(&mut chance);
        let x = z.iter().map(|z| z + noise.0 * chance.normal()).collect();
        let y = z.iter().map(|z| self.slope * z + noise.1 * chance.normal()).collect();
        let trained = chance.sample(self.rows, self.rows / 2);
        let evaluated: Vec<usize> = (0..self.rows).filter(|row| trained.binary_search(row).is_err()).collect();
        let process = process.at(&evaluated);
        Draw { process, t: self.places(), z, x, y, trained, evaluated, noise, slope: self.slope }
    }
}

fn line(noise: (f64, f64), estimator: Estimator, trials: &[&Measured]) -> SimulationResult {
    SimulationResult {
        noise_x: noise.0,
        noise_y: noise.1,
        estimator,
        unsmoothed: checked(&trials.iter().map(|trial| &trial.unsmoothed).collect::<Vec<_>>()),
        smoothed: Summary::over(trials, |trial| trial.best.score.powi(2)),
        sigma: Summary::over(trials, |trial| trial.best.sigma.value()),
        c: Summary::over(trials, |trial| trial.best.c),
        optimal: checked(&trials.iter().map(|trial| &trial.optimal).collect::<Vec<_>>()),
        bound: noise.1.powi(2),
    }
}

fn checked(trials: &[&Against]) -> Checked {
    Checked {
        measured: Summary::over(trials, |trial| trial.measured),
        expected: Summary::over(trials, |trial| trial.expected).mean,
        deviation: Summary::over(trials, |trial| trial.measured - trial.expected),
        limit: Summary::over(trials, |trial| trial.limit).mean,
    }
}
