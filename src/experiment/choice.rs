//! One trial with one model: chooses the settings of the model and of smoothing together on validation rows, and scores them
//! on holdout rows.

use serde::Serialize;

use super::homes::Split;
use super::model::Candidate;
use crate::correct::LabelledRows;
use crate::error::Error;
use crate::score::Measure;
use crate::smoother::Smoother;
use crate::space::Sigma;
use crate::tune::{Trial, Tuner};

/// How predictions are smoothed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// Not at all.
    Unsmoothed,
    /// P-ES over the predictions alone.
    PredictionsOnly,
    /// P-ES over the predictions and the training labels.
    WithLabels,
}

impl Way {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Unsmoothed, Self::PredictionsOnly, Self::WithLabels];

    /// Its name in reports.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Unsmoothed => "unsmoothed",
            Self::PredictionsOnly => "P-ES, predictions only",
            Self::WithLabels => "P-ES with training labels",
        }
    }
}

/// The settings chosen on validation rows, and their scores there and on holdout rows.
#[derive(Clone, Debug, Serialize)]
pub struct Chosen {
    /// The setting of the model.
    pub setting: String,
    /// σ; `None` without smoothing.
    pub sigma: Option<String>,
    /// c; 0 without smoothing.
    pub c: f64,
    /// R² on the validation rows.
    pub validation: f64,
    /// R² on the holdout rows.
    pub holdout: f64,
}

/// The values of σ and c to choose from.
pub(super) struct SmoothingGrid {
    pub(super) sigmas: Vec<Sigma>,
    pub(super) cs: Vec<f64>,
}

impl SmoothingGrid {
    /// Chooses the best candidate, σ and c on the validation rows, and scores them on the holdout rows.
    pub(super) fn choose(&self, way: Way, candidates: &[Candidate], split: &Split) -> Result<Chosen, Error> {
        let Split { train, validation, test } = split;
        let labelled = (way == Way::WithLabels).then(|| LabelledRows {
            places: &train.places,
            labels: &train.labels,
            predictions: vec![],
        });
        let trial = Trial {
            targets: &validation.places,
            predictions: candidates.iter().map(|candidate| candidate.validation.as_slice()).collect(),
            truth: &validation.labels,
            labelled: labelled.clone(),
            hides_own_label: false,
        };
        // Without smoothing, all σ give the same result.
        let (sigmas, cs): (&[Sigma], &[f64]) =
            if way == Way::Unsmoothed { (&self.sigmas[..1], &[0.0]) } else { (&self.sigmas, &self.cs) };
        let tuner = Tuner::new(Measure::R2).sigma_grid(sigmas.to_vec())?.c_grid(cs.to_vec())?;
        let best = tuner.tune(&[trial], &())?.best;
        let candidate = &candidates[best.prediction];
        let smoothed = if best.c == 0.0 {
            candidate.test.clone()
        } else {
            let plan =
                Smoother::new(best.sigma, best.c)?.plan(&test.places, labelled.as_ref().map(|rows| rows.places))?;
            let mut columns = plan.apply(&[&candidate.test], labelled.map(|rows| rows.labels))?;
            columns.remove(0).values.into_iter().flatten().collect()
        };
        let pairs = smoothed.into_iter().zip(test.labels.iter().copied());
        Ok(Chosen {
            setting: candidate.setting.clone(),
            sigma: (best.c > 0.0).then(|| best.sigma.to_string()),
            c: best.c,
            validation: best.score,
            holdout: Measure::R2.of(pairs.collect::<Vec<_>>().into_iter()).unwrap_or(f64::NAN),
        })
    }
}
