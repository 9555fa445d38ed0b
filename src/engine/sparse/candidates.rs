//! The sources near a tile, selected and weighted for one target at a time, and how many of them the tolerance lets drop.

use std::ops::Range;

use pulp::{Simd, WithSimd};

use super::limits::Limits;
use crate::engine::decays::find_decays;
use crate::engine::matrix::RowBlock;
use crate::engine::rounding::sum;
use crate::kernel::{Decay, LANES, Lanes, exp2_minus};
use crate::scene::Scene;
use crate::simd::arch;

/// Neighbours below this part of the way to the farthest decay are never dropped. Chosen, not measured.
const KEPT_FRACTION: f64 = 0.4;
/// How often the rest of the way is halved to find where the row can be cut: to about one unit of decay, a twentieth of a usual row.
/// Chosen, not measured.
const HALVINGS: i32 = 5;

/// The sources near a tile, and those among them near the current target. Reused from tile to tile.
#[derive(Default)]
pub(super) struct Candidates<const A: usize> {
    pub(super) sources: Vec<u32>,
    mass: Vec<f64>,
    /// Coordinates in lanes; spare lanes at the end repeat the last place.
    lanes: Vec<[Lanes; A]>,
    decays: Vec<Lanes>,
    near: Neighbours,
}

/// The sources within reach of one target, in ascending order.
#[derive(Default)]
pub(super) struct Neighbours {
    count: usize,
    sources: Vec<u32>,
    decays: Vec<f64>,
    mass: Vec<f64>,
    /// Mass times kernel, apart from a power of two.
    weights: Vec<f64>,
    /// Subtracted from every decay so that far rows do not underflow; a whole number.
    pub(super) shift: f64,
}

impl<const A: usize> Candidates<A> {
    pub(super) fn clear(&mut self) {
        self.sources.clear();
        self.mass.clear();
        self.lanes.clear();
    }

    pub(super) fn load(&mut self, scene: &Scene) {
        self.mass.extend(self.sources.iter().map(|&source| scene.mass[source as usize]));
        for chunk in self.sources.chunks(LANES) {
            let sources: [usize; LANES] = std::array::from_fn(|lane| chunk[lane.min(chunk.len() - 1)] as usize);
            self.lanes.push(std::array::from_fn(|k| sources.map(|source| scene.layout.sources.axes[k][source])));
        }
        self.decays.resize(self.lanes.len(), [0.0; LANES]);
        self.near.make_room(self.sources.len());
    }

    /// The candidates within reach of one target with their weights; `left_out` is not among them.
    pub(super) fn near<D: Decay<A>>(
        &mut self,
        decay: D,
        one: &[f64; A],
        limits: &Limits,
        left_out: u32,
    ) -> &mut Neighbours {
        find_decays(decay, one, &self.lanes, &mut self.decays);
        let near = &mut self.near;
        let candidates = self.sources.iter().zip(self.decays.as_flattened()).zip(&self.mass);
        let mut count = 0;
        for ((&source, &decay), &mass) in candidates {
            // Written always, counted only if near: no branch to mispredict.
            near.sources[count] = source;
            near.decays[count] = decay;
            near.mass[count] = mass;
            count += usize::from(decay <= limits.farthest && source != left_out);
        }
        near.count = count;
        let whole = near.count.next_multiple_of(LANES);
        // Spare lanes have no weight.
        near.mass[near.count..whole].fill(0.0);
        near.shift = limits.shift;
        if limits.shift > 0.0 {
            // The tree has high parts of coordinates only: where decays are very large, another source may be much nearer.
            let nearest = near.decays[..near.count].iter().copied().fold(limits.shift, f64::min).floor();
            near.decays[near.count..whole].fill(nearest);
            near.shift = nearest;
        }
        let (decays, mass, out) = (&near.decays[..whole], &near.mass[..whole], &mut near.weights[..whole]);
        arch().dispatch(CandidateWeights { shift: near.shift, decays, mass, out });
        near
    }
}

impl Neighbours {
    /// Makes room for this many, and for spare lanes behind them.
    fn make_room(&mut self, count: usize) {
        let whole = count.next_multiple_of(LANES);
        if self.sources.len() < whole {
            self.sources.resize(whole, 0);
            self.decays.resize(whole, 0.0);
            self.mass.resize(whole, 0.0);
            self.weights.resize(whole, 0.0);
        }
    }

    /// Total weight of the sources, without the kernel.
    pub(super) fn mass(&self) -> f64 {
        sum(&self.mass[..self.count])
    }

    /// A small decay beyond which everything can be dropped while the certificate stays within the tolerance, and the dropped mass.
    pub(super) fn cheapest_cut(&self, limits: &Limits, tolerance: f64, unseen: f64) -> (f64, f64) {
        let whole = self.count.next_multiple_of(LANES);
        let (decays, weights) = (&self.decays[..whole], &self.weights[..whole]);
        let budget = sum(weights) * (tolerance / (1.0 + tolerance) - 2.0 * limits.rounding) - unseen;
        let way = (1.0 - KEPT_FRACTION) * (limits.farthest - limits.nearest);
        arch().dispatch(CheapestCut { farthest: limits.farthest, way, budget, decays, weights })
    }

    /// Appends the sources up to the cut to the block; gives their range. The others are dropped.
    pub(super) fn keep_within(&mut self, cut: f64, block: &mut RowBlock) -> Range<usize> {
        let mut kept = 0;
        for at in 0..self.count {
            let (source, weight) = (self.sources[at], self.weights[at]);
            self.sources[kept] = source;
            self.weights[kept] = weight;
            kept += usize::from(self.decays[at] <= cut && weight > 0.0);
        }
        let start = block.columns.len();
        block.columns.extend_from_slice(&self.sources[..kept]);
        block.weights.extend_from_slice(&self.weights[..kept]);
        start..start + kept
    }
}

/// Weights of whole lanes of neighbours.
struct CandidateWeights<'a> {
    shift: f64,
    decays: &'a [f64],
    mass: &'a [f64],
    out: &'a mut [f64],
}

impl WithSimd for CandidateWeights<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let (decays, mass) = (self.decays.as_chunks::<LANES>().0, self.mass.as_chunks::<LANES>().0);
        for ((decays, mass), weights) in decays.iter().zip(mass).zip(self.out.as_chunks_mut::<LANES>().0) {
            for lane in 0..LANES {
                weights[lane] = mass[lane] * exp2_minus::<S>(decays[lane] - self.shift);
            }
        }
    }
}

/// The cheapest cut by bisection: half of the way is dropped if the budget allows, then half of the rest, and so on.
struct CheapestCut<'a> {
    farthest: f64,
    way: f64,
    budget: f64,
    decays: &'a [f64],
    weights: &'a [f64],
}

impl WithSimd for CheapestCut<'_> {
    type Output = (f64, f64);

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> (f64, f64) {
        let (decays, weights) = (S::as_simd_f64s(self.decays).0, S::as_simd_f64s(self.weights).0);
        let nothing = simd.splat_f64s(0.0);
        let (mut cut, mut dropped) = (self.farthest, 0.0);
        for halving in 1..=HALVINGS {
            let nearer = cut - self.way * 0.5_f64.powi(halving);
            let mut beyond = nothing;
            for (&decays, &weights) in decays.iter().zip(weights) {
                let is_beyond = simd.less_than_f64s(simd.splat_f64s(nearer), decays);
                beyond = simd.add_f64s(beyond, simd.select_f64s(is_beyond, weights, nothing));
            }
            let beyond = simd.reduce_sum_f64s(beyond);
            if beyond <= self.budget {
                (cut, dropped) = (nearer, beyond);
            }
        }
        (cut, dropped)
    }
}
