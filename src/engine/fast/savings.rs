//! What a lattice saves next to direct sums, in multiplications.

use std::collections::HashMap;
use std::ops::Range;

use rayon::prelude::*;

use super::lattice::{BlockGrid, BlockKey, BlockRun, Load, Window, cube};
use crate::scene::Cloud;

/// Multiplications on a lattice that take as long as one direct pair. Measured with AVX2 on 2026-11-16: 0.1 ns for a
/// multiplication, 1.6 ns for a pair, and half as much again for finding the leaves. Between places and nodes of a patch, with AVX-512 on
/// 2026-11-18: 0.06 ns and 1.5 ns.
pub(super) const MULTIPLICATIONS_PER_PAIR: f64 = 24.0;
/// Part of the pairs between neighbouring blocks that a direct sum evaluates. Estimated, not measured.
const PAIRS_IN_REACH: f64 = 0.6;

/// What direct sums over some pairs cost.
pub(super) fn direct_costs(pairs: f64) -> f64 {
    MULTIPLICATIONS_PER_PAIR * pairs
}

/// One in this many sources is sampled to see whether a lattice may be worth it. Chosen, not measured.
const STRIDE: usize = 32;

/// About how many pairs of sources share a block, from a sample of them.
pub(super) fn pairs_in_blocks(block_grid: &BlockGrid, cloud: &Cloud, sources: Range<usize>) -> f64 {
    let keys: Vec<BlockKey> = sources.step_by(STRIDE).map(|source| block_grid.key(cloud, source)).collect();
    // Two in a row mean that there are as many sources at least; one alone may be the only one of its block.
    let crowded = keys.chunk_by(|a, b| a == b).filter(|block| block.len() > 1);
    crowded.map(|block| ((block.len() * STRIDE) as f64).powi(2)).sum()
}

/// Blocks with fewer places than this are ignored: they are the most, and no lattice pays for them. Chosen, not measured.
const NOTABLE: usize = 8;

/// For each block of sources the number of targets in it and its neighbours; zero for blocks that are ignored.
pub(super) fn targets_near(sources: &[BlockRun], targets: &[BlockRun], dimensions: usize) -> Vec<usize> {
    let notable = targets.iter().filter(|run| run.places.len() >= NOTABLE);
    let counts: HashMap<BlockKey, usize> = notable.map(|run| (run.key, run.places.len())).collect();
    sources.par_iter().map(|run| places_around(run, &counts, dimensions)).collect()
}

/// The places in a block and its neighbours; zero for a block that is ignored.
fn places_around(run: &BlockRun, counts: &HashMap<BlockKey, usize>, dimensions: usize) -> usize {
    if run.places.len() < NOTABLE {
        return 0;
    }
    let corner = std::array::from_fn(|k| run.key[k] - i64::from(k >= 3 - dimensions));
    cube(corner, dimensions, 3).filter_map(|key| counts.get(&key)).sum()
}

/// What finding the blocks costs for each source and target, on the lattice or not, in multiplications. Estimated, not measured.
pub(super) const OVERHEAD: f64 = 100.0;

/// What a lattice costs for two columns, in multiplications.
pub(super) struct BlockCosts {
    point: f64,
    block: f64,
}

impl BlockCosts {
    pub(super) fn of(window: &Window, load: Load) -> Self {
        let passes = load.node * window.dimensions as f64 * window.multiplications_in_a_block();
        // Measured at 304k + 304k rows: in space a block of sources makes many more blocks of nodes than in the plane,
        // and its surroundings do not stay in the cache.
        let (slower, blocks) = if window.dimensions == 3 { (1.5, 40.0) } else { (1.0, 2.0) };
        let taps = window.multiplications_at_a_point();
        Self { point: load.point * slower * 2.0 * taps, block: 2.0 * blocks * passes }
    }

    /// What the lattice saves for this many sources in a block with this many targets around.
    pub(super) fn lattice_saves(&self, sources: usize, targets_near: usize) -> f64 {
        let (sources, targets) = (sources as f64, targets_near as f64);
        let direct = MULTIPLICATIONS_PER_PAIR * PAIRS_IN_REACH * sources * targets;
        // Targets read the lattice once for all blocks around them.
        direct - self.point * (sources + targets / 9.0) - self.block
    }
}
