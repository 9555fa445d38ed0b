//! How good predicted poses are: the four measures of the paper's appendix, each of one video, then averaged over videos.

use std::ops::Range;

use faer::Mat;
use serde::Serialize;

use super::Motion;
use crate::score::mean;

/// A point; flat ones lie at depth 0.
type Position = [f64; 3];

/// Scores of predicted poses, averaged over videos.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PoseScore {
    /// Percentage of joints whose x and y are within 0.05 of the longer side of the box around the true pose.
    pub pck: f64,
    /// Mean distance of joints once root joints are aligned, in the unit of the positions; of poses in space only.
    pub mpjpe: Option<f64>,
    /// Mean distance of joints once whole poses are aligned by shift, rotation and scale; of poses in space only.
    pub pa_mpjpe: Option<f64>,
    /// Poses in space: mean distance between true and predicted acceleration; flat ones: mean predicted acceleration. In the
    /// unit of the positions per squared frame.
    pub acceleration: f64,
}

/// Share of the box within which a joint counts as found.
const NEAR: f64 = 0.05;

impl PoseScore {
    /// Scores columns of predictions, `joints · dimensions` of them, against the truth of the motion.
    #[must_use]
    pub fn of(motion: &Motion, predicted: &[Vec<f64>]) -> Self {
        let videos = motion.videos();
        let over = |of: &dyn Fn(&Video) -> f64| {
            let scores = videos.iter().map(|rows| of(&Video { motion, predicted, rows: rows.clone() }));
            mean(scores.filter(|score| score.is_finite())).unwrap_or(f64::NAN)
        };
        let in_space = motion.dimensions == 3;
        Self {
            pck: over(&|video| video.pck()),
            mpjpe: in_space.then(|| over(&|video| video.distance(|truth, pose| video.at_root(truth, pose)))),
            pa_mpjpe: in_space.then(|| over(&|video| video.distance(aligned))),
            acceleration: over(&|video| video.acceleration()),
        }
    }

    /// Percentage of joints found, which is what parameters are chosen by.
    pub(super) fn pck(motion: &Motion, predicted: &[Vec<f64>]) -> f64 {
        let videos = motion.videos();
        let scores = videos.iter().map(|rows| Video { motion, predicted, rows: rows.clone() }.pck());
        mean(scores).unwrap_or(f64::NAN)
    }
}

/// One video: a range of rows, one row for each frame.
struct Video<'a> {
    motion: &'a Motion,
    predicted: &'a [Vec<f64>],
    rows: Range<usize>,
}

impl Video<'_> {
    fn pose(&self, columns: &[Vec<f64>], row: usize) -> Vec<Position> {
        let Motion { joints, dimensions, .. } = *self.motion;
        let part =
            |joint: usize, axis: usize| if axis < dimensions { columns[joint * dimensions + axis][row] } else { 0.0 };
        (0..joints).map(|joint| std::array::from_fn(|axis| part(joint, axis))).collect()
    }

    /// The true and the predicted pose of each frame.
    fn poses(&self) -> impl Iterator<Item = (Vec<Position>, Vec<Position>)> {
        self.rows.clone().map(|row| (self.pose(&self.motion.truth, row), self.pose(self.predicted, row)))
    }

    fn pck(&self) -> f64 {
        let found = self.poses().flat_map(|(truth, predicted)| {
            let side = |axis: usize| {
                let ends = truth.iter().map(|joint| joint[axis]);
                ends.clone().fold(f64::NEG_INFINITY, f64::max) - ends.fold(f64::INFINITY, f64::min)
            };
            let near = NEAR * side(0).max(side(1));
            let is_near = move |(a, b): (Position, Position)| (a[0] - b[0]).hypot(a[1] - b[1]) <= near;
            truth.into_iter().zip(predicted).map(move |pair| if is_near(pair) { 100.0 } else { 0.0 })
        });
        mean(found).unwrap_or(f64::NAN)
    }

    /// The mean distance of joints once `align` has moved the predicted pose onto the true one.
    fn distance(&self, align: impl Fn(&[Position], &[Position]) -> Vec<Position>) -> f64 {
        let distances = self.poses().flat_map(|(truth, predicted)| {
            let moved = align(&truth, &predicted);
            truth.into_iter().zip(moved).map(|(a, b)| length(minus(a, b)))
        });
        mean(distances).unwrap_or(f64::NAN)
    }

    fn at_root(&self, truth: &[Position], predicted: &[Position]) -> Vec<Position> {
        let root = |pose: &[Position]| centre(&self.motion.root.iter().map(|&joint| pose[joint]).collect::<Vec<_>>());
        let shift = minus(root(truth), root(predicted));
        predicted.iter().map(|joint| std::array::from_fn(|axis| joint[axis] + shift[axis])).collect()
    }

    fn acceleration(&self) -> f64 {
        let bends = self.bends(&self.motion.truth).into_iter().zip(self.bends(self.predicted));
        let in_space = self.motion.dimensions == 3;
        let size = |(truth, predicted)| length(if in_space { minus(predicted, truth) } else { predicted });
        mean(bends.map(size)).unwrap_or(f64::NAN)
    }

    /// Second differences of all joints over frames that follow each other evenly.
    fn bends(&self, columns: &[Vec<f64>]) -> Vec<Position> {
        let frames = &self.motion.frames;
        let middles = self.rows.start + 1..self.rows.end.saturating_sub(1);
        let even = middles.filter(|&row| frames[row + 1] - frames[row] == frames[row] - frames[row - 1]);
        let bend = |row: usize| {
            let [before, here, after] = [row - 1, row, row + 1].map(|row| self.pose(columns, row));
            let joint = |((a, b), c): ((Position, Position), Position)| -> Position {
                std::array::from_fn(|axis| a[axis] - 2.0 * b[axis] + c[axis])
            };
            before.into_iter().zip(here).zip(after).map(joint).collect::<Vec<_>>()
        };
        even.flat_map(bend).collect()
    }
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

/// Procrustes: the predicted pose shifted, rotated and scaled onto the true one with the least squared distance. A pose that is one
/// point stays where it is.
fn aligned(truth: &[Position], predicted: &[Position]) -> Vec<Position> {
    let (to, from) = (centre(truth), centre(predicted));
    let pairs = || predicted.iter().zip(truth).map(|(a, b)| (minus(*a, from), minus(*b, to)));
    let spread: f64 = pairs().map(|(a, _)| length(a).powi(2)).sum();
    let product = Mat::from_fn(3, 3, |row, column| pairs().map(|(a, b)| a[row] * b[column]).sum::<f64>());
    let (Ok(svd), true) = (product.svd(), spread > 0.0) else { return predicted.to_vec() };
    let (u, v) = (svd.U(), svd.V());
    // A mirror image is no rotation: the weakest direction is turned back.
    let sign = (u * v.transpose()).determinant().signum();
    let flip = |axis: usize| if axis == 2 { sign } else { 1.0 };
    let rotation =
        Mat::from_fn(3, 3, |row, column| (0..3).map(|k| v[(row, k)] * flip(k) * u[(column, k)]).sum::<f64>());
    let scale = (&rotation * &product).diagonal().column_vector().sum() / spread;
    let place = |a: Position| -> Position {
        std::array::from_fn(|row| {
            to[row] + scale * (0..3).map(|column| rotation[(row, column)] * a[column]).sum::<f64>()
        })
    };
    pairs().map(|(a, _)| place(a)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const POSE: [Position; 4] = [[0.0, 0.0, 0.0], [3.0, 1.0, 0.0], [1.0, 4.0, 2.0], [-2.0, 1.0, 5.0]];

    #[test]
    fn alignment_undoes_shift_rotation_and_scale_but_no_mirror() {
        // A quarter turn about z, twice as large, elsewhere.
        let moved: Vec<Position> = POSE.iter().map(|[x, y, z]| [7.0 - 2.0 * y, 2.0 * x - 1.0, 2.0 * z]).collect();
        for (back, joint) in aligned(&POSE, &moved).iter().zip(POSE) {
            assert!(length(minus(*back, joint)) < 1e-12);
        }
        let mirrored: Vec<Position> = POSE.iter().map(|[x, y, z]| [-x, *y, *z]).collect();
        assert!(aligned(&POSE, &mirrored).iter().zip(POSE).any(|(back, joint)| length(minus(*back, joint)) > 0.1));
    }
}
