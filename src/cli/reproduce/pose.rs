//! `geosmooth reproduce pose`.

use std::path::PathBuf;

use super::StudyArgs;
use crate::job::Videos;

/// Human poses in video, smoothed along the frames of each video.
///
/// σ and c are those that find most joints (PCK) in the validation videos; the holdout videos are scored by PCK, by the
/// distance of joints once roots are aligned (MPJPE) and once whole poses are (PA-MPJPE), and by acceleration.
///
/// Without files, simulated moving skeletons are used. Files have one row for each joint of each frame, with columns video,
/// frame, joint, x, y and perhaps z, and the same coordinates as predicted: predicted_x, predicted_y and perhaps predicted_z. Every
/// frame must have every joint once. PCK looks at x and y; without z there are only PCK and the acceleration of the predictions.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Videos to choose σ and c on: a Parquet file, a directory or a quoted glob of them
    #[arg(long, value_name = "FILES", requires = "test", help_heading = "Data")]
    validation: Option<PathBuf>,
    /// Holdout videos, with the same columns
    #[arg(long, value_name = "FILES", requires = "validation", help_heading = "Data")]
    test: Option<PathBuf>,
    /// Models: what their columns begin with, before _x, _y and _z; several separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "predicted", help_heading = "Data")]
    prediction: Vec<String>,
    /// Joints whose midpoint is the root of a pose, by their values in the column joint, separated by commas; the first joint
    /// of the file if left out
    #[arg(long, value_name = "JOINTS", value_delimiter = ',', help_heading = "Data")]
    root: Vec<String>,
    /// Simulated videos in each of the two sets
    #[arg(long, value_name = "N", default_value_t = 20, conflicts_with = "test", help_heading = "Simulated videos")]
    videos: usize,
    /// Frames of each
    #[arg(long, value_name = "N", default_value_t = 150, conflicts_with = "test", help_heading = "Simulated videos")]
    frames: usize,
    #[command(flatten)]
    pub(super) shared: StudyArgs,
}

impl Args {
    pub(super) fn study(&self) -> Videos {
        match self.validation.as_ref().zip(self.test.as_ref()) {
            Some((validation, test)) => Videos::Files {
                validation: validation.into(),
                test: test.into(),
                prediction: self.prediction.clone(),
                root: self.root.clone(),
            },
            None => Videos::Simulated { videos: self.videos, frames: self.frames, seed: self.shared.seed },
        }
    }
}
