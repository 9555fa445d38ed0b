//! All pairs: no approximation beyond rounding. The oracle that every other engine is tested against.
//!
//! Sixteen targets at a time meet blocks of 128 sources. Inside a block sums are plain, across blocks they are
//! compensated, so the rounding error is that of 128 additions however many sources there are. Blocks so
//! far away that their kernel underflows to nothing are passed over, which changes no digit.

use std::ops::Range;
use std::sync::Arc;

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use super::{Engine, Plan, Progress, Sums, rounding_error};
use crate::error::Error;
use crate::kernel::{Decay, LANES, Lanes, VANISHED, WithDecay, exp2_minus, with_decay};
use crate::scene::{Cloud, NOWHERE, Own, Scene};
use crate::space::two_sum;

/// The engine of all pairs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Exact;

impl Engine for Exact {
    fn plan(&self, scene: Arc<Scene>, _: &dyn Progress) -> Result<Box<dyn Plan>, Error> {
        let blocks = cut(&scene.layout.sources, scene.layout.metric.dimensions(), BLOCK);
        let tiles = cut(&scene.layout.targets, scene.layout.metric.dimensions(), LANES);
        Ok(Box::new(ExactPlan { scene, blocks, tiles }))
    }
}

/// Sources in a block: its kernel values for one tile (16 KiB) stay in the first-level cache.
const BLOCK: usize = 128;

/// Sums below 2^−900 are computed again relative to the nearest source: far above the underflow at 2^−1020,
/// so that nothing of a sum that is kept was lost there.
const TOO_SMALL: f64 = 1.183e-271;

struct ExactPlan {
    scene: Arc<Scene>,
    /// Blocks of sources, by group.
    blocks: Vec<Vec<Block>>,
    /// Tiles of targets, by group.
    tiles: Vec<Vec<Block>>,
}

/// A run of neighbouring places and the box around them.
#[derive(Clone)]
struct Block {
    places: Range<usize>,
    low: [f64; 3],
    high: [f64; 3],
}

/// Cuts each group into runs of at most `size` places.
fn cut(cloud: &Cloud, dimensions: usize, size: usize) -> Vec<Vec<Block>> {
    let block = |places: Range<usize>| {
        let (mut low, mut high) = ([0.0; 3], [0.0; 3]);
        for k in 0..dimensions {
            let axis = &cloud.axes[k][places.clone()];
            low[k] = axis.iter().copied().fold(f64::INFINITY, f64::min);
            high[k] = axis.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        }
        Block { places, low, high }
    };
    let run = |group: &Range<usize>| -> Vec<Block> {
        group.clone().step_by(size).map(|start| block(start..group.end.min(start + size))).collect()
    };
    cloud.groups.iter().map(run).collect()
}

impl Block {
    fn squared_distance(&self, other: &Self) -> f64 {
        let gap = |k: usize| (self.low[k] - other.high[k]).max(other.low[k] - self.high[k]).max(0.0);
        (0..3).map(|k| gap(k) * gap(k)).sum()
    }
}

impl Plan for ExactPlan {
    fn sums(&self, columns: &[Vec<f64>], progress: &dyn Progress) -> Sums {
        with_decay(self.scene.layout.metric, self.scene.scale, AllTiles { plan: self, columns, progress })
    }
}

struct AllTiles<'a> {
    plan: &'a ExactPlan,
    columns: &'a [Vec<f64>],
    progress: &'a dyn Progress,
}

impl WithDecay for AllTiles<'_> {
    type Output = Sums;

    fn run<D: Decay<A>, const A: usize, const K: usize>(self, decay: D) -> Sums {
        let scene = &self.plan.scene;
        let all: Vec<&[f64]> = std::iter::once(&scene.mass).chain(self.columns).map(Vec::as_slice).collect();
        let tiles: Vec<(usize, &Block)> = self
            .plan
            .tiles
            .iter()
            .enumerate()
            .flat_map(|(group, tiles)| tiles.iter().map(move |tile| (group, tile)))
            .collect();
        self.progress.start(tiles.len() as u64);
        let results: Vec<TileResult> = tiles
            .par_iter()
            .map(|(group, tile)| {
                let blocks = &self.plan.blocks[*group];
                let mut work = Tile::<D, A>::new(decay, scene, tile, blocks, &all);
                let result = work.sum();
                self.progress.advance(1);
                result
            })
            .collect();
        let weights: Vec<f64> = (0..scene.layout.sources.groups.len()).map(|group| scene.group_mass(group)).collect();
        assemble(scene, &tiles, &weights, &results, self.columns.len())
    }
}

/// The sums of one tile: mass first, then the columns; and the shift of each lane.
struct TileResult {
    sums: Vec<Lanes>,
    shift: Lanes,
}

fn assemble(scene: &Scene, tiles: &[(usize, &Block)], weights: &[f64], results: &[TileResult], columns: usize) -> Sums {
    let places = scene.layout.targets.len();
    let mut sums = Sums {
        mass: vec![0.0; places],
        values: vec![vec![0.0; places]; columns],
        error: vec![0.0; places],
        exponent: vec![0.0; places],
    };
    for ((group, tile), result) in tiles.iter().zip(results) {
        for (lane, place) in tile.places.clone().enumerate() {
            let mass = result.sums[0][lane];
            let exponent = -result.shift[lane];
            sums.mass[place] = mass;
            sums.exponent[place] = exponent;
            if mass > 0.0 {
                sums.error[place] = mass * rounding_error(BLOCK, (weights[*group] / mass).log2() - exponent);
            }
            for (column, values) in sums.values.iter_mut().enumerate() {
                values[place] = result.sums[column + 1][lane];
            }
        }
    }
    sums
}

/// Sixteen targets and all that they need.
struct Tile<'a, D, const A: usize> {
    decay: D,
    sources: &'a Cloud,
    around: &'a Block,
    blocks: &'a [Block],
    columns: &'a [&'a [f64]],
    targets: [Lanes; A],
    /// The source that each lane must leave out, or [`NOWHERE`].
    left_out: [u32; LANES],
    /// Subtracted from every decay of a lane, so that far rows do not underflow; whole numbers.
    shift: Lanes,
}

impl<'a, D: Decay<A>, const A: usize> Tile<'a, D, A> {
    fn new(decay: D, scene: &'a Scene, around: &'a Block, blocks: &'a [Block], columns: &'a [&'a [f64]]) -> Self {
        // Spare lanes of a last, short tile repeat its last place.
        let place = |lane: usize| (around.places.start + lane).min(around.places.end - 1);
        let targets = std::array::from_fn(|k| std::array::from_fn(|lane| scene.layout.targets.axes[k][place(lane)]));
        let left_out = match scene.layout.own {
            Own::Counts => [NOWHERE; LANES],
            Own::LeftOut => std::array::from_fn(|lane| scene.layout.home[place(lane)]),
        };
        Self { decay, sources: &scene.layout.sources, around, blocks, columns, targets, left_out, shift: [0.0; LANES] }
    }

    fn sum(&mut self) -> TileResult {
        let mut sums = Arch::new().dispatch(Pass(self));
        if sums[0].iter().any(|&mass| mass < TOO_SMALL) {
            let nearest = Arch::new().dispatch(Nearest(self));
            for lane in 0..LANES {
                // Still infinite where there is no source at all: the sum stays zero.
                if sums[0][lane] < TOO_SMALL && nearest[lane].is_finite() {
                    self.shift[lane] = nearest[lane].floor();
                }
            }
            sums = Arch::new().dispatch(Pass(self));
        }
        TileResult { sums, shift: self.shift }
    }

    /// Blocks whose kernel has not vanished for every lane.
    fn blocks_in_reach(&self) -> impl Iterator<Item = &'a Block> + use<'a, '_, D, A> {
        let reach = VANISHED + self.shift.iter().copied().fold(0.0, f64::max);
        self.blocks.iter().filter(move |block| self.decay.least(self.around.squared_distance(block)) <= reach)
    }

    /// The place that a lane leaves out, as a position in the block.
    fn left_out_of(&self, block: &Block) -> impl Iterator<Item = (usize, usize)> + use<'_, D, A> {
        let places = block.places.clone();
        self.left_out.iter().enumerate().filter_map(move |(lane, &place)| {
            let place = place as usize;
            places.contains(&place).then(|| (lane, place - places.start))
        })
    }
}

/// One pass over the blocks in reach: all sums.
struct Pass<'t, 'a, D, const A: usize>(&'t Tile<'a, D, A>);

impl<D: Decay<A>, const A: usize> WithSimd for Pass<'_, '_, D, A> {
    type Output = Vec<Lanes>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Vec<Lanes> {
        let tile = self.0;
        let mut totals = vec![[0.0; LANES]; tile.columns.len()];
        let mut lost = vec![[0.0; LANES]; tile.columns.len()];
        let mut kernel = [[0.0; LANES]; BLOCK];
        for block in tile.blocks_in_reach() {
            let places = block.places.clone();
            for (row, place) in kernel.iter_mut().zip(places.clone()) {
                let decay = tile.decay.lanes::<S>(&tile.targets, &tile.sources.place(place));
                for lane in 0..LANES {
                    row[lane] = exp2_minus::<S>(decay[lane] - tile.shift[lane]);
                }
            }
            for (lane, row) in tile.left_out_of(block) {
                kernel[row][lane] = 0.0;
            }
            for (column, (total, lost)) in tile.columns.iter().zip(totals.iter_mut().zip(&mut lost)) {
                let partial = weigh::<S>(&kernel, &column[places.clone()]);
                for lane in 0..LANES {
                    let sum = two_sum(total[lane], partial[lane]);
                    total[lane] = sum.hi;
                    lost[lane] += sum.lo;
                }
            }
        }
        for (total, lost) in totals.iter_mut().zip(lost) {
            for lane in 0..LANES {
                total[lane] += lost[lane];
            }
        }
        totals
    }
}

/// `Σ K x` over one block.
#[inline(always)]
fn weigh<S: Simd>(kernel: &[Lanes; BLOCK], column: &[f64]) -> Lanes {
    let mut sum = [0.0; LANES];
    for (row, &x) in kernel.iter().zip(column) {
        for lane in 0..LANES {
            sum[lane] = if S::IS_SCALAR { row[lane] * x + sum[lane] } else { row[lane].mul_add(x, sum[lane]) };
        }
    }
    sum
}

/// The decay to the nearest source of each lane, infinite if there is none.
struct Nearest<'t, 'a, D, const A: usize>(&'t Tile<'a, D, A>);

impl<D: Decay<A>, const A: usize> WithSimd for Nearest<'_, '_, D, A> {
    type Output = Lanes;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Lanes {
        let tile = self.0;
        let mut nearest = [f64::INFINITY; LANES];
        for block in tile.blocks {
            for place in block.places.clone() {
                let decay = tile.decay.lanes::<S>(&tile.targets, &tile.sources.place(place));
                for lane in 0..LANES {
                    let here = if tile.left_out[lane] as usize == place { f64::INFINITY } else { decay[lane] };
                    nearest[lane] = nearest[lane].min(here);
                }
            }
        }
        nearest
    }
}
