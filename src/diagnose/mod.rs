//! Diagnosis: whether smoothing can help, and why. Computes the quantities of the paper's Theorem 1, the spatial correlation of
//! the errors before and after, and the effective number of sources of the averages.

mod variogram;

use rayon::prelude::*;
use serde::{Serialize, Serializer};

use crate::correct::Correction;
use crate::engine::EngineOptions;
use crate::error::Error;
use crate::influence::{Influence, KernelSums};
use crate::scene::Own;
use crate::score::{mean, median};
use crate::space::Sigma;
use crate::span::{Span, blend};
use crate::tune::Trial;

pub use self::variogram::Lag;
pub(crate) use self::variogram::variogram;

/// The parameters to diagnose.
#[derive(Clone, Copy, Debug)]
pub struct Diagnosis {
    /// Bandwidth.
    pub sigma: Sigma,
    /// Mixing weight; the best one, c*, if not given.
    pub c: Option<f64>,
    /// Weight of a label.
    pub label_weight: f64,
    /// The correct step before smoothing, if it is used.
    pub correction: Option<Correction>,
    /// Engine, accuracy and memory limit.
    pub options: EngineOptions,
}

/// The result for one column of predictions. It serializes with least, median and most of the effective sources, and without the
/// smoothed rows.
#[derive(Clone, Debug, Serialize)]
pub struct Findings {
    /// γ = εᵀWε / ‖ε‖² with ε = ŷ − y: the share of the errors that smoothing keeps.
    pub gamma: f64,
    /// β = εᵀ(W − I)y / ‖ε‖²: how strongly the errors correlate with the change that smoothing makes to the truth.
    pub beta: f64,
    /// c*: the c between 0 and 1 with the least squared error.
    pub c_star: f64,
    /// The c that is used: the given one, or c*.
    pub c: f64,
    /// Mean squared error of the predictions.
    pub mse_before: f64,
    /// Mean squared error after the correct step; that of the predictions without one. γ, β and c* refer to these errors.
    pub mse_corrected: f64,
    /// Mean squared error after smoothing with c*.
    pub mse_at_c_star: f64,
    /// Mean squared error after smoothing with c.
    pub mse_after: f64,
    /// Moran's I of the errors before: 0 for errors without spatial correlation, 1 for errors equal to their neighbours'.
    pub moran_before: f64,
    /// Moran's I of the errors after.
    pub moran_after: f64,
    /// The effective number of sources of each row's average.
    #[serde(serialize_with = "as_extremes")]
    pub n_effective: Vec<f64>,
    /// Number of rows whose own prediction has more than half of the weight in their average: almost nothing is around them.
    pub isolated_rows: usize,
    /// The smoothed rows.
    #[serde(skip)]
    pub smoothed: Vec<f64>,
    /// The empirical variogram of the errors.
    pub variogram: Vec<Lag>,
}

impl Findings {
    /// Whether Theorem 1 says that smoothing can help: γ + β < 1, by more than rounding.
    #[must_use]
    pub fn can_help(&self) -> bool {
        self.mse_corrected > 0.0 && self.gamma + self.beta < 1.0 - 1e-9
    }
}

/// The effective numbers of sources of all rows in three figures.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct EffectiveSources {
    /// The least.
    pub min: f64,
    /// The median.
    pub median: f64,
    /// The most.
    pub max: f64,
}

impl EffectiveSources {
    /// Of so many rows; infinite, 0 and 0 for none.
    #[must_use]
    pub fn of(rows: &[f64]) -> Self {
        Self {
            min: rows.iter().copied().fold(f64::INFINITY, f64::min),
            median: median(rows.to_vec()).unwrap_or(0.0),
            max: rows.iter().copied().fold(0.0, f64::max),
        }
    }
}

fn as_extremes<S: Serializer>(rows: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
    EffectiveSources::of(rows).serialize(serializer)
}

impl Diagnosis {
    /// Diagnoses one column of predictions. The truth is smoothed, too, to compute β: the result explains, but is not for tuning.
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
    /// // A smooth truth, and errors that alternate from row to row: smoothing removes most of them.
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
        let c_star = if length > 0.0 { (-dot(&errors, &steps) / length).clamp(0.0, 1.0) + 0.0 } else { 0.0 };
        let c = self.c.unwrap_or(c_star);
        let smoothed = mixed(c, &averages.predictions, &predictions);
        let at_c_star = mixed(c_star, &averages.predictions, &predictions);
        let (before, after) = (difference(&raw, trial.truth), difference(&smoothed, trial.truth));
        let neighbours = Influence::new(self.sigma, trial.targets, trial.targets, Own::LeftOut)?;
        Ok(Findings {
            gamma: ratio(dot(&errors, &averages.errors), squares),
            beta: ratio(dot(&errors, &difference(&averages.truth, trial.truth)), squares),
            c_star,
            c,
            mse_before: mean_square(&before),
            mse_corrected: mean_square(&errors),
            mse_at_c_star: mean_square(&difference(&at_c_star, trial.truth)),
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
                message: "leave-one-out cannot be combined with the correct step: a hidden label would leak back through its neighbours".to_owned(),
                hint: "examine other rows, or leave out the correct step".to_owned(),
            });
        }
        let mut corrected = correction.apply(trial.targets, &[predictions], labelled, &self.options)?;
        Ok(corrected.pop().map_or(Vec::new(), |column| column.values))
    }

    /// W applied to predictions and to the truth, with labels for labelled rows, and to errors, with zeros for labelled rows.
    fn averages(&self, trial: &Trial, predictions: &[f64], errors: &[f64]) -> Result<Averages, Error> {
        let labelled = trial.labelled.as_ref().filter(|_| self.label_weight > 0.0);
        let labels = labelled.map_or(&[][..], |labelled| labelled.labels);
        let span = Span::of(&[predictions, trial.truth, labels]);
        let (predictions, truth) = (span.to_units(predictions), span.to_units(trial.truth));
        let own = Influence::new(self.sigma, trial.targets, trial.targets, Own::Counts)?;
        let sums = AveragedSums {
            span,
            rows: own.sums(self.sigma, &[&predictions, &truth, errors], 0.0, &self.options)?,
            squared: own.squared(self.sigma, 0.0, &self.options)?,
            label_weight: self.label_weight,
            labels: match trial.among_labels(self.sigma)?.filter(|_| labelled.is_some()) {
                None => None,
                Some(influence) => {
                    let own_mass = 1.0 / self.label_weight;
                    let labels = influence.sums(self.sigma, &[&span.to_units(labels)], own_mass, &self.options)?;
                    Some((labels, influence.squared(self.sigma, own_mass * own_mass, &self.options)?))
                }
            },
        };
        let rows: Vec<AtRow> = (0..trial.targets.len()).into_par_iter().map(|row| sums.at(row)).collect();
        Ok(Averages {
            predictions: rows.iter().map(|row| row.prediction).collect(),
            truth: rows.iter().map(|row| row.truth).collect(),
            errors: rows.iter().map(|row| row.error).collect(),
            mass: rows.iter().map(|row| row.mass).collect(),
            n_effective: rows.iter().map(|row| row.n_effective).collect(),
        })
    }

    /// Moran's I with the row-normalised kernel of the smoother, without each row itself. Rows so far from all others that the
    /// kernel underflows are left out.
    fn moran(&self, neighbours: &Influence, errors: &[f64]) -> Result<f64, Error> {
        let centre = mean(errors.iter().copied()).unwrap_or(0.0);
        let centred: Vec<f64> = errors.iter().map(|error| error - centre).collect();
        let scale = centred.iter().fold(0.0, |most: f64, error| most.max(error.abs())).max(f64::MIN_POSITIVE);
        let units: Vec<f64> = centred.iter().map(|error| error / scale).collect();
        let sums = neighbours.sums(self.sigma, &[&units], 0.0, &self.options)?;
        let with_neighbours: Vec<usize> = (0..units.len()).filter(|&row| sums.mass_at(row) > 0.0).collect();
        let along: f64 = with_neighbours.iter().map(|&row| units[row] * sums.shrunk(0, row, 0.0)).sum();
        let squares: f64 = with_neighbours.iter().map(|&row| units[row] * units[row]).sum();
        Ok(ratio(along, squares))
    }
}

/// The kernel sums that [`Averages`] are computed from.
struct AveragedSums {
    span: Span,
    /// Sums of predictions, truth and errors.
    rows: KernelSums,
    /// `Σ K²` of the rows.
    squared: KernelSums,
    label_weight: f64,
    /// Sums of the labels, and `Σ K²` of the labelled rows.
    labels: Option<(KernelSums, KernelSums)>,
}

impl AveragedSums {
    /// The averages at a row.
    fn at(&self, row: usize) -> AtRow {
        let (value, mass, squares) = self.label(row);
        let mass = mass + self.rows.mass_at(row);
        AtRow {
            prediction: self.span.stretched((value + self.rows.value_at(0, row)) / mass),
            truth: self.span.stretched((value + self.rows.value_at(1, row)) / mass),
            error: self.rows.value_at(2, row) / mass,
            mass,
            n_effective: mass * mass / (squares + self.squared.mass_at(row)),
        }
    }

    /// The weighted sums of the labels at a row: N, D and `Σ (w K)²`.
    fn label(&self, row: usize) -> (f64, f64, f64) {
        self.labels.as_ref().map_or((0.0, 0.0, 0.0), |(sums, squared)| {
            let weight = self.label_weight;
            (weight * sums.value_at(0, row), weight * sums.mass_at(row), weight * weight * squared.mass_at(row))
        })
    }
}

/// The averages at one row.
struct AtRow {
    prediction: f64,
    truth: f64,
    error: f64,
    mass: f64,
    n_effective: f64,
}

/// The averages at all rows, in columns.
struct Averages {
    predictions: Vec<f64>,
    truth: Vec<f64>,
    errors: Vec<f64>,
    mass: Vec<f64>,
    n_effective: Vec<f64>,
}

/// `c · mean + (1 − c) · prediction` of each row.
fn mixed(c: f64, means: &[f64], predictions: &[f64]) -> Vec<f64> {
    predictions.iter().zip(means).map(|(&prediction, &mean)| blend(c, mean, prediction)).collect()
}

/// A sum relative to a sum of squares; 0 if that is 0: without errors there is nothing to compare with.
fn ratio(sum: f64, squares: f64) -> f64 {
    if squares > 0.0 { sum / squares } else { 0.0 }
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
