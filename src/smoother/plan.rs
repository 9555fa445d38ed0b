//! Applying a plan to values: from the sums of an engine to smoothed rows and their bounds.

use std::sync::Arc;

use rayon::prelude::*;

use super::Smoother;
use crate::engine::{Choice, Matrix, Plan, Progress, RowSums, Sums};
use crate::error::Error;
use crate::scene::{Own, Scene};
use crate::span::{Span, blend};

/// A smoother that knows its places.
pub struct SmoothingPlan {
    pub(super) smoother: Smoother,
    pub(super) scene: Arc<Scene>,
    pub(super) plan: Box<dyn Plan>,
    pub(super) choice: Choice,
}

/// One smoothed column.
#[derive(Clone, Debug)]
pub struct Smoothed {
    /// The smoothed value of each target; `None` only where leave-one-out leaves no source at all.
    pub values: Vec<Option<f64>>,
    /// How far each value can be from the exact one, in the unit of the values: approximation and rounding.
    pub error_bound: Vec<f64>,
    /// R: the largest source value minus the smallest, or the largest number that there is.
    pub range: f64,
}

impl Smoothed {
    /// The error bounds relative to the range; all zero for a constant column.
    pub fn relative_bounds(&self) -> impl Iterator<Item = f64> {
        self.error_bound.iter().map(|bound| if self.range > 0.0 { bound / self.range } else { 0.0 })
    }
}

impl SmoothingPlan {
    /// The engine that was chosen, and why.
    #[must_use]
    pub fn choice(&self) -> Choice {
        self.choice
    }

    /// The weight matrix between places, if the engine keeps one.
    #[must_use]
    pub fn matrix(&self) -> Option<&Matrix> {
        self.plan.matrix()
    }

    /// The places that the plan is made for.
    #[must_use]
    pub fn scene(&self) -> &Scene {
        &self.scene
    }

    /// Smooths each column of predictions, together with the labels if the plan has labelled places.
    ///
    /// # Errors
    /// If a column has the wrong length or a value that is not finite, or labels are missing or unexpected.
    pub fn apply(&self, predictions: &[&[f64]], labels: Option<&[f64]>) -> Result<Vec<Smoothed>, Error> {
        self.apply_with(predictions, labels, &())
    }

    /// [`apply`](Self::apply) that tells how far it has come.
    ///
    /// # Errors
    /// As [`apply`](Self::apply).
    pub fn apply_with(
        &self,
        predictions: &[&[f64]],
        labels: Option<&[f64]>,
        progress: &dyn Progress,
    ) -> Result<Vec<Smoothed>, Error> {
        let labels = labels.filter(|_| self.smoother.label_weight > 0.0);
        for prediction in predictions {
            self.check("prediction", prediction, 0)?;
        }
        match labels {
            Some(labels) => self.check("label", labels, 1)?,
            None => self.check("label", &[], 1)?,
        }
        let columns: Vec<Vec<&[f64]>> =
            predictions.iter().map(|prediction| std::iter::once(*prediction).chain(labels).collect()).collect();
        let spans: Vec<Span> = columns.iter().map(|parts| Span::of(parts)).collect();
        Ok(self.smooth_parts(&columns, &spans, 0.0, progress))
    }

    /// Smooths columns, each of which has values for all parts of the sources, the predictions of the targets first. Sources that are
    /// not at hand carry at most `beyond` to any target; the spans are those of all values.
    pub(super) fn smooth_parts(
        &self,
        parts: &[Vec<&[f64]>],
        spans: &[Span],
        beyond: f64,
        progress: &dyn Progress,
    ) -> Vec<Smoothed> {
        let gather = |(parts, span): (&Vec<&[f64]>, &Span)| self.scene.gather(parts, |value| span.to_unit(value));
        let columns: Vec<Vec<f64>> = parts.iter().zip(spans).map(gather).collect();
        let mut sums = self.plan.sums(&columns, progress);
        if beyond > 0.0 {
            sums.error.iter_mut().for_each(|error| *error += beyond);
        }
        (0..parts.len()).map(|k| self.smooth_column(parts[k][0], &spans[k], &columns[k], &sums, k)).collect()
    }

    fn check(&self, what: &'static str, values: &[f64], part: usize) -> Result<(), Error> {
        check_values(what, values, self.scene.parts.get(part).map_or(0, |(_, rows)| *rows))
    }

    fn smooth_column(&self, predictions: &[f64], span: &Span, column: &[f64], sums: &Sums, k: usize) -> Smoothed {
        let blending = Blending::new(self.smoother.c, span);
        if self.scene.layout.own == Own::Counts {
            return blending.rows(predictions, &self.scene.layout.target_of_row, sums, k);
        }
        let row = |(row, &prediction): (usize, &f64)| {
            let own = span.to_unit(prediction);
            blending.row(prediction, blending.mean(RowSums::of(&self.scene, row, sums, Some((k, column, own)))))
        };
        let (mut values, mut error_bound) = (Vec::new(), Vec::new());
        predictions.par_iter().enumerate().map(row).unzip_into_vecs(&mut values, &mut error_bound);
        Smoothed { values, error_bound, range: blending.range() }
    }

    /// Widens the bounds of a smoothed column by what errors of its predictions become: smoothing averages, so that it passes on
    /// at most the largest. Where that is too much, as with one row far from all others, the errors are averaged as the
    /// predictions were.
    ///
    /// # Errors
    /// If there is not one finite bound for each prediction.
    pub fn pass_on(&self, bounds: &[f64], smoothed: &mut Smoothed) -> Result<(), Error> {
        let largest = bounds.iter().copied().fold(0.0, f64::max);
        if largest <= self.smoother.engine.accuracy() * smoothed.range {
            smoothed.error_bound.iter_mut().for_each(|bound| *bound += largest);
            return Ok(());
        }
        // Labels are exact.
        let zeros = self.scene.parts.get(1).map(|(_, rows)| vec![0.0; *rows]);
        let passed_on = self.apply(&[bounds], zeros.as_deref())?.swap_remove(0);
        for ((bound, average), error) in
            smoothed.error_bound.iter_mut().zip(passed_on.values).zip(passed_on.error_bound)
        {
            *bound += average.map_or(largest, |average| largest.min(average + error));
        }
        Ok(())
    }

    /// Effective number of sources behind each target's average: `D² / Σ (w K)²`; 0 where there is none.
    ///
    /// # Errors
    /// If the second plan that this needs would not fit in memory.
    pub fn n_effective(&self) -> Result<Vec<f64>, Error> {
        let squared = Arc::new(self.scene.squared());
        let (_, plan) = self.smoother.engine.engine(self.choice.engine).plan(squared.clone(), &())?;
        let (first, second) = (self.plan.sums(&[], &()), plan.sums(&[], &()));
        let most = self.scene.parts.iter().map(|part| part.1).sum::<usize>() as f64;
        let effective = |row: usize| {
            let (d, squares) = (RowSums::of(&self.scene, row, &first, None), RowSums::of(&squared, row, &second, None));
            effective_sources(d, squares, most)
        };
        Ok((0..self.scene.layout.target_of_row.len()).map(effective).collect())
    }
}

/// `D² / Σ (w K)²`, of so many sources at most; 0 where there is none.
pub(crate) fn effective_sources(d: RowSums, squares: RowSums, most: f64) -> f64 {
    // By logarithms: for far rows the square of D would underflow. Exponents apart: theirs may be so large that
    // nothing else would be left.
    let exponent = 2.0 * d.exponent - squares.exponent;
    let count = 2.0 * d.mass.log2() - squares.mass.log2();
    // By Cauchy and Schwarz it is between one and the number of sources; only what rounding takes from one of the sums, such
    // as a tiny label beside a row that is left out, puts it elsewhere.
    if squares.mass > 0.0 { (count + exponent).exp2().clamp(1.0, most) } else { 0.0 }
}

/// From sums to smoothed values and their bounds, for one column.
pub(crate) struct Blending<'a> {
    c: f64,
    span: &'a Span,
    /// What the arithmetic here may be off by.
    rounding: f64,
}

/// An average and its bound.
type Mean = Option<(f64, f64)>;

impl<'a> Blending<'a> {
    pub(crate) fn new(c: f64, span: &'a Span) -> Self {
        // Relative, but for the smallest numbers that there are: those are as far from each other as from zero, and some ten
        // steps round to them.
        let rounding = (4.0 * f64::EPSILON * span.low.abs().max(span.high.abs())).max(f64::from_bits(16));
        Self { c, span, rounding }
    }

    fn range(&self) -> f64 {
        (self.span.high - self.span.low).min(f64::MAX)
    }

    /// Where c or the range is zero the prediction comes back as it is.
    fn is_exact(&self) -> bool {
        self.c == 0.0 || self.span.low == self.span.high
    }

    fn mean(&self, RowSums { mass, value, error, .. }: RowSums) -> Mean {
        (mass > 0.0).then(|| {
            // By halves: the range itself may be more than 64 bits hold.
            let half_bound = self.c * self.span.half * (error / mass).min(1.0);
            let bound = if self.is_exact() { 0.0 } else { 2.0 * half_bound + self.rounding };
            (self.span.value_at(value / mass), bound)
        })
    }

    fn row(&self, prediction: f64, mean: Mean) -> (Option<f64>, f64) {
        (mean.map(|(mean, _)| blend(self.c, mean, prediction)), mean.map_or(0.0, |(_, bound)| bound))
    }

    /// Rows that count in their own sums, of which each is at one of the places.
    pub(crate) fn rows(&self, predictions: &[f64], place_of_row: &[u32], sums: &Sums, k: usize) -> Smoothed {
        // One average for each place, in the order of the places, then one look at it for each row.
        let places = 0..sums.mass.len();
        let means: Vec<Mean> =
            places.into_par_iter().map(|place| self.mean(RowSums::at(place, sums, Some(k)))).collect();
        let row = |(&prediction, &place): (&f64, &u32)| self.row(prediction, means[place as usize]);
        let (mut values, mut error_bound) = (Vec::new(), Vec::new());
        predictions.par_iter().zip(place_of_row).map(row).unzip_into_vecs(&mut values, &mut error_bound);
        Smoothed { values, error_bound, range: self.range() }
    }
}

/// A column must have one finite value for each row.
pub(crate) fn check_values(what: &'static str, values: &[f64], rows: usize) -> Result<(), Error> {
    if values.len() != rows {
        return Err(Error::Length { what, found: values.len(), expected: rows });
    }
    match values.iter().position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(row) => Err(Error::Value { what, value: values[row], row }),
    }
}
