//! The experiments of the paper at small size: results agree with theory, depend only on the seed, and invalid parameters are
//! refused.

use geosmooth::experiment::extrapolation::Extrapolation;
use geosmooth::experiment::housing::{Housing, WayScores};
use geosmooth::experiment::pose::{self, JointRows, Motion, PoseScore};
use geosmooth::experiment::simulation::{Estimator, Simulation, SimulationResult};
use geosmooth::experiment::{Homes, Model, Way, sizes};
use geosmooth::{Error, Places};

use crate::problem::{Random, refused};

fn simulation(seed: u64) -> Vec<SimulationResult> {
    let small = Simulation {
        rows: 600,
        noise_x: vec![0.25, 1.0],
        noise_y: vec![0.1, 0.5],
        trials: 150,
        seed,
        ..Simulation::default()
    };
    small.run(&()).unwrap()
}

#[test]
fn simulated_errors_are_those_of_theory() {
    for line in simulation(1) {
        for checked in [&line.unsmoothed, &line.optimal] {
            let (off, allowed) = (checked.deviation.mean.abs(), 3.5 * checked.deviation.standard_error);
            assert!(off <= allowed, "{off} is more than {allowed}: {line:?}");
            assert!(allowed < 0.2 * checked.expected, "the test is not sensitive enough: {line:?}");
        }
        let (x, y) = (line.noise_x.powi(2), line.noise_y.powi(2));
        if line.estimator == Estimator::TotalLeastSquares {
            assert!((line.unsmoothed.limit - x - y).abs() < 1e-12);
            assert!((line.unsmoothed.measured.mean / line.unsmoothed.limit - 1.0).abs() < 0.1, "{line:?}");
        }
        // Attenuated by x / (1 + x), as in the paper.
        if line.estimator == Estimator::LeastSquares {
            assert!((line.unsmoothed.limit - y - x / (1.0 + x)).abs() < 1e-12);
        }
    }
}

#[test]
fn smoothing_comes_close_to_the_bound_and_total_least_squares_closer() {
    let lines = simulation(2);
    for noise_y in [0.1, 0.5] {
        let [total, ordinary] = [Estimator::TotalLeastSquares, Estimator::LeastSquares].map(|estimator| {
            let wanted = (estimator, 1.0, noise_y);
            lines.iter().find(|line| (line.estimator, line.noise_x, line.noise_y) == wanted).unwrap()
        });
        let [above, ordinary_above] = [total, ordinary].map(|line| line.smoothed.mean - line.bound);
        assert!(above < 0.07 * (total.unsmoothed.measured.mean - total.bound), "{total:?}");
        assert!(above < 0.5 * ordinary_above, "{total:?} {ordinary:?}");
        assert!(total.smoothed.mean > total.optimal.limit - 4.0 * total.smoothed.standard_error);
    }
}

#[test]
fn results_depend_on_the_seed_alone() {
    let [one, again, other] =
        [7, 7, 8].map(|seed| simulation(seed).iter().map(|line| line.smoothed.mean.to_bits()).collect::<Vec<_>>());
    assert_eq!(one, again);
    assert_ne!(one, other);
}

/// Homes whose price depends on two features, a field over space and a little noise.
fn homes(count: usize, field: f64) -> Homes {
    let mut random = Random(5);
    let latitude: Vec<f64> = (0..count).map(|_| 41.0 + 0.2 * random.unit()).collect();
    let longitude: Vec<f64> = (0..count).map(|_| -83.0 + 0.2 * random.unit()).collect();
    let size: Vec<f64> = (0..count).map(|_| random.normal()).collect();
    let age: Vec<f64> = (0..count).map(|_| random.unit()).collect();
    let labels = (0..count).map(|at| {
        let place = (60.0 * latitude[at]).sin() + (50.0 * longitude[at]).cos();
        12.0 + 0.4 * size[at] - 0.5 * age[at] + field * place + 0.05 * random.normal()
    });
    let labels = labels.collect();
    let features = vec![("size".to_owned(), size), ("age".to_owned(), age)];
    Homes { places: Places::lat_lon(latitude, longitude).unwrap(), labels, features }
}

#[test]
fn every_model_learns_and_smoothing_finds_the_field() {
    for (model, [unsmoothed, predictions_only, with_labels]) in scores_of_models(&homes(900, 0.0)) {
        assert!(unsmoothed.score.min > 0.9, "{model:?} {unsmoothed:?}");
        assert!(predictions_only.gain.min > -0.01 && with_labels.gain.min > -0.01, "{model:?} {with_labels:?}");
    }
    for (model, ways) in scores_of_models(&homes(900, 0.6)) {
        assert_eq!(ways.each_ref().map(|scores| scores.way), Way::ALL);
        let [unsmoothed, predictions_only, with_labels] = ways;
        assert!(unsmoothed.score.max < 0.6 && unsmoothed.p_value.is_none(), "{model:?} {unsmoothed:?}");
        // With so few rows, random features may predict a single home badly, smoothed or not.
        if model != Model::RandomFeatures {
            assert!(
                with_labels.gain.min > 0.1 && with_labels.gain.mean > predictions_only.gain.mean,
                "{model:?} {with_labels:?}"
            );
            assert!(with_labels.p_value.unwrap() < 0.05, "{model:?} {with_labels:?}");
        }
    }
}

fn scores_of_models(homes: &Homes) -> Vec<(Model, [WayScores; 3])> {
    let lines = Housing { rows: 300, trials: 3, seed: 1 }.run(homes, &()).unwrap();
    lines.into_iter().map(|line| (line.model, line.ways.try_into().unwrap())).collect()
}

#[test]
fn methods_are_compared_on_the_same_splits() {
    let housing = Housing { rows: 120, trials: 1, seed: 1 };
    let outcomes = housing.compare(&homes(400, 0.6), 5, &()).unwrap();
    assert_eq!((outcomes.len(), outcomes[0].len()), (1, 9));
    let [pes, unsmoothed, hem, kernel] = ["p-es", "unsmoothed", "hem", "kernel"]
        .map(|name| outcomes[0].iter().find(|outcome| outcome.method.name() == name).unwrap().score);
    assert!(pes > unsmoothed && hem > kernel);
}

/// Issue 16, point 10: this test looked at lengths only.
#[test]
fn each_size_is_a_housing_experiment_and_smoothing_gains_at_each() {
    let homes = homes(450, 0.6);
    let (trials, seed) = (2, 3);
    let found = sizes::run(&homes, &[80, 150], trials, seed, &()).unwrap();
    assert_eq!(found.iter().map(|size| size.rows).collect::<Vec<_>>(), [80, 150]);
    for size in &found {
        let expected = Housing { rows: size.rows, trials, seed }.run(&homes, &()).unwrap();
        for (model, expected) in size.models.iter().zip(&expected) {
            assert_eq!((model.model, model.trials.len()), (expected.model, trials));
            let [found, expected] =
                [model, expected].map(|one| one.ways.iter().map(|way| way.score).collect::<Vec<_>>());
            assert_eq!(found, expected, "{} rows, {:?}", size.rows, model.model);
        }
        let ridge = &size.models[0];
        assert_eq!(ridge.model, Model::Ridge);
        let with_labels = ridge.ways.iter().find(|scores| scores.way == Way::WithLabels).unwrap();
        assert!(with_labels.gain.mean > 0.1, "{} rows: {with_labels:?}", size.rows);
    }
    // More homes nearby, more to learn from.
    let [few, many] = [&found[0], &found[1]].map(|size| size.models[0].ways[2].score.mean);
    assert!(many > few, "R² of {few} with 80 rows, {many} with 150");
}

#[test]
fn location_as_a_feature_misleads_in_another_region() {
    let mut homes = homes(900, 0.0);
    // Prices rise from the border to the north; south of it, where no model was trained, they are the northern average.
    let latitudes: Vec<f64> = (0..900).map(|at| 41.0 + 0.2 * f64::from(at) / 900.0).collect();
    for (label, latitude) in homes.labels.iter_mut().zip(&latitudes) {
        *label += if *latitude >= 41.07 { 20.0 * (latitude - 41.07) } else { 1.3 };
    }
    homes.places = Places::lat_lon(latitudes, vec![-83.0; 900]).unwrap();
    let lines = Extrapolation { latitude: 41.07, rows: 250, trials: 2, seed: 1 }.run(&homes, &()).unwrap();
    let [plain, located] = [false, true].map(|with_location| {
        lines.iter().find(|line| line.with_location == with_location && line.way == Way::Unsmoothed).unwrap()
    });
    assert!(located.validation.mean > plain.validation.mean + 0.05, "{plain:?} {located:?}");
    assert!(located.holdout.mean < plain.holdout.mean, "{plain:?} {located:?}");
}

#[test]
fn invalid_parameters_are_refused_with_their_reason() {
    let homes = homes(300, 0.0);
    let simulation = Simulation::default();
    for (outcome, message) in [
        (
            Housing { rows: 101, trials: 1, seed: 1 }.run(&homes, &()).map(drop),
            "three sets of 101 homes cannot be drawn from 300",
        ),
        (
            Housing { rows: 100, trials: 0, seed: 1 }.run(&homes, &()).map(drop),
            "number of trials is 0, but must be at least 1",
        ),
        (sizes::run(&homes, &[60, 200], 1, 1, &()).map(drop), "three sets of 200 homes cannot be drawn from 300"),
        (
            Extrapolation { latitude: 99.0, rows: 60, trials: 1, seed: 1 }.run(&homes, &()).map(drop),
            "0 homes north of 99 and 300 south of it do not make two sets and one of 60",
        ),
        (
            Simulation { noise_x: vec![0.0], ..simulation.clone() }.run(&()).map(drop),
            "noise is 0, but must be between 0.001 and 1000",
        ),
        (
            Simulation { trials: 0, ..simulation.clone() }.run(&()).map(drop),
            "number of trials is 0, but must be at least 1",
        ),
        (
            Simulation { rows: 4, ..simulation }.example().map(drop),
            "number of rows is 4, but must be between 8 and 100000",
        ),
    ] {
        assert_eq!(refused(outcome), message);
    }
}

#[test]
fn smoothing_improves_poses() {
    let (validation, holdout) = (Motion::synthetic(4, 60, 1), Motion::synthetic(4, 60, 2));
    let truth = PoseScore::of(&holdout, &holdout.truth);
    assert_eq!((truth.pck, truth.mpjpe, truth.acceleration), (100.0, Some(0.0), 0.0));
    assert!(truth.pa_mpjpe.unwrap() < 1e-9);
    for line in pose::run(&validation, &holdout, &()).unwrap() {
        assert!(line.after.pck > line.before.pck, "{line:?}");
        assert!(line.after.mpjpe < line.before.mpjpe && line.after.pa_mpjpe < line.before.pa_mpjpe, "{line:?}");
        assert!(line.after.acceleration < 0.5 * line.before.acceleration, "{line:?}");
    }
}

#[test]
fn rows_of_joints_may_be_in_any_order_but_must_be_complete() {
    let mut all: Vec<JointRow> = Vec::new();
    for video in 0..2 {
        for frame in [0.0, 1.0, 2.0] {
            all.extend([0, 1].map(|joint| JointRow { video, frame, joint }));
        }
    }
    let sorted = motion(&all).unwrap();
    all.reverse();
    let reversed = motion(&all).unwrap();
    assert_eq!((&sorted.truth, &sorted.video, &sorted.frames), (&reversed.truth, &reversed.video, &reversed.frames));
    assert_eq!(sorted.truth[2], [1.0, 11.0, 21.0, 1.0, 11.0, 21.0]);
    assert_eq!(sorted.videos(), [0..3, 3..6]);
    all.pop();
    assert!(refused(motion(&all).map(drop)).contains("does not have each of 2 joints once"));
    all.push(JointRow { video: 0, frame: 1.0, joint: 1 });
    assert!(refused(motion(&all).map(drop)).contains("does not have each of 2 joints once"));
    assert_eq!(refused(motion(&[]).map(drop)), "there are no rows of joints");
}

#[derive(Clone, Copy)]
struct JointRow {
    video: u32,
    frame: f64,
    joint: u32,
}

/// Rows of joints, each with a position that tells frame and joint.
fn motion(joints: &[JointRow]) -> Result<Motion, Error> {
    let x: Vec<f64> = joints.iter().map(|row| 10.0 * row.frame + f64::from(row.joint)).collect();
    let y: Vec<f64> = x.iter().map(|x| -x).collect();
    let rows = JointRows {
        video: joints.iter().map(|row| row.video).collect(),
        frame: joints.iter().map(|row| row.frame).collect(),
        joint: joints.iter().map(|row| row.joint).collect(),
        truth: vec![x.clone(), y.clone()],
        predicted: vec![("p".to_owned(), vec![x, y])],
    };
    Motion::from_rows(&rows, vec![0])
}
