//! The data of the pose experiment: positions of joints in the frames of videos, true and predicted.

use std::cmp::Ordering;
use std::ops::Range;

use crate::error::Error;

/// Videos of moving joints. A row is a frame; the rows of a video are consecutive and in the order of frames.
#[derive(Clone, Debug)]
pub struct Motion {
    /// The video of each row.
    pub video: Vec<u32>,
    /// The frame number, or time, of each row.
    pub frames: Vec<f64>,
    /// Number of joints of a pose.
    pub joints: usize,
    /// 2 or 3.
    pub dimensions: usize,
    /// Joints whose midpoint is the root of a pose.
    pub root: Vec<usize>,
    /// True positions: `joints · dimensions` columns; the columns of a joint are consecutive.
    pub truth: Vec<Vec<f64>>,
    /// Predicted positions of each model, in the same columns.
    pub predicted: Vec<(String, Vec<Vec<f64>>)>,
}

/// Rows as in a file: one for each joint of each frame.
#[derive(Clone, Debug, Default)]
pub struct JointRows {
    /// The video of each row.
    pub video: Vec<u32>,
    /// The frame of each row.
    pub frame: Vec<f64>,
    /// The joint of each row, counted from 0.
    pub joint: Vec<u32>,
    /// True x, y and perhaps z.
    pub truth: Vec<Vec<f64>>,
    /// Predicted x, y and perhaps z of each model.
    pub predicted: Vec<(String, Vec<Vec<f64>>)>,
}

impl Motion {
    /// Combines rows of joints into poses.
    ///
    /// # Errors
    /// If a frame does not have every joint once.
    pub fn from_rows(rows: &JointRows, root: Vec<usize>) -> Result<Self, Error> {
        let mut order: Vec<usize> = (0..rows.frame.len()).collect();
        order.sort_by(|&a, &b| rows.key(a).partial_cmp(&rows.key(b)).unwrap_or(Ordering::Equal));
        let joints = rows.joint.iter().max().map_or(0, |&last| last as usize + 1);
        if joints == 0 {
            return Err(no_pose("there are no rows of joints".to_owned()));
        }
        if let Some(frame) = order.chunks(joints).find(|frame| !rows.is_pose(frame, joints)) {
            let (row, frame) = (frame[0], rows.frame[frame[0]]);
            return Err(no_pose(format!(
                "frame {frame} of the video of row {row} does not have each of {joints} joints once"
            )));
        }
        let frames: Vec<&[usize]> = order.chunks(joints).collect();
        let predicted = rows.predicted.iter();
        Ok(Self {
            video: frames.iter().map(|frame| rows.video[frame[0]]).collect(),
            frames: frames.iter().map(|frame| rows.frame[frame[0]]).collect(),
            joints,
            dimensions: rows.truth.len(),
            root,
            truth: columns(&frames, joints, &rows.truth),
            predicted: predicted.map(|(name, parts)| (name.clone(), columns(&frames, joints, parts))).collect(),
        })
    }

    /// The rows of each video.
    #[must_use]
    pub fn videos(&self) -> Vec<Range<usize>> {
        let starts = (0..self.video.len()).filter(|&row| row == 0 || self.video[row] != self.video[row - 1]);
        let starts: Vec<usize> = starts.chain([self.video.len()]).collect();
        starts.windows(2).map(|ends| ends[0]..ends[1]).collect()
    }
}

impl JointRows {
    /// What rows are sorted by.
    fn key(&self, row: usize) -> (u32, f64, u32) {
        (self.video[row], self.frame[row], self.joint[row])
    }

    /// Whether these rows are all joints of one frame, in order.
    fn is_pose(&self, frame: &[usize], joints: usize) -> bool {
        let (video, number) = (self.video[frame[0]], self.frame[frame[0]]);
        frame.len() == joints && frame.iter().enumerate().all(|(at, &row)| self.key(row) == (video, number, at as u32))
    }
}

/// Columns for each axis of each joint, with one row for each frame; a frame has the rows of its joints.
fn columns(frames: &[&[usize]], joints: usize, axes: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let mut columns = Vec::with_capacity(joints * axes.len());
    for joint in 0..joints {
        columns.extend(axes.iter().map(|axis| frames.iter().map(|frame| axis[frame[joint]]).collect()));
    }
    columns
}

fn no_pose(message: String) -> Error {
    let hint = "give one row for each joint of each frame: no joint may be missing or occur twice".to_owned();
    Error::Contradiction { message, hint }
}
