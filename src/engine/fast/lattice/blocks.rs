//! Blocks of lattice nodes: which block a place is in and where in it, and which blocks are needed between sources and targets.

use std::collections::HashMap;
use std::ops::{Range, RangeInclusive};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::window::Window;
use crate::engine::pieces::pieces;
use crate::scene::{Cloud, Curve, NOWHERE};

/// A block by its number along each axis; unused axes come first and are zero.
pub(crate) type BlockKey = [i64; 3];

/// Consecutive places in one block.
#[derive(Clone, Debug)]
pub(crate) struct BlockRun {
    pub(crate) key: BlockKey,
    pub(crate) places: Range<usize>,
}

/// Places that one task cuts into runs. Chosen, not measured.
const PIECE: usize = 1 << 14;

/// Blocks of one side along a curve.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct BlockGrid {
    pub(crate) curve: Curve,
    pub(crate) dimensions: usize,
    /// Side of a block in the unit of the axes: a power of two times the side of the smallest cubes.
    pub(crate) side: f64,
}

impl BlockGrid {
    /// The block of a place.
    #[inline]
    pub(crate) fn key(&self, cloud: &Cloud, place: usize) -> BlockKey {
        let mut key = [0; 3];
        for k in 0..self.dimensions {
            key[3 - self.dimensions + k] = self.curve.cube(k, cloud.axes[k][place], self.side) as i64;
        }
        key
    }

    /// Cuts sorted places into those of each block.
    pub(crate) fn runs(&self, cloud: &Cloud, places: Range<usize>) -> Vec<BlockRun> {
        let pieces: Vec<Range<usize>> = pieces(&places, PIECE).collect();
        let runs: Vec<Vec<BlockRun>> = pieces.into_par_iter().map(|piece| self.runs_of_piece(cloud, piece)).collect();
        let mut joined: Vec<BlockRun> = Vec::with_capacity(runs.iter().map(Vec::len).sum());
        for run in runs.into_iter().flatten() {
            match joined.last_mut() {
                Some(last) if last.key == run.key => last.places.end = run.places.end,
                _ => joined.push(run),
            }
        }
        joined
    }

    fn runs_of_piece(&self, cloud: &Cloud, piece: Range<usize>) -> Vec<BlockRun> {
        let mut runs = Vec::new();
        let mut open = BlockRun { key: self.key(cloud, piece.start), places: piece.start..piece.start };
        for place in piece.clone() {
            let key = self.key(cloud, place);
            if key != open.key {
                runs.push(open);
                open = BlockRun { key, places: place..place };
            }
            open.places.end = place + 1;
        }
        runs.push(open);
        runs
    }
}

/// The steps from the nodes that sources touch to those that targets read.
pub(crate) struct Route {
    /// Blocks before the first pass, after it, and so on; each ascends.
    pub(crate) stages: Vec<Vec<BlockKey>>,
    /// For each pass and each block after it, where the blocks before the pass are that reach it, or [`NOWHERE`].
    pub(super) links: Vec<Vec<u32>>,
}

impl Route {
    /// From the blocks of sources to those of targets; both ascend.
    pub(crate) fn new(window: &Window, sources: &[BlockKey], targets: &[BlockKey]) -> Self {
        let axes = 3 - window.dimensions..3;
        let (touched, reach) = (window.blocks_touched() as i64 - 1, window.blocks_reached() as i64);
        // Before each pass, the blocks from which those that are read can still be reached.
        let mut leading = vec![widen_all(targets, window.dimensions, &(0..=touched))];
        for axis in axes.clone().rev() {
            leading.push(widen(&leading[leading.len() - 1], axis, -reach..=reach));
        }
        let mut stages =
            vec![common(&widen_all(sources, window.dimensions, &(0..=touched)), &leading[window.dimensions])];
        for (pass, axis) in axes.enumerate() {
            let reached = widen(&stages[pass], axis, -reach..=reach);
            stages.push(common(&reached, &leading[window.dimensions - 1 - pass]));
        }
        let passes = stages.windows(2).zip(3 - window.dimensions..3);
        let links = passes.map(|(pass, axis)| links(&pass[0], &pass[1], axis, reach)).collect();
        Self { stages, links }
    }

    /// In one step, without passes along axes.
    pub(crate) fn at_once(sources: &[BlockKey], targets: &[BlockKey]) -> Self {
        Self { stages: vec![sources.to_vec(), targets.to_vec()], links: Vec::new() }
    }

    /// Number of blocks after each pass, added up.
    pub(crate) fn passed(&self) -> f64 {
        self.stages[1..].iter().map(|stage| stage.len() as f64).sum()
    }

    /// Blocks after all passes.
    pub(crate) fn last(&self) -> &[BlockKey] {
        self.stages.last().map_or(&[], Vec::as_slice)
    }
}

/// Where each block is in a list.
pub(crate) fn positions(keys: &[BlockKey]) -> HashMap<BlockKey, usize> {
    keys.iter().enumerate().map(|(at, key)| (*key, at)).collect()
}

/// Blocks whose points may read what sources in these blocks spread.
pub(crate) fn readers(window: &Window, sources: &[BlockKey]) -> Vec<BlockKey> {
    let steps = (window.blocks_touched() - 1 + window.blocks_reached()) as i64;
    widen_all(sources, window.dimensions, &(-steps..=steps))
}

/// For each block after a pass where the blocks before it are that reach it along the axis, or [`NOWHERE`].
fn links(before: &[BlockKey], after: &[BlockKey], axis: usize, reach: i64) -> Vec<u32> {
    let at = positions(before);
    let reaching = after.iter().flat_map(|key| line(*key, axis, -reach..=reach));
    reaching.map(|key| at.get(&key).map_or(NOWHERE, |at| *at as u32)).collect()
}

/// All blocks that are some steps along each axis from those given.
fn widen_all(keys: &[BlockKey], dimensions: usize, steps: &RangeInclusive<i64>) -> Vec<BlockKey> {
    (3 - dimensions..3).fold(keys.to_vec(), |keys, axis| widen(&keys, axis, steps.clone()))
}

/// All blocks that are some steps along one axis from those given.
fn widen(keys: &[BlockKey], axis: usize, steps: RangeInclusive<i64>) -> Vec<BlockKey> {
    ascending(keys.iter().flat_map(|key| line(*key, axis, steps.clone())).collect())
}

/// The keys that two ascending lists have in common.
fn common(a: &[BlockKey], b: &[BlockKey]) -> Vec<BlockKey> {
    let (mut rest, mut common) = (b.iter().peekable(), Vec::new());
    for key in a {
        while rest.next_if(|other| *other < key).is_some() {}
        if rest.peek() == Some(&key) {
            common.push(*key);
        }
    }
    common
}

/// The blocks some steps from a block along an axis.
fn line(key: BlockKey, axis: usize, steps: RangeInclusive<i64>) -> impl Iterator<Item = BlockKey> {
    steps.map(move |step| {
        let mut other = key;
        other[axis] += step;
        other
    })
}

/// The blocks of a cube from its lowest corner on, `side` along each axis.
pub(crate) fn cube(corner: BlockKey, dimensions: usize, side: usize) -> impl Iterator<Item = BlockKey> {
    let extent: [i64; 3] = std::array::from_fn(|axis| if axis < 3 - dimensions { 1 } else { side as i64 });
    (0..extent[0]).flat_map(move |a| {
        (0..extent[1]).flat_map(move |b| (0..extent[2]).map(move |c| [corner[0] + a, corner[1] + b, corner[2] + c]))
    })
}

/// Keys in order, each once.
pub(crate) fn ascending(mut keys: Vec<BlockKey>) -> Vec<BlockKey> {
    keys.par_sort_unstable();
    keys.dedup();
    keys
}
