//! A sweep of the fast engine over tolerances, widths, layouts and metrics, against all pairs, with no slack.
//!
//! `make test` runs a part of it; `make sweep` runs all and takes a while.

use geosmooth::engine::EngineKind;
use geosmooth::{Places, Sigma};

use crate::problem::{Problem, Random, SHAPES, Shape, Space, all, smoother};

const SPACES: [Space; 4] = [Space::Degrees, Space::Metres, Space::Index(1), Space::Index(3)];

/// Rows times σ times tolerances of one sweep.
struct Sweep {
    rows: usize,
    /// σ as a part of the domain: from far below the spacing of points to far beyond the domain.
    shares: Vec<f64>,
    tolerances: Vec<f64>,
}

/// How near the worst row came to its limits.
#[derive(Clone, Copy, Debug, Default)]
struct Worst {
    of_tolerance: f64,
    of_certificate: f64,
}

impl Sweep {
    fn run(&self) {
        for space in SPACES {
            let mut worst = Worst::default();
            for shape in SHAPES {
                let problem = Problem::new(shape, space, self.rows, 11);
                for &share in &self.shares {
                    self.check(&problem, space, share, &format!("{shape:?} in {space:?} at {share:e}"), &mut worst);
                }
            }
            println!("{space:?}: {worst:?}");
            assert!(worst.of_tolerance > 1e-3, "{space:?}: tolerances that are never used show nothing");
        }
    }

    fn check(&self, problem: &Problem, space: Space, share: f64, what: &str, worst: &mut Worst) {
        let smoother = smoother(space.sigma(share), 1.0);
        let exact = problem.smooth(&smoother, EngineKind::Exact);
        let truth = all(&exact);
        for &tolerance in &self.tolerances {
            let fast = problem.smooth(&smoother.clone().tolerance(tolerance).unwrap(), EngineKind::Fast);
            for (row, (a, b)) in truth.iter().zip(all(&fast)).enumerate() {
                // The oracle itself is known only to within its own bound, for which nothing is added here.
                let (error, limit, certificate) = ((a - b).abs(), tolerance * exact.range, fast.error_bound[row]);
                assert!(error <= limit, "{what}, {tolerance:e}, row {row}: {:e} of the tolerance", error / limit);
                assert!(certificate <= limit, "{what}, {tolerance:e}, row {row}: certificate beyond the tolerance");
                assert!(
                    error <= certificate,
                    "{what}, {tolerance:e}, row {row}: {error:e}, certificate {certificate:e}"
                );
                worst.of_tolerance = worst.of_tolerance.max(error / limit);
                worst.of_certificate = worst.of_certificate.max(error / certificate);
            }
        }
    }
}

/// So many tolerances in each decade from 1e-2 to 1e-11.
fn tolerances(in_a_decade: i32) -> Vec<f64> {
    (0..=9 * in_a_decade).map(|k| 10_f64.powf(-2.0 - f64::from(k) / f64::from(in_a_decade))).collect()
}

#[test]
fn part_of_the_sweep() {
    Sweep { rows: 1500, shares: vec![1e-6, 0.003, 0.02, 0.1, 0.5, 30.0], tolerances: tolerances(1) }.run();
}

#[test]
fn leave_one_out_keeps_the_promise_on_the_lattice() {
    for space in SPACES {
        let problem = Problem::new(Shape::Towns, space, 3000, 21);
        for share in [0.01, 0.2] {
            let smoother = smoother(space.sigma(share), 1.0).leave_one_out();
            let (exact, fast) =
                (problem.smooth(&smoother, EngineKind::Exact), problem.smooth(&smoother, EngineKind::Fast));
            for (row, (a, b)) in all(&exact).iter().zip(all(&fast)).enumerate() {
                let error = (a - b).abs();
                assert!(error <= fast.error_bound[row], "{space:?} at {share}, row {row}: {error:e}");
                assert!(fast.error_bound[row] <= 1e-6 * exact.range, "{space:?} at {share}, row {row}");
            }
        }
    }
}

#[test]
fn a_city_beyond_the_reach_of_the_lattice_is_not_forgotten() {
    // Left out of its own average, the first row after the city has the city 25 σ away and a single row at 26 σ, with
    // more such rows behind it: the city decides.
    let mut points = Shape::Uniform.points(5000, &mut Random(4));
    points.extend((0..200).map(|k| [6.0 + 5.2 * f64::from(k), 0.5, 0.5]));
    let places = Space::Index(2).places(&points);
    let mut values = vec![1.0; 5000];
    values.extend([9.0; 200]);
    let smoother = smoother(Space::Index(2).sigma(0.2), 1.0).leave_one_out();
    for engine in [EngineKind::Exact, EngineKind::Sparse, EngineKind::Fast] {
        let plan = smoother.clone().engine(engine).plan(&places, None).unwrap();
        let smoothed = all(&plan.apply(&[&values], None).unwrap()[0]);
        assert!((smoothed[5000] - 1.0).abs() < 1e-5, "{engine}: {}", smoothed[5000]);
    }
}

#[test]
fn blocks_are_told_apart_however_many_there_are() {
    // Two crowds of moments 10¹³ σ apart, as of time stamps in microseconds: more blocks than 32 bits count.
    let mut random = Random(8);
    let near: Vec<f64> = (0..2000).map(|_| random.unit()).collect();
    let moments = near.iter().copied().chain(near.iter().map(|x| x + 1e12)).collect();
    let places = Places::index(vec![moments]).unwrap();
    let values: Vec<f64> = (0..4000).map(|row| f64::from(row / 2000) + 0.1 * random.unit()).collect();
    let smoother = smoother(Sigma::index(0.1).unwrap(), 1.0);
    let run = |engine: EngineKind| {
        all(&smoother.clone().engine(engine).plan(&places, None).unwrap().apply(&[&values], None).unwrap()[0])
    };
    for (row, (a, b)) in run(EngineKind::Exact).iter().zip(run(EngineKind::Fast)).enumerate() {
        assert!((a - b).abs() <= 1.1e-6, "row {row}: {a} and {b}");
    }
}

#[test]
fn groups_do_not_touch_on_the_lattice() {
    let places = |seed: u64| {
        let points = Shape::Uniform.points(3000, &mut Random(seed));
        let groups = (0..3000).map(|row| row % 3).collect();
        Space::Degrees.places(&points).with_groups(groups).unwrap()
    };
    let (targets, labelled) = (places(1), places(2));
    let values: Vec<f64> = (0..3000).map(|row| f64::from(row % 3) * 100.0 + f64::from(row % 7)).collect();
    let smoother = smoother(Space::Degrees.sigma(0.2), 1.0);
    let run = |engine: EngineKind| {
        let plan = smoother.clone().engine(engine).plan(&targets, Some(&labelled)).unwrap();
        plan.apply(&[&values], Some(&values)).unwrap().remove(0)
    };
    let (exact, fast) = (all(&run(EngineKind::Exact)), all(&run(EngineKind::Fast)));
    for (row, (a, b)) in exact.iter().zip(&fast).enumerate() {
        assert!((a - b).abs() <= 1e-6 * 206.0, "row {row}");
        // Averages of one group stay far from the values of the others.
        assert!((b - values[row]).abs() < 10.0, "row {row}: {b} for {}", values[row]);
    }
}

#[test]
#[ignore = "takes minutes: make sweep"]
fn whole_sweep() {
    let shares = (-12..=4).map(|k| 10_f64.powf(f64::from(k) / 2.0)).collect();
    Sweep { rows: 5000, shares, tolerances: tolerances(3) }.run();
}
