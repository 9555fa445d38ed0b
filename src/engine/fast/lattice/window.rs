//! The Gaussian as three Gaussians: the errors, the cost, and the cheapest choice.
//!
//! In one dimension, in units of σ, with `g_v(x) = exp(−x²/2v)` and any `0 < 2t < λ`, `s = λ − 2t`,
//!
//! ```text
//! g_λ(x − y) = √(λ/s) / (2πt) · ∫∫ g_t(x − a) g_s(a − b) g_t(b − y) da db
//! ```
//!
//! exactly. Sampled at nodes `h` apart the integrals become sums of positive terms, and two kinds of error appear.
//!
//! *Sampling.* By Poisson's formula a Gaussian of variance v sampled at distance h adds up to its integral within a
//! relative error of `2 Σ_{m≥1} q^{m²} ≤ 2q/(1 − q)`, `q = exp(−2π²v/h²)`. The sum over b samples a Gaussian of variance
//! `ts/(t + s)`, the sum over a one of variance `t(s + t)/λ`. All terms are positive, so the errors stay *relative*.
//!
//! *Truncation.* Leaving out nodes with `|b − y| ≥ w` loses, since `1 ≤ exp(κ((b − y)² − w²))` there,
//! at most `exp(−κw²)` times the same sum with `t' = t/(1 − 2κt)` for one of the t. That sum is again a Gaussian, of
//! variance `λ + t' − t`; for `t' = t + 2 − λ` that is 2, and the Gaussian is the square root of the kernel:
//!
//! ```text
//! loss ≤ √(t'λ/2t) · exp(−w²/2 · (1/t − 1/t')) · √K
//! ```
//!
//! and likewise for the middle Gaussian. Errors that are a multiple of √K are harmless: by Cauchy and Schwarz
//! `Σ w √K ≤ √(W D)`. In several dimensions the kernel is a product, and so are its approximations.
//!
//! On the sphere ([`sphere`](crate::engine::fast::sphere)) the outer Gaussians of two points have variances `t + α` and `t + β`, with α and β
//! within ± `scale_offset`. Then λ becomes `λ + α + β`, and √K has the variance `r(1 + α)(1 + β)` with r near 2. Sampling is worst where both are smallest,
//! truncation where the window is widest and √K decays fastest; the design takes both at once.

use std::f64::consts::PI;

use serde::{Deserialize, Serialize};

/// Most taps of a window: four registers of eight numbers. Chosen, not measured.
pub(crate) const MOST_TAPS: usize = 32;
/// Nodes along one axis of a block. Multiples of four fill whole registers. Chosen, not measured.
const NODES: [usize; 3] = [16, 12, 8];
/// Least variance of an outer Gaussian: a narrower one takes more nodes than the cheapest choices. Chosen, not measured.
const NARROWEST: f64 = 0.02;
/// Variances t of outer Gaussians that are tried, in steps of 1/200: from 0.02 to 0.36. Chosen, not measured.
const WIDTHS: std::ops::RangeInclusive<u32> = 4..=72;

/// How finely a lattice samples the three Gaussians and how far they reach.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Window {
    /// Axes of the lattice.
    pub(crate) dimensions: usize,
    /// Nodes along one axis of a block.
    pub(crate) nodes: usize,
    /// Distance of two nodes in σ.
    pub(crate) step: f64,
    /// The variance t of the outer Gaussians.
    pub(crate) outer: f64,
    /// How far from it the variance of a point may be.
    pub(crate) scale_offset: f64,
    /// Nodes that a point touches along one axis; even.
    pub(crate) taps: usize,
    /// Farthest node that a node reaches along one axis.
    pub(crate) reach: usize,
    /// Relative error of the sampling.
    pub(crate) sampling: f64,
    /// Error of the truncation, as a multiple of √K.
    pub(crate) truncation: f64,
}

/// What a window must keep.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WindowDemand {
    pub(crate) dimensions: usize,
    /// Largest relative error of the sampling.
    pub(crate) sampling: f64,
    /// Largest error of the truncation, as a multiple of √K.
    pub(crate) truncation: f64,
    /// Smallest and largest variance λ of the kernels, in σ².
    pub(crate) variances: (f64, f64),
    /// Variance of √K, in σ²: 2, or a little less where K decays faster than a Gaussian.
    pub(crate) root: f64,
    /// How far from t the variances of the outer Gaussians may be.
    pub(crate) scale_offset: f64,
    /// The work for each point and for each node, as multiples of that of one Gaussian with one set of columns.
    pub(crate) load: Load,
}

/// Work as a multiple of that of a single Gaussian.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Load {
    pub(crate) point: f64,
    pub(crate) node: f64,
}

impl Load {
    pub(crate) const ONE: Self = Self { point: 1.0, node: 1.0 };
}

impl Window {
    /// The cheapest window for blocks of this side, in σ; `None` if there is none.
    pub(crate) fn design(side: f64, demand: &WindowDemand) -> Option<Self> {
        NODES
            .into_iter()
            .flat_map(|nodes| WIDTHS.map(move |width| (nodes, f64::from(width) / 200.0)))
            .filter_map(|(nodes, outer)| Self::with(side / nodes as f64, nodes, outer, demand))
            .min_by(|a, b| a.cost(demand.load).total_cmp(&b.cost(demand.load)))
    }

    fn with(step: f64, nodes: usize, outer: f64, demand: &WindowDemand) -> Option<Self> {
        let ((least, most), scale_offset) = (demand.variances, demand.scale_offset);
        let (narrow, wide) = (outer - scale_offset, outer + scale_offset);
        let s = least - 2.0 * outer;
        // The least and the largest variance of √K, and by how much it exceeds that of K at least.
        let (low, high) = (demand.root * (1.0 - scale_offset).powi(2), demand.root * (1.0 + scale_offset).powi(2));
        let excess = low + 2.0 * scale_offset - most;
        // Where the middle is narrower or the excess smaller, windows take more nodes. Chosen, not measured.
        if narrow < NARROWEST || s <= 0.05 || excess < 0.5 || demand.root * (1.0 - scale_offset) < 1.0 {
            return None;
        }
        // The smallest variance is sampled worst.
        let inner = sampled(narrow * s / (narrow + s), step);
        let one_axis = (1.0 + inner) * (1.0 + sampled(narrow * (s + narrow) / (s + 2.0 * narrow), step)) - 1.0;
        let sampling = (1.0 + one_axis).powi(demand.dimensions as i32) - 1.0;
        if sampling > demand.sampling {
            return None;
        }
        // Two windows and the middle, on every axis; the factors bound those of all variances.
        let share = demand.truncation / (4.0 * demand.dimensions as f64 * (1.0 + sampling));
        let window_factor = ((narrow + high) * (narrow + high) / (4.0 * high * narrow)).sqrt();
        let taps = 2 * (tail_radius(wide, wide + excess, window_factor / share) / step).ceil() as usize;
        let middle_factor = ((high - 2.0 * narrow) * (most + 2.0 * scale_offset) / (high * s)).sqrt();
        let widest = most - 2.0 * outer;
        let middle = tail_radius(widest, widest + excess, middle_factor / (2.0 * share));
        let reach = (middle / step).ceil() as usize;
        let window = Self {
            dimensions: demand.dimensions,
            nodes,
            step,
            outer,
            scale_offset,
            taps,
            reach,
            sampling,
            truncation: demand.truncation,
        };
        (taps <= MOST_TAPS && reach <= 3 * nodes).then_some(window)
    }

    /// Work for the points and nodes of one σ^d with as many points as nodes, one unit for each multiplication.
    pub(crate) fn cost(&self, load: Load) -> f64 {
        let d = self.dimensions as i32;
        let points = self.multiplications_at_a_point();
        let passes = f64::from(d) * ((2 * self.blocks_reached() + 1) * self.nodes) as f64;
        let finding = 1.0 + FINDING / (self.nodes as f64).powi(d + 1);
        load.point * points * POINTS_PER_VOLUME + load.node * finding * passes * self.step.powi(-d)
    }

    /// Multiplications to spread or to read one point.
    pub(crate) fn multiplications_at_a_point(&self) -> f64 {
        self.taps.next_multiple_of(8) as f64 * (self.taps as f64).powi(self.dimensions as i32 - 1)
    }

    /// Multiplications for the nodes of a block along one axis.
    pub(crate) fn multiplications_in_a_block(&self) -> f64 {
        (self.nodes_per_block() * (2 * self.blocks_reached() + 1) * self.nodes) as f64
    }

    pub(crate) fn nodes_per_block(&self) -> usize {
        self.nodes.pow(self.dimensions as u32)
    }

    /// Blocks along one axis that hold all nodes which the points of one block touch.
    pub(crate) fn blocks_touched(&self) -> usize {
        (self.nodes + self.taps - 1).div_ceil(self.nodes)
    }

    /// Blocks to either side that a node reaches.
    pub(crate) fn blocks_reached(&self) -> usize {
        self.reach.div_ceil(self.nodes)
    }

    /// The weight of a middle Gaussian between two nodes, for the kernel of variance λ. Along one axis what comes out is that kernel
    /// times √(t₁t₂/λ) / t, t₁ and t₂ being the variances of the outer Gaussians.
    pub(crate) fn middle(&self, variance: f64, nodes_apart: i64) -> f64 {
        if nodes_apart.unsigned_abs() as usize > self.reach {
            return 0.0;
        }
        let s = variance - 2.0 * self.outer;
        let distance = nodes_apart as f64 * self.step;
        self.step * self.step / (2.0 * PI * self.outer * s.sqrt()) * (-0.5 * distance * distance / s).exp()
    }

    /// The least variance of an outer Gaussian.
    pub(crate) fn narrow(&self) -> f64 {
        self.outer - self.scale_offset
    }

    /// Roundings that one value goes through from point to node to node to point, as multiples of 2⁻⁵³.
    pub(crate) fn roundings(&self) -> f64 {
        let d = self.dimensions as f64;
        let windows = 2.0 * d * (24.0 + 3.0 * self.taps as f64);
        // The place within a block is right to a unit in the last place of the block's size.
        let places = 2.0 * d * self.step * self.step / self.narrow() * (self.taps * self.nodes) as f64;
        let passes = d * ((2 * self.blocks_reached() + 1) * self.nodes) as f64;
        windows + places + passes + (self.taps as f64).powi(self.dimensions as i32 - 1) + MOST_TAPS as f64
    }
}

/// Points in a volume of σ^d for which windows are designed: about where a lattice starts to pay. Estimated, not measured.
pub(crate) const POINTS_PER_VOLUME: f64 = 6.0;

/// What finding a block costs, in multiplications. Estimated, not measured.
const FINDING: f64 = 300.0;

/// Bound of the relative error of sampling a Gaussian.
fn sampled(variance: f64, step: f64) -> f64 {
    let q = (-2.0 * PI * PI * variance / (step * step)).exp();
    2.0 * q / (1.0 - q)
}

/// The radius at which a Gaussian of this variance must be cut, if the loss may be one part in `excess`; `wider` is the variance t' of the
/// bound.
fn tail_radius(variance: f64, wider: f64, excess: f64) -> f64 {
    (2.0 * excess.ln().max(0.0) / (1.0 / variance - 1.0 / wider)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel as the lattice computes it, on one axis, without and with truncation, for outer Gaussians of these variances.
    fn sampled_kernel(window: &Window, variance: f64, at: [f64; 2], outer: [f64; 2], truncated: bool) -> f64 {
        let h = window.step;
        let half = if truncated { (window.taps / 2) as i64 } else { 4 * MOST_TAPS as i64 };
        let ends: [Vec<(i64, f64)>; 2] = [0, 1].map(|k| {
            let first = (at[k] / h).floor() as i64 + 1;
            let nodes = first - half..first + half;
            nodes.map(|node| (node, (-0.5 * (node as f64 * h - at[k]).powi(2) / outer[k]).exp())).collect()
        });
        let reach = if truncated { window.reach } else { usize::MAX };
        let window = Window { reach, ..*window };
        let from = |a: i64| ends[1].iter().map(|(b, end)| window.middle(variance, a - b) * end).sum::<f64>();
        let whole = variance - 2.0 * window.outer + outer[0] + outer[1];
        let scale = window.outer * (whole / (outer[0] * outer[1])).sqrt();
        scale * ends[0].iter().map(|(a, end)| end * from(*a)).sum::<f64>()
    }

    #[test]
    fn errors_stay_within_their_bounds_and_use_them() {
        for scale_offset in [0.0, 0.01, 0.04] {
            let mut used = (0.0_f64, 0.0_f64);
            for accuracy in [1e-3, 1e-6, 1e-9, 1e-12] {
                let demand = WindowDemand {
                    dimensions: 1,
                    sampling: accuracy,
                    truncation: 1e-2 * accuracy,
                    variances: if scale_offset > 0.0 { (0.98, 1.02) } else { (1.0, 1.0) },
                    root: 2.0 - scale_offset,
                    scale_offset,
                    load: Load::ONE,
                };
                let side =
                    (2..8).map(|k| f64::from(k) + 0.3).rfind(|side| Window::design(*side, &demand).is_some()).unwrap();
                let window = Window::design(side, &demand).unwrap();
                for (variance, [first, second]) in [
                    (demand.variances.0, [-scale_offset, -scale_offset]),
                    (demand.variances.1, [scale_offset, scale_offset]),
                    (demand.variances.1, [-scale_offset, scale_offset]),
                ] {
                    let found = largest_errors(&window, demand.root, variance, [first, second]);
                    used = (used.0.max(found.0 / window.sampling), used.1.max(found.1 / window.truncation));
                }
            }
            assert!(used.0 > 0.3 && used.1 > 0.003, "bounds too wide for {scale_offset}: {used:?}");
        }
    }

    /// The largest errors of sampling and of truncation for points whose outer variances are so far from t.
    fn largest_errors(window: &Window, root: f64, variance: f64, scale_offsets: [f64; 2]) -> (f64, f64) {
        let outer = scale_offsets.map(|scale_offset| window.outer + scale_offset);
        let whole = variance + scale_offsets[0] + scale_offsets[1];
        let root = root * (1.0 + scale_offsets[0]) * (1.0 + scale_offsets[1]);
        let mut largest = (0.0_f64, 0.0_f64);
        for i in 0..60 {
            let at = [0.013 * f64::from(i), 0.2 * f64::from(i)];
            let square = (at[0] - at[1]).powi(2);
            let (kernel, root) = ((-0.5 * square / whole).exp(), (-0.5 * square / root).exp());
            let sums = [false, true].map(|truncated| sampled_kernel(window, variance, at, outer, truncated));
            let (sampling, truncation) = ((sums[0] / kernel - 1.0).abs(), (sums[0] - sums[1]) / root);
            assert!(sampling <= window.sampling + 1e-14, "{window:?} at {i}: sampling {sampling:e}");
            assert!(truncation <= window.truncation + 1e-16, "{window:?} at {i}: truncation {truncation:e}");
            largest = (largest.0.max(sampling), largest.1.max(truncation));
        }
        largest
    }
}
