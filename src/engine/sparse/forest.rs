//! k-d trees over the sources, one for each group, and the rows of the matrix that they give.

use std::num::NonZero;
use std::ops::Range;

use kiddo::{ImmutableKdTree, SquaredEuclidean};
use rayon::prelude::*;

use super::candidates::{Candidates, Neighbours};
use super::limits::{Limits, Truncation};
use crate::engine::bounds::{Bounds, squared_distance};
use crate::engine::decays::find_decays;
use crate::engine::matrix::{CHUNK, RowBlock};
use crate::engine::plan::Sums;
use crate::engine::rounding::{rounding_error, sum};
use crate::kernel::{Decay, LANES, VANISHED};
use crate::scene::{NOWHERE, Own, Scene};
use crate::space::compensated;

/// Most targets in a tile: more would not make the one query of the tree noticeably cheaper. Chosen, not measured.
const TILE: usize = 128;
/// A tile is at most this part of the reach across, so that its targets share most of their candidates. Between 0.25 and 1.2
/// the time hardly changes (304k + 304k rows, σ = 0.001° and 0.003°, 2026-11-16).
const TILE_PER_REACH: f64 = 0.5;
/// Entries that a block of rows has room for at first; unused memory is released when it is done. Without this, arrays are copied as they
/// grow. Chosen, not measured.
const ROOM: usize = 1 << 17;
/// Tiles that are computed to estimate the size of the matrix, and about how many entries in each, beyond those of one row. With whole
/// tiles, the refusal of 1M rows that all touch each other took 42 s and 1.5 GB for a tile (issue 15).
const SAMPLED_TILES: usize = 64;
const SAMPLED_ENTRIES: usize = 100_000;

/// The same entries without unused memory. An array that is mostly empty is copied, so that the next block gets its memory: shrunk in
/// place, the arrays of 150,000 rows kept some 30 MB of huge pages that nobody used (issue 15).
fn trimmed<T: Copy>(mut entries: Vec<T>) -> Vec<T> {
    if entries.len() < entries.capacity() / 2 {
        return entries.as_slice().to_vec();
    }
    entries.shrink_to_fit();
    entries
}

/// Most sources of a group that are searched one by one, so that a million groups of a few rows need no tree each. About one or two
/// leaves of a tree; chosen, not measured.
const SMALL: usize = 64;

/// Neighbouring targets of one group that share a query.
pub(super) struct QueryTile {
    pub(super) targets: Range<usize>,
    group: usize,
}

/// A finished block of rows with the sums that belong to it.
#[derive(Default)]
pub(super) struct MatrixRows {
    pub(super) block: RowBlock,
    pub(super) sums: Sums,
}

/// What all tiles share: the total weight of each group, and a tree for each large one.
pub(super) struct Forest<'a, D, const A: usize, const K: usize> {
    decay: D,
    scene: &'a Scene,
    truncation: Truncation,
    /// By the number of the group, ascending.
    trees: Vec<(usize, ImmutableKdTree<f64, K>)>,
    weights: Vec<f64>,
}

impl<'a, D: Decay<A>, const A: usize, const K: usize> Forest<'a, D, A, K> {
    /// Builds the trees for a scene.
    pub(super) fn plant(decay: D, scene: &'a Scene, truncation: Truncation) -> Self {
        let groups = scene.layout.sources.groups.iter().enumerate();
        let large = groups.filter(|(_, sources)| sources.len() > SMALL);
        let trees = large.map(|(group, sources)| (group, tree_over(scene, sources.clone()))).collect();
        let weights = (0..scene.layout.sources.groups.len()).map(|group| scene.group_mass(group)).collect();
        Self { decay, scene, truncation, trees, weights }
    }

    /// Entries that the matrix would have, from a sample of its tiles.
    pub(super) fn estimate(&self, tiles: &[QueryTile]) -> u64 {
        let targets: usize = tiles.iter().map(|tile| tile.targets.len()).sum();
        let step = tiles.len().div_ceil(SAMPLED_TILES).max(1);
        let sample: Vec<&QueryTile> = tiles.iter().step_by(step).collect();
        let sampled: usize = sample.iter().map(|tile| tile.targets.len()).sum();
        // Collected in a fixed order, so that equal requests have the same estimate.
        let nonzeros: Vec<f64> = sample.par_iter().map(|tile| self.estimate_tile(tile)).collect();
        (nonzeros.iter().sum::<f64>() * targets as f64 / sampled.max(1) as f64).ceil() as u64
    }

    /// Entries in the rows of a tile: of all of them if they are short, else of those in the middle.
    fn estimate_tile(&self, tile: &QueryTile) -> f64 {
        let all = tile.targets.len();
        let in_one = self.entries(tile, 1);
        let count = (SAMPLED_ENTRIES / in_one.max(1)).clamp(1, all);
        let found = if count == 1 { in_one } else { self.entries(tile, count) };
        found as f64 * all as f64 / count as f64
    }

    /// Entries in this many rows in the middle of a tile.
    fn entries(&self, tile: &QueryTile, count: usize) -> usize {
        let start = tile.targets.start + (tile.targets.len() - count) / 2;
        let part = QueryTile { targets: start..start + count, group: tile.group };
        self.rows(std::slice::from_ref(&part)).block.columns.len()
    }

    /// Cuts the targets into runs that share a query.
    pub(super) fn tiles(&self) -> Vec<QueryTile> {
        let mut tiles = Vec::new();
        for (group, targets) in self.scene.layout.targets.groups.iter().enumerate() {
            let typical = match self.truncation {
                Truncation::Tolerance(tolerance) => (self.weights[group].max(1.0) / tolerance).log2(),
                Truncation::Cutoff(sigmas) => decay_at(sigmas),
            };
            let across = TILE_PER_REACH * self.decay.squared_reach(typical).sqrt();
            let mut start = targets.start;
            while start < targets.end {
                let end = self.run_within(start, targets.end, across);
                tiles.push(QueryTile { targets: start..end, group });
                start = end;
            }
        }
        tiles
    }

    /// The rows of some consecutive tiles.
    pub(super) fn rows(&self, tiles: &[QueryTile]) -> MatrixRows {
        let block = RowBlock {
            first: tiles[0].targets.start,
            ends: Vec::new(),
            columns: Vec::with_capacity(ROOM),
            weights: Vec::with_capacity(ROOM),
        };
        let mut rows = MatrixRows { block, ..MatrixRows::default() };
        let (mut candidates, mut limits) = (Candidates::default(), Vec::with_capacity(TILE));
        for tile in tiles {
            limits.clear();
            limits.extend(tile.targets.clone().map(|target| self.limits(target, tile.group)));
            self.find(tile, &limits, &mut candidates);
            self.add_tile(tile, &limits, &mut candidates, &mut rows);
        }
        rows.block.columns = trimmed(rows.block.columns);
        rows.block.weights = trimmed(rows.block.weights);
        rows
    }

    /// The end of the longest run of targets from `start` whose box is at most `across` wide.
    fn run_within(&self, start: usize, end: usize, across: f64) -> usize {
        let first: [f64; K] = self.scene.layout.targets.place(start);
        let (mut low, mut high) = (first, first);
        for place in start + 1..end.min(start + TILE) {
            let next: [f64; K] = self.scene.layout.targets.place(place);
            for k in 0..K {
                low[k] = low[k].min(next[k]);
                high[k] = high[k].max(next[k]);
                if high[k] - low[k] > across {
                    return place;
                }
            }
        }
        end.min(start + TILE)
    }

    fn add_tile(&self, tile: &QueryTile, limits: &[Limits], candidates: &mut Candidates<A>, rows: &mut MatrixRows) {
        let layout = &self.scene.layout;
        for (target, limits) in tile.targets.clone().zip(limits) {
            let left_out = if layout.own == Own::LeftOut { layout.home[target] } else { NOWHERE };
            let near = candidates.near(self.decay, &layout.targets.place(target), limits, left_out);
            self.add_row(limits, self.weights[tile.group], near, rows);
        }
    }

    /// How far one target must look.
    fn limits(&self, target: usize, group: usize) -> Limits {
        let Some((nearest, mass)) = self.nearest(target, group) else { return Limits::NOTHING };
        // D is at least what this source contributes, hence log₂(W/D) at most this.
        let spread = nearest + (self.weights[group] / mass).log2();
        let rounding = rounding_error(CHUNK, spread);
        match self.truncation {
            Truncation::Cutoff(sigmas) => Limits { nearest, farthest: decay_at(sigmas), shift: 0.0, rounding },
            Truncation::Tolerance(tolerance) => {
                // One more than needed, so that sources that are never found use up at most half of the tolerance.
                let farthest = spread - tolerance.log2() + 1.0;
                let shift = if farthest > VANISHED { nearest.floor() } else { 0.0 };
                Limits { nearest, farthest, shift, rounding }
            }
        }
    }

    /// Decay and mass of a source near the target, the nearest one up to rounding.
    fn nearest(&self, target: usize, group: usize) -> Option<(f64, f64)> {
        let home = self.scene.layout.home[target];
        if home != NOWHERE && self.scene.layout.own == Own::Counts {
            return Some((0.0, self.scene.mass[home as usize]));
        }
        let found = self.nearest_but(home, &self.scene.layout.targets.place(target), group)?;
        let one: [f64; A] = self.scene.layout.targets.place(target);
        let many = self.scene.layout.sources.place::<A>(found).map(|coordinate| [coordinate; LANES]);
        let mut decays = [[0.0; LANES]];
        find_decays(self.decay, &one, &[many], &mut decays);
        Some((decays[0][0], self.scene.mass[found]))
    }

    fn tree(&self, group: usize) -> Option<&ImmutableKdTree<f64, K>> {
        self.trees.binary_search_by_key(&group, |(large, _)| *large).ok().map(|at| &self.trees[at].1)
    }

    /// The source nearest to a place up to rounding, without the one at the place itself.
    fn nearest_but(&self, home: u32, place: &[f64; K], group: usize) -> Option<usize> {
        let sources = self.scene.layout.sources.groups[group].clone();
        let Some(tree) = self.tree(group) else {
            let others = sources.filter(|source| *source as u32 != home);
            let others = others.map(|other| (squared_distance(place, &self.scene.layout.sources.place(other)), other));
            return others.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, nearest)| nearest);
        };
        let two = NonZero::<usize>::MIN.saturating_add(1);
        let found = tree.query(place).nearest_n::<SquaredEuclidean<f64>>(two).execute();
        found.iter().map(|neighbour| sources.start + neighbour.item as usize).find(|source| *source as u32 != home)
    }

    /// Finds every source that any target of the tile may need, in ascending order.
    fn find(&self, tile: &QueryTile, limits: &[Limits], candidates: &mut Candidates<A>) {
        let place = |target: usize| -> [f64; K] { self.scene.layout.targets.place(target) };
        let centre = self.centre(tile);
        let radius = tile.targets.clone().zip(limits).map(|(target, limits)| {
            self.decay.squared_reach(limits.farthest).sqrt() + squared_distance(&place(target), &centre).sqrt()
        });
        // A little more, so that rounding inside the tree loses no source.
        let radius = radius.fold(0.0, f64::max) * (1.0 + 1e-12);
        let sources = &self.scene.layout.sources.groups[tile.group];
        let start = sources.start as u32;
        candidates.clear();
        match self.tree(tile.group) {
            None => candidates.sources.extend(start..sources.end as u32),
            Some(tree) => tree
                .query(&centre)
                .within::<SquaredEuclidean<f64>>(radius * radius)
                .unsorted()
                .visit(|neighbour| candidates.sources.push(start + neighbour.item)),
        }
        candidates.sources.sort_unstable();
        candidates.load(self.scene);
    }

    /// The middle of the box around a tile.
    fn centre(&self, tile: &QueryTile) -> [f64; K] {
        let Bounds { low, high } = Bounds::around(&self.scene.layout.targets, K, &tile.targets);
        std::array::from_fn(|k| low[k] + 0.5 * (high[k] - low[k]))
    }

    /// Keeps what the truncation asks for, normalised to a row.
    fn add_row(&self, limits: &Limits, total: f64, near: &mut Neighbours, rows: &mut MatrixRows) {
        // Sources that are not near lie beyond the farthest decay.
        let unseen = (total - near.mass()).max(0.0) * (near.shift - limits.farthest).exp2();
        let (cut, dropped) = match self.truncation {
            Truncation::Cutoff(_) => (limits.farthest, 0.0),
            Truncation::Tolerance(tolerance) => near.cheapest_cut(limits, tolerance, unseen),
        };
        let kept = near.keep_within(cut, &mut rows.block);
        let mass = compensated(rows.block.weights[kept.clone()].chunks(CHUNK).map(sum));
        let share = 1.0 / mass;
        for weight in &mut rows.block.weights[kept] {
            *weight *= share;
        }
        rows.block.ends.push(rows.block.columns.len());
        rows.sums.mass.push(mass);
        rows.sums.exponent.push(-near.shift);
        rows.sums.error.push(dropped + unseen + mass * limits.rounding_of(total / mass, near.shift));
    }
}

fn tree_over<const K: usize>(scene: &Scene, sources: Range<usize>) -> ImmutableKdTree<f64, K> {
    let places: Vec<[f64; K]> = sources.map(|place| scene.layout.sources.place(place)).collect();
    ImmutableKdTree::new_from_slice_parallel(&places).expect("places are distinct and fewer than 2^32")
}

/// The decay of the kernel at this many σ.
fn decay_at(sigmas: f64) -> f64 {
    0.5 * sigmas * sigmas * std::f64::consts::LOG2_E
}
