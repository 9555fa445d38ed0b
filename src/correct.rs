//! The correct step: residuals at labelled rows are spread to the rows around them.
//!
//! `ŷ' = ŷ + Σ K r / (Σ K + κ)` over labelled rows with residuals `r = y − ŷ`. The predictions ŷ of the labelled rows must
//! be **out of fold**: on rows that it was trained on, a model's errors are too small.

use crate::engine::EngineOptions;
use crate::error::{Error, plain};
use crate::influence::{Influence, KernelSums};
use crate::points::Places;
use crate::scene::{Own, Scene};
use crate::space::Sigma;

/// How residuals are spread: the width σ of their kernel, and the shrinkage κ, the mass of zeros that they are averaged with.
///
/// # Examples
/// ```
/// use geosmooth::{Correction, EngineOptions, LabelledRows, Places, Sigma};
///
/// // The model was 10 too low at the only sale, 100 m from the house.
/// let house = Places::lat_lon(vec![41.6500], vec![-83.54])?;
/// let sale = Places::lat_lon(vec![41.6509], vec![-83.54])?;
/// let labelled = LabelledRows { places: &sale, labels: &[130.0], predictions: vec![&[120.0]] };
///
/// let correction = Correction::new(Sigma::metres(500.0)?, 1.0)?;
/// let corrected = correction.apply(&house, &[&[100.0]], &labelled, &EngineOptions::default())?;
/// assert!((104.0..105.0).contains(&corrected[0].values[0])); // about half of the 10, since κ is 1
/// # Ok::<(), geosmooth::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Correction {
    sigma: Sigma,
    shrink: f64,
}

/// Labelled rows with out-of-fold predictions.
#[derive(Clone, Debug)]
pub struct LabelledRows<'a> {
    /// Where they are.
    pub places: &'a Places,
    /// The true values.
    pub labels: &'a [f64],
    /// Out-of-fold predictions: one column for each column at the targets, in the same order.
    pub predictions: Vec<&'a [f64]>,
}

/// One corrected column.
#[derive(Clone, Debug)]
pub struct Corrected {
    /// The corrected prediction of each target.
    pub values: Vec<f64>,
    /// How far each of them can be from the exact one, in the unit of the values.
    pub error_bound: Vec<f64>,
}

/// Bytes of results for each row: four sums (mass, value, error, exponent), held twice while they are copied from places to
/// rows (64), and values, bounds and spare room (32).
const BYTES_OF_A_ROW: u64 = 96;

impl Correction {
    /// Spreads residuals by a kernel of width σ, shrunk by the mass κ.
    ///
    /// # Errors
    /// If κ is negative or not finite.
    pub fn new(sigma: Sigma, shrink: f64) -> Result<Self, Error> {
        if (0.0..=1e100).contains(&shrink) {
            return Ok(Self { sigma, shrink });
        }
        let expected = "zero or a positive number";
        Err(Error::Parameter { name: "shrinkage of the correct step", value: plain(shrink), expected })
    }

    /// The width of the kernel.
    #[must_use]
    pub fn sigma(self) -> Sigma {
        self.sigma
    }

    /// The shrinkage κ.
    #[must_use]
    pub fn shrink(self) -> f64 {
        self.shrink
    }

    /// Corrects columns of predictions at the targets. The error is at most half the tolerance times the range of the labels.
    ///
    /// # Errors
    /// If σ does not fit the places, or columns have the wrong length or values that are not finite.
    pub fn apply(
        self,
        targets: &Places,
        predictions: &[&[f64]],
        labelled: &LabelledRows,
        options: &EngineOptions,
    ) -> Result<Vec<Corrected>, Error> {
        one_for_each(predictions.len(), labelled.predictions.len())?;
        labelled.check()?;
        let mut residuals = labelled.residuals();
        let largest = residuals.iter().flatten().fold(0.0, |most: f64, residual| most.max(residual.abs()));
        if largest == 0.0 {
            let unchanged =
                |values: &&[f64]| Corrected { values: values.to_vec(), error_bound: vec![0.0; values.len()] };
            return Ok(predictions.iter().map(unchanged).collect());
        }
        // In units of the largest, so that no sum overflows. An average of residuals then differs from each by at most two units.
        residuals.iter_mut().flatten().for_each(|residual| *residual /= largest);
        let columns: Vec<&[f64]> = residuals.iter().map(Vec::as_slice).collect();
        let options = options.with_share(labelled.half_range() / (2.0 * largest));
        let rows = Scene::counts(self.sigma, targets, &[(labelled.places, 1.0)])?;
        let stays = rows.kept() + rows.targets * BYTES_OF_A_ROW;
        let options = options.beside(stays, rows.meanwhile(), || "the correct step".to_owned())?;
        let influence = Influence::new(self.sigma, targets, labelled.places, Own::Counts)?;
        let sums = influence.sums(self.sigma, &columns, self.shrink, &options)?;
        let columns = predictions.iter().enumerate();
        Ok(columns.map(|(k, values)| self.corrected(values, &sums, k, largest)).collect())
    }

    /// One column with its residuals spread; the sums are in units of the largest residual.
    fn corrected(self, values: &[f64], sums: &KernelSums, k: usize, largest: f64) -> Corrected {
        let rows = values.iter().enumerate();
        let values: Vec<f64> = rows.map(|(row, value)| value + largest * sums.shrunk(k, row, self.shrink)).collect();
        let size = values.iter().fold(largest, |most, value| most.max(value.abs()));
        let rounding = 2.0 * f64::EPSILON * size;
        let bounds =
            (0..values.len()).map(|row| 2.0 * largest * sums.shrunk_error(row, self.shrink).min(1.0) + rounding);
        Corrected { error_bound: bounds.collect(), values }
    }
}

impl LabelledRows<'_> {
    /// `y − ŷ` for each column.
    pub(crate) fn residuals(&self) -> Vec<Vec<f64>> {
        let columns = self.predictions.iter();
        columns.map(|column| self.labels.iter().zip(*column).map(|(label, value)| label - value).collect()).collect()
    }

    /// Half the range of the labels; the whole range may overflow.
    fn half_range(&self) -> f64 {
        let high = self.labels.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let low = self.labels.iter().copied().fold(f64::INFINITY, f64::min);
        (0.5 * high - 0.5 * low).max(0.0)
    }

    /// Checks that columns have one finite value for each row, and that residuals are finite.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let rows = self.places.len();
        for (what, values) in
            self.predictions.iter().map(|values| ("training prediction", *values)).chain([("label", self.labels)])
        {
            if values.len() != rows {
                return Err(Error::Length { what, found: values.len(), expected: rows });
            }
            if let Some(row) = values.iter().position(|value| !value.is_finite()) {
                return Err(Error::Value { what, value: values[row], row });
            }
        }
        match self.residuals().iter().flatten().find(|residual| !residual.is_finite()) {
            None => Ok(()),
            Some(_) => Err(Error::Contradiction {
                message: "labels and training predictions are too far apart for 64-bit numbers".to_owned(),
                hint: "check their unit".to_owned(),
            }),
        }
    }
}

/// Checks that there are as many columns of out-of-fold predictions as of predictions.
pub(crate) fn one_for_each(predictions: usize, out_of_fold: usize) -> Result<(), Error> {
    if predictions == out_of_fold {
        return Ok(());
    }
    Err(Error::Contradiction {
        message: format!("{predictions} predictions, but {out_of_fold} of them on training rows"),
        hint: "give one out-of-fold column for each prediction, in the same order".to_owned(),
    })
}
