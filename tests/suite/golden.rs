//! Golden values in forty digits, made by `tests/golden/make_golden.py`.

use geosmooth::engine::EngineKind;
use geosmooth::{Places, Smoother};
use serde::Deserialize;

#[derive(Deserialize)]
struct Case {
    name: String,
    sigma: String,
    c: f64,
    label_weight: f64,
    latitude: Vec<f64>,
    longitude: Vec<f64>,
    prediction: Vec<f64>,
    label_latitude: Vec<f64>,
    label_longitude: Vec<f64>,
    label: Vec<f64>,
    expected: Vec<f64>,
}

fn cases() -> Vec<Case> {
    serde_json::from_str(include_str!("../golden/golden.json")).unwrap()
}

/// Largest error relative to the range, and largest excess over the certificate.
fn errors(case: &Case, engine: EngineKind) -> (f64, f64) {
    let targets = Places::lat_lon(case.latitude.clone(), case.longitude.clone()).unwrap();
    let labelled = Places::lat_lon(case.label_latitude.clone(), case.label_longitude.clone()).unwrap();
    let smoother = Smoother::new(case.sigma.parse().unwrap(), case.c).unwrap().label_weight(case.label_weight).unwrap();
    let plan = smoother.engine(engine).plan(&targets, Some(&labelled)).unwrap();
    let smoothed = plan.apply(&[&case.prediction], Some(&case.label)).unwrap().remove(0);
    let range = if smoothed.range > 0.0 { smoothed.range } else { 1.0 };
    let mut worst = (0.0_f64, f64::NEG_INFINITY);
    for ((value, expected), bound) in smoothed.values.iter().zip(&case.expected).zip(&smoothed.error_bound) {
        let error = (value.unwrap() - expected).abs();
        // The expected value itself is rounded to 64 bits.
        worst = (worst.0.max(error / range), worst.1.max(error - bound - f64::EPSILON * expected.abs()));
    }
    worst
}

#[test]
fn exact_is_right_to_the_last_digits() {
    let cases = cases();
    assert!(cases.len() > 40);
    for case in &cases {
        let (error, excess) = errors(case, EngineKind::Exact);
        assert!(error <= 1e-13, "{}: {error:e} of the range", case.name);
        assert!(excess <= 0.0, "{}: beyond its certificate by {excess:e}", case.name);
    }
}

#[test]
fn sparse_and_fast_keep_their_tolerance() {
    for engine in [EngineKind::Sparse, EngineKind::Fast] {
        for case in &cases() {
            let (error, excess) = errors(case, engine);
            assert!(error <= 1e-6, "{engine}, {}: {error:e} of the range", case.name);
            assert!(excess <= 0.0, "{engine}, {}: beyond its certificate by {excess:e}", case.name);
        }
    }
}
