//! Direct sums for tiles of neighbouring targets: quick ones that may leave out too much, and sure ones.

use std::ops::Range;

use super::super::bounds::Bounds;
use super::super::rounding_error;
use super::crowd::Crowd;
use super::tree::Tree;
use crate::kernel::{Decay, LANES};
use crate::scene::{NOWHERE, Own, Scene};

/// Most targets in a tile.
const TILE: usize = 2 * LANES;
/// A tile is at most this part of the reach across, so that its targets share most of their sources.
const TILE_PER_REACH: f64 = 0.5;
/// Part of the tolerance that one box may use up when it is left out. Few boxes come near that, so that their
/// sum almost always stays within the tolerance; the few rows where it does not are summed again.
const SHARE_OF_A_BOX: f64 = 1.0 / 16.0;
/// Sums below 2^−900 are computed relative to the nearest source: nothing of them was lost at 2^−1020.
const LOG_TOO_SMALL: f64 = -900.0;

/// One group as the direct sums see it.
pub(super) struct Direct<'a, D> {
    pub(super) decay: D,
    pub(super) scene: &'a Scene,
    pub(super) tolerance: f64,
    /// Total weight of the sources.
    pub(super) weight: f64,
    /// All sources.
    pub(super) tree: &'a Tree,
    /// Mass first, then the columns of values.
    pub(super) columns: &'a [&'a [f64]],
}

/// The sums of one target: D and N in one array, E, and the whole power of two that they carry.
pub(super) struct TargetSums<'a> {
    pub(super) place: usize,
    pub(super) sums: &'a [f64],
    pub(super) error: f64,
    pub(super) exponent: f64,
}

/// Memory that is reused from tile to tile.
pub(super) struct Bench<const A: usize> {
    crowd: Crowd<A>,
    sums: Vec<f64>,
}

impl<const A: usize> Bench<A> {
    pub(super) fn new(columns: usize) -> Self {
        Self { crowd: Crowd::new(columns), sums: vec![0.0; columns] }
    }
}

impl<D> Direct<'_, D> {
    /// Cuts targets into tiles of neighbours.
    pub(super) fn tiles<'p, const A: usize>(&self, places: &'p [u32]) -> Vec<&'p [u32]>
    where
        D: Decay<A>,
    {
        let typical = (self.weight.max(1.0) / self.tolerance).log2();
        let across = TILE_PER_REACH * self.decay.squared_reach(typical).sqrt();
        let axes = &self.scene.layout.targets.axes[..self.scene.layout.metric.dimensions()];
        let mut tiles = Vec::new();
        let mut rest = places;
        while let Some(&first) = rest.first() {
            let near =
                |place: &&u32| axes.iter().all(|axis| (axis[**place as usize] - axis[first as usize]).abs() <= across);
            let (tile, others) = rest.split_at(rest.iter().take(TILE).take_while(near).count());
            tiles.push(tile);
            rest = others;
        }
        tiles
    }

    fn target<const A: usize>(&self, place: u32) -> [f64; A] {
        self.scene.layout.targets.place(place as usize)
    }

    fn left_out(&self, place: u32) -> u32 {
        match self.scene.layout.own {
            Own::Counts => NOWHERE,
            Own::LeftOut => self.scene.layout.home[place as usize],
        }
    }

    /// Decay to a near source and the logarithm of what it gives, which D cannot be below: the source at home,
    /// or else the nearest. `None` if there is no source at all.
    fn floor<const A: usize>(&self, place: u32) -> Option<(f64, f64)>
    where
        D: Decay<A>,
    {
        let (layout, mass) = (&self.scene.layout, |source: usize| self.scene.mass[source].log2());
        let home = layout.home[place as usize];
        if home != NOWHERE && layout.own == Own::Counts {
            return Some((0.0, mass(home as usize)));
        }
        let (decay, source) =
            self.tree.nearest(self.decay, &layout.sources, &self.target::<A>(place), self.left_out(place))?;
        Some((decay, mass(source) - decay))
    }

    fn bounds(&self, places: &[u32]) -> Bounds {
        let layout = &self.scene.layout;
        Bounds::around(&layout.targets, layout.metric.dimensions(), places.iter().map(|&place| place as usize))
    }

    /// Adds the sources of a tree, boxes which carry little left out, to sums that are already there.
    ///
    /// `known` holds for each target what D is known to be at least, and gets the certificate of the sum; whether that
    /// is good enough is for the caller to see.
    pub(super) fn quick<const A: usize>(
        &self,
        tree: &Tree,
        places: &[u32],
        bench: &mut Bench<A>,
        mut write: impl FnMut(TargetSums),
    ) where
        D: Decay<A>,
    {
        let floors = places.iter().map(|&place| self.floor(place).map_or(f64::INFINITY, |(_, log)| log));
        let little = floors.fold(f64::INFINITY, f64::min) + (self.tolerance * SHARE_OF_A_BOX).log2();
        let mut left_out = 0.0;
        let far = |node: &super::tree::Node, decay: f64| {
            let carries = node.log_mass - decay;
            if carries <= little {
                left_out += power_of_two_above(carries);
            }
            carries <= little
        };
        bench.crowd.clear();
        let push = |places: Range<usize>| bench.crowd.push(&self.scene.layout.sources, self.columns, places);
        tree.walk(self.decay, &self.bounds(places), far, push);
        bench.crowd.close();
        for &place in places {
            bench.crowd.sums(self.decay, &self.target(place), 0.0, self.left_out(place), &mut bench.sums);
            let error = left_out + self.rounding(bench, 0.0);
            write(TargetSums { place: place as usize, sums: &bench.sums, error, exponent: 0.0 });
        }
    }

    /// Sums over all sources that surely keep the tolerance.
    pub(super) fn sure<const A: usize>(&self, places: &[u32], bench: &mut Bench<A>, mut write: impl FnMut(TargetSums))
    where
        D: Decay<A>,
    {
        let floors: Vec<(f64, f64)> =
            places.iter().map(|&place| self.floor(place).unwrap_or((0.0, f64::INFINITY))).collect();
        // One more than needed, so that at most half of the tolerance goes to what is left out.
        let farthest = floors.iter().map(|(_, log)| self.weight.log2() - log - self.tolerance.log2() + 1.0);
        let farthest = farthest.fold(0.0, f64::max);
        bench.crowd.clear();
        let push = |places: Range<usize>| bench.crowd.push(&self.scene.layout.sources, self.columns, places);
        self.tree.walk(self.decay, &self.bounds(places), |_, decay| decay >= farthest, push);
        bench.crowd.close();
        for (&place, (nearest, log)) in places.iter().zip(&floors) {
            let shift = if *log < LOG_TOO_SMALL { nearest.floor() } else { 0.0 };
            bench.crowd.sums(self.decay, &self.target(place), shift, self.left_out(place), &mut bench.sums);
            let error = self.weight * (shift - farthest).exp2() + self.rounding(bench, shift);
            write(TargetSums { place: place as usize, sums: &bench.sums, error, exponent: -shift });
        }
    }

    fn rounding<const A: usize>(&self, bench: &Bench<A>, shift: f64) -> f64 {
        let mass = bench.sums[0];
        if mass > 0.0 {
            mass * rounding_error(bench.crowd.terms(), (self.weight / mass).log2() + shift)
        } else {
            0.0
        }
    }
}

/// A power of two that is at least `2^x`; cheaper than `exp2` and never too small.
fn power_of_two_above(x: f64) -> f64 {
    f64::from_bits(((x.clamp(-1022.0, 1023.0).ceil() + 1023.0) as u64) << 52)
}
