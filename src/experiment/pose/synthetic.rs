//! Made-up poses: skeletons that swing their limbs, and models that misjudge them.

use super::{JointRows, Motion};
use crate::chance::Chance;

impl Motion {
    /// People who swing their limbs, seen by two made-up models. Both misjudge each joint of a video by a constant; the
    /// `per-frame` one jitters from frame to frame and sometimes loses a joint, errors of the `temporal` one last for some frames.
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
/// The fourteen joints of the paper's pose model: the bone from the parent in millimetres, and how far it swings. Parents first.
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

/// How a bone swings: along each axis a slow and a faster wave.
struct Limb {
    waves: [[(f64, f64); 2]; 3],
}

impl Limb {
    fn new(chance: &mut Chance) -> Self {
        let mut wave = |slow: f64| (slow * (0.7 + 0.6 * chance.unit()), std::f64::consts::TAU * chance.unit());
        Self { waves: std::array::from_fn(|_| [wave(0.4), wave(1.3)]) }
    }

    /// The bone at a time in seconds, as long as ever.
    fn at(&self, bone: [f64; 3], swing: f64, time: f64) -> [f64; 3] {
        let wave = |&(hertz, phase): &(f64, f64)| (std::f64::consts::TAU * hertz * time + phase).sin();
        let bent: [f64; 3] = std::array::from_fn(|axis| {
            bone[axis] + swing * (wave(&self.waves[axis][0]) + 0.4 * wave(&self.waves[axis][1]))
        });
        let length = |bone: [f64; 3]| bone.iter().map(|part| part * part).sum::<f64>().sqrt();
        bent.map(|part| part * length(bone) / length(bent))
    }
}

fn pose(limbs: &[Limb], time: f64) -> Vec<[f64; 3]> {
    let mut joints: Vec<[f64; 3]> = Vec::new();
    for (at, (limb, (parent, bone, swing))) in limbs.iter().zip(SKELETON).enumerate() {
        // Hips hang from the pelvis, which walks on.
        let from = if at < HIPS.len() { [400.0 * time, 900.0, 3000.0] } else { joints[parent] };
        let bone = limb.at(bone, swing, time);
        joints.push(std::array::from_fn(|axis| from[axis] + bone[axis]));
    }
    joints
}

/// Standard deviations in millimetres along each axis, and how much of an error is left a frame later.
struct ErrorKind {
    constant: f64,
    passing: f64,
    memory: f64,
    /// How often a joint is lost, and how far off it is then.
    lost: (f64, f64),
}

const PER_FRAME: ErrorKind = ErrorKind { constant: 42.0, passing: 22.0, memory: 0.0, lost: (0.02, 150.0) };
const TEMPORAL: ErrorKind = ErrorKind { constant: 40.0, passing: 18.0, memory: 0.8, lost: (0.0, 0.0) };

/// The errors of a joint as frames go by.
struct Error3 {
    kind: &'static ErrorKind,
    constant: [f64; 3],
    passing: [f64; 3],
}

impl Error3 {
    fn new(kind: &'static ErrorKind, chance: &mut Chance) -> Self {
        let mut draw = |size: f64| std::array::from_fn(|_| size * chance.normal());
        Self { kind, constant: draw(kind.constant), passing: draw(kind.passing) }
    }

    fn next(&mut self, chance: &mut Chance) -> [f64; 3] {
        let ErrorKind { passing, memory, lost, .. } = self.kind;
        let fresh = passing * (1.0 - memory * memory).sqrt();
        self.passing = self.passing.map(|error| memory * error + fresh * chance.normal());
        let more = if chance.unit() < lost.0 { lost.1 } else { 0.0 };
        std::array::from_fn(|axis| self.constant[axis] + self.passing[axis] + more * chance.normal())
    }
}
