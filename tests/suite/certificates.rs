//! The promise: every row within the tolerance, and within its own certificate, on layouts made to break it.

use geosmooth::engine::EngineKind;

use crate::problem::{Problem, SHAPES, SPACES, Shape, Space, all, refused, smoother};

/// Checks every row of a problem; gives the largest error relative to the range.
fn check(problem: &Problem, engine: EngineKind, space: Space, share: f64, tolerance: f64, what: &str) -> f64 {
    let smoother = smoother(space.sigma(share), 1.0).tolerance(tolerance).unwrap();
    let exact = problem.smooth(&smoother, EngineKind::Exact);
    let other = problem.smooth(&smoother, engine);
    let mut worst = 0.0_f64;
    for (row, (a, b)) in all(&exact).into_iter().zip(all(&other)).enumerate() {
        let error = (a - b).abs();
        assert!(error <= tolerance * exact.range, "{what}, row {row}: error {:e} of the range", error / exact.range);
        assert!(
            error <= other.error_bound[row],
            "{what}, row {row}: error {error:e}, certificate {:e}",
            other.error_bound[row]
        );
        assert!(
            other.error_bound[row] <= tolerance * exact.range,
            "{what}, row {row}: certificate beyond the tolerance"
        );
        worst = worst.max(error / exact.range);
    }
    worst
}

#[test]
fn every_row_keeps_every_tolerance() {
    for shape in SHAPES {
        for space in SPACES {
            let problem = Problem::new(shape, space, 300, 5);
            for share in [1e-7, 0.003, 0.03, 0.3, 1e4] {
                for tolerance in [1e-3, 3e-5, 1e-6, 1e-9, 1e-12] {
                    check(
                        &problem,
                        EngineKind::Sparse,
                        space,
                        share,
                        tolerance,
                        &format!("{shape:?} in {space:?} at {share}, tolerance {tolerance:e}"),
                    );
                }
            }
        }
    }
}

#[test]
fn the_tolerance_is_used_and_not_wasted() {
    // A bound that is always met by computing everything would pass the test above; this one would notice.
    let problem = Problem::new(Shape::Uniform, Space::Index(2), 2000, 9);
    let smoother = smoother(Space::Index(2).sigma(0.02), 1.0).tolerance(1e-3).unwrap().engine(EngineKind::Sparse);
    let plan = smoother.plan(&problem.targets, Some(&problem.labelled)).unwrap();
    let nonzeros = plan.matrix().unwrap().nonzeros();
    assert!(nonzeros < 2000 * 4000 / 30, "{nonzeros} of 8 million entries");
    assert!(check(&problem, EngineKind::Sparse, Space::Index(2), 0.02, 1e-3, "uniform") > 1e-6);
}

#[test]
fn a_cut_by_hand_is_certified_for_what_it_costs() {
    let problem = Problem::new(Shape::CityAndHermits, Space::Metres, 400, 3);
    let smoother = smoother(Space::Metres.sigma(0.02), 1.0).cutoff(3.0).unwrap();
    let exact = problem.smooth(&smoother, EngineKind::Exact);
    let sparse = problem.smooth(&smoother, EngineKind::Sparse);
    let mut broken = 0;
    for (row, (a, b)) in all(&exact).into_iter().zip(all(&sparse)).enumerate() {
        assert!((a - b).abs() <= sparse.error_bound[row], "row {row}");
        broken += usize::from((a - b).abs() > 1e-6 * exact.range);
    }
    assert!(broken > 0, "three sigma should have cost something, or this test shows nothing");
}

#[test]
fn c_shrinks_the_bound() {
    let problem = Problem::new(Shape::Uniform, Space::Degrees, 3000, 3);
    for engine in [EngineKind::Sparse, EngineKind::Fast] {
        let bound = |c: f64| {
            let smoothed = problem.smooth(&smoother(Space::Degrees.sigma(0.05), c), engine);
            smoothed.relative_bounds().fold(0.0, f64::max)
        };
        assert!(bound(0.1) < 0.11 * bound(1.0));
        assert_eq!(bound(0.0), 0.0);
    }
}

#[test]
fn the_fast_engine_has_no_cutoff_and_auto_knows() {
    let problem = Problem::new(Shape::Uniform, Space::Degrees, 100, 3);
    let smoother = smoother(Space::Degrees.sigma(0.05), 1.0).cutoff(4.0).unwrap();
    let message = refused(smoother.clone().engine(EngineKind::Fast).plan(&problem.targets, None));
    assert!(message.contains("no cutoff"), "{message}");
    let plan = smoother.engine(EngineKind::Auto).plan(&problem.targets, None).unwrap();
    assert_eq!(plan.choice().engine, EngineKind::Sparse);
}
