//! Sums over many sources at once: points → nodes, nodes → nodes, nodes → points.

use std::ops::Range;

use rayon::prelude::*;

use super::blocks::{BlockKey, BlockRun, Route, cube};
use super::convolution::Convolution;
use super::steps::{LastBlocks, NodeBlocks};
use super::taps::Taps;
use super::terms::Terms;
use super::window::Window;

/// Points that are added plainly to the nodes of a block before their sum is added to the total, so that rounding errors grow slowly.
/// Chosen, not measured; the bound counts it ([`Window::additions`]).
const BATCH: usize = 512;
/// Points of one block that one task takes; a multiple of [`BATCH`]. Where σ is large there are few blocks with many points each, and with
/// larger shares threads would wait for each other. Chosen, not measured.
const SHARE: usize = 4 * BATCH;
/// Shares of a block whose nodes are in memory together. Chosen, not measured.
const SHARES_AT_ONCE: usize = 64;
/// Least number of blocks of a task. Chosen, not measured.
const BLOCKS_AT_ONCE: usize = 16;

impl Window {
    /// Additions in the longest chain when this many points of a block are added to a node.
    pub(crate) fn additions(&self, points: usize) -> f64 {
        (BATCH + SHARE / BATCH + points / SHARE + self.blocks_touched().pow(self.dimensions as u32)) as f64
    }

    /// Points of a block that cause as many additions as this many parts do.
    pub(crate) fn points_of_parts(&self, parts: usize) -> usize {
        SHARE * parts * self.blocks_touched().pow(self.dimensions as u32)
    }
}

/// Sources of a sheet as windows see them.
pub(crate) trait Spreads: Sync {
    /// Adds some places of a block to the nodes around it: set by set all columns.
    fn spread(&self, taps: &Taps, run: &BlockRun, nodes: &mut [f64]);
}

/// Targets of a sheet as windows see them.
pub(crate) trait Reads: Sync {
    /// Reads the nodes around a block at its places: for each place one value of each column.
    fn read(&self, taps: &Taps, run: &BlockRun, nodes: &[f64], values: &mut [f64]);
}

/// The three steps for one window and one set of terms, whichever blocks there are.
pub(crate) struct Transfer {
    taps: Taps,
    terms: Terms,
}

impl Transfer {
    pub(crate) fn new(window: Window, terms: Terms) -> Self {
        Self { taps: Taps::new(window), terms }
    }

    /// Numbers in a block: set by set all columns.
    pub(crate) fn numbers(&self, columns: usize) -> usize {
        self.terms.sets * columns * self.taps.window.nodes_per_block()
    }

    /// Bytes of nodes before, between and after the passes, for each column.
    pub(crate) fn bytes(&self, route: &Route) -> u64 {
        let blocks: Vec<u64> = route.stages.iter().map(|stage| stage.len() as u64).collect();
        let (sets, last) = (self.terms.sets as u64, blocks.len() - 1);
        let at_once = if self.terms.single().is_some() {
            // Nodes are freed after the pass that read them.
            blocks.windows(2).map(|pair| pair[0] + pair[1]).max().unwrap_or(0)
        } else {
            sets * (blocks[0] + blocks[last]) + blocks[1..].iter().sum::<u64>()
        };
        8 * at_once * self.taps.window.nodes_per_block() as u64
    }

    /// Nodes → nodes: block after block, set by set, all columns.
    pub(crate) fn convolve(&self, route: &Route, spread: Vec<f64>, columns: usize) -> Vec<f64> {
        let (window, sets) = (&self.taps.window, self.terms.sets);
        if let Some(variance) = self.terms.single() {
            return Convolution::new(window, route, columns).once(variance, spread);
        }
        let numbers = columns * window.nodes_per_block();
        let mut total = vec![0.0; route.last().len() * sets * numbers];
        let mut convolution = Convolution::new(window, route, columns);
        for part in &self.terms.parts {
            for (set, weights) in part.weights.chunks_exact(sets).enumerate() {
                let found = convolution.run(part.variance, &spread, sets * numbers, set * columns);
                let blocks = total.par_chunks_exact_mut(sets * numbers).zip(found.par_chunks_exact(numbers));
                blocks.with_min_len(BLOCKS_AT_ONCE).for_each(|(total, found)| {
                    for (total, weight) in total.chunks_exact_mut(numbers).zip(weights) {
                        total.iter_mut().zip(found).for_each(|(total, value)| *total += weight * value);
                    }
                });
            }
        }
        total
    }

    /// Points → nodes, added to the blocks. Blocks whose surroundings overlap take turns in a fixed order, so that bits do not depend on
    /// threads.
    pub(crate) fn spread(&self, runs: &[BlockRun], sources: &impl Spreads, columns: usize, nodes: &NodeBlocks) {
        let (dimensions, blocks) = (self.taps.window.dimensions, self.taps.shape.blocks);
        for turn in cube([0; 3], dimensions, blocks) {
            let now =
                |run: &&BlockRun| (0..3).all(|k| run.key[k].rem_euclid(blocks as i64) == turn[k] || k < 3 - dimensions);
            runs.par_iter().filter(now).for_each(|run| self.spread_block(run, sources, columns, nodes));
        }
    }

    fn spread_block(&self, run: &BlockRun, sources: &impl Spreads, columns: usize, nodes: &NodeBlocks) {
        let of_sets = self.terms.sets * columns;
        let around = self.spread_run(run, sources, of_sets);
        for step in cube([0; 3], self.taps.window.dimensions, self.taps.shape.blocks) {
            let key = std::array::from_fn(|k| run.key[k] + step[k]);
            nodes.change(&key, |block| self.add_to_block(&around, step, block, of_sets));
        }
    }

    /// The sums of a block at the nodes around it; many points are shared among tasks, and the results are added in order.
    fn spread_run(&self, run: &BlockRun, sources: &impl Spreads, columns: usize) -> Vec<f64> {
        let shares: Vec<Range<usize>> = shares(run).collect();
        let mut total = Vec::new();
        for shares in shares.chunks(SHARES_AT_ONCE) {
            let shares = shares.into_par_iter();
            let parts: Vec<Vec<f64>> =
                shares.map(|share| self.spread_share(run.key, share.clone(), sources, columns)).collect();
            for part in parts {
                if total.is_empty() {
                    total = part;
                } else {
                    add_all(&mut total, &part);
                }
            }
        }
        total
    }

    fn spread_share(&self, key: BlockKey, share: Range<usize>, sources: &impl Spreads, columns: usize) -> Vec<f64> {
        let mut total = vec![0.0; columns * self.taps.shape.len()];
        let mut nodes = Vec::new();
        for start in share.clone().step_by(BATCH) {
            let batch = BlockRun { key, places: start..share.end.min(start + BATCH) };
            if start == share.start {
                sources.spread(&self.taps, &batch, &mut total);
                continue;
            }
            nodes.clear();
            nodes.resize(total.len(), 0.0);
            sources.spread(&self.taps, &batch, &mut nodes);
            add_all(&mut total, &nodes);
        }
        total
    }

    fn add_to_block(&self, nodes: &[f64], step: BlockKey, block: &mut [f64], columns: usize) {
        let n = self.taps.window.nodes;
        for column in 0..columns {
            let block = &mut block[column * self.taps.window.nodes_per_block()..];
            let nodes = &nodes[column * self.taps.shape.len()..];
            for (to, from) in self.taps.shape.rows(n, self.taps.window.dimensions, step) {
                block[to..to + n].iter_mut().zip(&nodes[from..from + n]).for_each(|(to, from)| *to += from);
            }
        }
    }

    /// Nodes → points: one value of each column for each place of consecutive runs.
    pub(crate) fn read(&self, runs: &[BlockRun], targets: &impl Reads, columns: usize, nodes: &LastBlocks) -> Vec<f64> {
        let shares: Vec<BlockRun> = runs.iter().flat_map(cut).collect();
        let mut values = vec![0.0; shares.iter().map(|run| run.places.len()).sum::<usize>() * columns];
        let mut rest = values.as_mut_slice();
        let slots: Vec<&mut [f64]> =
            shares.iter().map(|run| rest.split_off_mut(..run.places.len() * columns).unwrap_or_default()).collect();
        // Memory for the nodes around a block is used again and again.
        shares.par_iter().zip(slots).for_each_init(Vec::new, |around, (run, values)| {
            if self.gather(run.key, columns, nodes, around) {
                targets.read(&self.taps, run, around, values);
            }
        });
        values
    }

    /// Copies the nodes around a block from the blocks that exist; whether any does.
    fn gather(&self, key: BlockKey, columns: usize, nodes: &LastBlocks, around: &mut Vec<f64>) -> bool {
        let (n, dimensions) = (self.taps.window.nodes, self.taps.window.dimensions);
        let (numbers, of_sets) = (self.numbers(columns), self.terms.sets * columns);
        around.clear();
        around.resize(of_sets * self.taps.shape.len(), 0.0);
        let mut any = false;
        for step in cube([0; 3], dimensions, self.taps.shape.blocks) {
            let Some(block) = nodes.get(&std::array::from_fn(|k| key[k] + step[k]), numbers) else { continue };
            any = true;
            for column in 0..of_sets {
                let block = &block[column * self.taps.window.nodes_per_block()..];
                let around = &mut around[column * self.taps.shape.len()..];
                for (from, to) in self.taps.shape.rows(n, dimensions, step) {
                    around[to..to + n].copy_from_slice(&block[from..from + n]);
                }
            }
        }
        any
    }
}

/// A block, [`SHARE`] places at a time.
fn cut(run: &BlockRun) -> impl Iterator<Item = BlockRun> + use<> {
    let key = run.key;
    shares(run).map(move |places| BlockRun { key, places })
}

/// The places of a block, [`SHARE`] at a time.
fn shares(run: &BlockRun) -> impl Iterator<Item = Range<usize>> + use<> {
    let end = run.places.end;
    run.places.clone().step_by(SHARE).map(move |start| start..end.min(start + SHARE))
}

fn add_all(total: &mut [f64], part: &[f64]) {
    total.iter_mut().zip(part).for_each(|(total, part)| *total += part);
}
