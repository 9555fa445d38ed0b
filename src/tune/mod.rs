//! Tuning: chooses σ, c and the label weight, and whether to apply the correct step first, on rows whose truth is known.
//!
//! The truth of these rows is used for scoring only: it is never a source. At each σ, all values of c and of the label weight
//! and all columns of predictions share one computation of kernel sums.

mod bounds;
mod folds;
mod grid;
mod mixing;
mod noise;
mod scorable;
mod search;
mod trials;
mod tuned;

use crate::correct::Correction;
use crate::engine::{EngineOptions, Progress};
use crate::error::Error;
use crate::score::Measure;
use crate::smoother::{check_c, check_label_weight};
use crate::space::Sigma;

pub use self::folds::Fold;
pub use self::noise::Gain;
pub(crate) use self::scorable::check_scorable;
use self::search::{LABEL_WEIGHT_POWERS, LEAST_SHRINK};
pub use self::trials::Trial;
use self::trials::Trials;
pub use self::tuned::{Point, Tuned, Warning};

/// Chooses parameters on rows whose truth is known.
///
/// # Examples
/// ```
/// use geosmooth::tune::{Trial, Tuner};
/// use geosmooth::{LabelledRows, Measure, Places};
///
/// // Noisy predictions of a field that rises from left to right, and a few labels.
/// let line = |from: f64| (0..50).map(|x| from + f64::from(x)).collect::<Vec<f64>>();
/// let (places, truth) = (Places::index(vec![line(0.0)])?, line(100.0));
/// let noisy: Vec<f64> = truth.iter().enumerate().map(|(row, y)| y + [3.0, -3.0, 1.0, -1.0][row % 4]).collect();
/// let (sold, prices) = (Places::index(vec![line(0.5)])?, line(100.5));
///
/// let labelled = LabelledRows { places: &sold, labels: &prices, predictions: vec![] };
/// let trial = Trial { targets: &places, predictions: vec![&noisy], truth: &truth, labelled: Some(labelled), hides_own_label: false };
/// let tuned = Tuner::new(Measure::Rmse).tune(&[trial], &())?;
/// assert!(tuned.best.score < 0.5 * tuned.unsmoothed.score);
/// # Ok::<(), geosmooth::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Tuner {
    measure: Measure,
    options: EngineOptions,
    sigmas: Sigmas,
    cs: Option<Vec<f64>>,
    label_weights: Option<Vec<f64>>,
}

/// The σ to try.
#[derive(Clone, Debug)]
enum Sigmas {
    /// From well below the spacing of the places up to their extent.
    FromData,
    Within(Sigma, Sigma),
    Exactly(Vec<Sigma>),
}

/// Checks that all σ have units of one kind, so that they select the same metric.
pub(crate) fn check_kinds(sigmas: &[Sigma]) -> Result<(), Error> {
    let kind = std::mem::discriminant::<Sigma>;
    match sigmas.iter().find(|sigma| kind(sigma) != kind(&sigmas[0])) {
        None => Ok(()),
        Some(sigma) => Err(Error::Contradiction {
            message: format!("sigma {sigma} has a unit of another kind than {}", sigmas[0]),
            hint: "write all of them in units of one kind: metres, kilometres and miles, or degrees".to_owned(),
        }),
    }
}

impl Tuner {
    /// A tuner that searches all parameters for the best score in this measure.
    #[must_use]
    pub fn new(measure: Measure) -> Self {
        let options = EngineOptions::default();
        Self { measure, options, sigmas: Sigmas::FromData, cs: None, label_weights: None }
    }

    /// Sets the engine that computes the sums, its accuracy and its memory limit.
    #[must_use]
    pub fn engine_options(mut self, options: EngineOptions) -> Self {
        self.options = options;
        self
    }

    /// Searches σ between these two.
    ///
    /// # Errors
    /// If the first is not the smaller, or their units are of different kinds.
    pub fn sigma_range(mut self, low: Sigma, high: Sigma) -> Result<Self, Error> {
        if std::mem::discriminant(&low) != std::mem::discriminant(&high) || low.value() >= high.value() {
            return Err(Error::Contradiction {
                message: format!("there is no sigma between {low} and {high}"),
                hint: "give the smaller first, and both in units of one kind".to_owned(),
            });
        }
        self.sigmas = Sigmas::Within(low, high);
        Ok(self)
    }

    /// Tries exactly these σ, and label weight 1 unless others are given.
    ///
    /// # Errors
    /// If there are none.
    pub fn sigma_grid(mut self, sigmas: Vec<Sigma>) -> Result<Self, Error> {
        not_empty("sigma", &sigmas)?;
        self.sigmas = Sigmas::Exactly(sigmas);
        Ok(self)
    }

    /// Tries exactly these c.
    ///
    /// # Errors
    /// If there are none, or one is not within 0 and 1.
    pub fn c_grid(mut self, cs: Vec<f64>) -> Result<Self, Error> {
        not_empty("c", &cs)?;
        cs.iter().try_for_each(|&c| check_c(c))?;
        self.cs = Some(cs);
        Ok(self)
    }

    /// Tries exactly these label weights.
    ///
    /// # Errors
    /// If there are none, or one is negative or not finite.
    pub fn label_weights(mut self, weights: Vec<f64>) -> Result<Self, Error> {
        not_empty("label weight", &weights)?;
        weights.iter().try_for_each(|&weight| check_label_weight(weight))?;
        self.label_weights = Some(weights);
        Ok(self)
    }

    /// Chooses the parameters with the best score over all rows of the trials. If the labelled rows have predictions, the
    /// correct step is tried too, unless σ comes from a grid.
    ///
    /// # Errors
    /// If there are fewer than two rows, the measure is not defined for them, or σ does not fit the places.
    pub fn tune(&self, trials: &[Trial], progress: &dyn Progress) -> Result<Tuned, Error> {
        let unit = self.unit(trials)?;
        let mut trials = Trials::new(trials, unit, self.options)?;
        self.check(&trials)?;
        let weights = self.label_weights_to_try(&trials);
        trials.expect(weights.iter().copied().fold(0.0, f64::max), LEAST_SHRINK);
        let unsmoothed = self.unsmoothed(&trials, unit);
        let outcome = if let Sigmas::Exactly(sigmas) = &self.sigmas {
            self.grid(&trials, sigmas, &weights, progress)?
        } else {
            trials.options = self.options.with_tolerance_of_at_least(SEARCH_TOLERANCE);
            let outcome = self.search(&trials, self.range(&trials, unit)?, weights, progress)?;
            trials.options = self.options;
            outcome
        };
        self.conclude(&trials, unsmoothed, outcome)
    }

    /// A σ with the unit of those to try, which selects the metric.
    fn unit(&self, trials: &[Trial]) -> Result<Sigma, Error> {
        let places = trials.first().map(|trial| trial.targets).ok_or_else(too_few)?;
        let sigmas = match &self.sigmas {
            Sigmas::FromData => return places.unit_sigma(),
            Sigmas::Within(low, high) => vec![*low, *high],
            Sigmas::Exactly(sigmas) => sigmas.clone(),
        };
        sigmas.iter().try_for_each(|sigma| places.metric(*sigma).map(drop))?;
        check_kinds(&sigmas)?;
        Ok(sigmas[0])
    }

    /// The label weights to try: those given; otherwise 1 for a grid, as in the paper, or 0 and powers of four for a search.
    fn label_weights_to_try(&self, trials: &Trials) -> Vec<f64> {
        match &self.label_weights {
            _ if !trials.has_labels() => vec![0.0],
            Some(weights) => weights.clone(),
            None if matches!(self.sigmas, Sigmas::Exactly(_)) => vec![1.0],
            None => std::iter::once(0.0).chain(LABEL_WEIGHT_POWERS.map(|power| 4_f64.powi(power))).collect(),
        }
    }

    fn check(&self, trials: &Trials) -> Result<(), Error> {
        if trials.truth.len() < 2 {
            return Err(too_few());
        }
        let predictions: Vec<&[f64]> = trials.predictions.iter().map(Vec::as_slice).collect();
        check_scorable(self.measure, &trials.truth, &predictions)
    }

    /// The best column without smoothing.
    fn unsmoothed(&self, trials: &Trials, sigma: Sigma) -> Point {
        let unscored = Point { prediction: 0, sigma, c: 0.0, label_weight: 0.0, correction: None, score: f64::NAN };
        let columns = trials.predictions.iter().enumerate();
        let points: Vec<Point> = columns
            .map(|(prediction, values)| Point { prediction, score: self.score(values, &trials.truth), ..unscored })
            .collect();
        self.best_of(&points).unwrap_or(unscored)
    }

    fn score(&self, values: &[f64], truth: &[f64]) -> f64 {
        self.measure.of(values.iter().copied().zip(truth.iter().copied())).unwrap_or(f64::NAN)
    }

    fn best_of<'a>(&self, points: impl IntoIterator<Item = &'a Point>) -> Option<Point> {
        tuned::best(self.measure, points)
    }

    /// Chooses among all points that were tried, and compares the result with the unsmoothed predictions.
    fn conclude(&self, trials: &Trials, unsmoothed: Point, outcome: SearchResult) -> Result<Tuned, Error> {
        let plain = self.best_of(outcome.points.iter().filter(|point| point.correction.is_none()));
        let (mut best, mut values) = self.rescored(trials, plain.unwrap_or(unsmoothed))?;
        if let Some(corrected) = self.best_of(outcome.points.iter().filter(|point| point.correction.is_some())) {
            // The additional step must gain more than noise.
            let (corrected, more) = self.rescored(trials, corrected)?;
            if !noise::paired_bootstrap(self.measure, &values, &more, &trials.truth).is_within_noise() {
                (best, values) = (corrected, more);
            }
        }
        let helps = self.measure.gain(unsmoothed.score, best.score) > 0.0;
        if !helps {
            let Point { prediction, score, .. } = unsmoothed;
            best = Point { prediction, c: 0.0, label_weight: 0.0, correction: None, score, ..best };
            values.clone_from(&trials.predictions[prediction]);
        }
        let before = &trials.predictions[unsmoothed.prediction];
        let gain = noise::paired_bootstrap(self.measure, before, &values, &trials.truth);
        let warnings = if helps { self.warnings(&best, &outcome, gain) } else { vec![Warning::NothingHelps] };
        Ok(Tuned { best, unsmoothed, tried: outcome.points, gain, warnings, values })
    }

    /// A point scored with the final tolerance, and its smoothed rows.
    fn rescored(&self, trials: &Trials, point: Point) -> Result<(Point, Vec<f64>), Error> {
        let values = Self::values(trials, &point)?;
        Ok((Point { score: self.score(&values, &trials.truth), ..point }, values))
    }

    fn warnings(&self, best: &Point, outcome: &SearchResult, gain: Gain) -> Vec<Warning> {
        let mut warnings = Vec::new();
        let (smallest, largest) = outcome.sigmas;
        if best.c > 0.0 && smallest < largest {
            if best.sigma.value() <= smallest * EDGE {
                warnings.push(Warning::SmallestSigma(best.sigma));
            } else if best.sigma.value() >= largest / EDGE {
                warnings.push(Warning::LargestSigma(best.sigma));
            }
        }
        // Only for listed weights: the ends of the default ladder mean predictions only, and practically labels only.
        let weights = self.label_weights.as_deref().unwrap_or_default();
        if best.c > 0.0 && best.label_weight > 0.0 && is_at_edge(weights, best.label_weight) {
            warnings.push(Warning::LabelWeightAtEdge(best.label_weight));
        }
        if let Some(width) = best.correction.map(Correction::sigma)
            && (width.value() <= smallest * EDGE || width.value() >= largest / EDGE)
        {
            warnings.push(Warning::CorrectionAtEdge(width));
        }
        if self.cs.as_ref().is_some_and(|cs| best.c != 1.0 && is_largest(cs, best.c)) {
            warnings.push(Warning::LargestC(best.c));
        }
        if gain.is_within_noise() {
            warnings.push(Warning::WithinNoise(gain));
        }
        warnings
    }
}

/// Whether a value is the largest of several.
fn is_largest(values: &[f64], value: f64) -> bool {
    values.len() > 1 && values.iter().all(|other| *other <= value)
}

/// Whether a value is the largest or the smallest of several.
fn is_at_edge(values: &[f64], value: f64) -> bool {
    is_largest(values, value) || (values.len() > 1 && values.iter().all(|other| *other >= value))
}

/// The tolerance while searching. True errors are a few hundredths of it and cancel over rows. On the sample it changes R² by
/// less than 1e-6, a hundredth of the difference between neighbouring settings. The result is scored with the final tolerance.
pub(crate) const SEARCH_TOLERANCE: f64 = 1e-4;

/// A σ within this factor of an end of the range counts as being at the end: below the resolution of the search, 7 %.
const EDGE: f64 = 1.02;

/// All points that a grid or a search tried, with the smallest and the largest σ.
struct SearchResult {
    points: Vec<Point>,
    sigmas: (f64, f64),
}

pub(crate) fn too_few() -> Error {
    Error::Contradiction {
        message: "there are fewer than two rows to tune on".to_owned(),
        hint: "give more rows with `validation`; hundreds are better than tens".to_owned(),
    }
}

pub(crate) fn not_empty<T>(what: &'static str, values: &[T]) -> Result<(), Error> {
    if values.is_empty() {
        return Err(Error::Contradiction {
            message: format!("the list of values of {what} to try is empty"),
            hint: "list at least one, separated by commas".to_owned(),
        });
    }
    Ok(())
}
