//! The rows to tune on, and the kernel sums that all parameters at one σ share.

use std::ops::Range;

use rayon::prelude::*;

use crate::correct::{LabelledRows, one_for_each};
use crate::engine::EngineOptions;
use crate::error::Error;
use crate::influence::{Influence, KernelSums};
use crate::points::Places;
use crate::scene::Own;
use crate::space::Sigma;
use crate::span::Span;

/// Rows to tune on: their truth is known, but hidden while their predictions are smoothed. Labelled rows may be seen.
#[derive(Clone, Debug)]
pub struct Trial<'a> {
    /// The rows to smooth.
    pub targets: &'a Places,
    /// Columns of predictions for them.
    pub predictions: Vec<&'a [f64]>,
    /// Their truth, used only for scoring.
    pub truth: &'a [f64],
    /// The labelled rows, if there are any. Their predictions may be missing if the correct step is not used.
    pub labelled: Option<LabelledRows<'a>>,
    /// Whether the labelled rows are the targets themselves, in the same order; then each row's own label is hidden from it.
    pub hides_own_label: bool,
}

impl<'a> Trial<'a> {
    /// Leave-one-out: each labelled row is predicted from all other labelled rows.
    ///
    /// Valid only if the predictions of the rows are out of fold. The correct step is not tried: a hidden label would leak back
    /// through the corrected predictions of its neighbours. Blocked folds do not have this problem.
    #[must_use]
    pub fn leave_one_out(labelled: LabelledRows<'a>) -> Self {
        Self {
            targets: labelled.places,
            predictions: labelled.predictions.clone(),
            truth: labelled.labels,
            labelled: Some(labelled),
            hides_own_label: true,
        }
    }

    /// The influence of the labelled rows on the targets.
    pub(crate) fn among_labels(&self, sigma: Sigma) -> Result<Option<Influence>, Error> {
        let influence = match &self.labelled {
            None => return Ok(None),
            Some(_) if self.hides_own_label => Influence::new(sigma, self.targets, self.targets, Own::LeftOut),
            Some(labelled) => Influence::new(sigma, self.targets, labelled.places, Own::Counts),
        };
        influence.map(Some)
    }

    /// Checks that columns have one finite value for each row.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let rows = self.targets.len();
        let columns = self.predictions.iter().map(|values| ("prediction", *values)).chain([("label", self.truth)]);
        for (what, values) in columns {
            if values.len() != rows {
                return Err(Error::Length { what, found: values.len(), expected: rows });
            }
            if let Some(row) = values.iter().position(|value| !value.is_finite()) {
                return Err(Error::Value { what, value: values[row], row });
            }
        }
        let Some(labelled) = &self.labelled else { return Ok(()) };
        if !labelled.predictions.is_empty() {
            one_for_each(self.predictions.len(), labelled.predictions.len())?;
        }
        if self.hides_own_label && labelled.places.len() != rows {
            let found = labelled.places.len();
            return Err(Error::Length { what: "labelled rows, one for each target,", found, expected: rows });
        }
        labelled.check()
    }
}

/// The rows of all trials, one trial after the other.
pub(super) struct Trials {
    parts: Vec<TrialPart>,
    /// Columns of predictions of all rows.
    pub(super) predictions: Vec<Vec<f64>>,
    /// The truth of all rows.
    pub(super) truth: Vec<f64>,
    /// Whether there are residuals for the correct step.
    pub(super) can_correct: bool,
    span: Span,
    pub(super) options: EngineOptions,
    /// Mass that is added to the sums of labels: a row's own prediction relative to the largest label weight, or the least
    /// shrinkage.
    beside_labels: f64,
}

struct TrialPart {
    rows: Range<usize>,
    among_predictions: Influence,
    among_labels: Option<Influence>,
    /// Labels in units of the span.
    labels: Vec<f64>,
    /// Residuals of each prediction in units of the span.
    residuals: Vec<Vec<f64>>,
}

impl Trials {
    /// Lays out the places; `sigma` is any σ of the right kind.
    pub(super) fn new(trials: &[Trial], sigma: Sigma, options: EngineOptions) -> Result<Self, Error> {
        trials.iter().try_for_each(Trial::check)?;
        let values = trials.iter().flat_map(|trial| {
            let labels = trial.labelled.as_ref().map(|labelled| labelled.labels);
            trial.predictions.iter().copied().chain(labels)
        });
        let span = Span::of(&values.collect::<Vec<_>>());
        let columns = trials.first().map_or(0, |trial| trial.predictions.len());
        let mut all = Self {
            parts: Vec::new(),
            predictions: vec![Vec::new(); columns],
            truth: Vec::new(),
            can_correct: columns > 0,
            span,
            options,
            beside_labels: 0.0,
        };
        for trial in trials {
            all.add(trial, sigma)?;
        }
        Ok(all)
    }

    fn add(&mut self, trial: &Trial, sigma: Sigma) -> Result<(), Error> {
        let start = self.truth.len();
        self.truth.extend(trial.truth);
        for (all, more) in self.predictions.iter_mut().zip(&trial.predictions) {
            all.extend(*more);
        }
        let labelled = trial.labelled.as_ref();
        let residuals = labelled.map_or(Vec::new(), LabelledRows::residuals);
        // In leave-one-out, a hidden label would leak back through the corrected predictions of its neighbours.
        self.can_correct &= !trial.hides_own_label && residuals.len() == self.predictions.len();
        self.parts.push(TrialPart {
            rows: start..self.truth.len(),
            among_predictions: Influence::new(sigma, trial.targets, trial.targets, Own::Counts)?,
            among_labels: trial.among_labels(sigma)?,
            labels: labelled.map_or(Vec::new(), |rows| self.span.to_units(rows.labels)),
            residuals: residuals.iter().map(|column| column.iter().map(|r| r / self.scale()).collect()).collect(),
        });
        Ok(())
    }

    /// One unit of the span; 1 where all values are equal.
    fn scale(&self) -> f64 {
        if self.span.half > 0.0 { self.span.range() } else { 1.0 }
    }

    /// Sets the largest label weight and the least shrinkage that sums of labels are needed for. The less labels weigh, the
    /// coarser their sums may be.
    pub(super) fn expect(&mut self, largest_weight: f64, least_shrink: f64) {
        let own = if largest_weight > 0.0 { 1.0 / largest_weight } else { 1.0 };
        self.beside_labels = if self.can_correct { own.min(least_shrink) } else { own };
    }

    pub(super) fn has_labels(&self) -> bool {
        self.parts.iter().all(|part| part.among_labels.is_some())
    }

    /// All influences: of predictions and of labels, in all trials.
    pub(super) fn influences(&self) -> impl Iterator<Item = &Influence> {
        self.parts.iter().flat_map(|part| std::iter::once(&part.among_predictions).chain(&part.among_labels))
    }

    /// The kernel sums of columns of predictions.
    pub(super) fn prediction_sums(&self, sigma: Sigma, columns: &[&[f64]]) -> Result<KernelSums, Error> {
        self.sums(|part| {
            let columns: Vec<Vec<f64>> =
                columns.iter().map(|values| self.span.to_units(&values[part.rows.clone()])).collect();
            let columns: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
            part.among_predictions.sums(sigma, &columns, 0.0, &self.options)
        })
    }

    /// The kernel sums of the labels, then of the residuals of the listed predictions; empty without labels.
    pub(super) fn label_sums(&self, sigma: Sigma, residuals: &[usize]) -> Result<KernelSums, Error> {
        self.sums(|part| {
            let Some(influence) = &part.among_labels else { return Ok(KernelSums::default()) };
            let columns = std::iter::once(part.labels.as_slice())
                .chain(residuals.iter().map(|&k| part.residuals[k].as_slice()))
                .collect::<Vec<_>>();
            influence.sums(sigma, &columns, self.beside_labels, &self.options)
        })
    }

    fn sums(&self, of: impl Fn(&TrialPart) -> Result<KernelSums, Error>) -> Result<KernelSums, Error> {
        let mut all = KernelSums::default();
        for part in &self.parts {
            all.append(of(part)?);
        }
        Ok(all)
    }

    /// The average at each row: predictions with weight 1, labels with `weight`.
    pub(super) fn means(&self, predictions: &KernelSums, column: usize, labels: &KernelSums, weight: f64) -> Vec<f64> {
        let labelled = weight > 0.0 && !labels.mass.is_empty();
        let rows = (0..self.truth.len()).into_par_iter();
        rows.map(|row| {
            let (mut value, mut mass) = (predictions.value_at(column, row), predictions.mass_at(row));
            if labelled {
                value += weight * labels.value_at(0, row);
                mass += weight * labels.mass_at(row);
            }
            self.span.stretched(value / mass)
        })
        .collect()
    }

    /// Predictions corrected by a column of label sums, shrunk.
    pub(super) fn corrected(&self, prediction: usize, labels: &KernelSums, column: usize, shrink: f64) -> Vec<f64> {
        let rows = self.predictions[prediction].iter().enumerate();
        rows.map(|(row, value)| value + self.scale() * labels.shrunk(column, row, shrink)).collect()
    }
}
