//! Whether smoothing can help, why, and what it leaves behind: the quantities of the paper's Theorem 1, spatial
//! correlation of the errors before and after, and how many sources stand behind the averages.

mod variogram;

use rayon::prelude::*;

use crate::correct::Correction;
use crate::engine::EngineOptions;
use crate::error::Error;
use crate::influence::Influence;
use crate::scene::Own;
use crate::score::mean;
use crate::space::Sigma;
use crate::span::{Span, blend};
use crate::tune::Trial;

pub use self::variogram::Lag;
pub(crate) use self::variogram::variogram;

/// What to diagnose with.
#[derive(Clone, Copy, Debug)]
pub struct Diagnosis {
    /// Bandwidth.
    pub sigma: Sigma,
    /// Mixing weight; the best one, c*, if left out.
    pub c: Option<f64>,
    /// Weight of labels.
    pub label_weight: f64,
    /// The correct step before smoothing.
    pub correction: Option<Correction>,
    /// Which engine, and how accurate.
    pub options: EngineOptions,
}

/// What was found about one column of predictions.
#[derive(Clone, Debug)]
pub struct Findings {
    /// γ = εᵀWε / ‖ε‖², ε = ŷ − y: how much of the errors smoothing keeps.
    pub gamma: f64,
    /// β = εᵀ(W − I)y / ‖ε‖²: how much the errors line up with what smoothing does to the truth.
    pub beta: f64,
    /// The best c: the least squared error between 0 and 1.
    pub c_star: f64,
    /// The c that is used: the one asked for, or c*.
    pub c: f64,
    /// Mean squared error of the predictions.
    pub mse_before: f64,
    /// Mean squared error after the correct step; that of the predictions where there is none. γ, β and c* start from here.
    pub mse_corrected: f64,
    /// Mean squared error that c* gives.
    pub mse_at_c_star: f64,
    /// Mean squared error after smoothing with c.
    pub mse_after: f64,
    /// Moran's I of the errors before: 0 for errors without spatial correlation, 1 for errors equal to their neighbours'.
    pub moran_before: f64,
    /// Moran's I of the errors after.
    pub moran_after: f64,
    /// Effective number of sources behind the average of each row.
    pub n_effective: Vec<f64>,
    /// Rows whose own prediction is over half of their average: there is next to nothing around them.
    pub isolated_rows: usize,
    /// The rows after smoothing.
    pub smoothed: Vec<f64>,
    /// Semivariances of the errors by distance.
    pub variogram: Vec<Lag>,
}

impl Findings {
    /// Whether Theorem 1 says that smoothing can help: γ + β < 1, by more than rounding.
    #[must_use]
    pub fn can_help(&self) -> bool {
        self.mse_corrected > 0.0 && self.gamma + self.beta < 1.0 - 1e-9
    }
}

impl Diagnosis {
    /// Diagnoses one column of predictions. Its truth is smoothed too, for β: this explains, it does not tune.
    ///
    /// # Errors
    /// If σ does not fit the places, or columns have the wrong length or values that are not finite.
    ///
    /// # Examples
    /// ```
    /// use geosmooth::diagnose::Diagnosis;
    /// use geosmooth::tune::Trial;
    /// use geosmooth::{EngineOptions, Places, Sigma};
    ///
    /// // A smooth truth, and errors that alternate from row to row: smoothing takes most of them away.
    /// let places = Places::index(vec![(0..100).map(f64::from).collect()])?;
    /// let truth: Vec<f64> = (0..100).map(|x| f64::from(x) / 10.0).collect();
    /// let predicted: Vec<f64> = truth.iter().enumerate().map(|(x, y)| y + [1.0, -1.0][x % 2]).collect();
    ///
    /// let trial = Trial { targets: &places, predictions: vec![&predicted], truth: &truth, labelled: None, hides_own_label: false };
    /// let options = EngineOptions::default();
    /// let diagnosis = Diagnosis { sigma: Sigma::index(2.0)?, c: None, label_weight: 1.0, correction: None, options };
    /// let findings = diagnosis.examine(&trial)?;
    /// assert!(findings.can_help() && findings.mse_after < 0.1 * findings.mse_before);
    /// # Ok::<(), geosmooth::Error>(())
    /// ```
    pub fn examine(&self, trial: &Trial) -> Result<Findings, Error> {
        trial.check()?;
        let raw: Vec<f64> = trial.predictions[0].to_vec();
        let predictions = self.corrected(trial, &raw)?;
        let errors: Vec<f64> = difference(&predictions, trial.truth);
        let averages = self.averages(trial, &predictions, &errors)?;
        let steps = difference(&averages.predictions, &predictions);
        let (squares, length) = (dot(&errors, &errors), dot(&steps, &steps));
        // Without errors there is nothing to keep.
        let of_errors = |sum: f64| if squares > 0.0 { sum / squares } else { 0.0 };
        let c_star = if length > 0.0 { (-dot(&errors, &steps) / length).clamp(0.0, 1.0) + 0.0 } else { 0.0 };
        let c = self.c.unwrap_or(c_star);
        let mixed = |c: f64| -> Vec<f64> {
            let pairs = predictions.iter().zip(&averages.predictions);
            pairs.map(|(&prediction, &mean)| blend(c, mean, prediction)).collect()
        };
        let smoothed = mixed(c);
        let (before, after) = (difference(&raw, trial.truth), difference(&smoothed, trial.truth));
        let neighbours = Influence::new(self.sigma, trial.targets, trial.targets, Own::LeftOut)?;
        Ok(Findings {
            gamma: of_errors(dot(&errors, &averages.errors)),
            beta: of_errors(dot(&errors, &difference(&averages.truth, trial.truth))),
            c_star,
            c,
            mse_before: mean_square(&before),
            mse_corrected: mean_square(&errors),
            mse_at_c_star: mean_square(&difference(&mixed(c_star), trial.truth)),
            mse_after: mean_square(&after),
            moran_before: self.moran(&neighbours, &before)?,
            moran_after: self.moran(&neighbours, &after)?,
            isolated_rows: averages.mass.iter().filter(|mass| **mass < 2.0).count(),
            n_effective: averages.n_effective,
            variogram: variogram(trial.targets, self.sigma, &before, &after)?,
            smoothed,
        })
    }

    fn corrected(&self, trial: &Trial, predictions: &[f64]) -> Result<Vec<f64>, Error> {
        let (Some(correction), Some(labelled)) = (self.correction, &trial.labelled) else {
            return Ok(predictions.to_vec());
        };
        if trial.hides_own_label {
            return Err(Error::Contradiction {
                message: "with each row's own label hidden nothing can be corrected: it would come back through its neighbours".to_owned(),
                hint: "examine other rows, or leave out the correct step".to_owned(),
            });
        }
        let mut corrected = correction.apply(trial.targets, &[predictions], labelled, &self.options)?;
        Ok(corrected.pop().map_or(Vec::new(), |column| column.values))
    }

    /// W applied to predictions and truth (labels beside both) and to errors (zeros beside them).
    fn averages(&self, trial: &Trial, predictions: &[f64], errors: &[f64]) -> Result<Averages, Error> {
        let labelled = trial.labelled.as_ref().filter(|_| self.label_weight > 0.0);
        let labels = labelled.map_or(&[][..], |labelled| labelled.labels);
        let span = Span::of(&[predictions, trial.truth, labels]);
        let units = |values: &[f64]| values.iter().map(|&value| span.to_unit(value)).collect::<Vec<f64>>();
        let (predictions, truth, labels) = (units(predictions), units(trial.truth), units(labels));
        let own = Influence::new(self.sigma, trial.targets, trial.targets, Own::Counts)?;
        let around = own.sums(self.sigma, &[&predictions, &truth, errors], 0.0, &self.options)?;
        let squared = own.squared(self.sigma, 0.0, &self.options)?;
        let beside = match trial.among_labels(self.sigma)?.filter(|_| labelled.is_some()) {
            None => None,
            Some(influence) => {
                let own_mass = 1.0 / self.label_weight;
                let sums = influence.sums(self.sigma, &[&labels], own_mass, &self.options)?;
                Some((sums, influence.squared(self.sigma, own_mass * own_mass, &self.options)?))
            }
        };
        let label = |row: usize| {
            beside.as_ref().map_or((0.0, 0.0, 0.0), |(sums, squared)| {
                let weight = self.label_weight;
                (weight * sums.value_at(0, row), weight * sums.mass_at(row), weight * weight * squared.mass_at(row))
            })
        };
        let at = |row: usize| {
            let (value, mass, squares) = label(row);
            let mass = mass + around.mass_at(row);
            AtRow {
                prediction: span.stretched((value + around.value_at(0, row)) / mass),
                truth: span.stretched((value + around.value_at(1, row)) / mass),
                error: around.value_at(2, row) / mass,
                mass,
                n_effective: mass * mass / (squares + squared.mass_at(row)),
            }
        };
        let rows: Vec<AtRow> = (0..trial.targets.len()).into_par_iter().map(at).collect();
        let column = |of: fn(&AtRow) -> f64| rows.iter().map(of).collect();
        Ok(Averages {
            predictions: column(|row| row.prediction),
            truth: column(|row| row.truth),
            errors: column(|row| row.error),
            mass: column(|row| row.mass),
            n_effective: column(|row| row.n_effective),
        })
    }

    /// Moran's I with the row-normalised kernel of the smoother, each row itself left out. Rows so far from all others that the
    /// kernel vanishes in 64-bit numbers take no part.
    fn moran(&self, neighbours: &Influence, errors: &[f64]) -> Result<f64, Error> {
        let centre = mean(errors.iter().copied()).unwrap_or(0.0);
        let centred: Vec<f64> = errors.iter().map(|error| error - centre).collect();
        let scale = centred.iter().fold(0.0, |most: f64, error| most.max(error.abs())).max(f64::MIN_POSITIVE);
        let units: Vec<f64> = centred.iter().map(|error| error / scale).collect();
        let sums = neighbours.sums(self.sigma, &[&units], 0.0, &self.options)?;
        let with_neighbours = || (0..units.len()).filter(|&row| sums.mass_at(row) > 0.0);
        let along: f64 = with_neighbours().map(|row| units[row] * sums.shrunk(0, row, 0.0)).sum();
        let squares: f64 = with_neighbours().map(|row| units[row] * units[row]).sum();
        Ok(if squares > 0.0 { along / squares } else { 0.0 })
    }
}

struct AtRow {
    prediction: f64,
    truth: f64,
    error: f64,
    mass: f64,
    n_effective: f64,
}

struct Averages {
    predictions: Vec<f64>,
    truth: Vec<f64>,
    errors: Vec<f64>,
    mass: Vec<f64>,
    n_effective: Vec<f64>,
}

fn difference(left: &[f64], right: &[f64]) -> Vec<f64> {
    left.iter().zip(right).map(|(left, right)| left - right).collect()
}

fn mean_square(values: &[f64]) -> f64 {
    dot(values, values) / values.len().max(1) as f64
}

fn dot(left: &[f64], right: &[f64]) -> f64 {
    left.iter().zip(right).map(|(left, right)| left * right).sum()
}
