//! Human poses in video, smoothed along the frames of each video.

use super::{Reproduce, Reproduced, finish};
use crate::error::Error;
use crate::experiment::pose::{self, CS, JointRows, Motion, PoseResult, PoseScore, SIGMAS};
use crate::io::{Groups, Input, Numbers};
use crate::job::caller::Caller;
use crate::job::dataset::Dataset;
use crate::job::pages::strings;
use crate::report::{Axis, Figure, Page, Plot, Section, Table, short};

/// Videos of moving skeletons.
#[derive(Clone, Debug)]
pub enum Videos {
    /// Rows of joints: columns video, frame, joint, x, y and perhaps z, and coordinates that models predicted.
    Files {
        /// Videos to choose σ and c on.
        validation: Dataset,
        /// Holdout videos.
        test: Dataset,
        /// Models: what their columns begin with, before `_x`, `_y` and `_z`.
        prediction: Vec<String>,
        /// Joints whose midpoint is the root of a pose; the first joint of the files if empty.
        root: Vec<String>,
    },
    /// Simulated videos.
    Simulated {
        /// Videos in each of the two sets.
        videos: usize,
        /// Frames of each.
        frames: usize,
        /// Seed of the random numbers.
        seed: u64,
    },
}

impl Videos {
    pub(super) fn perform(&self, request: &Reproduce, caller: &Caller) -> Result<Reproduced, Error> {
        let inputs = match self {
            Self::Files { validation, test, .. } => vec![caller.open(validation)?, caller.open(test)?],
            Self::Simulated { .. } => Vec::new(),
        };
        let report = request.prepare(&inputs, caller)?;
        let [validation, holdout] = match self {
            Self::Files { prediction, root, .. } => read(&inputs, prediction, root)?,
            Self::Simulated { videos, frames, seed } => simulated(*videos, *frames, *seed)?,
        };
        let lines = pose::run(&validation, &holdout, caller.phase("trials").as_ref())?;
        let results = serde_json::json!({ "sigmas": SIGMAS, "cs": CS, "models": lines });
        finish(report, &page(&lines, &holdout, inputs.is_empty()), results)
    }
}

fn simulated(videos: usize, frames: usize, seed: u64) -> Result<[Motion; 2], Error> {
    if videos == 0 || frames < 3 || videos.saturating_mul(frames) > 1_000_000 {
        return Err(Error::Parameter {
            name: "simulated set",
            value: format!("{videos} videos of {frames} frames"),
            expected: "videos of 3 frames or more, at most a million frames",
        });
    }
    Ok([0, 1].map(|at| Motion::synthetic(videos, frames, seed.wrapping_mul(2).wrapping_add(at))))
}

/// The videos of each input.
fn read(inputs: &[Input], models: &[String], root: &[String]) -> Result<[Motion; 2], Error> {
    let mut joints = Groups::default();
    let [validation, test] = [&inputs[0], &inputs[1]];
    let rows = [joint_rows(validation, models, &mut joints)?, joint_rows(test, models, &mut joints)?];
    let mut roots = vec![0];
    if !root.is_empty() {
        roots = root.iter().map(|name| joint(name, &joints, validation)).collect::<Result<_, _>>()?;
    }
    let [validation, holdout] = rows.map(|rows| Motion::from_rows(&rows, roots.clone()));
    Ok([validation?, holdout?])
}

/// The number of a joint.
fn joint(name: &str, joints: &Groups, input: &Input) -> Result<usize, Error> {
    let known = joints.find(name).map(|joint| joint as usize);
    known.ok_or_else(|| {
        input.wrong_column("joint", &format!("has no joint '{name}'"), "name joints of the file with `root`")
    })
}

fn joint_rows(input: &Input, models: &[String], joints: &mut Groups) -> Result<JointRows, Error> {
    let axes: &[&str] = if input.has("z") { &["x", "y", "z"] } else { &["x", "y"] };
    let mut predicted = Vec::new();
    for model in models {
        let columns: Vec<String> = axes.iter().map(|axis| format!("{model}_{axis}")).collect();
        predicted.push((model.clone(), finite(input, &columns.iter().map(String::as_str).collect::<Vec<_>>())?));
    }
    Ok(JointRows {
        video: keys(input, "video", &mut Groups::default())?,
        frame: finite(input, &["frame"])?.remove(0),
        joint: keys(input, "joint", joints)?,
        truth: finite(input, axes)?,
        predicted,
    })
}

fn keys(input: &Input, name: &str, groups: &mut Groups) -> Result<Vec<u32>, Error> {
    let column = input.groups(name, groups)?;
    match column.first_null {
        Some(row) => {
            Err(input.wrong_column(name, &format!("is null or NaN at row {row}"), "mend the row, or leave it out"))
        }
        None => Ok(column.ids),
    }
}

fn finite(input: &Input, names: &[&str]) -> Result<Vec<Vec<f64>>, Error> {
    input.numbers(names)?.into_iter().map(|column| all_finite(input, column)).collect()
}

fn all_finite(input: &Input, column: Numbers) -> Result<Vec<f64>, Error> {
    match column.values.iter().position(|value| !value.is_finite()) {
        Some(row) => Err(input.wrong_column(
            &column.name,
            &format!("is no finite number at row {row}"),
            "mend the frame, or leave it out whole",
        )),
        None => Ok(column.values),
    }
}

fn page(lines: &[PoseResult], holdout: &Motion, is_simulated: bool) -> Page {
    let data = format!(
        "{} holdout videos, {} frames, {} joints; scores are those of each video, averaged over videos.",
        holdout.videos().len(),
        holdout.frames.len(),
        holdout.joints
    );
    let what = if is_simulated {
        "Simulated skeletons and two simulated models: they show how the measures respond to smoothing, not how good any real model is."
    } else {
        "Positions are in the unit of the files."
    };
    let sections = vec![
        Section {
            heading: "Before and after".to_owned(),
            text: vec![data, what.to_owned()],
            tables: vec![table(lines)],
            figures: Vec::new(),
        },
        Section {
            heading: "How σ and c were chosen".to_owned(),
            figures: lines.iter().map(surface).collect(),
            ..Section::default()
        },
    ];
    Page { title: "Human poses in video".to_owned(), lead: lead(lines), sections }
}

fn lead(lines: &[PoseResult]) -> String {
    format!("Smoothing along frames, holdout videos. {}.", lines.iter().map(change).collect::<Vec<_>>().join("; "))
}

fn change(PoseResult { model, before, after, .. }: &PoseResult) -> String {
    format!(
        "{model}: PCK {:.2} to {:.2}, acceleration {:.2} to {:.2}",
        before.pck, after.pck, before.acceleration, after.acceleration
    )
}

fn table(lines: &[PoseResult]) -> Table {
    let rows = lines.iter().flat_map(|line| {
        let way = format!("P-ES, σ = {}, c = {}", line.sigma, line.c);
        [cells(&line.model, "as it is".to_owned(), &line.before), cells(&line.model, way, &line.after)]
    });
    let header = strings(["model", "", "PCK ↑", "MPJPE ↓", "PA-MPJPE ↓", "acceleration ↓"]);
    Table { caption: "Holdout videos".to_owned(), header, rows: rows.collect() }
}

fn cells(name: &str, way: String, score: &PoseScore) -> Vec<String> {
    let [mpjpe, pa_mpjpe] = [score.mpjpe, score.pa_mpjpe].map(|value| value.map_or("–".to_owned(), short));
    vec![name.to_owned(), way, short(score.pck), mpjpe, pa_mpjpe, short(score.acceleration)]
}

fn surface(line: &PoseResult) -> Figure {
    let row = SIGMAS.iter().position(|sigma| *sigma == line.sigma);
    let column = CS.iter().position(|c| *c == line.c);
    Figure {
        name: format!("pck-{}", line.model),
        title: format!("PCK of {} in the validation videos", line.model),
        caption: "The outlined square was chosen. At c = 0 nothing is smoothed.".to_owned(),
        plot: Plot::HeatMap {
            x: Axis::linear("c"),
            y: Axis::linear("σ in frames"),
            columns: CS.to_vec(),
            rows: SIGMAS.to_vec(),
            values: line.validation.clone(),
            chosen: row.zip(column),
            unit: "PCK".to_owned(),
        },
    }
}
