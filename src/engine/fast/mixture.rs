//! The kernel on the sphere as a sum of few Gaussians of the straight distance.
//!
//! The kernel is a Gaussian of the arc, but the lattice knows only chords. A few Gaussians of the chord with
//! variances around σ² add up to the Gaussian of the arc as closely as asked, the fewer the smaller the sphere's
//! curvature within a few σ. They are fitted by least squares, and the fit is then bounded, not trusted.

/// Weights and variances of Gaussians, in σ², that add up to the kernel but for a known error.
#[derive(Clone, Debug)]
pub(super) struct Mixture {
    pub(super) parts: Vec<(f64, f64)>,
    /// Error as a multiple of √K.
    pub(super) miss: f64,
    /// The largest arc, in radians, for which that was shown: all there are, or so many σ that the kernel has vanished.
    pub(super) farthest: f64,
}

/// How many Gaussians are tried: odd numbers, so that one of them has variance one.
const COUNTS: [usize; 5] = [1, 3, 5, 7, 9];
/// Variances lie within this many σ, in radians, of one: as the curvature goes, so that weights stay small.
const SPREAD_PER_SIGMA: f64 = 1.6;
/// And never farther from one than this.
const MOST_SPREAD: f64 = 0.25;
/// Arcs beyond so many σ are bounded by their size alone: K is 2e-22 there.
const FARTHEST: f64 = 10.0;
/// Samples in each half σ of arc: their interpolation polynomial follows the error within 1e-14.
const SAMPLES: usize = 12;
/// How much larger a polynomial can be between so many Chebyshev points than on them, its Lebesgue constant.
const BETWEEN: f64 = 2.6;

impl Mixture {
    /// The Gaussian of the great-circle distance, σ in radians, to within `miss · √K`; `None` if it takes too many parts.
    pub(super) fn of_arcs(sigma: f64, miss: f64) -> Option<Self> {
        let samples = Samples::new(sigma);
        let mut fits = COUNTS.into_iter().map(|count| samples.bounded(samples.fit(count)));
        fits.find(|mixture| mixture.miss <= miss)
    }
}

/// Arcs at which the fit is made and bounded, in radians.
struct Samples {
    sigma: f64,
    farthest: f64,
    arcs: Vec<f64>,
}

impl Samples {
    fn new(sigma: f64) -> Self {
        let farthest = (FARTHEST * sigma).min(std::f64::consts::PI);
        let pieces = (2.0 * farthest / sigma).ceil().max(1.0);
        let node = |k: usize| 0.5 - 0.5 * (std::f64::consts::PI * (k as f64 + 0.5) / SAMPLES as f64).cos();
        let piece = |piece: u32| (0..SAMPLES).map(move |k| (f64::from(piece) + node(k)) / pieces * farthest);
        Self { sigma, farthest, arcs: (0..pieces as u32).flat_map(piece).collect() }
    }

    fn kernel(&self, arc: f64) -> f64 {
        (-0.5 * (arc / self.sigma).powi(2)).exp()
    }

    fn part(&self, arc: f64, variance: f64) -> f64 {
        let chord = 2.0 * (0.5 * arc).sin() / self.sigma;
        (-0.5 * chord * chord / variance).exp()
    }

    /// Weights that fit the kernel best, relative to √K.
    fn fit(&self, count: usize) -> Vec<(f64, f64)> {
        let node = |k: usize| (std::f64::consts::PI * (k as f64 + 0.5) / count as f64).cos();
        let spread = (SPREAD_PER_SIGMA * self.sigma).min(MOST_SPREAD);
        let variances: Vec<f64> = (0..count).map(|k| 1.0 + spread * node(k)).collect();
        if count == 1 {
            return vec![(1.0, 1.0)];
        }
        let relative = |value: &dyn Fn(f64) -> f64| -> Vec<f64> {
            self.arcs.iter().map(|&arc| value(arc) / self.kernel(arc).sqrt()).collect()
        };
        let columns: Vec<Vec<f64>> =
            variances.iter().map(|&variance| relative(&|arc| self.part(arc, variance))).collect();
        let weights = least_squares(columns, relative(&|arc| self.kernel(arc)));
        weights.into_iter().zip(variances).collect()
    }

    /// A mixture with what can be said about it.
    fn bounded(&self, parts: Vec<(f64, f64)>) -> Mixture {
        let sum = |arc: f64| parts.iter().map(|(weight, variance)| weight * self.part(arc, *variance)).sum::<f64>();
        let miss = |&arc: &f64| (sum(arc) - self.kernel(arc)).abs() / self.kernel(arc).sqrt();
        let largest = self.arcs.iter().map(miss).fold(0.0, f64::max);
        Mixture { miss: BETWEEN * largest + 1e-14, farthest: self.farthest, parts }
    }
}

/// Weights of the columns that come closest to the goal: Gram and Schmidt, twice for accuracy, then back substitution.
fn least_squares(columns: Vec<Vec<f64>>, goal: Vec<f64>) -> Vec<f64> {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    let take_off = |from: &mut [f64], factor: f64, what: &[f64]| {
        from.iter_mut().zip(what).for_each(|(x, y)| *x -= factor * y);
    };
    let count = columns.len();
    let mut basis: Vec<Vec<f64>> = Vec::new();
    let mut triangle = vec![vec![0.0; count]; count];
    for (k, mut column) in columns.into_iter().enumerate() {
        for _ in 0..2 {
            for (j, direction) in basis.iter().enumerate() {
                let along = dot(direction, &column);
                triangle[j][k] += along;
                take_off(&mut column, along, direction);
            }
        }
        triangle[k][k] = dot(&column, &column).sqrt();
        for x in &mut column {
            *x /= triangle[k][k];
        }
        basis.push(column);
    }
    let mut goal = goal;
    let mut weights = vec![0.0; count];
    for (weight, direction) in weights.iter_mut().zip(&basis) {
        *weight = dot(direction, &goal);
        take_off(&mut goal, *weight, direction);
    }
    for k in (0..count).rev() {
        weights[k] /= triangle[k][k];
        for j in 0..k {
            weights[j] -= triangle[j][k] * weights[k];
        }
    }
    weights
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arcs_are_met_within_the_bound_everywhere() {
        for kilometres in [0.1, 10.0, 100.0, 1000.0, 3000.0] {
            let sigma = kilometres / 6371.0;
            for miss in [1e-6, 1e-9, 1e-12] {
                let Some(mixture) = Mixture::of_arcs(sigma, miss) else {
                    assert!(kilometres > 900.0 || miss < 1e-10, "{kilometres} km to {miss:e} takes too many parts");
                    continue;
                };
                for i in 0..20_000 {
                    let arc = (f64::from(i) * 0.001 * sigma).min(std::f64::consts::PI);
                    let kernel = (-0.5 * (arc / sigma).powi(2)).exp();
                    let chord = 2.0 * (0.5 * arc).sin() / sigma;
                    let part = |(weight, variance): &(f64, f64)| weight * (-0.5 * chord * chord / variance).exp();
                    let parts: f64 = mixture.parts.iter().map(part).sum();
                    let error = (parts - kernel).abs();
                    let bound = mixture.miss * kernel.sqrt();
                    assert!(
                        error <= bound || arc > mixture.farthest,
                        "{kilometres} km to {miss:e} at {arc}: {error:e} above {bound:e}"
                    );
                }
            }
        }
    }

    #[test]
    fn least_squares_solve_what_can_be_solved() {
        let columns = vec![vec![1.0, 0.0, 1.0], vec![1.0, 1.0, 0.0]];
        let weights = least_squares(columns, vec![5.0, 3.0, 2.0]);
        assert!((weights[0] - 2.0).abs() < 1e-14 && (weights[1] - 3.0).abs() < 1e-14, "{weights:?}");
    }
}
