//! The kernel on the sphere as a sum of few Gaussians of the straight distance.
//!
//! The kernel is a Gaussian of the arc, but the lattice computes Gaussians of the chord. A few Gaussians of the chord with
//! variances around σ² add up to the Gaussian of the arc within the required error; the narrower σ, the fewer are needed. They are fitted
//! by least squares, and the error of the fit is then bounded.

use super::error_norm::ErrorNorm;
use super::polynomial::chebyshev_node;

/// Weights and variances of Gaussians, in σ², that add up to the kernel within a known error.
#[derive(Clone, Debug)]
pub(crate) struct Mixture {
    pub(crate) parts: Vec<(f64, f64)>,
    /// Error as a multiple of the norm.
    pub(crate) miss: f64,
    /// The largest arc, in radians, for which that is shown: half a turn, or [`FARTHEST`] σ.
    pub(crate) farthest: f64,
}

/// How many Gaussians are tried if one is not enough: odd numbers, so that one of them has variance one. Chosen, not measured.
const COUNTS: [usize; 4] = [3, 5, 7, 9];
/// Variances lie within this many σ, in radians, of one: proportional to the curvature, so that weights stay small. Chosen, not measured.
const SPREAD_PER_SIGMA: f64 = 1.2;
/// And never farther from one than this. Chosen, not measured.
const MOST_SPREAD: f64 = 0.25;
/// Arcs beyond this many σ are bounded by their size alone: K is 2e-22 there. Chosen, not measured.
const FARTHEST: f64 = 10.0;
/// Pieces of one σ of arc: over each the norm changes by a third at most where it matters, up to 5 σ, and a polynomial of
/// this degree follows the error within 1e-14.
const PIECES: f64 = 8.0;
const DEGREE: usize = 7;
/// Chebyshev points in each piece. A polynomial of that degree is at most `1 / cos(π · DEGREE / 2 · SAMPLES)` times larger between
/// them than on them (Ehlich and Zeller). Chosen, not measured.
const SAMPLES: usize = 24;

impl Mixture {
    /// The Gaussian of the great-circle distance, σ in radians, to within `miss` norms; `None` if it takes too many parts.
    pub(crate) fn of_arcs(sigma: f64, norm: &ErrorNorm, miss: f64) -> Option<Self> {
        let samples = Samples::new(sigma, norm);
        let several = || COUNTS.into_iter().map(|count| samples.bounded(samples.fit(count)));
        samples.alone().into_iter().chain(std::iter::once_with(several).flatten()).find(|mixture| mixture.miss <= miss)
    }
}

/// Arcs at which the mixture is fitted and bounded, in radians.
struct Samples<'a> {
    sigma: f64,
    norm: &'a ErrorNorm,
    farthest: f64,
    /// Piece after piece.
    arcs: Vec<f64>,
}

impl<'a> Samples<'a> {
    fn new(sigma: f64, norm: &'a ErrorNorm) -> Self {
        let farthest = (FARTHEST * sigma).min(std::f64::consts::PI);
        let pieces = (PIECES * farthest / sigma).ceil().max(1.0);
        let node = |k: usize| 0.5 - 0.5 * chebyshev_node(k, SAMPLES);
        let piece = |piece: u32| (0..SAMPLES).map(move |k| (f64::from(piece) + node(k)) / pieces * farthest);
        Self { sigma, norm, farthest, arcs: (0..pieces as u32).flat_map(piece).collect() }
    }

    fn root(&self, arc: f64) -> f64 {
        self.kernel(arc).sqrt()
    }

    fn kernel(&self, arc: f64) -> f64 {
        (-0.5 * (arc / self.sigma).powi(2)).exp()
    }

    fn part(&self, arc: f64, variance: f64) -> f64 {
        let chord = 2.0 * (0.5 * arc).sin() / self.sigma;
        (-0.5 * chord * chord / variance).exp()
    }

    /// The best single Gaussian. Chords are shorter than arcs, by y²/24 at y radians; a smaller variance corrects that at one distance.
    fn alone(&self) -> Option<Mixture> {
        let variances =
            (0..16).map(|k| 1.0 - 0.2 * f64::from(k) * self.sigma.powi(2)).filter(|variance| *variance > 0.5);
        variances.map(|variance| self.bounded(vec![(1.0, variance)])).min_by(|a, b| a.miss.total_cmp(&b.miss))
    }

    /// Weights that fit the kernel best by the norm.
    fn fit(&self, count: usize) -> Vec<(f64, f64)> {
        let spread = (SPREAD_PER_SIGMA * self.sigma).min(MOST_SPREAD);
        let variances: Vec<f64> = (0..count).map(|k| 1.0 + spread * chebyshev_node(k, count)).collect();
        let columns: Vec<Vec<f64>> =
            variances.iter().map(|&variance| self.relative(|arc| self.part(arc, variance))).collect();
        let weights = least_squares(columns, self.relative(|arc| self.kernel(arc)));
        weights.into_iter().zip(variances).collect()
    }

    /// A function at all arcs, relative to the norm there.
    fn relative(&self, value: impl Fn(f64) -> f64) -> Vec<f64> {
        let length = |arc: f64| self.root(arc) * self.norm.per_root(self.root(arc));
        self.arcs.iter().map(|&arc| value(arc) / length(arc)).collect()
    }

    /// A mixture with its error.
    fn bounded(&self, parts: Vec<(f64, f64)>) -> Mixture {
        let sum = |arc: f64| parts.iter().map(|(weight, variance)| weight * self.part(arc, *variance)).sum::<f64>();
        let miss = |&arc: &f64| (sum(arc) - self.kernel(arc)).abs() / self.root(arc);
        let width = self.farthest * SAMPLES as f64 / self.arcs.len() as f64;
        let ends = (1..).map(|piece: u32| f64::from(piece) * width);
        let misses = self.arcs.chunks_exact(SAMPLES).map(|arcs| arcs.iter().map(miss).fold(0.0, f64::max));
        // The norm is shortest, next to √K, where a piece ends.
        let in_norms = misses.zip(ends).map(|(miss, end)| miss / self.norm.per_root(self.root(end)));
        let largest = in_norms.fold(0.0, f64::max);
        let between = (std::f64::consts::FRAC_PI_2 * DEGREE as f64 / SAMPLES as f64).cos().recip();
        Mixture { miss: between * largest + 1e-14, farthest: self.farthest, parts }
    }
}

/// Weights of the columns that come closest to the goal: Gram and Schmidt, twice for accuracy, then back substitution.
fn least_squares(columns: Vec<Vec<f64>>, goal: Vec<f64>) -> Vec<f64> {
    let count = columns.len();
    let mut basis: Vec<Vec<f64>> = Vec::new();
    let mut triangle = vec![vec![0.0; count]; count];
    for (k, mut column) in columns.into_iter().enumerate() {
        for _ in 0..2 {
            for (j, direction) in basis.iter().enumerate() {
                let along = dot(direction, &column);
                triangle[j][k] += along;
                subtract(&mut column, along, direction);
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
        subtract(&mut goal, *weight, direction);
    }
    for k in (0..count).rev() {
        weights[k] /= triangle[k][k];
        for j in 0..k {
            weights[j] -= triangle[j][k] * weights[k];
        }
    }
    weights
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// Subtracts a multiple of a vector.
fn subtract(from: &mut [f64], factor: f64, vector: &[f64]) {
    from.iter_mut().zip(vector).for_each(|(x, y)| *x -= factor * y);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arcs_are_met_within_the_bound_everywhere() {
        for kilometres in [0.1, 10.0, 100.0, 1000.0, 3000.0] {
            let sigma = kilometres / 6371.0;
            for (miss, near) in [(1e-6, 0.0), (1e-9, 0.0), (1e-9, 500.0), (1e-12, 0.0)] {
                let Some(mixture) = Mixture::of_arcs(sigma, &ErrorNorm::new(near), miss) else {
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
                    let bound = mixture.miss * (kernel.sqrt() + near * kernel);
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
