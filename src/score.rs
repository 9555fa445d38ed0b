//! Scores of predictions against true values: R², RMSE, MAE, MAPE and the median absolute error.

use std::fmt;
use std::str::FromStr;

use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::error::Error;

/// A measure of how good predictions are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Share of the labels' variance that is explained: 1 is perfect, 0 is as good as the mean of the labels.
    R2,
    /// Root mean squared error, in the unit of the labels.
    Rmse,
    /// Mean absolute error, in the unit of the labels.
    Mae,
    /// Mean absolute error relative to the label (mean absolute percentage error, as a fraction).
    Mape,
    /// Median absolute error, in the unit of the labels.
    MedianError,
}

impl Measure {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::R2, Self::Rmse, Self::Mae, Self::Mape, Self::MedianError];

    /// Its name on the command line and in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::R2 => "r2",
            Self::Rmse => "rmse",
            Self::Mae => "mae",
            Self::Mape => "mape",
            Self::MedianError => "median_error",
        }
    }

    /// Its name for people.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::R2 => "R²",
            Self::Rmse => "RMSE",
            Self::Mae => "MAE",
            Self::Mape => "MAPE",
            Self::MedianError => "median absolute error",
        }
    }

    /// Scores pairs of (prediction, label). `None` if there are no pairs, or if the measure is not defined for them: R² if all
    /// labels are equal, MAPE if a label is 0.
    ///
    /// # Examples
    /// ```
    /// use geosmooth::Measure;
    ///
    /// let pairs = [(1.0, 1.0), (2.0, 4.0), (9.0, 8.0)];
    /// assert_eq!(Measure::Mae.of(pairs.iter().copied()), Some(1.0));
    /// assert_eq!(Measure::MedianError.of(pairs.iter().copied()), Some(1.0));
    /// ```
    #[must_use]
    pub fn of(self, pairs: impl Iterator<Item = (f64, f64)> + Clone) -> Option<f64> {
        match self {
            Self::R2 => {
                let centre = mean(pairs.clone().map(|(_, label)| label))?;
                let variance = mean(pairs.clone().map(|(_, label)| (label - centre).powi(2)))?;
                (variance > 0.0).then_some(1.0 - mean(pairs.map(squared_error))? / variance)
            }
            Self::Rmse => mean(pairs.map(squared_error)).map(f64::sqrt),
            Self::Mae => mean(pairs.map(absolute_error)),
            Self::Mape => {
                mean(pairs.map(|(prediction, label)| ((prediction - label) / label).abs())).filter(|m| m.is_finite())
            }
            Self::MedianError => median(pairs.map(absolute_error).collect()),
        }
    }

    /// How much better the score `to` is than `from`; negative if it is worse.
    #[must_use]
    pub fn gain(self, from: f64, to: f64) -> f64 {
        if self == Self::R2 { to - from } else { from - to }
    }

    /// Whether the measure depends on squared errors, so that the best c has a closed form.
    pub(crate) fn is_squared(self) -> bool {
        matches!(self, Self::R2 | Self::Rmse)
    }
}

fn absolute_error((prediction, label): (f64, f64)) -> f64 {
    (prediction - label).abs()
}

fn squared_error((prediction, label): (f64, f64)) -> f64 {
    (prediction - label).powi(2)
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Measure {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let text = text.trim().to_lowercase();
        Self::ALL.into_iter().find(|measure| measure.name() == text).ok_or_else(|| Error::Parameter {
            name: "metric",
            value: format!("'{text}'"),
            expected: "one of r2, rmse, mae, mape, median_error",
        })
    }
}

/// Scores of predictions against labels.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Score {
    /// Share of the labels' variance that is explained; `None` if all labels are equal.
    pub r2: Option<f64>,
    /// Root mean squared error, in the unit of the labels.
    pub rmse: f64,
    /// Mean absolute error, in the unit of the labels.
    pub mae: f64,
    /// Mean absolute error relative to the label; `None` if a label is 0.
    pub mape: Option<f64>,
    /// Median absolute error, in the unit of the labels.
    pub median_error: f64,
}

impl Score {
    /// Scores pairs of (prediction, label); `None` if there are none.
    ///
    /// # Examples
    /// ```
    /// let score = geosmooth::Score::of(&[(1.0, 1.0), (2.0, 4.0)]).unwrap();
    /// assert_eq!(score.mae, 1.0);
    /// assert_eq!(score.rmse, 2.0_f64.sqrt());
    /// ```
    #[must_use]
    pub fn of(pairs: &[(f64, f64)]) -> Option<Self> {
        let pairs = pairs.iter().copied();
        Some(Self {
            r2: Measure::R2.of(pairs.clone()),
            rmse: Measure::Rmse.of(pairs.clone())?,
            mae: Measure::Mae.of(pairs.clone())?,
            mape: Measure::Mape.of(pairs.clone()),
            median_error: Measure::MedianError.of(pairs)?,
        })
    }
}

/// Scores of more pairs than memory holds: pairs are added one by one.
#[derive(Debug, Default)]
pub(crate) struct ScoreTally {
    count: u64,
    /// The first label. Labels are summed as differences from it, so that a common offset costs no digits.
    first: f64,
    above: f64,
    above_squared: f64,
    squared: f64,
    absolute: f64,
    relative: f64,
    /// A histogram of absolute errors by their leading bits.
    sizes: FxHashMap<u64, u64>,
}

/// Low bits dropped by the histogram: 16 bits of the mantissa are left, so that the median is right to four digits.
const FINE_BITS: u32 = 36;

impl ScoreTally {
    /// Adds a prediction and its label.
    pub(crate) fn add(&mut self, prediction: f64, label: f64) {
        if self.count == 0 {
            self.first = label;
        }
        let (above, error) = (label - self.first, (prediction - label).abs());
        self.count += 1;
        self.above += above;
        self.above_squared += above * above;
        self.squared += error * error;
        self.absolute += error;
        self.relative += error / label.abs();
        *self.sizes.entry(error.to_bits() >> FINE_BITS).or_default() += 1;
    }

    /// The scores; `None` if there are no pairs.
    pub(crate) fn score(&self) -> Option<Score> {
        let count = self.count as f64;
        let variance = self.above_squared / count - (self.above / count).powi(2);
        Some(Score {
            r2: (variance > 0.0).then(|| 1.0 - (self.squared / count) / variance),
            rmse: (self.squared / count).sqrt(),
            mae: self.absolute / count,
            mape: Some(self.relative / count).filter(|mape| mape.is_finite()),
            median_error: self.median()?,
        })
    }

    fn median(&self) -> Option<f64> {
        let mut sizes: Vec<(u64, u64)> = self.sizes.iter().map(|(size, count)| (*size, *count)).collect();
        sizes.sort_unstable();
        // The bin in which the running count reaches half of all errors.
        let mut before = 0;
        let (middle, _) = sizes.into_iter().find(|(_, count)| {
            before += count;
            2 * before >= self.count
        })?;
        let ends = [middle, middle + 1].map(|size| f64::from_bits(size << FINE_BITS));
        Some(if middle == 0 { 0.0 } else { f64::midpoint(ends[0], ends[1]) })
    }
}

/// The mean; `None` without values.
pub(crate) fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0_usize), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / count as f64)
}

/// The median: the middle value, or the mean of the two in the middle; `None` without values.
pub(crate) fn median(mut values: Vec<f64>) -> Option<f64> {
    let middle = values.len() / 2;
    if values.is_empty() {
        return None;
    }
    let even = values.len().is_multiple_of(2);
    let (below, upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    let lower = if even { below.iter().copied().fold(f64::NEG_INFINITY, f64::max) } else { *upper };
    Some(f64::midpoint(lower, *upper))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_explains_nothing_and_the_truth_everything() {
        let perfect = Score { r2: Some(1.0), rmse: 0.0, mae: 0.0, mape: Some(0.0), median_error: 0.0 };
        assert_eq!(score_of([1.0, 2.0, 6.0]), perfect);
        assert_eq!(score_of([3.0, 3.0, 3.0]).r2, Some(0.0));
        assert!(score_of([6.0, 2.0, 1.0]).r2.unwrap() < 0.0);
    }

    /// Scores against the labels 1, 2 and 6.
    fn score_of(predictions: [f64; 3]) -> Score {
        Score::of(&predictions.into_iter().zip([1.0, 2.0, 6.0]).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn an_undefined_measure_is_none() {
        assert_eq!(Score::of(&[(1.0, 2.0), (3.0, 2.0)]).unwrap().r2, None);
        assert_eq!(Score::of(&[(1.0, 0.0), (3.0, 2.0)]).unwrap().mape, None);
        assert_eq!(Score::of(&[]), None);
    }

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(median(vec![9.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![9.0, 1.0, 2.0, 4.0]), Some(3.0));
        assert_eq!(median(Vec::new()), None);
        assert_eq!(Measure::Mape.of([(1.0, 2.0), (3.0, 2.0)].into_iter()), Some(0.5));
    }

    #[test]
    fn a_tally_scores_as_all_pairs_do() {
        let pairs: Vec<(f64, f64)> =
            (0..1001).map(|i| (1e6 + f64::from(i % 7), 1e6 + f64::from(i % 10) + 0.01 * f64::from(i))).collect();
        let mut tally = ScoreTally::default();
        for (prediction, label) in &pairs {
            tally.add(*prediction, *label);
        }
        let (found, wanted) = (tally.score().unwrap(), Score::of(&pairs).unwrap());
        for (a, b, tolerance) in [
            (found.r2.unwrap(), wanted.r2.unwrap(), 1e-9),
            (found.rmse, wanted.rmse, 1e-12),
            (found.mae, wanted.mae, 1e-12),
            (found.mape.unwrap(), wanted.mape.unwrap(), 1e-12),
            (found.median_error, wanted.median_error, 2e-5),
        ] {
            assert!((a / b - 1.0).abs() < tolerance, "{found:?} and {wanted:?}");
        }
        assert_eq!(ScoreTally::default().score(), None);
    }

    #[test]
    fn measures_by_name_and_their_direction() {
        for measure in Measure::ALL {
            assert_eq!(measure.name().parse::<Measure>().unwrap(), measure);
        }
        assert!("accuracy".parse::<Measure>().is_err());
        assert!(Measure::R2.gain(0.5, 0.6) > 0.0 && Measure::Mae.gain(0.5, 0.6) < 0.0);
    }
}
