//! Interpolation between Chebyshev nodes: its values, and a bound of its error for a Gaussian on the sphere.
//!
//! Along a meridian or a parallel, x being the angle, the cosine of the arc to any other place is `z = A + B cos(x − x₀)` with `|A| + |B| ≤ 1`. Let
//! x have an imaginary part b and let `z = cos(α + iβ)`. The distances of z from −1 and 1 add up to 2 cosh β, and that sum is convex in z, so that
//!
//! ```text
//! cosh β ≤ |B| cosh b + 1 − |B|,      which is      sinh(β/2) ≤ √|B| sinh(b/2)
//! ```
//!
//! and the Gaussian of the arc, `|exp(−(α + iβ)²/2σ²)| = exp((β² − α²)/2σ²)`, is at most exp(β²/2σ²). On the ellipse of Bernstein with radius ρ = exp(τ) around an interval of
//! length w, b is at most ½ w sinh τ. So the classical bound holds with a number that is known, for each τ, as long as the Gaussian is analytic there.
//!
//! It is not at the antipode, where the arc has a kink. Either the images of the Gaussian all around the sphere join it, with which it is a whole function: what they carry is at most
//! that of half a turn, and nothing for most σ. Or all arcs are short: the kink is at x = x₀ + π and z ≤ −1, and if arcs on the real part of the ellipse are at most f,
//! then A − B ≥ cos f there, and z = A − B cosh b cannot be that small while √B sinh(b/2) < cos(f/2).

use std::f64::consts::PI;

use serde::{Deserialize, Serialize};

/// Most nodes along one side of a patch. Chosen, not measured.
pub(crate) const MOST_NODES: usize = 48;

/// Cardinal functions of the Chebyshev nodes on [−1, 1].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Chebyshev {
    pub(crate) nodes: Vec<f64>,
    /// One over the product of the distances of each node from all others.
    scales: Vec<f64>,
}

impl Chebyshev {
    pub(crate) fn new(count: usize) -> Self {
        let node = |a: usize| -((a as f64 + 0.5) * PI / count as f64).cos();
        let nodes: Vec<f64> = (0..count).map(node).collect();
        let others = |a: usize| nodes.iter().enumerate().filter(move |(b, _)| *b != a);
        let scale = |a: usize| others(a).map(|(_, x)| nodes[a] - x).product::<f64>().recip();
        Self { scales: (0..count).map(scale).collect(), nodes }
    }

    /// The cardinal function of every node at u. Each is a product, so that its relative error is at most [`roundings`](Self::roundings).
    #[inline(always)]
    pub(crate) fn cardinals(&self, u: f64, out: &mut [f64; MOST_NODES]) {
        let mut before = 1.0;
        for ((out, node), scale) in out.iter_mut().zip(&self.nodes).zip(&self.scales) {
            *out = before * scale;
            before *= u - node;
        }
        let mut after = 1.0;
        for (out, node) in out[..self.nodes.len()].iter_mut().zip(&self.nodes).rev() {
            *out *= after;
            after *= u - node;
        }
    }

    /// Relative error of a cardinal function, in units of 2⁻⁵³: the differences and products of its value and of its scale.
    pub(crate) fn roundings(count: usize) -> f64 {
        4.0 * count as f64 + 2.0
    }
}

/// The largest sum of absolute cardinal functions, or a little more: nodes are rounded.
pub(crate) fn lebesgue(count: usize) -> f64 {
    std::f64::consts::FRAC_2_PI * (count as f64).ln() + 1.0 + 1e-9
}

/// A Gaussian of the arc.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arcs {
    /// In radians.
    pub(crate) sigma: f64,
    /// No arc is longer; where there is no such limit the images of the Gaussian are part of it.
    pub(crate) longest: Option<f64>,
}

impl Arcs {
    /// A bound on the error of interpolating it with this many nodes on an interval of this length, where |B| is at most `slope`: the least
    /// by some ellipses. Which are tried was chosen, not measured; each gives a bound.
    pub(crate) fn interpolation_error(&self, count: usize, length: f64, slope: f64) -> f64 {
        (1..60)
            .map(|step| self.error_on_ellipse(count, length, slope, 0.1 * f64::from(step)))
            .fold(f64::INFINITY, f64::min)
    }

    /// The same by one ellipse of Bernstein, whose radius is exp(τ).
    fn error_on_ellipse(&self, count: usize, length: f64, slope: f64, tau: f64) -> f64 {
        let sine = slope.sqrt() * (0.25 * length * tau.sinh()).sinh();
        if !self.is_analytic(sine, 0.5 * length * (tau.cosh() - 1.0)) {
            return f64::INFINITY;
        }
        let exponent = 0.5 * (2.0 * sine.asinh() / self.sigma).powi(2) - (count - 1) as f64 * tau;
        // The best polynomial is within twice the geometric series, interpolation within 1 + Λ times that, wherever its nodes are exactly.
        2.0 * (1.0 + lebesgue(count)) * self.at_zero() * exponent.exp() / (tau.exp() - 1.0)
    }

    /// Whether there is no kink where √B sinh(b/2) is at most this, on an interval that is extended by `longer` at both ends.
    fn is_analytic(&self, sine: f64, longer: f64) -> bool {
        self.longest.is_none_or(|longest| {
            let arc = longest + longer;
            arc < PI && sine < (1.0 - 1e-9) * (0.5 * arc).cos()
        })
    }

    fn at_zero(&self) -> f64 {
        if self.longest.is_none() { 1.0 + 2.0 * self.images(2.0 * PI) } else { 1.0 }
    }

    /// A bound of what the images contribute at any arc: the first is at least half a turn away.
    pub(crate) fn beside(&self) -> f64 {
        if self.longest.is_none() { self.images(PI) } else { 0.0 }
    }

    /// An upper bound of the sum of the Gaussian at this angle and all multiples of it.
    fn images(&self, angle: f64) -> f64 {
        let first = (-0.5 * (angle / self.sigma).powi(2)).exp();
        // Each next one is smaller by a factor that is larger than this.
        if first < 0.5 { first / (1.0 - first) } else { f64::INFINITY }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cardinal_functions_are_one_at_their_node_and_add_up_to_one() {
        for count in [2, 7, 20, MOST_NODES] {
            let chebyshev = Chebyshev::new(count);
            let mut values = [0.0; MOST_NODES];
            for (a, node) in chebyshev.nodes.iter().enumerate() {
                chebyshev.cardinals(*node, &mut values);
                assert!((values[a] - 1.0).abs() < 1e-13 && (0..count).all(|b| a == b || values[b] == 0.0));
            }
            for step in 0..=1000 {
                chebyshev.cardinals(f64::from(step) / 500.0 - 1.0, &mut values);
                let (sum, size) = values[..count].iter().fold((0.0, 0.0), |(sum, size), x| (sum + x, size + x.abs()));
                assert!((sum - 1.0).abs() < 1e-13 && size <= lebesgue(count), "{count}: {sum} {size}");
            }
        }
    }

    /// A Gaussian of the arc along a circle, with its images if arcs have no limit.
    fn along(arcs: &Arcs, circle: (f64, f64), x: f64) -> f64 {
        let arc = (circle.0 + circle.1 * x.cos()).clamp(-1.0, 1.0).acos();
        let turns = if arcs.longest.is_none() { 3 } else { 0 };
        (-turns..=turns).map(|k| (-0.5 * ((arc + f64::from(k) * 2.0 * PI) / arcs.sigma).powi(2)).exp()).sum()
    }

    /// The largest error on an interval, next to its bound.
    fn error_and_bound(arcs: &Arcs, circle: (f64, f64), centre: f64, length: f64, count: usize) -> (f64, f64) {
        let chebyshev = Chebyshev::new(count);
        let at = |u: f64| along(arcs, circle, centre + 0.5 * length * u);
        let values: Vec<f64> = chebyshev.nodes.iter().map(|u| at(*u)).collect();
        let (mut error, mut cardinals) = (0.0_f64, [0.0; MOST_NODES]);
        for u in (0..=60).map(|step| f64::from(step) / 30.0 - 1.0) {
            chebyshev.cardinals(u, &mut cardinals);
            let found: f64 = values.iter().zip(&cardinals).map(|(value, l)| value * l).sum();
            error = error.max((found - at(u)).abs());
        }
        (error, arcs.interpolation_error(count, length, circle.1))
    }

    const CIRCLES: [(f64, f64); 6] = [(0.0, 1.0), (0.0, 0.8), (0.5, 0.5), (-0.2, 0.8), (0.95, 0.05), (0.0, 0.01)];

    /// Checks the bound on an interval around many centres of every circle; gives how much of it was used. Arcs have no limit, or the longest
    /// one on the interval.
    fn used(sigma: f64, length: impl Fn(f64) -> f64, count: usize, limited: bool) -> f64 {
        let mut used = 0.0_f64;
        for circle in CIRCLES {
            let length = length(circle.1);
            for centre in (0..40).map(|k| 0.16 * f64::from(k)) {
                let at = |step: i32| centre + length * (f64::from(step) / 50.0 - 0.5);
                let arcs = (0..=50).map(|step| (circle.0 + circle.1 * at(step).cos()).clamp(-1.0, 1.0).acos());
                let arcs = Arcs { sigma, longest: limited.then(|| arcs.fold(0.0, f64::max)) };
                let (error, bound) = error_and_bound(&arcs, circle, centre, length, count);
                assert!(error <= bound + 1e-14, "σ {sigma}, {circle:?}, {count} nodes: {error} above {bound}");
                used = used.max(error / bound);
            }
        }
        used
    }

    #[test]
    fn interpolation_keeps_its_bound_along_any_circle() {
        let mut most = 0.0_f64;
        for sigma in [0.05, 0.2, 0.6] {
            for (length, count) in [(1.0, 6), (2.0, 10), (4.0, 14), (2.0, 16)] {
                most = most.max(used(sigma, |slope| (length * sigma / slope.sqrt()).min(2.0 * PI), count, false));
            }
        }
        assert!(most > 0.02, "the bound says nothing: {most}");
    }

    #[test]
    fn so_it_does_for_any_width_where_arcs_are_short() {
        let mut most = 0.0_f64;
        for sigma in [0.3, 1.0, 5.0, 1e3] {
            for (length, count) in [(0.2, 5), (0.5, 8), (0.5, 12), (1.0, 12)] {
                most = most.max(used(sigma, |_| length, count, true));
            }
        }
        assert!(most > 1e-3, "the bound says nothing: {most}");
    }
}
