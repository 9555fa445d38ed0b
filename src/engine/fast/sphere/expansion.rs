//! The kernel of a chart as few Gaussians with weights that depend on the two points.
//!
//! In a chart ([`chart`](super::chart)), lengths in units of σ there, two points at distance r whose scales are `1 + α` and `1 + β`
//! are the chord `c² = r² / ((1 + α)(1 + β))` apart. With `S = 1 + α + β` and `p = αβ` that is `c² = r² / (S + p)`. The outer
//! Gaussians of the lattice add α and β by themselves, so it computes
//!
//! ```text
//! f(ν) = exp(−r² / 2(S + ν)) / (S + ν)
//! ```
//!
//! for any few ν, the same for all pairs. The kernel is `Σ wλ · (S + p) f(ν)` over the parts of a [`Mixture`] of chords,
//! with `ν = λ(S + p) − S` for each pair. Interpolated at n nodes by Newton's formula, each f(ν) becomes a sum of divided
//! differences times polynomials in α + β and p. As Chebyshev sums the polynomials have few large terms, those of a low degree; with
//! all others dropped, what is left are sets of products αⁱβʲ with i, j < M: M sets of columns at the sources, M at the targets.
//!
//! *The bound.* With Laguerre's polynomials, `f⁽ᵐ⁾/m! = ± Lₘ(x) e⁻ˣ / (S + ν)ᵐ⁺¹`, `x = r² / 2(S + ν)`. Errors are measured by √K + κK ([`ErrorNorm`]), and
//! `|Lₘ(x)| e⁻ˣ ≤ Cₘ (exp(−x/2) + κ exp(−x))` with a constant that is found by looking: at most one, and a hundredth for m = 1 and κ of
//! some hundreds. So divided differences of order m, and the remainder with m = n, are small multiples of √K + κK.

use std::f64::consts::PI;

use serde::{Deserialize, Serialize};

use super::error_norm::{ErrorNorm, MOST_ORDERS};
use super::mixture::Mixture;
use super::polynomial::{ChebyshevSeries, Polynomial, chebyshev_node};
use crate::engine::fast::lattice::{GaussianPart, Terms};

/// Where a chart is used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    /// σ in radians.
    pub(crate) sigma: f64,
    /// Bound of |α| and |β|; not zero.
    pub(crate) scale_offset: f64,
    /// Farthest from the centre that a point is, in the plane of the chart.
    pub(crate) radius: f64,
}

/// Terms with bounds of their error and their size.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Expansion {
    pub(crate) terms: Terms,
    /// Error as a multiple of the norm.
    pub(crate) miss: f64,
    /// Sum of the absolute Gaussians at distance zero.
    pub(crate) amount: f64,
    /// The Gaussians, all taken positive, add up to at most `near · K + far · √K`.
    pub(crate) near: f64,
    pub(crate) far: f64,
    /// By which factor it grows when all sets of a Gaussian are taken positive.
    pub(crate) in_all: f64,
    /// A bound on kernel and Gaussians together beyond the arcs for which the above is shown.
    pub(crate) beyond: f64,
    /// √K is at least a Gaussian of the chord of this variance, in σ².
    pub(crate) root: f64,
}

/// Most sets of columns: with more, smaller charts are cheaper. Estimated, not measured.
const MOST_SETS: usize = 4;
/// Kernels above e to minus this count as near. Chosen, not measured.
const NEAR: f64 = 15.0;

impl Expansion {
    /// The kernel of a chart, a mixture of chords, to within `miss` norms, with as few sets as possible and then as few Gaussians; `None` if it
    /// takes too many.
    pub(crate) fn new(extent: &Extent, mixture: &Mixture, norm: &ErrorNorm, miss: f64) -> Option<Self> {
        let region = Region::new(extent, norm, mixture)?;
        let parts = (1..=MOST_ORDERS).find(|parts| mixture.miss + region.remainder(mixture, *parts) <= 0.85 * miss)?;
        (1..=MOST_SETS)
            .map(|sets| region.expand(mixture, sets, parts.max(sets)))
            .find(|expansion| expansion.miss <= miss)
    }
}

/// The range of what an expansion is a function of, for pairs that are not too far apart.
struct Region<'a> {
    norm: &'a ErrorNorm,
    sigma: f64,
    scale_offset: f64,
    /// Middle and half width of the range of p.
    product: (f64, f64),
    /// Range of ν.
    nu: (f64, f64),
    /// Largest arc of such pairs.
    farthest: f64,
}

impl<'a> Region<'a> {
    fn new(extent: &Extent, norm: &'a ErrorNorm, mixture: &Mixture) -> Option<Self> {
        let scale_offset = extent.scale_offset;
        // |α − β| for the farthest pairs: the difference of squared radii, and distances in the chart are at most
        // (1 + `scale_offset`) A times chords.
        let apart = 0.5 * extent.radius * mixture.farthest * (1.0 + scale_offset);
        let (low, high) = (-(0.25 * apart * apart).min(scale_offset * scale_offset), scale_offset * scale_offset);
        let corners = [-2.0 * scale_offset, 2.0 * scale_offset].into_iter().flat_map(|sum| [(sum, low), (sum, high)]);
        let nus = corners.flat_map(|(sum, p)| mixture.parts.iter().map(move |part| nu(part.1, sum, p)));
        let nu = nus.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), nu| (nu.min(low), nu.max(high)));
        let product = (0.5 * (low + high), 0.5 * (high - low));
        let region = Self { norm, sigma: extent.sigma, scale_offset, product, nu, farthest: mixture.farthest };
        (region.narrowest() > 0.25).then_some(region)
    }

    /// The least S + ν.
    fn narrowest(&self) -> f64 {
        1.0 - 2.0 * self.scale_offset + self.nu.0
    }

    fn expand(&self, mixture: &Mixture, sets: usize, parts: usize) -> Expansion {
        let (centre, half) = (0.5 * (self.nu.0 + self.nu.1), 0.5 * (self.nu.1 - self.nu.0));
        let nodes: Vec<f64> = (0..parts).map(|k| centre + half * chebyshev_node(k, parts)).collect();
        let mut weights = vec![ChebyshevSeries::zero(parts); parts];
        let mut dropped = 0.0;
        for order in 0..parts {
            let newton = ChebyshevSeries::of(parts, |s, u| self.newton(mixture, &nodes[..order], s, u));
            dropped += newton.size(sets..) * self.norm.laguerre[order] / self.narrowest().powi(order as i32 + 1);
            for k in 0..=order {
                let others = nodes[..=order].iter().enumerate().filter(|(j, _)| *j != k);
                weights[k].add(others.map(|(_, node)| nodes[k] - node).product::<f64>().recip(), &newton);
            }
        }
        let miss = mixture.miss + self.remainder(mixture, parts) + self.in_norms(dropped);
        let kept: f64 = weights.iter().map(|weight| weight.size(..sets)).sum();
        let left: f64 = weights.iter().map(|weight| weight.size(sets..)).sum();
        let amount = kept.min(lebesgue(parts) * size(mixture) + left);
        let polynomials = weights.iter().map(|weight| weight.in_points(sets, self.scale_offset, self.product));
        let part = |(node, weights): (&f64, Polynomial)| GaussianPart { variance: 1.0 + node, weights: weights.0 };
        self.bounded(Terms { sets, parts: nodes.iter().zip(polynomials).map(part).collect() }, miss, amount)
    }

    /// Newton's polynomial over some nodes, added up over the mixture, at `α + β = 2 · scale_offset · s` and `p` at `u` of its range.
    fn newton(&self, mixture: &Mixture, nodes: &[f64], s: f64, u: f64) -> f64 {
        let (sum, p) = (2.0 * self.scale_offset * s, self.product.0 + self.product.1 * u);
        let parts = mixture.parts.iter().map(|(weight, variance)| (weight * variance, nu(*variance, sum, p)));
        parts.map(|(weight, nu)| weight * nodes.iter().map(|node| nu - node).product::<f64>()).sum()
    }

    /// The error of the interpolation at this many nodes, in norms.
    fn remainder(&self, mixture: &Mixture, parts: usize) -> f64 {
        let half = 0.5 * (self.nu.1 - self.nu.0);
        let product = 2.0 * (0.5 * half).powi(parts as i32);
        self.in_norms(size(mixture) * product * self.norm.laguerre[parts] / self.narrowest().powi(parts as i32 + 1))
    }

    /// `factor` times `(S + p) (exp(−x/2) + κ exp(−x))`, `x = r² / 2(S + ν)`, in norms.
    fn in_norms(&self, factor: f64) -> f64 {
        // With `exp(−x/2) = τ√K` it is `τ√K + κτ²K`. Up to the near arc τ² is a bound, and beyond the second part is at most its share.
        let near_arc = (2.0 * NEAR).sqrt() * self.sigma;
        let (near, far) = (self.tilt(near_arc.min(self.farthest)), self.tilt(self.farthest));
        let length = self.norm.per_root((-0.5 * NEAR).exp());
        let beyond = if near_arc < self.farthest { far * (1.0 + (1.0 - 1.0 / length) * (far - 1.0)) } else { 0.0 };
        factor * (1.0 + self.scale_offset).powi(2) * (near * near).max(beyond)
    }

    /// How many times larger than √K `exp(−r² / 4(S + ν))` gets up to an arc; at least one, and growing with the arc.
    fn tilt(&self, arc: f64) -> f64 {
        let lowest = self.product.0 - self.product.1;
        let chord = 2.0 * (0.5 * arc).sin();
        let narrower = (1.0 - 2.0 * self.scale_offset + lowest) / (1.0 - 2.0 * self.scale_offset + self.nu.1);
        (0.25 * (arc * arc - chord * chord * narrower.min(1.0)) / self.sigma.powi(2)).exp()
    }

    /// Terms whose weights, for one pair of points, add up to `weights` in size.
    fn bounded(&self, terms: Terms, miss: f64, weights: f64) -> Expansion {
        let least = 1.0 - 2.0 * self.scale_offset;
        let (narrowest, widest) = terms.variances();
        // How much larger a term is at distance zero than its weight, and how much wider than the kernel of chords, for p not
        // below this.
        let higher = (least + self.scale_offset * self.scale_offset) / (least + narrowest - 1.0);
        let near = per_chord((2.0 * NEAR).sqrt() * self.sigma);
        let far = per_chord(self.farthest);
        let [here, last_wider] = [self.product.0 - self.product.1, -self.scale_offset * self.scale_offset]
            .map(|p| ((least + widest - 1.0) / (least + p)).max(1.0));
        let last = 0.5 * (self.farthest / self.sigma).powi(2);
        let in_all = higher.max(1.0) * terms.size(self.scale_offset);
        let last_terms = in_all * (-last / far / last_wider).exp();
        let whole_sphere = self.farthest >= PI;
        let amount = higher.max(1.0) * weights;
        Expansion {
            near: amount * (NEAR * (near - 1.0 / here)).exp(),
            far: amount * (-NEAR / far * (1.0 / here - 0.5 * far)).exp(),
            in_all: in_all / amount,
            beyond: if whole_sphere { 0.0 } else { 2.0 * (last_terms + (-last).exp()) },
            root: 2.0 / far,
            terms,
            miss,
            amount,
        }
    }
}

/// The square of an arc over that of its chord.
fn per_chord(arc: f64) -> f64 {
    (0.5 * arc / (0.5 * arc).sin()).powi(2)
}

/// Total size of the weights of normalised Gaussians.
fn size(mixture: &Mixture) -> f64 {
    mixture.parts.iter().map(|(weight, variance)| (weight * variance).abs()).sum()
}

/// The Lebesgue constant of this many Chebyshev nodes: it is reached at the ends.
fn lebesgue(nodes: usize) -> f64 {
    (0..nodes).map(|k| (PI * (k as f64 + 0.5) / (2 * nodes) as f64).tan().recip()).sum::<f64>() / nodes as f64
}

/// ν of a part of the mixture with variance λ.
fn nu(variance: f64, sum: f64, p: f64) -> f64 {
    (variance - 1.0) * (1.0 + sum) + variance * p
}

#[cfg(test)]
mod tests {
    use super::*;

    const RADIUS_KM: f64 = 6371.0088;

    /// A chart of so many kilometres for σ in kilometres.
    fn extent(sigma: f64, radius: f64) -> Extent {
        let tangent = (0.5 * radius / RADIUS_KM).tan();
        let scale_offset = 0.5 * tangent * tangent / (1.0 + 0.5 * tangent * tangent);
        Extent { sigma: sigma / RADIUS_KM, scale_offset, radius: 2.0 * tangent }
    }

    fn expansion(extent: &Extent, norm: &ErrorNorm, miss: f64) -> Option<Expansion> {
        Expansion::new(extent, &Mixture::of_arcs(extent.sigma, norm, 0.7 * miss)?, norm, miss)
    }

    /// What the terms give between two points of a chart, the size of the Gaussians, and of all terms.
    fn value(expansion: &Expansion, alpha: f64, beta: f64, square: f64) -> [f64; 3] {
        let sets = expansion.terms.sets;
        let mut sums = [0.0; 3];
        for part in &expansion.terms.parts {
            let variance = part.variance + alpha + beta;
            let gaussian = (1.0 + alpha) * (1.0 + beta) * (-0.5 * square / variance).exp() / variance;
            let term = |(at, weight): (usize, &f64)| {
                weight * alpha.powi((at / sets) as i32) * beta.powi((at % sets) as i32) * gaussian
            };
            let terms: Vec<f64> = part.weights.iter().enumerate().map(term).collect();
            let sum: f64 = terms.iter().sum();
            let found = [sum, sum.abs(), terms.iter().map(|term| term.abs()).sum()];
            sums = std::array::from_fn(|k| sums[k] + found[k]);
        }
        sums
    }

    #[test]
    fn kernels_are_met_within_the_bound_everywhere_and_use_it() {
        let (mut used, mut filled) = (0.0_f64, 0.0_f64);
        for (sigma, radius) in
            [(0.1, 50.0), (1.0, 1000.0), (10.0, 2900.0), (100.0, 1500.0), (100.0, 2900.0), (300.0, 2500.0)]
        {
            for (miss, near) in [(1e-5, 0.0), (1e-8, 0.0), (1e-8, 30.0), (1e-10, 0.0), (1e-10, 500.0), (1e-12, 0.0)] {
                let (extent, norm) = (extent(sigma, radius), ErrorNorm::new(near));
                let Some(expansion) = expansion(&extent, &norm, miss) else {
                    assert!(sigma > 99.0 || miss < 1e-11, "{sigma} km to {miss:e} takes too many terms");
                    continue;
                };
                // Two points on a ray of the chart or across it, from its centre to its edge.
                for i in 0..40 {
                    let z = extent.radius * f64::from(i) / 39.0;
                    for k in 0..400 {
                        let distance = 0.05 * f64::from(k) * extent.sigma;
                        let other = if i % 2 == 0 { (z - distance).abs() } else { z.hypot(distance) };
                        if other > extent.radius {
                            continue;
                        }
                        let apart = if i % 2 == 0 { z - (z - distance) } else { distance };
                        let [alpha, beta] =
                            [z, other].map(|z| (1.0 + 0.25 * z * z) * (1.0 - extent.scale_offset) - 1.0);
                        assert!(
                            alpha.abs() <= extent.scale_offset * (1.0 + 1e-12)
                                && beta.abs() <= extent.scale_offset * (1.0 + 1e-12)
                        );
                        let square = (apart * (1.0 - extent.scale_offset) / extent.sigma).powi(2);
                        let chord = (square / ((1.0 + alpha) * (1.0 + beta))).sqrt() * extent.sigma;
                        let arc = 2.0 * (0.5 * chord).asin();
                        let kernel = (-0.5 * (arc / extent.sigma).powi(2)).exp();
                        let [value, gaussians, terms] = value(&expansion, alpha, beta, square);
                        let (error, bound) = (
                            (value - kernel).abs(),
                            expansion.miss * (kernel.sqrt() + near * kernel) + expansion.beyond,
                        );
                        let what = format!("{sigma} km in {radius} km to {miss:e}, {z} and {other}");
                        assert!(error <= bound + 1e-15, "{what}: {error:e} above {bound:e}");
                        let most = expansion.near * kernel + expansion.far * kernel.sqrt() + expansion.beyond;
                        let size = gaussians.max(terms / expansion.in_all);
                        assert!(size <= most * (1.0 + 1e-12), "{what}: terms of {size:e} above {most:e}");
                        if miss > 1e-11 {
                            (used, filled) = (used.max(error / bound), filled.max(gaussians / most));
                        }
                    }
                }
            }
        }
        assert!(used > 0.1 && filled > 0.5, "bounds too wide: {used} {filled}");
    }

    /// Sets of columns and Gaussians of a chart.
    fn size(sigma: f64, radius: f64, near: f64) -> Option<(usize, usize)> {
        let found = expansion(&extent(sigma, radius), &ErrorNorm::new(near), 3e-10)?;
        Some((found.terms.sets, found.terms.parts.len()))
    }

    #[test]
    fn large_charts_take_more_sets_than_small_ones() {
        assert_eq!(size(0.1, 50.0, 0.0), Some((1, 1)));
        assert_eq!(size(1.0, 200.0, 0.0), Some((2, 3)));
        assert_eq!(size(10.0, 2000.0, 0.0), Some((3, 4)));
        // Errors that are small next to nearby kernels do no harm: fewer sets do.
        assert_eq!(size(1.0, 200.0, 400.0), Some((1, 3)));
        assert_eq!(size(10.0, 2000.0, 400.0), Some((2, 4)));
        assert_eq!(size(10.0, 9000.0, 400.0), None);
    }
}
