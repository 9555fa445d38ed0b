//! `exact` against a compensated sum of the library's own exponential, on thousands of rows.

use geosmooth::engine::EngineKind;
use geosmooth::{Places, Sigma};

use crate::problem::{Random, smoother};

/// Adds as if in twice the precision.
fn compensated(terms: impl Iterator<Item = f64>) -> f64 {
    let (mut total, mut lost) = (0.0_f64, 0.0);
    for term in terms {
        let sum = total + term;
        lost += if total.abs() >= term.abs() { (total - sum) + term } else { (term - sum) + total };
        total = sum;
    }
    total + lost
}

#[test]
fn exact_agrees_with_a_compensated_sum_to_1e_13_of_the_range() {
    let mut random = Random(17);
    let count = 5000;
    let axes: Vec<Vec<f64>> = (0..2).map(|_| (0..count).map(|_| random.unit()).collect()).collect();
    let values: Vec<f64> = (0..count).map(|_| random.unit()).collect();
    let places = Places::index(axes.clone()).unwrap();
    for sigma in [1e-4, 0.003, 0.05, 0.7, 30.0] {
        let plan = smoother(Sigma::index(sigma).unwrap(), 1.0).engine(EngineKind::Exact).plan(&places, None).unwrap();
        let smoothed = plan.apply(&[&values], None).unwrap().remove(0);
        for row in (0..count).step_by(50) {
            let kernel = |j: usize| {
                let (dx, dy) = (axes[0][row] - axes[0][j], axes[1][row] - axes[1][j]);
                (-(dx * dx + dy * dy) / (2.0 * sigma * sigma)).exp()
            };
            let mass = compensated((0..count).map(kernel));
            let expected = compensated((0..count).map(|j| kernel(j) * (values[j] - 0.5))) / mass + 0.5;
            let error = (smoothed.values[row].unwrap() - expected).abs() / smoothed.range;
            assert!(error <= 1e-13, "sigma {sigma}, row {row}: {error:e}");
            assert!(smoothed.error_bound[row] / smoothed.range < 1e-13, "the certificate of exact is as tight");
        }
    }
}
