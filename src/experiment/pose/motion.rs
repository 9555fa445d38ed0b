//! Poses of people in videos: joints in frames, true and predicted.

use std::ops::Range;

use crate::error::Error;

/// Videos of moving joints. A row is a frame, rows of a video are next to each other and in the order of frames.
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
    /// True positions: `joints · dimensions` columns, those of a joint next to each other.
    pub truth: Vec<Vec<f64>>,
    /// Predicted positions of each model, in the same columns.
    pub predicted: Vec<(String, Vec<Vec<f64>>)>,
}

/// Rows as files have them: one for each joint of each frame.
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
    /// The same as predicted by each model.
    pub predicted: Vec<(String, Vec<Vec<f64>>)>,
}

impl Motion {
    /// Puts rows of joints together to poses.
    ///
    /// # Errors
    /// If a frame does not have every joint once.
    pub fn from_rows(rows: &JointRows, root: Vec<usize>) -> Result<Self, Error> {
        let mut order: Vec<usize> = (0..rows.frame.len()).collect();
        let key = |row: usize| (rows.video[row], rows.frame[row], rows.joint[row]);
        order.sort_by(|&a, &b| key(a).partial_cmp(&key(b)).unwrap_or(std::cmp::Ordering::Equal));
        let joints = rows.joint.iter().max().map_or(0, |&last| last as usize + 1);
        let is_pose = |frame: &[usize]| {
            let first = frame[0];
            let same = |row: usize| (rows.video[row], rows.frame[row]) == (rows.video[first], rows.frame[first]);
            frame.len() == joints
                && frame.iter().enumerate().all(|(at, &row)| same(row) && rows.joint[row] as usize == at)
        };
        if joints == 0 {
            return Err(no_pose("there are no rows of joints".to_owned()));
        }
        if let Some(frame) = order.chunks(joints).find(|frame| !is_pose(frame)) {
            let (row, frame) = (frame[0], rows.frame[frame[0]]);
            return Err(no_pose(format!(
                "frame {frame} of the video of row {row} does not have each of {joints} joints once"
            )));
        }
        let dimensions = rows.truth.len();
        let columns = |parts: &[Vec<f64>]| -> Vec<Vec<f64>> {
            let column =
                |at: usize| order.chunks(joints).map(|frame| parts[at % dimensions][frame[at / dimensions]]).collect();
            (0..joints * dimensions).map(column).collect()
        };
        let firsts = || order.chunks(joints).map(|frame| frame[0]);
        Ok(Self {
            video: firsts().map(|row| rows.video[row]).collect(),
            frames: firsts().map(|row| rows.frame[row]).collect(),
            joints,
            dimensions,
            root,
            truth: columns(&rows.truth),
            predicted: rows.predicted.iter().map(|(name, parts)| (name.clone(), columns(parts))).collect(),
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

fn no_pose(message: String) -> Error {
    let hint = "give one row for each joint of each frame: no joint may be missing or come twice".to_owned();
    Error::Contradiction { message, hint }
}
