//! Properties that must hold for any data and each engine.

use geosmooth::engine::EngineKind;
use geosmooth::{Places, Sigma};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::problem::{Problem, Random, SHAPES, SPACES, Space, all, for_each_engine, largest_difference, smoother};

for_each_engine!(
    a_constant_comes_back_bit_for_bit,
    values_stay_within_their_sources,
    smoothing_is_linear,
    the_order_of_rows_does_not_matter,
    moving_everything_changes_nothing,
    a_tiny_sigma_changes_nothing,
    a_huge_sigma_gives_the_mean,
    groups_do_not_touch,
    columns_do_not_touch,
    c_mixes,
    repeated_rows_are_weights,
    one_and_two_rows,
    huge_values_do_not_overflow,
);

/// Runs a property on random problems of every shape and metric.
fn on_problems(property: impl Fn(&Problem, Space, f64, f64) -> Result<(), TestCaseError>) {
    let strategy = (0..SHAPES.len(), 0..SPACES.len(), 1..120_usize, any::<u64>(), -4.0..2.0_f64, 0.0..=1.0_f64);
    let run = TestRunner::new(Config { cases: 60, failure_persistence: None, ..Config::default() }).run(
        &strategy,
        |(shape, space, count, seed, power, c)| {
            let space = SPACES[space];
            property(&Problem::new(SHAPES[shape], space, count, seed), space, 10_f64.powf(power), c)
        },
    );
    run.unwrap();
}

fn a_constant_comes_back_bit_for_bit(engine: EngineKind) {
    on_problems(|problem, space, share, c| {
        for value in [0.1, -7.3e200, 1e16 / 3.0] {
            let plan =
                smoother(space.sigma(share), c).engine(engine).plan(&problem.targets, Some(&problem.labelled)).unwrap();
            let (predictions, labels) = (vec![value; problem.predictions.len()], vec![value; problem.labels.len()]);
            let smoothed = plan.apply(&[&predictions], Some(&labels)).unwrap().remove(0);
            prop_assert!(smoothed.values.iter().all(|v| v.unwrap().to_bits() == value.to_bits()));
            prop_assert!(smoothed.error_bound.iter().all(|bound| *bound == 0.0));
        }
        Ok(())
    });
}

fn values_stay_within_their_sources(engine: EngineKind) {
    on_problems(|problem, space, share, c| {
        let sources = || problem.predictions.iter().chain(&problem.labels).copied();
        let (low, high) = (sources().fold(f64::INFINITY, f64::min), sources().fold(f64::NEG_INFINITY, f64::max));
        let smoothed = problem.smooth(&smoother(space.sigma(share), c), engine);
        prop_assert!(all(&smoothed).iter().all(|value| (low..=high).contains(value)));
        Ok(())
    });
}

fn smoothing_is_linear(engine: EngineKind) {
    on_problems(|problem, space, share, c| {
        let map = |values: &[f64]| values.iter().map(|v| 3.0 - 0.25 * v).collect::<Vec<_>>();
        let plan =
            smoother(space.sigma(share), c).engine(engine).plan(&problem.targets, Some(&problem.labelled)).unwrap();
        let (mapped, labels) = (map(&problem.predictions), map(&problem.labels));
        let smoothed = plan.apply(&[&problem.predictions], Some(&problem.labels)).unwrap().remove(0);
        let of_mapped = plan.apply(&[&mapped], Some(&labels)).unwrap().remove(0);
        prop_assert!(largest_difference(&map(&all(&smoothed)), &all(&of_mapped)) <= 1e-12);
        Ok(())
    });
}

fn the_order_of_rows_does_not_matter(engine: EngineKind) {
    on_problems(|problem, space, share, c| {
        let mut random = Random(99);
        let count = problem.predictions.len();
        let points = SHAPES[0].points(count, &mut random);
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by_key(|i| (i * 7919) % 1009);
        let pick = |from: &[[f64; 3]]| order.iter().map(|&i| from[i]).collect::<Vec<_>>();
        let shuffled: Vec<f64> = order.iter().map(|&i| problem.predictions[i]).collect();
        let run = |places: Places, values: &[f64]| {
            let plan = smoother(space.sigma(share), c).engine(engine).plan(&places, Some(&problem.labelled)).unwrap();
            all(&plan.apply(&[values], Some(&problem.labels)).unwrap()[0])
        };
        let straight = run(space.places(&points), &problem.predictions);
        let other = run(space.places(&pick(&points)), &shuffled);
        let back: Vec<f64> = order.iter().map(|&i| straight[i]).collect();
        // The places and their order along the curve are the same: only rows at one place may be added in another order.
        prop_assert!(largest_difference(&back, &other) <= 1e-11);
        Ok(())
    });
}

fn moving_everything_changes_nothing(engine: EngineKind) {
    on_problems(|problem, _, share, c| {
        // With steps of 2⁻¹⁰ and a shift of 4096, all differences are exact before and after.
        let mut random = Random(problem.predictions.len() as u64);
        let points: Vec<f64> = problem.predictions.iter().map(|_| (random.unit() * 1024.0).floor() / 1024.0).collect();
        let run = |shift: f64| {
            let places = Places::index(vec![points.iter().map(|x| x + shift).collect()]).unwrap();
            let plan = smoother(Sigma::index(share).unwrap(), c).engine(engine).plan(&places, None).unwrap();
            all(&plan.apply(&[&problem.predictions], None).unwrap()[0])
        };
        // The sparse engine may include other neighbours because of rounding of the tree's radius.
        let tolerance = if engine == EngineKind::Exact { 1e-11 } else { 2e-6 * 200.0 };
        prop_assert!(largest_difference(&run(0.0), &run(4096.0)) <= tolerance);
        Ok(())
    });
}

fn a_tiny_sigma_changes_nothing(engine: EngineKind) {
    let mut random = Random(4);
    let points = SHAPES[0].points(200, &mut random);
    let values: Vec<f64> = (0..200).map(|_| random.normal()).collect();
    for space in SPACES {
        let plan = smoother(space.sigma(1e-9), 1.0).engine(engine).plan(&space.places(&points), None).unwrap();
        let smoothed = all(&plan.apply(&[&values], None).unwrap()[0]);
        assert!(largest_difference(&smoothed, &values) < 1e-14, "{space:?}");
    }
}

fn a_huge_sigma_gives_the_mean(engine: EngineKind) {
    on_problems(|problem, space, _, _| {
        let smoothed = problem.smooth(&smoother(space.sigma(1e9), 1.0), engine);
        let count = (problem.predictions.len() + problem.labels.len()) as f64;
        let mean = problem.predictions.iter().chain(&problem.labels).sum::<f64>() / count;
        prop_assert!(all(&smoothed).iter().all(|value| (value - mean).abs() < 1e-3));
        Ok(())
    });
}

fn groups_do_not_touch(engine: EngineKind) {
    let mut random = Random(12);
    let points = SHAPES[1].points(300, &mut random);
    let values: Vec<f64> = (0..300).map(|_| random.normal()).collect();
    let groups: Vec<u32> = (0..300).map(|_| (random.next() % 3) as u32 * 7).collect();
    for space in SPACES {
        let smoother = smoother(space.sigma(0.1), 1.0).engine(engine);
        let together = space.places(&points).with_groups(groups.clone()).unwrap();
        let together = all(&smoother.plan(&together, None).unwrap().apply(&[&values], None).unwrap()[0]);
        for group in [0, 7, 14] {
            let rows: Vec<usize> = (0..300).filter(|&row| groups[row] == group).collect();
            let alone = space.places(&rows.iter().map(|&row| points[row]).collect::<Vec<_>>());
            let own: Vec<f64> = rows.iter().map(|&row| values[row]).collect();
            let alone = all(&smoother.plan(&alone, None).unwrap().apply(&[&own], None).unwrap()[0]);
            let picked: Vec<f64> = rows.iter().map(|&row| together[row]).collect();
            assert!(largest_difference(&picked, &alone) < 4e-6 * 8.0, "{space:?}, group {group}");
        }
    }
}

fn columns_do_not_touch(engine: EngineKind) {
    let problem = Problem::new(SHAPES[1], Space::Metres, 150, 8);
    let plan = smoother(Space::Metres.sigma(0.05), 0.7)
        .engine(engine)
        .plan(&problem.targets, Some(&problem.labelled))
        .unwrap();
    let other: Vec<f64> = problem.predictions.iter().map(|v| v * v).collect();
    let both = plan.apply(&[&other, &problem.predictions], Some(&problem.labels)).unwrap();
    let alone = plan.apply(&[&problem.predictions], Some(&problem.labels)).unwrap();
    assert_eq!(both[1].values, alone[0].values);
    assert_eq!(both[1].error_bound, alone[0].error_bound);
}

fn c_mixes(engine: EngineKind) {
    on_problems(|problem, space, share, c| {
        let at = |c: f64| all(&problem.smooth(&smoother(space.sigma(share), c), engine));
        prop_assert_eq!(&at(0.0), &problem.predictions);
        let mixed: Vec<f64> =
            at(1.0).iter().zip(&problem.predictions).map(|(mean, own)| c * mean + (1.0 - c) * own).collect();
        prop_assert!(largest_difference(&at(c), &mixed) < 1e-11);
        Ok(())
    });
}

fn repeated_rows_are_weights(engine: EngineKind) {
    // Three copies of each label have the same effect as one label of weight 3.
    on_problems(|problem, space, share, c| {
        let mut random = Random(21);
        let points = SHAPES[4].points(problem.labels.len(), &mut random);
        let thrice: Vec<[f64; 3]> = [&points[..], &points[..], &points[..]].concat();
        let labels = [&problem.labels[..], &problem.labels[..], &problem.labels[..]].concat();
        let run = |labelled: Places, labels: &[f64], weight: f64| {
            let smoother = smoother(space.sigma(share), c).label_weight(weight).unwrap().engine(engine);
            let plan = smoother.plan(&problem.targets, Some(&labelled)).unwrap();
            all(&plan.apply(&[&problem.predictions], Some(labels)).unwrap()[0])
        };
        let one = run(space.places(&points), &problem.labels, 3.0);
        let three = run(space.places(&thrice), &labels, 1.0);
        prop_assert!(largest_difference(&one, &three) < 1e-10);
        Ok(())
    });
}

fn one_and_two_rows(engine: EngineKind) {
    for space in SPACES {
        let smoother = smoother(space.sigma(0.1), 1.0).engine(engine);
        let one = space.places(&[[0.1, 0.2, 0.3]]);
        assert_eq!(all(&smoother.plan(&one, None).unwrap().apply(&[&[5.5]], None).unwrap()[0]), [5.5]);
        let two = space.places(&[[0.1, 0.2, 0.3], [0.1, 0.2, 0.3]]);
        assert_eq!(all(&smoother.plan(&two, None).unwrap().apply(&[&[1.0, 2.0]], None).unwrap()[0]), [1.5, 1.5]);
        let none = space.places(&[]);
        assert!(smoother.plan(&none, Some(&one)).unwrap().apply(&[&[]], Some(&[1.0])).unwrap()[0].values.is_empty());
    }
}

fn huge_values_do_not_overflow(engine: EngineKind) {
    let places = Places::index(vec![vec![0.0, 1.0, 2.0]]).unwrap();
    let plan = smoother(Sigma::index(1e3).unwrap(), 1.0).engine(engine).plan(&places, None).unwrap();
    let smoothed = all(&plan.apply(&[&[1e308, -1e308, 1e308]], None).unwrap()[0]);
    assert!(smoothed.iter().all(|value| (value / 1e308 - 1.0 / 3.0).abs() < 1e-5), "{smoothed:?}");
    let smoothed = plan.apply(&[&[1e308, -1e308, 1e308]], None).unwrap().remove(0);
    assert!(smoothed.error_bound.iter().all(|bound| bound.is_finite()), "{smoothed:?}");
    assert!(smoothed.relative_bounds().all(|bound| bound < 1e-5), "{smoothed:?}");
}
