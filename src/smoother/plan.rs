//! Applies a plan to values: turns the sums of an engine into smoothed rows and their error bounds.

use std::sync::Arc;

use rayon::prelude::*;

use super::Smoother;
use crate::engine::{Choice, Matrix, Plan, Progress, RowSums, Sums};
use crate::error::Error;
use crate::scene::{Own, Scene};
use crate::span::{Span, blend};

/// A [`Smoother`] planned for some places.
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
    /// A bound on the error of each value, in the unit of the values: approximation and rounding.
    pub error_bound: Vec<f64>,
    /// R: the largest source value minus the smallest; at most the largest finite number.
    pub range: f64,
}

impl Smoothed {
    /// The error bounds divided by the range; all zero for a constant column.
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

    /// The scene that the plan was made for.
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

    /// [`apply`](Self::apply) with progress reports.
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

    /// Smooths columns. Each has values for all parts of the sources, the predictions of the targets first. Sources outside the
    /// scene add a mass of at most `beyond` to any target; `spans` are the intervals of all values, including theirs.
    pub(super) fn smooth_parts(
        &self,
        parts: &[Vec<&[f64]>],
        spans: &[Span],
        beyond: f64,
        progress: &dyn Progress,
    ) -> Vec<Smoothed> {
        let pairs = parts.iter().zip(spans);
        let columns: Vec<Vec<f64>> =
            pairs.map(|(parts, span)| self.scene.gather(parts, |value| span.to_unit(value))).collect();
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
        let (mut values, mut error_bound) = (Vec::new(), Vec::new());
        let rows = predictions.par_iter().enumerate().map(|(row, &prediction)| {
            let own = span.to_unit(prediction);
            blending.row(prediction, blending.mean(RowSums::of(&self.scene, row, sums, Some((k, column, own)))))
        });
        rows.unzip_into_vecs(&mut values, &mut error_bound);
        Smoothed { values, error_bound, range: blending.range() }
    }

    /// Adds to the bounds of a smoothed column what errors of its predictions contribute. Smoothing averages, so that the
    /// largest of them is a bound for every row. Where it is too coarse (one row far from all others may have a large error),
    /// the errors are averaged as the predictions were.
    ///
    /// # Errors
    /// If there is not exactly one finite bound for each prediction.
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

    /// The effective number of sources of each target's average (Kish's effective sample size): `D² / Σ (w K)²`; 0 without a
    /// source.
    ///
    /// # Errors
    /// If the second plan, for the squared kernel, does not fit in memory.
    pub fn n_effective(&self) -> Result<Vec<f64>, Error> {
        let squared = Arc::new(self.scene.squared());
        let (_, plan) = self.smoother.engine.engine(self.choice.engine).plan(squared.clone(), &())?;
        let (first, second) = (self.plan.sums(&[], &()), plan.sums(&[], &()));
        let most = self.scene.parts.iter().map(|part| part.1).sum::<usize>() as f64;
        let rows = 0..self.scene.layout.target_of_row.len();
        Ok(rows
            .map(|row| {
                let d = RowSums::of(&self.scene, row, &first, None);
                effective_sources(d, RowSums::of(&squared, row, &second, None), most)
            })
            .collect())
    }
}

/// `D² / Σ (w K)²`, at most `most`, the number of sources; 0 without a source.
pub(crate) fn effective_sources(d: RowSums, squares: RowSums, most: f64) -> f64 {
    // In logarithms: for far rows the square of D would underflow. Exponents are subtracted first: they may be so large that
    // adding them to the logarithms would lose all digits of those.
    let exponent = 2.0 * d.exponent - squares.exponent;
    let count = 2.0 * d.mass.log2() - squares.mass.log2();
    // By the Cauchy-Schwarz inequality the result lies between 1 and the number of sources. Rounding of one of the sums can
    // violate that: for instance a tiny label weight beside a row that is left out.
    if squares.mass > 0.0 { (count + exponent).exp2().clamp(1.0, most) } else { 0.0 }
}

/// Turns the sums of one column into smoothed values and their bounds.
pub(crate) struct Blending<'a> {
    c: f64,
    span: &'a Span,
    /// A bound on the rounding errors of this step.
    rounding: f64,
}

/// An average and its bound.
type Mean = Option<(f64, f64)>;

impl<'a> Blending<'a> {
    pub(crate) fn new(c: f64, span: &'a Span) -> Self {
        // Relative to the values, except near the smallest subnormal number: there some ten steps round by up to one unit each.
        let rounding = (4.0 * f64::EPSILON * span.low.abs().max(span.high.abs())).max(f64::from_bits(16));
        Self { c, span, rounding }
    }

    fn range(&self) -> f64 {
        (self.span.high - self.span.low).min(f64::MAX)
    }

    /// Whether the prediction comes back unchanged: c or the range is zero.
    fn is_exact(&self) -> bool {
        self.c == 0.0 || self.span.low == self.span.high
    }

    fn mean(&self, RowSums { mass, value, error, .. }: RowSums) -> Mean {
        (mass > 0.0).then(|| {
            // Computed from half the range: the range itself may overflow.
            let half_bound = self.c * self.span.half * (error / mass).min(1.0);
            let bound = if self.is_exact() { 0.0 } else { 2.0 * half_bound + self.rounding };
            (self.span.value_at(value / mass), bound)
        })
    }

    fn row(&self, prediction: f64, mean: Mean) -> (Option<f64>, f64) {
        (mean.map(|(mean, _)| blend(self.c, mean, prediction)), mean.map_or(0.0, |(_, bound)| bound))
    }

    /// Smooths rows that are part of their own sums, so that rows at one place share its average.
    pub(crate) fn rows(&self, predictions: &[f64], place_of_row: &[u32], sums: &Sums, k: usize) -> Smoothed {
        // One average for each place, in the order of the places; then each row looks up that of its place.
        let places = 0..sums.mass.len();
        let means: Vec<Mean> =
            places.into_par_iter().map(|place| self.mean(RowSums::at(place, sums, Some(k)))).collect();
        let (mut values, mut error_bound) = (Vec::new(), Vec::new());
        let rows = predictions.par_iter().zip(place_of_row);
        rows.map(|(&prediction, &place)| self.row(prediction, means[place as usize]))
            .unzip_into_vecs(&mut values, &mut error_bound);
        Smoothed { values, error_bound, range: self.range() }
    }
}

/// Checks that a column has one finite value for each row.
pub(crate) fn check_values(what: &'static str, values: &[f64], rows: usize) -> Result<(), Error> {
    if values.len() != rows {
        return Err(Error::Length { what, found: values.len(), expected: rows });
    }
    match values.iter().position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(row) => Err(Error::Value { what, value: values[row], row }),
    }
}
