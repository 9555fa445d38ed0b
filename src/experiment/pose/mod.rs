//! Human poses in videos, smoothed along the frames of each video. The coordinates of all joints are columns of one plan.

mod metrics;
mod motion;
mod synthetic;

use serde::Serialize;

pub use metrics::PoseScore;
pub use motion::{JointRows, Motion};

use crate::engine::Progress;
use crate::error::Error;
use crate::points::Places;
use crate::smoother::Smoother;
use crate::space::Sigma;
use crate::span::blend;

/// The paper's σ, in frames.
pub const SIGMAS: [f64; 5] = [0.5, 1.0, 2.0, 3.0, 4.0];
/// The paper's c.
pub const CS: [f64; 9] = [0.0, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0];

/// The result of smoothing the poses of one model.
#[derive(Clone, Debug, Serialize)]
pub struct PoseResult {
    /// The model.
    pub model: String,
    /// σ in frames, chosen on the validation videos.
    pub sigma: f64,
    /// c, chosen with it.
    pub c: f64,
    /// PCK on the validation videos for each σ (rows) and c (columns).
    pub validation: Vec<Vec<f64>>,
    /// Scores on the holdout videos before smoothing.
    pub before: PoseScore,
    /// Scores on the holdout videos after smoothing.
    pub after: PoseScore,
}

/// Columns of values of each model.
type Columns = Vec<Vec<Vec<f64>>>;

/// Chooses σ and c of each model by the PCK of the validation videos, then scores the holdout videos.
///
/// # Errors
/// If the two sets do not have the same models.
pub fn run(validation: &Motion, holdout: &Motion, progress: &dyn Progress) -> Result<Vec<PoseResult>, Error> {
    progress.start((SIGMAS.len() * (CS.len() + 1) * validation.predicted.len()) as u64);
    let mut surfaces: Vec<Vec<Vec<f64>>> = vec![Vec::new(); validation.predicted.len()];
    for sigma in SIGMAS {
        let means = averages(validation, sigma)?;
        for ((surface, means), (_, predicted)) in surfaces.iter_mut().zip(&means).zip(&validation.predicted) {
            let mut scores = Vec::new();
            for c in CS {
                progress.advance(1);
                scores.push(PoseScore::pck(validation, &mixed(c, means, predicted)));
            }
            surface.push(scores);
        }
    }
    let models = validation.predicted.iter().zip(surfaces);
    models.map(|((name, _), surface)| line(name, surface, holdout, progress)).collect()
}

fn line(
    model: &str,
    validation: Vec<Vec<f64>>,
    holdout: &Motion,
    progress: &dyn Progress,
) -> Result<PoseResult, Error> {
    let at = holdout.predicted.iter().position(|(name, _)| name == model).ok_or_else(|| Error::Contradiction {
        message: format!("the holdout videos have no predictions of {model}"),
        hint: "give both sets the same columns".to_owned(),
    })?;
    // The first of equal scores: if smoothing does not help, c is 0.
    let points = (0..SIGMAS.len()).flat_map(|row| (0..CS.len()).map(move |column| (row, column)));
    let (row, column) = points
        .fold((0, 0), |best, next| if validation[next.0][next.1] > validation[best.0][best.1] { next } else { best });
    let (sigma, c, predicted) = (SIGMAS[row], CS[column], &holdout.predicted[at].1);
    let after = mixed(c, &averages(holdout, sigma)?[at], predicted);
    progress.advance(SIGMAS.len() as u64);
    Ok(PoseResult {
        model: model.to_owned(),
        sigma,
        c,
        validation,
        before: PoseScore::of(holdout, predicted),
        after: PoseScore::of(holdout, &after),
    })
}

/// Averages along the frames of each video, for all coordinates of all models.
fn averages(motion: &Motion, sigma: f64) -> Result<Columns, Error> {
    let places = Places::index(vec![motion.frames.clone()])?.with_groups(motion.video.clone())?;
    let plan = Smoother::new(Sigma::index(sigma)?, 1.0)?.plan(&places, None)?;
    let columns: Vec<&[f64]> =
        motion.predicted.iter().flat_map(|(_, columns)| columns.iter().map(Vec::as_slice)).collect();
    let smoothed = plan.apply(&columns, None)?;
    let mut means = smoothed.into_iter().map(|column| column.values.into_iter().flatten().collect());
    Ok(motion.predicted.iter().map(|(_, columns)| means.by_ref().take(columns.len()).collect()).collect())
}

fn mixed(c: f64, means: &[Vec<f64>], predicted: &[Vec<f64>]) -> Vec<Vec<f64>> {
    means.iter().zip(predicted).map(|(means, predicted)| mixed_column(c, means, predicted)).collect()
}

fn mixed_column(c: f64, means: &[f64], predicted: &[f64]) -> Vec<f64> {
    means.iter().zip(predicted).map(|(&mean, &prediction)| blend(c, mean, prediction)).collect()
}
