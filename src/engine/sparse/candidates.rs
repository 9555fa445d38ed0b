//! The sources near a tile, weighed for one target at a time, and how many of them the tolerance lets go.

use std::ops::Range;

use pulp::{Simd, WithSimd};

use super::super::matrix::{CHUNK, RowBlock};
use super::super::rounding_error;
use super::forest::Limits;
use crate::kernel::{Decay, LANES, Lanes, exp2_minus};
use crate::scene::Scene;

/// Candidates below this part of the way to the farthest decay are never dropped.
const KEPT_FRACTION: f64 = 0.4;
/// Steps in which the rest can be dropped.
const BINS: usize = 64;

/// The sources near a tile, and their decays and weights for the target at hand. Reused from tile to tile.
#[derive(Default)]
pub(super) struct Candidates<const A: usize> {
    pub(super) sources: Vec<u32>,
    mass: Vec<f64>,
    pub(super) total_mass: f64,
    /// Coordinates in lanes; spare lanes at the end repeat the last place.
    lanes: Vec<AxisLanes<A>>,
    /// Decay of each candidate, without the shift.
    decays: Vec<Lanes>,
    /// Mass times kernel, with the shift.
    weights: Vec<Lanes>,
}

type AxisLanes<const A: usize> = [Lanes; A];

impl<const A: usize> Candidates<A> {
    pub(super) fn clear(&mut self) {
        self.sources.clear();
        self.mass.clear();
        self.lanes.clear();
    }

    pub(super) fn load(&mut self, scene: &Scene) {
        self.mass.extend(self.sources.iter().map(|&source| scene.mass[source as usize]));
        self.total_mass = self.mass.iter().sum();
        self.mass.resize(self.sources.len().next_multiple_of(LANES), 0.0);
        for chunk in self.sources.chunks(LANES) {
            let source = |lane: usize| chunk[lane.min(chunk.len() - 1)] as usize;
            self.lanes
                .push(std::array::from_fn(|k| std::array::from_fn(|lane| scene.layout.sources.axes[k][source(lane)])));
        }
        self.decays.resize(self.lanes.len(), [0.0; LANES]);
        self.weights.resize(self.lanes.len(), [0.0; LANES]);
    }

    /// Decays and weights, one for each candidate.
    fn weighed(&self) -> (&[f64], &[f64]) {
        let count = self.sources.len();
        (&self.decays.as_flattened()[..count], &self.weights.as_flattened()[..count])
    }

    pub(super) fn leave_out(&mut self, home: u32) {
        if let Ok(at) = self.sources.binary_search(&home) {
            self.decays.as_flattened_mut()[at] = f64::INFINITY;
            self.weights.as_flattened_mut()[at] = 0.0;
        }
    }

    /// The smallest decay beyond which everything can go while the certificate stays within the tolerance, and the
    /// mass that goes.
    pub(super) fn cheapest_cut(&self, limits: &Limits, total: f64, tolerance: f64, unseen: f64) -> (f64, f64) {
        let (decays, weights) = self.weighed();
        let all: f64 = weights.iter().sum();
        let rounding = 2.0 * rounding_error(CHUNK, total, all, -limits.shift);
        let budget = all * (tolerance / (1.0 + tolerance) - rounding) - unseen;
        let floor = limits.nearest + KEPT_FRACTION * (limits.farthest - limits.nearest);
        let bins_per_decay = BINS as f64 / (limits.farthest - floor);
        let mut bins = [0.0; BINS + 1];
        for (decay, weight) in decays.iter().zip(weights) {
            if *decay > floor {
                // Beyond the farthest decay lies the last bin, which goes first.
                bins[(((decay - floor) * bins_per_decay) as usize).min(BINS)] += weight;
            }
        }
        let mut dropped = 0.0;
        for bin in (0..=BINS).rev() {
            if dropped + bins[bin] > budget {
                let cut = if bin == BINS { f64::MAX } else { floor + (bin + 1) as f64 / bins_per_decay };
                return (cut, dropped);
            }
            dropped += bins[bin];
        }
        (floor, dropped)
    }

    /// Appends the candidates up to the cut to the block; gives their range.
    pub(super) fn keep_within(&self, cut: f64, block: &mut RowBlock) -> Range<usize> {
        let (decays, weights) = self.weighed();
        let start = block.columns.len();
        block.columns.resize(start + self.sources.len(), 0);
        block.weights.resize(start + self.sources.len(), 0.0);
        let (columns, kept) = (&mut block.columns[start..], &mut block.weights[start..]);
        let mut count = 0;
        for ((&source, &decay), &weight) in self.sources.iter().zip(decays).zip(weights) {
            // Written always, counted only if kept: no branch to mispredict.
            columns[count] = source;
            kept[count] = weight;
            count += usize::from(decay <= cut && weight > 0.0);
        }
        block.columns.truncate(start + count);
        block.weights.truncate(start + count);
        start..start + count
    }

    pub(super) fn mass_beyond(&self, cut: f64) -> f64 {
        let (decays, weights) = self.weighed();
        decays.iter().zip(weights).filter(|(decay, _)| **decay > cut).map(|(_, weight)| weight).sum()
    }
}

/// Decays of [`LANES`] places against one.
pub(super) struct DecayOf<'a, D, const A: usize> {
    pub(super) decay: D,
    pub(super) many: &'a [Lanes; A],
    pub(super) one: &'a [f64; A],
}

impl<D: Decay<A>, const A: usize> WithSimd for DecayOf<'_, D, A> {
    type Output = Lanes;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Lanes {
        self.decay.lanes::<S>(self.many, self.one)
    }
}

/// Decays and weights of all candidates for one target.
pub(super) struct Weigh<'a, D, const A: usize> {
    pub(super) decay: D,
    pub(super) one: [f64; A],
    pub(super) shift: f64,
    pub(super) candidates: &'a mut Candidates<A>,
}

impl<D: Decay<A>, const A: usize> WithSimd for Weigh<'_, D, A> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Candidates { lanes, mass, decays, weights, .. } = self.candidates;
        let chunks = lanes.iter().zip(mass.as_chunks::<LANES>().0);
        for ((many, mass), (decays, weights)) in chunks.zip(decays.iter_mut().zip(weights)) {
            *decays = self.decay.lanes::<S>(many, &self.one);
            for lane in 0..LANES {
                weights[lane] = mass[lane] * exp2_minus::<S>(decays[lane] - self.shift);
            }
        }
    }
}
