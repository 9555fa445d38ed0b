//! How good predictions are where the truth is known.

use std::fmt;
use std::str::FromStr;

use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::error::Error;

/// One number that says how good predictions are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Share of the labels' variance that is explained; 1 is perfect, 0 as good as the mean.
    R2,
    /// Root of the mean squared error, in the unit of the labels.
    Rmse,
    /// Mean absolute error, in the unit of the labels.
    Mae,
    /// Mean absolute error relative to the label.
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

    /// Scores pairs of (prediction, label); `None` if there are none, or if this measure has no meaning for them: R² of
    /// labels that are all equal, MAPE of a label 0.
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
        let absolute = || pairs.clone().map(|(prediction, label)| (prediction - label).abs());
        let squared = || pairs.clone().map(|(prediction, label)| (prediction - label).powi(2));
        match self {
            Self::R2 => {
                let centre = mean(pairs.clone().map(|(_, label)| label))?;
                let variance = mean(pairs.clone().map(|(_, label)| (label - centre).powi(2)))?;
                (variance > 0.0).then_some(1.0 - mean(squared())? / variance)
            }
            Self::Rmse => mean(squared()).map(f64::sqrt),
            Self::Mae => mean(absolute()),
            Self::Mape => {
                mean(pairs.map(|(prediction, label)| ((prediction - label) / label).abs())).filter(|m| m.is_finite())
            }
            Self::MedianError => median(absolute().collect()),
        }
    }

    /// How much better one score is than another; negative if it is worse.
    #[must_use]
    pub fn gain(self, from: f64, to: f64) -> f64 {
        if self == Self::R2 { to - from } else { from - to }
    }

    /// Whether the best c follows from squared errors in closed form.
    pub(crate) fn is_squared(self) -> bool {
        matches!(self, Self::R2 | Self::Rmse)
    }
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
    /// Root of the mean squared error, in the unit of the labels.
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
        let of = |measure: Measure| measure.of(pairs.iter().copied());
        Some(Self {
            r2: of(Measure::R2),
            rmse: of(Measure::Rmse)?,
            mae: of(Measure::Mae)?,
            mape: of(Measure::Mape),
            median_error: of(Measure::MedianError)?,
        })
    }
}

/// Scores of more pairs than memory holds, added one by one.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    count: u64,
    /// The first label: sums of what labels are above it lose no digits to a common offset.
    first: f64,
    above: f64,
    above_squared: f64,
    squared: f64,
    absolute: f64,
    relative: f64,
    /// Absolute errors by their leading bits.
    sizes: FxHashMap<u64, u64>,
}

/// Bits that errors of one count lack: 16 of the mantissa are left, and the median is right to four digits.
const FINE_BITS: u32 = 36;

impl Tally {
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
        let mean = |sum: f64| sum / self.count as f64;
        let variance = mean(self.above_squared) - mean(self.above).powi(2);
        Some(Score {
            r2: (variance > 0.0).then(|| 1.0 - mean(self.squared) / variance),
            rmse: mean(self.squared).sqrt(),
            mae: mean(self.absolute),
            mape: Some(mean(self.relative)).filter(|mape| mape.is_finite()),
            median_error: self.median()?,
        })
    }

    fn median(&self) -> Option<f64> {
        let mut sizes: Vec<(u64, u64)> = self.sizes.iter().map(|(size, count)| (*size, *count)).collect();
        sizes.sort_unstable();
        let mut before = 0;
        let (middle, _) = sizes.into_iter().find(|(_, count)| {
            before += count;
            2 * before >= self.count
        })?;
        let ends = [middle, middle + 1].map(|size| f64::from_bits(size << FINE_BITS));
        Some(if middle == 0 { 0.0 } else { f64::midpoint(ends[0], ends[1]) })
    }
}

/// The mean, if there are any values.
pub(crate) fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0_usize), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / count as f64)
}

/// The median, if there are any values: the middle one, or the mean of the two in the middle.
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
        let of = |predictions: [f64; 3]| {
            Score::of(&predictions.into_iter().zip([1.0, 2.0, 6.0]).collect::<Vec<_>>()).unwrap()
        };
        let perfect = Score { r2: Some(1.0), rmse: 0.0, mae: 0.0, mape: Some(0.0), median_error: 0.0 };
        assert_eq!(of([1.0, 2.0, 6.0]), perfect);
        assert_eq!(of([3.0, 3.0, 3.0]).r2, Some(0.0));
        assert!(of([6.0, 2.0, 1.0]).r2.unwrap() < 0.0);
    }

    #[test]
    fn a_measure_without_meaning_is_none() {
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
        let mut tally = Tally::default();
        for (prediction, label) in &pairs {
            tally.add(*prediction, *label);
        }
        let (found, wanted) = (tally.score().unwrap(), Score::of(&pairs).unwrap());
        let close = |a: f64, b: f64, digits: f64| assert!((a / b - 1.0).abs() < digits, "{found:?} and {wanted:?}");
        close(found.r2.unwrap(), wanted.r2.unwrap(), 1e-9);
        close(found.rmse, wanted.rmse, 1e-12);
        close(found.mae, wanted.mae, 1e-12);
        close(found.mape.unwrap(), wanted.mape.unwrap(), 1e-12);
        close(found.median_error, wanted.median_error, 2e-5);
        assert_eq!(Tally::default().score(), None);
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
