//! Leaving each row's own prediction out, against a direct double loop.

use geosmooth::engine::EngineKind;
use geosmooth::{Places, Sigma};

use crate::problem::{Random, for_each_engine, refused, smoother};

for_each_engine!(
    equals_the_double_loop,
    far_rows_lean_on_their_nearest_source,
    farther_rows_still_have_a_value,
    heavy_labels_count_where_kernels_vanish,
    rows_at_one_place_are_certified,
    light_labels_at_the_place_of_a_row_are_certified,
    a_lonely_row_has_no_value,
    effective_sources_are_counted,
);

fn line(positions: &[f64]) -> Places {
    Places::index(vec![positions.to_vec()]).unwrap()
}

/// `Σ w K v / Σ w K` without row `i`, and the effective number of sources, relative to the nearest one.
fn directly(positions: &[f64], values: &[f64], labels: &[(f64, f64)], label_weight: f64, i: usize) -> (f64, f64) {
    let others = (0..positions.len()).filter(|&j| j != i).map(|j| (positions[j], values[j], 1.0));
    let sources: Vec<(f64, f64, f64)> = others.chain(labels.iter().map(|(x, y)| (*x, *y, label_weight))).collect();
    let exponent = |x: f64| (x - positions[i]).powi(2) / 2.0;
    let nearest = sources.iter().map(|(x, _, _)| exponent(*x)).fold(f64::INFINITY, f64::min);
    let weights: Vec<f64> = sources.iter().map(|(x, _, w)| w * (nearest - exponent(*x)).exp()).collect();
    let mass: f64 = weights.iter().sum();
    let squares: f64 = weights.iter().map(|w| w * w).sum();
    (weights.iter().zip(&sources).map(|(w, (_, v, _))| w * v).sum::<f64>() / mass, mass * mass / squares)
}

fn problem() -> (Vec<f64>, Vec<f64>, Vec<(f64, f64)>) {
    let mut random = Random(31);
    // Crowded, repeated, lonely and very lonely rows: the last is 200 σ from anything.
    let mut positions: Vec<f64> = (0..60).map(|_| (random.unit() * 20.0).floor() / 4.0).collect();
    positions.extend([30.0, 61.5, 300.0]);
    let values = positions.iter().map(|_| random.normal()).collect();
    let labels = (0..20).map(|_| (random.unit() * 5.0, random.normal())).collect();
    (positions, values, labels)
}

fn equals_the_double_loop(engine: EngineKind) {
    let (positions, values, labels) = problem();
    let (places, truths): (Vec<f64>, Vec<f64>) = labels.iter().copied().unzip();
    for weight in [0.5, 1.0, 20.0] {
        let smoother = smoother(Sigma::index(1.0).unwrap(), 1.0).label_weight(weight).unwrap().leave_one_out();
        let plan =
            smoother.tolerance(1e-9).unwrap().engine(engine).plan(&line(&positions), Some(&line(&places))).unwrap();
        let smoothed = plan.apply(&[&values], Some(&truths)).unwrap().remove(0);
        for row in 0..positions.len() {
            let (expected, _) = directly(&positions, &values, &labels, weight, row);
            let error = (smoothed.values[row].unwrap() - expected).abs();
            assert!(error <= 1e-9 * smoothed.range, "row {row}: {error:e}");
            assert!(error <= smoothed.error_bound[row] + 1e-12, "row {row}: beyond its certificate");
        }
    }
}

fn far_rows_lean_on_their_nearest_source(engine: EngineKind) {
    // The kernel underflows for every source of the last row; its nearest one still decides.
    let positions = [0.0, 1.0, 1e6];
    let plan =
        smoother(Sigma::index(1.0).unwrap(), 1.0).leave_one_out().engine(engine).plan(&line(&positions), None).unwrap();
    let smoothed = plan.apply(&[&[3.0, 4.0, 5.0]], None).unwrap().remove(0);
    assert_eq!(smoothed.values[2], Some(4.0));
}

fn farther_rows_still_have_a_value(engine: EngineKind) {
    // Beyond 10⁸ σ one more in the exponent changes no digit of it. The others fill leaves of their own.
    for far in [1e8, 1e12, 1e100] {
        let mut positions: Vec<f64> = (0..32).map(|row| 0.1 * f64::from(row)).collect();
        let values = positions.clone();
        positions.push(far);
        let smoother = smoother(Sigma::index(1.0).unwrap(), 1.0).leave_one_out().engine(engine);
        let plan = smoother.plan(&line(&positions), None).unwrap();
        let smoothed = plan.apply(&[&[&values[..], &[9.0]].concat()], None).unwrap().remove(0);
        assert!(smoothed.values[32].is_some_and(|value| (0.0..=3.1).contains(&value)), "{far:e}: {smoothed:?}");
    }
}

/// 2⁻¹⁰²⁰ of a kernel is nothing, but not times a weight of 10¹⁰⁰; beside a source that is nearer, and alone.
fn heavy_labels_count_where_kernels_vanish(engine: EngineKind) {
    let sigma = Sigma::index(1.0).unwrap();
    for (positions, label) in [([0.0, 35.0], -40.0), ([0.0, 36.0], -39.5), ([0.0, 1000.0], 39.0)] {
        let values = [1.0, 2.0];
        let smoother = smoother(sigma, 1.0).label_weight(1e100).unwrap().leave_one_out().engine(engine);
        let plan = smoother.plan(&line(&positions), Some(&line(&[label]))).unwrap();
        let smoothed = plan.apply(&[&values], Some(&[7.0])).unwrap().remove(0);
        for row in 0..2 {
            let (expected, _) = directly(&positions, &values, &[(label, 7.0)], 1e100, row);
            let value = smoothed.values[row].expect("a source");
            let error = (value - expected).abs();
            assert!(error <= smoothed.error_bound[row] + 1e-12, "{positions:?}, row {row}: {value} for {expected}");
            assert!(error <= 1e-6, "{positions:?}, row {row}: {value} for {expected}");
        }
    }
}

fn rows_at_one_place_are_certified(engine: EngineKind) {
    // Nothing lies beside their own place, so that nothing can be missing.
    let plan =
        smoother(Sigma::index(1.0).unwrap(), 1.0).leave_one_out().engine(engine).plan(&line(&[7.0; 3]), None).unwrap();
    let smoothed = plan.apply(&[&[3.0, 4.0, 8.0]], None).unwrap().remove(0);
    assert_eq!(smoothed.values, [Some(6.0), Some(5.5), Some(3.5)]);
    assert!(smoothed.relative_bounds().all(|bound| bound < 1e-14), "{smoothed:?}");
}

/// Next to a weight of one, 10⁻¹⁰⁰ is nothing: once the row is left out, nobody knows what its place still holds.
fn light_labels_at_the_place_of_a_row_are_certified(engine: EngineKind) {
    for labels in [[0.0, 0.5], [0.0, 1000.0], [0.0, 0.0]] {
        let smoother = smoother(Sigma::index(1.0).unwrap(), 1.0).label_weight(1e-100).unwrap().leave_one_out();
        let plan = smoother.engine(engine).plan(&line(&[0.0]), Some(&line(&labels))).unwrap();
        let smoothed = plan.apply(&[&[1.0]], Some(&[7.0, 3.0])).unwrap().remove(0);
        let (expected, _) = directly(&[0.0], &[1.0], &[(labels[0], 7.0), (labels[1], 3.0)], 1e-100, 0);
        let value = smoothed.values[0].expect("a source");
        let (error, bound) = ((value - expected).abs(), smoothed.error_bound[0]);
        assert!(error <= bound, "{labels:?}: {value} for {expected}, {bound}");
    }
}

fn a_lonely_row_has_no_value(engine: EngineKind) {
    let plan =
        smoother(Sigma::index(1.0).unwrap(), 0.5).leave_one_out().engine(engine).plan(&line(&[1.0]), None).unwrap();
    let smoothed = plan.apply(&[&[3.0]], None).unwrap().remove(0);
    assert_eq!((smoothed.values[0], smoothed.error_bound[0]), (None, 0.0));
    assert_eq!(plan.n_effective().unwrap(), [0.0]);
}

fn effective_sources_are_counted(engine: EngineKind) {
    let (positions, values, labels) = problem();
    let places: Vec<f64> = labels.iter().map(|(x, _)| *x).collect();
    let smoother = smoother(Sigma::index(1.0).unwrap(), 1.0).label_weight(2.0).unwrap().leave_one_out();
    let plan = smoother.engine(engine).plan(&line(&positions), Some(&line(&places))).unwrap();
    for (row, counted) in plan.n_effective().unwrap().into_iter().enumerate() {
        let (_, expected) = directly(&positions, &values, &labels, 2.0, row);
        assert!((counted / expected - 1.0).abs() < 1e-4, "row {row}: {counted} against {expected}");
    }
}

#[test]
fn parameters_out_of_range_are_refused() {
    let sigma = Sigma::index(1.0).unwrap();
    for c in [-0.1, 1.1, f64::NAN] {
        assert!(refused(geosmooth::Smoother::new(sigma, c)).starts_with("c is"));
    }
    for weight in [-1.0, f64::NAN, f64::INFINITY] {
        assert!(refused(smoother(sigma, 1.0).label_weight(weight)).starts_with("label weight is"));
    }
    for tolerance in [0.0, 1e-17, 2.0, f64::NAN] {
        assert!(refused(smoother(sigma, 1.0).tolerance(tolerance)).starts_with("tolerance is"));
    }
    for cutoff in [0.0, -1.0, 100.0, f64::NAN] {
        assert!(refused(smoother(sigma, 1.0).cutoff(cutoff)).starts_with("cutoff is"));
    }
    let degrees = Places::lat_lon(vec![1.0], vec![2.0]).unwrap();
    assert!(refused(smoother(sigma, 1.0).plan(&degrees, None)).contains("latitude and longitude"));
    let plan = smoother(sigma, 1.0).plan(&line(&[1.0, 2.0]), None).unwrap();
    assert!(refused(plan.apply(&[&[1.0]], None)).contains("1 rows, expected 2"));
    assert!(refused(plan.apply(&[&[1.0, f64::NAN]], None)).contains("NaN at row 1"));
    assert!(refused(plan.apply(&[&[1.0, 2.0]], Some(&[1.0]))).contains("label has 1 rows, expected 0"));
}
