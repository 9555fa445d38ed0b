//! The weight matrix of the sparse engine.

use geosmooth::Error;
use geosmooth::engine::EngineKind;

use crate::problem::{Problem, SHAPES, SPACES, Shape, Space, all, refused, smoother};

#[test]
fn rows_sum_to_one_and_reproduce_the_output() {
    for shape in SHAPES {
        for space in SPACES {
            let problem = Problem::new(shape, space, 200, 2);
            let smoother = smoother(space.sigma(0.03), 1.0).label_weight(2.5).unwrap().engine(EngineKind::Sparse);
            let plan = smoother.plan(&problem.targets, Some(&problem.labelled)).unwrap();
            let smoothed = all(&plan.apply(&[&problem.predictions], Some(&problem.labels)).unwrap()[0]);
            let values: Vec<f64> = problem.predictions.iter().chain(&problem.labels).copied().collect();
            let (mut sums, mut products, mut last) = (vec![0.0; 200], vec![0.0; 200], vec![None; 200]);
            for batch in plan.weights().unwrap() {
                for ((row, column), weight) in batch.rows.into_iter().zip(batch.columns).zip(batch.weights) {
                    assert!(weight > 0.0 && last[row] < Some(column), "columns ascend");
                    last[row] = Some(column);
                    sums[row] += weight;
                    products[row] += weight * values[column];
                }
            }
            for row in 0..200 {
                assert!((sums[row] - 1.0_f64).abs() < 1e-13, "{shape:?} in {space:?}: row {row} sums to {}", sums[row]);
                assert!((products[row] - smoothed[row]).abs() < 1e-10, "{shape:?} in {space:?}: row {row}");
            }
        }
    }
}

#[test]
fn a_matrix_over_the_limit_is_refused_before_it_is_built() {
    let problem = Problem::new(Shape::Uniform, Space::Index(2), 3000, 6);
    let smoother = smoother(Space::Index(2).sigma(0.5), 1.0).memory_limit(4_000_000);
    match smoother.clone().engine(EngineKind::Sparse).plan(&problem.targets, Some(&problem.labelled)) {
        Err(Error::MatrixTooLarge { nonzeros, need, limit, cutoff: false }) => {
            assert!((nonzeros as f64 / 18e6 - 1.0).abs() < 0.3, "{nonzeros} should be near 18 million");
            assert_eq!(need, nonzeros * 12);
            // The memory limit minus the memory of the scene.
            assert!((2_000_000..4_000_000).contains(&limit), "{limit}");
        }
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("should have been refused"),
    }
    // The automatic choice uses another engine instead.
    let plan = smoother.plan(&problem.targets, Some(&problem.labelled)).unwrap();
    assert_eq!(plan.choice().engine, EngineKind::Fast);
    assert!(refused(plan.weights().map(|_| ())).contains("no weight matrix"));
}

#[test]
fn more_places_than_fit_are_refused_before_they_are_laid_out() {
    let problem = Problem::new(Shape::Uniform, Space::Index(2), 3000, 6);
    for engine in EngineKind::ALL {
        let smoother = smoother(Space::Index(2).sigma(0.5), 1.0).memory_limit(100_000).engine(engine);
        match smoother.plan(&problem.targets, Some(&problem.labelled)) {
            Err(Error::Memory { need, limit: 100_000, .. }) => assert!(need > 500_000, "{need}"),
            other => panic!("{engine} should have been refused, not {:?}", other.map(|plan| plan.choice())),
        }
    }
}

#[test]
fn columns_that_do_not_fit_at_once_have_the_same_sums() {
    let problem = Problem::new(Shape::Uniform, Space::Index(2), 3000, 6);
    let smoother = smoother(Space::Index(2).sigma(0.05), 1.0).engine(EngineKind::Fast);
    let columns: Vec<Vec<f64>> =
        (0..12).map(|k| problem.predictions.iter().map(|value| value * f64::from(k + 1)).collect()).collect();
    let columns: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
    let smoothed = |limit: u64| {
        let plan = smoother.clone().memory_limit(limit).plan(&problem.targets, Some(&problem.labelled))?;
        plan.apply(&columns, Some(&problem.labels))
    };
    let (all, mut fewer) = (smoothed(u64::MAX).unwrap(), 0);
    for limit in (1..40).map(|step| step * 100_000) {
        let Ok(some) = smoothed(limit) else { continue };
        fewer += 1;
        for (all, some) in all.iter().zip(&some) {
            assert_eq!((&all.values, &all.error_bound), (&some.values, &some.error_bound), "{limit}");
        }
    }
    assert!(fewer > 0);
}

#[test]
fn a_matrix_between_rows_that_would_not_fit_is_refused() {
    // A million flats at one address are one place, but there are 10¹² weights between the rows.
    let tower = Space::Degrees.places(&vec![[0.5; 3]; 1_000_000]);
    let smoother = smoother(Space::Degrees.sigma(0.01), 1.0).memory_limit(1 << 30).engine(EngineKind::Sparse);
    let plan = smoother.plan(&tower, None).unwrap();
    assert_eq!(plan.matrix().unwrap().nonzeros(), 1);
    assert!(refused(plan.weights().map(|_| ())).contains("1000000000000 non-zeros"));
}
