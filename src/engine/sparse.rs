//! A kiddo k-d tree truncates the kernel into a sparse, row-normalised weight matrix.
//!
//! Neighbouring targets form a tile; one query of the tree finds the candidates of the whole tile, sorted once, and
//! each target takes its own from them. How far the tree must look is known beforehand: a source at decay x
//! carries at most `W·2^−x`, and D is at least what the nearest source gives. What was looked at but is not needed
//! is then dropped, largest decay first, as long as the certificate stays within the tolerance: the cheapest
//! matrix that keeps the promise, and its error is known rather than feared.

use std::num::NonZero;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use kiddo::{ImmutableKdTree, SquaredEuclidean};
use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use super::matrix::{BYTES_PER_NONZERO, CHUNK, Matrix, RowBlock, compensated};
use super::{Engine, Plan, Progress, Sums, rounding_error};
use crate::error::Error;
use crate::kernel::{Decay, LANES, Lanes, VANISHED, WithDecay, exp2_minus, with_decay};
use crate::scene::{NOWHERE, Own, Scene};

/// Where the kernel is cut.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Truncation {
    /// So that no row is wrong by more than this, relative to the range of the values.
    Tolerance(f64),
    /// At this many σ, whatever it costs; the certificate says what it did.
    Cutoff(f64),
}

/// The engine of the sparse matrix.
#[derive(Clone, Copy, Debug)]
pub struct Sparse {
    /// Where the kernel is cut.
    pub truncation: Truncation,
    /// Bytes that the matrix may take; `None` for no limit.
    pub memory_limit: Option<u64>,
}

impl Sparse {
    /// Smallest tolerance that rounding leaves room for, with a margin of ten.
    pub const SMALLEST_TOLERANCE: f64 = 1e-12;

    /// Entries that the matrix of this scene would have, from a sample of its rows.
    #[must_use]
    pub fn estimate_nonzeros(&self, scene: &Scene) -> u64 {
        with_decay(scene.layout.metric, scene.scale, Estimate { scene, truncation: self.truncation })
    }
}

impl Engine for Sparse {
    fn name(&self) -> &'static str {
        "sparse"
    }

    fn plan(&self, scene: Arc<Scene>, progress: &dyn Progress) -> Result<Box<dyn Plan>, Error> {
        let build = Build { scene: &scene, engine: *self, progress };
        let rows = with_decay(scene.layout.metric, scene.scale, build)?;
        Ok(Box::new(SparsePlan::new(scene.clone(), rows)))
    }
}

struct SparsePlan {
    scene: Arc<Scene>,
    matrix: Matrix,
    mass: Vec<f64>,
    error: Vec<f64>,
    exponent: Vec<f64>,
}

impl SparsePlan {
    fn new(scene: Arc<Scene>, rows: Vec<Rows>) -> Self {
        let mut plan =
            Self { scene, matrix: Matrix::default(), mass: Vec::new(), error: Vec::new(), exponent: Vec::new() };
        for rows in rows {
            plan.matrix.blocks.push(rows.block);
            plan.mass.extend(rows.mass);
            plan.error.extend(rows.error);
            plan.exponent.extend(rows.exponent);
        }
        plan
    }
}

impl Plan for SparsePlan {
    fn sums(&self, columns: &[Vec<f64>], _: &dyn Progress) -> Sums {
        let mean = |column: &Vec<f64>| column.iter().zip(&self.scene.mass).map(|(sum, mass)| sum / mass).collect();
        let mut values = self.matrix.apply(&columns.iter().map(mean).collect::<Vec<_>>());
        for column in &mut values {
            column.iter_mut().zip(&self.mass).for_each(|(value, mass)| *value *= mass);
        }
        Sums { mass: self.mass.clone(), values, error: self.error.clone(), exponent: self.exponent.clone() }
    }

    fn matrix(&self) -> Option<&Matrix> {
        Some(&self.matrix)
    }
}

/// Most targets in a tile: more would not make the one query of the tree noticeably cheaper.
const TILE: usize = 128;
/// A tile is at most this part of the reach across, so that its targets share most of their candidates.
const TILE_PER_REACH: f64 = 0.25;
/// Target places that one task turns into a block of rows.
const ROWS_PER_TASK: usize = 2048;
/// Tiles looked at to estimate the size of the matrix.
const SAMPLED_TILES: usize = 64;
/// Candidates below this part of the way to the farthest decay are never dropped.
const KEPT_FRACTION: f64 = 0.4;
const BINS: usize = 64;

/// Neighbouring targets of one group that share a query.
#[derive(Clone)]
struct Tile {
    targets: Range<usize>,
    group: usize,
}

/// A finished block of rows with the sums that belong to it.
#[derive(Default)]
struct Rows {
    block: RowBlock,
    mass: Vec<f64>,
    error: Vec<f64>,
    exponent: Vec<f64>,
}

/// What all tiles share: a tree and the total weight for each group.
struct Forest<'a, D, const A: usize, const K: usize> {
    decay: D,
    scene: &'a Scene,
    truncation: Truncation,
    trees: Vec<ImmutableKdTree<f64, K>>,
    weights: Vec<f64>,
}

struct Estimate<'a> {
    scene: &'a Scene,
    truncation: Truncation,
}

impl WithDecay for Estimate<'_> {
    type Output = u64;

    fn run<D: Decay<A>, const A: usize, const K: usize>(self, decay: D) -> u64 {
        let forest = Forest::<D, A, K>::plant(decay, self.scene, self.truncation);
        forest.estimate(&forest.tiles())
    }
}

struct Build<'a> {
    scene: &'a Scene,
    engine: Sparse,
    progress: &'a dyn Progress,
}

impl WithDecay for Build<'_> {
    type Output = Result<Vec<Rows>, Error>;

    fn run<D: Decay<A>, const A: usize, const K: usize>(self, decay: D) -> Self::Output {
        let forest = Forest::<D, A, K>::plant(decay, self.scene, self.engine.truncation);
        let tiles = forest.tiles();
        let limit = self.engine.memory_limit.unwrap_or(u64::MAX);
        let check = |nonzeros: u64| {
            let need = nonzeros.saturating_mul(BYTES_PER_NONZERO);
            if need > limit { Err(Error::MatrixTooLarge { nonzeros, need, limit }) } else { Ok(()) }
        };
        check(forest.estimate(&tiles))?;
        let tasks = share_out(&tiles);
        self.progress.start(tasks.len() as u64);
        let built = AtomicU64::new(0);
        tasks
            .into_par_iter()
            .map(|task| {
                // The estimate may have been low: what is built counts too.
                check(built.load(Ordering::Relaxed))?;
                let rows = forest.rows(task);
                built.fetch_add(rows.block.columns.len() as u64, Ordering::Relaxed);
                self.progress.advance(1);
                Ok(rows)
            })
            .collect()
    }
}

/// Cuts the tiles into runs of about [`ROWS_PER_TASK`] targets.
fn share_out(tiles: &[Tile]) -> Vec<&[Tile]> {
    let mut tasks = Vec::new();
    let (mut start, mut rows) = (0, 0);
    for (end, tile) in tiles.iter().enumerate() {
        rows += tile.targets.len();
        if rows >= ROWS_PER_TASK {
            tasks.push(&tiles[start..=end]);
            (start, rows) = (end + 1, 0);
        }
    }
    tasks.push(&tiles[start..]);
    tasks.retain(|task| !task.is_empty());
    tasks
}

impl<'a, D: Decay<A>, const A: usize, const K: usize> Forest<'a, D, A, K> {
    fn plant(decay: D, scene: &'a Scene, truncation: Truncation) -> Self {
        let tree = |group: &Range<usize>| {
            let places: Vec<[f64; K]> = group.clone().map(|place| scene.layout.sources.place(place)).collect();
            ImmutableKdTree::new_from_slice_parallel(&places).expect("places are distinct and fewer than 2^32")
        };
        let trees = scene.layout.sources.groups.iter().map(tree).collect();
        let weights = (0..scene.layout.sources.groups.len()).map(|group| scene.group_mass(group)).collect();
        Self { decay, scene, truncation, trees, weights }
    }

    /// Runs of targets close enough together to share a query.
    fn tiles(&self) -> Vec<Tile> {
        let mut tiles = Vec::new();
        for (group, targets) in self.scene.layout.targets.groups.iter().enumerate() {
            let typical = match self.truncation {
                Truncation::Tolerance(tolerance) => (self.weights[group].max(1.0) / tolerance).log2(),
                Truncation::Cutoff(sigmas) => decay_at(sigmas),
            };
            let across = self.decay.squared_reach(typical).sqrt() * TILE_PER_REACH;
            let mut start = targets.start;
            while start < targets.end {
                let end = self.run_within(start, targets.end, across);
                tiles.push(Tile { targets: start..end, group });
                start = end;
            }
        }
        tiles
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

    fn estimate(&self, tiles: &[Tile]) -> u64 {
        let targets: usize = tiles.iter().map(|tile| tile.targets.len()).sum();
        let step = tiles.len().div_ceil(SAMPLED_TILES).max(1);
        let sample: Vec<&Tile> = tiles.iter().step_by(step).collect();
        let sampled: usize = sample.iter().map(|tile| tile.targets.len()).sum();
        let nonzeros: usize =
            sample.par_iter().map(|tile| self.rows(std::slice::from_ref(*tile)).block.columns.len()).sum();
        (nonzeros as f64 * targets as f64 / sampled.max(1) as f64).ceil() as u64
    }

    fn rows(&self, tiles: &[Tile]) -> Rows {
        let mut rows =
            Rows { block: RowBlock { first: tiles[0].targets.start, ..RowBlock::default() }, ..Rows::default() };
        let mut candidates = Candidates::default();
        for tile in tiles {
            self.add_tile(tile, &mut candidates, &mut rows);
        }
        rows.block.columns.shrink_to_fit();
        rows.block.weights.shrink_to_fit();
        rows
    }

    fn add_tile(&self, tile: &Tile, candidates: &mut Candidates<A>, rows: &mut Rows) {
        let limits: Vec<Limits> = tile.targets.clone().map(|target| self.limits(target, tile.group)).collect();
        self.find(tile, &limits, candidates);
        for (target, limits) in tile.targets.clone().zip(&limits) {
            let one = self.scene.layout.targets.place(target);
            Arch::new().dispatch(Weigh { decay: self.decay, one, shift: limits.shift, candidates });
            if self.scene.layout.own == Own::LeftOut {
                candidates.leave_out(self.scene.layout.home[target]);
            }
            self.add_row(limits, self.weights[tile.group], candidates, rows);
        }
    }

    /// How far to look for one target.
    fn limits(&self, target: usize, group: usize) -> Limits {
        match self.truncation {
            Truncation::Cutoff(sigmas) => Limits { nearest: 0.0, farthest: decay_at(sigmas), shift: 0.0 },
            Truncation::Tolerance(tolerance) => {
                let Some((nearest, mass)) = self.nearest(target, group) else { return Limits::NOTHING };
                // One more than needed, so that at most half of the tolerance goes to what is never seen.
                let farthest = nearest + (self.weights[group] / (mass * tolerance)).log2() + 1.0;
                let shift = if farthest > VANISHED { nearest.floor() } else { 0.0 };
                Limits { nearest, farthest, shift }
            }
        }
    }

    /// Decay and mass of a source near the target, the nearest one but for rounding.
    fn nearest(&self, target: usize, group: usize) -> Option<(f64, f64)> {
        let home = self.scene.layout.home[target];
        if home != NOWHERE && self.scene.layout.own == Own::Counts {
            return Some((0.0, self.scene.mass[home as usize]));
        }
        let start = self.scene.layout.sources.groups[group].start;
        let place: [f64; K] = self.scene.layout.targets.place(target);
        let found = self.trees[group]
            .query(&place)
            .nearest_n::<SquaredEuclidean<f64>>(NonZero::<usize>::MIN.saturating_add(1))
            .execute();
        let found =
            found.iter().map(|neighbour| start + neighbour.item as usize).find(|source| *source as u32 != home)?;
        let one: [f64; A] = self.scene.layout.targets.place(target);
        let many = self.scene.layout.sources.place::<A>(found).map(|coordinate| [coordinate; LANES]);
        let decay = Arch::new().dispatch(DecayOf { decay: self.decay, many: &many, one: &one })[0];
        Some((decay, self.scene.mass[found]))
    }

    /// Finds every source that any target of the tile may need, in ascending order.
    fn find(&self, tile: &Tile, limits: &[Limits], candidates: &mut Candidates<A>) {
        let place = |target: usize| -> [f64; K] { self.scene.layout.targets.place(target) };
        let centre = self.centre(tile);
        let radius = tile.targets.clone().zip(limits).map(|(target, limits)| {
            let offset: f64 = place(target).iter().zip(&centre).map(|(x, c)| (x - c) * (x - c)).sum();
            self.decay.squared_reach(limits.farthest).sqrt() + offset.sqrt()
        });
        // A hair more, so that rounding inside the tree loses nobody.
        let radius = radius.fold(0.0, f64::max) * (1.0 + 1e-12);
        let start = self.scene.layout.sources.groups[tile.group].start as u32;
        candidates.clear();
        self.trees[tile.group]
            .query(&centre)
            .within::<SquaredEuclidean<f64>>(radius * radius)
            .unsorted()
            .visit(|neighbour| candidates.sources.push(start + neighbour.item));
        candidates.sources.sort_unstable();
        candidates.load(self.scene);
    }

    /// The middle of the box around a tile.
    fn centre(&self, tile: &Tile) -> [f64; K] {
        std::array::from_fn(|k| {
            let axis = &self.scene.layout.targets.axes[k][tile.targets.clone()];
            let low = axis.iter().copied().fold(f64::INFINITY, f64::min);
            let high = axis.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            low + 0.5 * (high - low)
        })
    }

    /// Keeps what the truncation asks for and normalises it to a row.
    fn add_row(&self, limits: &Limits, total: f64, candidates: &mut Candidates<A>, rows: &mut Rows) {
        // Of what is not a candidate only this is known: it lies beyond the farthest decay.
        let unseen = (total - candidates.total_mass).max(0.0) * (limits.shift - limits.farthest).exp2();
        let (cut, dropped) = match self.truncation {
            Truncation::Cutoff(_) => (limits.farthest, candidates.mass_beyond(limits.farthest)),
            Truncation::Tolerance(tolerance) => candidates.cheapest_cut(limits, total, tolerance, unseen),
        };
        let kept = candidates.keep_within(cut, rows);
        let mass = compensated(rows.block.weights[kept.clone()].chunks(CHUNK).map(|chunk| chunk.iter().sum()));
        for weight in &mut rows.block.weights[kept] {
            *weight /= mass;
        }
        rows.block.ends.push(rows.block.columns.len());
        rows.mass.push(mass);
        rows.exponent.push(-limits.shift);
        let rounding = if mass > 0.0 { mass * rounding_error(CHUNK, total, mass, -limits.shift) } else { 0.0 };
        rows.error.push(dropped + unseen + rounding);
    }
}

/// The decay of the kernel at so many σ.
fn decay_at(sigmas: f64) -> f64 {
    0.5 * sigmas * sigmas * std::f64::consts::LOG2_E
}

/// How far one target looks, in units of decay.
struct Limits {
    nearest: f64,
    farthest: f64,
    /// Subtracted from every decay so that far rows do not underflow; a whole number.
    shift: f64,
}

impl Limits {
    /// For a target whose group has no source.
    const NOTHING: Self = Self { nearest: 0.0, farthest: 0.0, shift: 0.0 };
}

/// The sources near a tile, and their decays and weights for the target at hand. Reused from tile to tile.
#[derive(Default)]
struct Candidates<const A: usize> {
    sources: Vec<u32>,
    mass: Vec<f64>,
    total_mass: f64,
    /// Coordinates in lanes; spare lanes at the end repeat the last place.
    lanes: Vec<AxisLanes<A>>,
    /// Decay of each candidate, without the shift.
    decays: Vec<Lanes>,
    /// Mass times kernel, with the shift.
    weights: Vec<Lanes>,
}

type AxisLanes<const A: usize> = [Lanes; A];

impl<const A: usize> Candidates<A> {
    fn clear(&mut self) {
        self.sources.clear();
        self.mass.clear();
        self.lanes.clear();
    }

    fn load(&mut self, scene: &Scene) {
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

    fn leave_out(&mut self, home: u32) {
        if let Ok(at) = self.sources.binary_search(&home) {
            self.decays.as_flattened_mut()[at] = f64::INFINITY;
            self.weights.as_flattened_mut()[at] = 0.0;
        }
    }

    /// The smallest decay beyond which everything can go while the certificate stays within the tolerance, and the
    /// mass that goes.
    fn cheapest_cut(&self, limits: &Limits, total: f64, tolerance: f64, unseen: f64) -> (f64, f64) {
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

    /// Appends the candidates up to the cut to the rows; gives their range.
    fn keep_within(&self, cut: f64, rows: &mut Rows) -> Range<usize> {
        let (decays, weights) = self.weighed();
        let start = rows.block.columns.len();
        rows.block.columns.resize(start + self.sources.len(), 0);
        rows.block.weights.resize(start + self.sources.len(), 0.0);
        let (columns, kept) = (&mut rows.block.columns[start..], &mut rows.block.weights[start..]);
        let mut count = 0;
        for ((&source, &decay), &weight) in self.sources.iter().zip(decays).zip(weights) {
            // Written always, counted only if kept: no branch to mispredict.
            columns[count] = source;
            kept[count] = weight;
            count += usize::from(decay <= cut && weight > 0.0);
        }
        rows.block.columns.truncate(start + count);
        rows.block.weights.truncate(start + count);
        start..start + count
    }

    fn mass_beyond(&self, cut: f64) -> f64 {
        let (decays, weights) = self.weighed();
        decays.iter().zip(weights).filter(|(decay, _)| **decay > cut).map(|(_, weight)| weight).sum()
    }
}

/// Decays of [`LANES`] places against one.
struct DecayOf<'a, D, const A: usize> {
    decay: D,
    many: &'a [Lanes; A],
    one: &'a [f64; A],
}

impl<D: Decay<A>, const A: usize> WithSimd for DecayOf<'_, D, A> {
    type Output = Lanes;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Lanes {
        self.decay.lanes::<S>(self.many, self.one)
    }
}

/// Decays and weights of all candidates for one target.
struct Weigh<'a, D, const A: usize> {
    decay: D,
    one: [f64; A],
    shift: f64,
    candidates: &'a mut Candidates<A>,
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
