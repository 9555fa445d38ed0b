//! `geosmooth reproduce pose`.

use std::path::PathBuf;

use super::{StudyArgs, finish};
use crate::cli::options::Outcome;
use crate::error::Error;
use crate::experiment::pose::{self, CS, JointRows, Motion, PoseResult, PoseScore, SIGMAS};
use crate::io::{Groups, Input};
use crate::job::caller::Caller;
use crate::job::pages::strings;
use crate::report::{Axis, Figure, Page, Plot, Section, Table, short};

/// Human poses in video, smoothed along the frames of each video.
///
/// σ and c are those that find most joints (PCK) in the validation videos; the holdout videos are scored by PCK, by the
/// distance of joints once roots are aligned (MPJPE) and once whole poses are (PA-MPJPE), and by acceleration.
///
/// Without files, a made-up set of moving skeletons runs. Files have one row for each joint of each frame, with columns video,
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
    /// Joints whose midpoint is the root of a pose, as the column joint has them, separated by commas; the first joint of the
    /// file if left out
    #[arg(long, value_name = "JOINTS", value_delimiter = ',', help_heading = "Data")]
    root: Vec<String>,
    /// Made-up videos in each of the two sets
    #[arg(long, value_name = "N", default_value_t = 20, conflicts_with = "test", help_heading = "Made-up videos")]
    videos: usize,
    /// Frames of each
    #[arg(long, value_name = "N", default_value_t = 150, conflicts_with = "test", help_heading = "Made-up videos")]
    frames: usize,
    #[command(flatten)]
    pub(super) study: StudyArgs,
}

pub(super) fn perform(args: &Args, caller: &Caller) -> Result<Outcome, Error> {
    let open = |path: &Option<PathBuf>| path.as_ref().map(|path| caller.open(&path.into())).transpose();
    let (validation, test) = (open(&args.validation)?, open(&args.test)?);
    let report = args.study.start(validation.iter().chain(&test), caller)?;
    let (validation, holdout) = match validation.as_ref().zip(test.as_ref()) {
        Some((validation, test)) => args.read(validation, test)?,
        None => args.made_up()?,
    };
    let lines = pose::run(&validation, &holdout, caller.phase("trials").as_ref())?;
    let results = serde_json::json!({ "sigmas": SIGMAS, "cs": CS, "models": lines });
    finish(report, &page(&lines, &holdout, args.test.is_none()), &results)
}

impl Args {
    fn made_up(&self) -> Result<(Motion, Motion), Error> {
        if self.videos == 0 || self.frames < 3 || self.videos.saturating_mul(self.frames) > 1_000_000 {
            let value = format!("{} videos of {} frames", self.videos, self.frames);
            return Err(Error::Parameter {
                name: "made-up set",
                value,
                expected: "videos of 3 frames or more, at most a million frames",
            });
        }
        let set =
            |at: u64| Motion::synthetic(self.videos, self.frames, self.study.seed.wrapping_mul(2).wrapping_add(at));
        Ok((set(0), set(1)))
    }

    fn read(&self, validation: &Input, test: &Input) -> Result<(Motion, Motion), Error> {
        let mut joints = Groups::default();
        let rows = [self.rows(validation, &mut joints)?, self.rows(test, &mut joints)?];
        let root = |name: &String| {
            let known = joints.find(name).map(|joint| joint as usize);
            known.ok_or_else(|| {
                validation.wrong_column(
                    "joint",
                    &format!("has no joint '{name}'"),
                    "name joints of the file with --root",
                )
            })
        };
        let root = if self.root.is_empty() { vec![0] } else { self.root.iter().map(root).collect::<Result<_, _>>()? };
        let [validation, holdout] = rows.map(|rows| Motion::from_rows(&rows, root.clone()));
        Ok((validation?, holdout?))
    }

    fn rows(&self, input: &Input, joints: &mut Groups) -> Result<JointRows, Error> {
        let axes: &[&str] = if input.has("z") { &["x", "y", "z"] } else { &["x", "y"] };
        let predicted = |name: &String| -> Result<(String, Vec<Vec<f64>>), Error> {
            let columns: Vec<String> = axes.iter().map(|axis| format!("{name}_{axis}")).collect();
            Ok((name.clone(), finite(input, &columns.iter().map(String::as_str).collect::<Vec<_>>())?))
        };
        Ok(JointRows {
            video: keys(input, "video", &mut Groups::default())?,
            frame: finite(input, &["frame"])?.remove(0),
            joint: keys(input, "joint", joints)?,
            truth: finite(input, axes)?,
            predicted: self.prediction.iter().map(predicted).collect::<Result<_, _>>()?,
        })
    }
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
    let check = |column: crate::io::Numbers| match column.values.iter().position(|value| !value.is_finite()) {
        Some(row) => Err(input.wrong_column(
            &column.name,
            &format!("is no finite number at row {row}"),
            "mend the frame, or leave it out whole",
        )),
        None => Ok(column.values),
    };
    input.numbers(names)?.into_iter().map(check).collect()
}

fn page(lines: &[PoseResult], holdout: &Motion, made_up: bool) -> Page {
    let data = format!(
        "{} holdout videos, {} frames, {} joints; scores are those of each video, averaged over videos.",
        holdout.videos().len(),
        holdout.frames.len(),
        holdout.joints
    );
    let what = if made_up {
        "Made-up skeletons, seen by two made-up models: what they show is how the measures respond to smoothing, not how good any real model is."
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
    let change = |line: &PoseResult| {
        let (pck, acceleration) =
            ((line.before.pck, line.after.pck), (line.before.acceleration, line.after.acceleration));
        format!(
            "{}: PCK {:.2} to {:.2}, acceleration {:.2} to {:.2}",
            line.model, pck.0, pck.1, acceleration.0, acceleration.1
        )
    };
    format!("Smoothing along frames, holdout videos. {}.", lines.iter().map(change).collect::<Vec<_>>().join("; "))
}

fn table(lines: &[PoseResult]) -> Table {
    let or_none = |value: Option<f64>| value.map_or("–".to_owned(), short);
    let row = |name: &str, way: String, score: &PoseScore| {
        vec![
            name.to_owned(),
            way,
            short(score.pck),
            or_none(score.mpjpe),
            or_none(score.pa_mpjpe),
            short(score.acceleration),
        ]
    };
    let rows = lines.iter().flat_map(|line| {
        let way = format!("P-ES, σ = {}, c = {}", line.sigma, line.c);
        [row(&line.model, "as it is".to_owned(), &line.before), row(&line.model, way, &line.after)]
    });
    let header = strings(["model", "", "PCK ↑", "MPJPE ↓", "PA-MPJPE ↓", "acceleration ↓"]);
    Table { caption: "Holdout videos".to_owned(), header, rows: rows.collect() }
}

fn surface(line: &PoseResult) -> Figure {
    let at = |values: &[f64], value: f64| values.iter().position(|known| *known == value);
    Figure {
        name: format!("pck-{}", line.model),
        title: format!("PCK of {} in the validation videos", line.model),
        caption: "The outlined square was chosen. At c = 0 nothing is smoothed.".to_owned(),
        plot: Plot::HeatMap {
            x: Axis { label: "c".to_owned(), log: false },
            y: Axis { label: "σ in frames".to_owned(), log: false },
            columns: CS.to_vec(),
            rows: SIGMAS.to_vec(),
            values: line.validation.clone(),
            chosen: at(&SIGMAS, line.sigma).zip(at(&CS, line.c)),
            unit: "PCK".to_owned(),
        },
    }
}
