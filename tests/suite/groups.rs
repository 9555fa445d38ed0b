//! Many groups (issue 15): small ones share pieces, tasks and trees with their neighbours, which must not change results.

use geosmooth::engine::EngineKind;
use geosmooth::{Correction, EngineOptions, LabelledRows, Places, Smoother};

use crate::problem::{Problem, Random, SPACES, Shape, all, for_each_engine, largest_difference, smoother};

for_each_engine!(small_and_large_groups_are_smoothed_as_if_alone, a_group_for_each_row_gives_the_rows_themselves);

/// Groups of one row, of a few rows, of about as many as make a tree worthwhile, and of many. Some have only targets, some only
/// labels.
fn groups(rows: usize, random: &mut Random) -> Vec<u32> {
    let mut group = |row: usize| match row % 4 {
        0 => 100_000 + (random.next() % 3000) as u32,
        1 => 50_000 + (random.next() % 40) as u32,
        2 => 7 * (random.next() % 4) as u32,
        _ => 900_000 + row as u32,
    };
    (0..rows).map(&mut group).collect()
}

fn small_and_large_groups_are_smoothed_as_if_alone(engine: EngineKind) {
    const ROWS: usize = 6000;
    for space in SPACES {
        let problem = Problem::new(Shape::Towns, space, ROWS, 11);
        let mut random = Random(12);
        let (of_targets, of_labels) = (groups(ROWS, &mut random), groups(ROWS, &mut random));
        for smoother in [smoother(space.sigma(0.02), 0.7), smoother(space.sigma(0.02), 0.7).leave_one_out()] {
            let grouped = |places: &Places, groups: &[u32]| places.clone().with_groups(groups.to_vec()).unwrap();
            let together = Problem {
                targets: grouped(&problem.targets, &of_targets),
                labelled: grouped(&problem.labelled, &of_labels),
                predictions: problem.predictions.clone(),
                labels: problem.labels.clone(),
            };
            let smoothed = together.smooth(&smoother, engine);
            for group in [of_targets[0], of_targets[4], of_targets[8], 50_000, 50_039, 0, 21, of_targets[3]] {
                let rows = |groups: &[u32]| (0..ROWS).filter(|&row| groups[row] == group).collect::<Vec<_>>();
                let (targets, labels) = (rows(&of_targets), rows(&of_labels));
                let alone = alone(&problem, &smoother, &targets, &labels);
                for (at, row) in targets.iter().enumerate() {
                    match (smoothed.values[*row], alone[at]) {
                        (Some(found), Some(wanted)) => {
                            assert!((found - wanted).abs() <= smoothed.error_bound[*row] + 1e-9, "{space:?} {group}");
                        }
                        (found, wanted) => assert_eq!(found, wanted, "{space:?} {group}"),
                    }
                }
            }
        }
    }
}

/// The rows of one group alone, by the exact engine.
fn alone(problem: &Problem, smoother: &Smoother, targets: &[usize], labels: &[usize]) -> Vec<Option<f64>> {
    let alone = Problem {
        targets: problem.targets.select(targets),
        predictions: targets.iter().map(|&row| problem.predictions[row]).collect(),
        labelled: problem.labelled.select(labels),
        labels: labels.iter().map(|&row| problem.labels[row]).collect(),
    };
    alone.smooth(smoother, EngineKind::Exact).values
}

fn a_group_for_each_row_gives_the_rows_themselves(engine: EngineKind) {
    const ROWS: u32 = 20_000;
    let mut random = Random(3);
    let axis = |random: &mut Random| (0..ROWS).map(|_| random.unit()).collect::<Vec<_>>();
    let places = Places::index(vec![axis(&mut random), axis(&mut random)]).unwrap();
    let places = places.with_groups((0..ROWS).rev().collect()).unwrap();
    let values = axis(&mut random);
    let smoother = smoother(geosmooth::Sigma::index(0.5).unwrap(), 1.0).engine(engine);
    let smoothed = smoother.plan(&places, None).unwrap().apply(&[&values], None).unwrap().remove(0);
    assert!(largest_difference(&all(&smoothed), &values) <= 1e-15);
    // Without its own prediction, a row that is alone in its group has no source.
    let left_out = smoother.leave_one_out().plan(&places, None).unwrap().apply(&[&values], None).unwrap().remove(0);
    assert!(left_out.values.iter().all(Option::is_none));
}

#[test]
fn one_distant_row_does_not_change_the_bounds_of_others() {
    // Without shrinkage the correction of a row 10⁸ σ away can be any residual.
    let space = crate::problem::Space::Index(1);
    let mut problem = Problem::new(Shape::Uniform, space, 400, 5);
    let mut axis = problem.targets.into_axes().remove(0);
    axis.push(1e9);
    problem.targets = Places::index(vec![axis]).unwrap();
    problem.predictions.push(100.0);
    let labelled = LabelledRows {
        places: &problem.labelled,
        labels: &problem.labels,
        predictions: vec![&problem.predictions[..400]],
    };
    let correction = Correction::new(space.sigma(0.05), 0.0).unwrap();
    let options = EngineOptions::default();
    let corrected = correction.apply(&problem.targets, &[&problem.predictions], &labelled, &options).unwrap().remove(0);
    let plan = smoother(space.sigma(0.05), 0.6).plan(&problem.targets, Some(&problem.labelled)).unwrap();
    let mut smoothed = plan.apply(&[&corrected.values], Some(&problem.labels)).unwrap().remove(0);
    plan.pass_on(&corrected.error_bound, &mut smoothed).unwrap();
    let (stray, others) = smoothed.error_bound.split_last().unwrap();
    assert!(*stray > 0.1 * smoothed.range, "{stray}");
    assert!(others.iter().all(|bound| *bound <= 2e-6 * smoothed.range));
}
