//! Scores of predicted poses: the four measures of the paper's appendix, computed for each video and averaged over videos.

use std::ops::Range;

use faer::Mat;
use serde::Serialize;

use super::Motion;
use crate::score::mean;

/// A point; points of flat poses have depth 0.
type Position = [f64; 3];

/// Scores of predicted poses, averaged over videos.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PoseScore {
    /// Percentage of correct keypoints: of joints whose distance in x and y is at most 0.05 times the longer side of the box
    /// around the true pose.
    pub pck: f64,
    /// Mean distance of joints after root joints are aligned, in the unit of the positions; only for poses in space.
    pub mpjpe: Option<f64>,
    /// Mean distance of joints after Procrustes alignment (shift, rotation and scale); only for poses in space.
    pub pa_mpjpe: Option<f64>,
    /// For poses in space, the mean distance between true and predicted acceleration; for flat poses, the mean predicted
    /// acceleration. In the unit of the positions per squared frame.
    pub acceleration: f64,
}

/// The fraction of the box within which a joint counts as correct, as in the paper.
const NEAR: f64 = 0.05;

impl PoseScore {
    /// Scores columns of predictions, `joints · dimensions` of them, against the truth of the motion.
    #[must_use]
    pub fn of(motion: &Motion, predicted: &[Vec<f64>]) -> Self {
        let rows = motion.videos().into_iter();
        let videos: Vec<Video> = rows.map(|rows| Video { motion, predicted, rows }).collect();
        let in_space = motion.dimensions == 3;
        Self {
            pck: finite_mean(videos.iter().map(Video::pck)),
            mpjpe: in_space.then(|| finite_mean(videos.iter().map(Video::mpjpe))),
            pa_mpjpe: in_space.then(|| finite_mean(videos.iter().map(|video| video.distance(aligned)))),
            acceleration: finite_mean(videos.iter().map(Video::acceleration)),
        }
    }

    /// Only the percentage of correct keypoints, by which parameters are chosen.
    pub(super) fn pck(motion: &Motion, predicted: &[Vec<f64>]) -> f64 {
        let videos = motion.videos();
        let scores = videos.iter().map(|rows| Video { motion, predicted, rows: rows.clone() }.pck());
        mean(scores).unwrap_or(f64::NAN)
    }
}

/// The mean of finite scores: a video may be too short for some of them.
fn finite_mean(scores: impl Iterator<Item = f64>) -> f64 {
    mean(scores.filter(|score| score.is_finite())).unwrap_or(f64::NAN)
}

/// One video: a range of rows, one row for each frame.
struct Video<'a> {
    motion: &'a Motion,
    predicted: &'a [Vec<f64>],
    rows: Range<usize>,
}

impl Video<'_> {
    fn pose(&self, columns: &[Vec<f64>], row: usize) -> Vec<Position> {
        let joints = columns.chunks(self.motion.dimensions.max(1));
        joints.map(|joint| std::array::from_fn(|axis| joint.get(axis).map_or(0.0, |values| values[row]))).collect()
    }

    /// The true and the predicted pose of each frame.
    fn poses(&self) -> impl Iterator<Item = (Vec<Position>, Vec<Position>)> {
        self.rows.clone().map(|row| (self.pose(&self.motion.truth, row), self.pose(self.predicted, row)))
    }

    fn pck(&self) -> f64 {
        let found = self.poses().flat_map(|(truth, predicted)| {
            let near = NEAR * side(&truth, 0).max(side(&truth, 1));
            let joints = truth.into_iter().zip(predicted);
            joints.map(move |(a, b)| if (a[0] - b[0]).hypot(a[1] - b[1]) <= near { 100.0 } else { 0.0 })
        });
        mean(found).unwrap_or(f64::NAN)
    }

    fn mpjpe(&self) -> f64 {
        self.distance(|truth, predicted| self.at_root(truth, predicted))
    }

    /// The mean distance of joints after `align` has moved the predicted pose onto the true one.
    fn distance(&self, align: impl Fn(&[Position], &[Position]) -> Vec<Position>) -> f64 {
        let distances = self.poses().flat_map(|(truth, predicted)| {
            let moved = align(&truth, &predicted);
            truth.into_iter().zip(moved).map(|(a, b)| length(minus(a, b)))
        });
        mean(distances).unwrap_or(f64::NAN)
    }

    /// The predicted pose, shifted so that its root is that of the true one.
    fn at_root(&self, truth: &[Position], predicted: &[Position]) -> Vec<Position> {
        let [from, to] = [predicted, truth]
            .map(|pose| centre(&self.motion.root.iter().map(|&joint| pose[joint]).collect::<Vec<_>>()));
        let shift = minus(to, from);
        predicted.iter().map(|joint| std::array::from_fn(|axis| joint[axis] + shift[axis])).collect()
    }

    fn acceleration(&self) -> f64 {
        let pairs = self.accelerations(&self.motion.truth).into_iter().zip(self.accelerations(self.predicted));
        let in_space = self.motion.dimensions == 3;
        let sizes = pairs.map(|(truth, predicted)| length(if in_space { minus(predicted, truth) } else { predicted }));
        mean(sizes).unwrap_or(f64::NAN)
    }

    /// Second differences of all joints, at frames with equal distances to the frames before and after.
    fn accelerations(&self, columns: &[Vec<f64>]) -> Vec<Position> {
        let frames = &self.motion.frames;
        let middles = self.rows.start + 1..self.rows.end.saturating_sub(1);
        let even = middles.filter(|&row| frames[row + 1] - frames[row] == frames[row] - frames[row - 1]);
        even.flat_map(|row| self.second_differences(columns, row)).collect()
    }

    fn second_differences(&self, columns: &[Vec<f64>], row: usize) -> Vec<Position> {
        let [before, here, after] = [row - 1, row, row + 1].map(|row| self.pose(columns, row));
        let joints = before.into_iter().zip(here).zip(after);
        joints.map(|((a, b), c)| std::array::from_fn(|axis| a[axis] - 2.0 * b[axis] + c[axis])).collect()
    }
}

/// The length of a pose along one axis.
fn side(pose: &[Position], axis: usize) -> f64 {
    let values = pose.iter().map(|joint| joint[axis]);
    values.clone().fold(f64::NEG_INFINITY, f64::max) - values.fold(f64::INFINITY, f64::min)
}

fn minus(a: Position, b: Position) -> Position {
    std::array::from_fn(|axis| a[axis] - b[axis])
}

fn length(a: Position) -> f64 {
    a.iter().map(|part| part * part).sum::<f64>().sqrt()
}

fn centre(joints: &[Position]) -> Position {
    std::array::from_fn(|axis| mean(joints.iter().map(|joint| joint[axis])).unwrap_or(0.0))
}

/// Procrustes alignment: the predicted pose, shifted, rotated and scaled onto the true one with the least squared distance. A
/// pose that is a single point is not changed.
fn aligned(truth: &[Position], predicted: &[Position]) -> Vec<Position> {
    let (to, from) = (centre(truth), centre(predicted));
    let centred = predicted.iter().zip(truth).map(|(a, b)| (minus(*a, from), minus(*b, to)));
    let pairs: Vec<(Position, Position)> = centred.collect();
    let spread: f64 = pairs.iter().map(|(a, _)| length(*a).powi(2)).sum();
    let product = Mat::from_fn(3, 3, |row, column| pairs.iter().map(|(a, b)| a[row] * b[column]).sum::<f64>());
    let (Ok(svd), true) = (product.svd(), spread > 0.0) else { return predicted.to_vec() };
    let (u, v) = (svd.U(), svd.V());
    // A reflection is not a rotation: the direction with the least singular value is flipped back.
    let sign = (u * v.transpose()).determinant().signum();
    let flip = [1.0, 1.0, sign];
    let rotation =
        Mat::from_fn(3, 3, |row, column| (0..3).map(|k| v[(row, k)] * flip[k] * u[(column, k)]).sum::<f64>());
    let scale = (&rotation * &product).diagonal().column_vector().sum() / spread;
    let moved = pairs.iter().map(|(a, _)| {
        std::array::from_fn(|row| {
            to[row] + scale * (0..3).map(|column| rotation[(row, column)] * a[column]).sum::<f64>()
        })
    });
    moved.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const POSE: [Position; 4] = [[0.0, 0.0, 0.0], [3.0, 1.0, 0.0], [1.0, 4.0, 2.0], [-2.0, 1.0, 5.0]];

    #[test]
    fn alignment_undoes_shift_rotation_and_scale_but_no_reflection() {
        // A quarter turn about z, twice as large, elsewhere.
        let moved: Vec<Position> = POSE.iter().map(|[x, y, z]| [7.0 - 2.0 * y, 2.0 * x - 1.0, 2.0 * z]).collect();
        for (back, joint) in aligned(&POSE, &moved).iter().zip(POSE) {
            assert!(length(minus(*back, joint)) < 1e-12);
        }
        let mirrored: Vec<Position> = POSE.iter().map(|[x, y, z]| [-x, *y, *z]).collect();
        assert!(aligned(&POSE, &mirrored).iter().zip(POSE).any(|(back, joint)| length(minus(*back, joint)) > 0.1));
    }
}
