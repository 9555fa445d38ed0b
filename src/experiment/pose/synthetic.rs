//! Synthetic poses: skeletons with swinging limbs, and two models that predict them with errors.

use super::{JointRows, Motion};
use crate::chance::Chance;

impl Motion {
    /// Videos of skeletons with swinging limbs, and predictions of two synthetic models. Both have a constant error for each
    /// joint of a video. The model `per-frame` adds independent errors in each frame and sometimes loses a joint; the errors of
    /// the model `temporal` are correlated over some frames.
    #[must_use]
    pub fn synthetic(videos: usize, frames: usize, seed: u64) -> Self {
        let mut chance = Chance::new(seed);
        let mut rows = JointRows { truth: vec![Vec::new(); 3], ..JointRows::default() };
        rows.predicted = ["per-frame", "temporal"].map(|name| (name.to_owned(), vec![Vec::new(); 3])).to_vec();
        for video in 0..videos {
            let limbs: Vec<Limb> = SKELETON.iter().map(|_| Limb::new(&mut chance)).collect();
            let mut errors: Vec<Vec<Error3>> = [PER_FRAME, TEMPORAL]
                .iter()
                .map(|kind| SKELETON.iter().map(|_| Error3::new(kind, &mut chance)).collect())
                .collect();
            for frame in 0..frames {
                let pose = pose(&limbs, frame as f64 / FRAMES_PER_SECOND);
                for (joint, position) in pose.iter().enumerate() {
                    rows.video.push(video as u32);
                    rows.frame.push(frame as f64);
                    rows.joint.push(joint as u32);
                    (0..3).for_each(|axis| rows.truth[axis].push(position[axis]));
                    for (errors, (_, predicted)) in errors.iter_mut().zip(&mut rows.predicted) {
                        let error = errors[joint].next(&mut chance);
                        (0..3).for_each(|axis| predicted[axis].push(position[axis] + error[axis]));
                    }
                }
            }
        }
        // Every frame above has every joint once.
        Self::from_rows(&rows, HIPS.to_vec()).unwrap_or_else(|_| unreachable!("whole poses by construction"))
    }
}

const FRAMES_PER_SECOND: f64 = 30.0;
/// The fourteen joints of the paper's pose model: the parent joint, the bone from there in millimetres, and the amplitude of its
/// swing. Parents come first. Lengths and swings are chosen, not measured.
const SKELETON: [(usize, [f64; 3], f64); 14] = [
    (0, [-110.0, 0.0, 0.0], 0.0),    // right hip, from the pelvis
    (0, [110.0, 0.0, 0.0], 0.0),     // left hip, from the pelvis
    (0, [0.0, -430.0, 0.0], 180.0),  // right knee
    (2, [0.0, -420.0, 0.0], 120.0),  // right ankle
    (1, [0.0, -430.0, 0.0], 180.0),  // left knee
    (4, [0.0, -420.0, 0.0], 120.0),  // left ankle
    (0, [110.0, 510.0, 0.0], 40.0),  // neck
    (6, [0.0, 200.0, 0.0], 30.0),    // head
    (6, [-170.0, -30.0, 0.0], 15.0), // right shoulder
    (8, [0.0, -290.0, 0.0], 200.0),  // right elbow
    (9, [0.0, -250.0, 0.0], 200.0),  // right wrist
    (6, [170.0, -30.0, 0.0], 15.0),  // left shoulder
    (11, [0.0, -290.0, 0.0], 200.0), // left elbow
    (12, [0.0, -250.0, 0.0], 200.0), // left wrist
];
const HIPS: [usize; 2] = [0, 1];

/// The motion of a bone: a slow and a faster wave along each axis.
struct Limb {
    waves: [[Wave; 2]; 3],
}

/// A wave of a frequency in hertz and a phase.
struct Wave {
    hertz: f64,
    phase: f64,
}

impl Wave {
    /// A wave with a frequency up to 30 % from `hertz`.
    fn new(hertz: f64, chance: &mut Chance) -> Self {
        let hertz = hertz * (0.7 + 0.6 * chance.unit());
        Self { hertz, phase: std::f64::consts::TAU * chance.unit() }
    }

    fn at(&self, time: f64) -> f64 {
        (std::f64::consts::TAU * self.hertz * time + self.phase).sin()
    }
}

impl Limb {
    fn new(chance: &mut Chance) -> Self {
        Self { waves: std::array::from_fn(|_| [0.4, 1.3].map(|hertz| Wave::new(hertz, chance))) }
    }

    /// The bone at a time in seconds; its length does not change.
    fn at(&self, bone: [f64; 3], swing: f64, time: f64) -> [f64; 3] {
        let bent: [f64; 3] = std::array::from_fn(|axis| {
            bone[axis] + swing * (self.waves[axis][0].at(time) + 0.4 * self.waves[axis][1].at(time))
        });
        bent.map(|part| part * length(bone) / length(bent))
    }
}

fn length(bone: [f64; 3]) -> f64 {
    bone.iter().map(|part| part * part).sum::<f64>().sqrt()
}

fn pose(limbs: &[Limb], time: f64) -> Vec<[f64; 3]> {
    let mut joints: Vec<[f64; 3]> = Vec::new();
    for (at, (limb, (parent, bone, swing))) in limbs.iter().zip(SKELETON).enumerate() {
        // The parent of the hips is the pelvis, which moves on at 400 mm/s.
        let from = if at < HIPS.len() { [400.0 * time, 900.0, 3000.0] } else { joints[parent] };
        let bone = limb.at(bone, swing, time);
        joints.push(std::array::from_fn(|axis| from[axis] + bone[axis]));
    }
    joints
}

/// The errors of a model: standard deviations in millimetres along each axis, and the correlation between frames.
struct ErrorKind {
    constant: f64,
    passing: f64,
    /// The correlation of the passing error with that of the frame before.
    memory: f64,
    /// The probability that a joint is lost, and the standard deviation of its additional error.
    lost: (f64, f64),
}

// Chosen, not measured.
const PER_FRAME: ErrorKind = ErrorKind { constant: 42.0, passing: 22.0, memory: 0.0, lost: (0.02, 150.0) };
const TEMPORAL: ErrorKind = ErrorKind { constant: 40.0, passing: 18.0, memory: 0.8, lost: (0.0, 0.0) };

/// The errors of a joint, frame by frame: a constant and a first-order autoregressive process.
struct Error3 {
    kind: &'static ErrorKind,
    constant: [f64; 3],
    passing: [f64; 3],
}

impl Error3 {
    fn new(kind: &'static ErrorKind, chance: &mut Chance) -> Self {
        let [constant, passing] =
            [kind.constant, kind.passing].map(|size| std::array::from_fn(|_| size * chance.normal()));
        Self { kind, constant, passing }
    }

    fn next(&mut self, chance: &mut Chance) -> [f64; 3] {
        let ErrorKind { passing, memory, lost, .. } = self.kind;
        let fresh = passing * (1.0 - memory * memory).sqrt();
        self.passing = self.passing.map(|error| memory * error + fresh * chance.normal());
        let more = if chance.unit() < lost.0 { lost.1 } else { 0.0 };
        std::array::from_fn(|axis| self.constant[axis] + self.passing[axis] + more * chance.normal())
    }
}
