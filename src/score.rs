//! How good predictions are where the truth is known.

use serde::Serialize;

/// Scores of predictions against labels.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Score {
    /// Share of the labels' variance that is explained; none if the labels are all equal.
    pub r2: Option<f64>,
    /// Root of the mean squared error, in the unit of the labels.
    pub rmse: f64,
    /// Mean absolute error, in the unit of the labels.
    pub mae: f64,
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
        if pairs.is_empty() {
            return None;
        }
        let count = pairs.len() as f64;
        let mean = |term: &dyn Fn(&(f64, f64)) -> f64| pairs.iter().map(term).sum::<f64>() / count;
        let centre = mean(&|(_, label)| *label);
        let squared_error = mean(&|(prediction, label)| (prediction - label).powi(2));
        let variance = mean(&|(_, label)| (label - centre).powi(2));
        Some(Self {
            r2: (variance > 0.0).then(|| 1.0 - squared_error / variance),
            rmse: squared_error.sqrt(),
            mae: mean(&|(prediction, label)| (prediction - label).abs()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_explains_nothing_and_the_truth_everything() {
        let of = |predictions: [f64; 3]| {
            Score::of(&predictions.into_iter().zip([1.0, 2.0, 6.0]).collect::<Vec<_>>()).unwrap()
        };
        assert_eq!(of([1.0, 2.0, 6.0]), Score { r2: Some(1.0), rmse: 0.0, mae: 0.0 });
        assert_eq!(of([3.0, 3.0, 3.0]).r2, Some(0.0));
        assert!(of([6.0, 2.0, 1.0]).r2.unwrap() < 0.0);
    }

    #[test]
    fn equal_labels_have_no_r2_and_no_rows_no_score() {
        assert_eq!(Score::of(&[(1.0, 2.0), (3.0, 2.0)]).unwrap().r2, None);
        assert_eq!(Score::of(&[]), None);
    }
}
