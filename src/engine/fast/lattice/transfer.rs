//! Sums over many sources at once: points → nodes, nodes → nodes, nodes → points.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Mutex;

use rayon::prelude::*;

use super::blocks::{BlockKey, BlockRun, Route, cube, positions, readers};
use super::convolution::Convolution;
use super::taps::Taps;
use super::terms::Terms;
use super::window::Window;

/// Points added to the nodes of a block before their sum goes to the total, so that roundings do not pile up.
const BATCH: usize = 512;
/// Points of one block that one task takes; a multiple of [`BATCH`]. Where σ is large there are few blocks with many points each:
/// with larger shares a thread would wait for the other.
const SHARE: usize = 4 * BATCH;
/// Shares of a block whose nodes are in memory together.
const SHARES_AT_ONCE: usize = 64;
/// Blocks that a task takes at least.
const BLOCKS_AT_ONCE: usize = 16;

impl Window {
    /// Additions in the longest chain when so many points of a block come together at a node.
    pub(crate) fn additions(&self, points: usize) -> f64 {
        (BATCH + SHARE / BATCH + points / SHARE + self.blocks_touched().pow(self.dimensions as u32)) as f64
    }

    /// Points of a block that make as many additions as coming in so many parts does.
    pub(crate) fn points_of_parts(&self, parts: usize) -> usize {
        SHARE * parts * self.blocks_touched().pow(self.dimensions as u32)
    }
}

/// The sums of one block of targets: for each target the mass and the columns.
pub(crate) struct BlockSums {
    pub(crate) places: Range<usize>,
    pub(crate) values: Vec<f64>,
}

/// Sources as a lattice takes them.
pub(crate) trait Spreads: Sync {
    /// Adds some places of a block to the nodes around it: set by set all columns.
    fn spread(&self, taps: &Taps, run: &BlockRun, nodes: &mut [f64]);
}

/// Targets as a lattice serves them.
pub(crate) trait Reads: Sync {
    /// Reads the nodes around a block at its places: for each place one value of each column.
    fn read(&self, taps: &Taps, run: &BlockRun, nodes: &[f64], values: &mut [f64]);
}

/// What it takes to go from points to nodes, from nodes to nodes and back to points, whichever blocks there are.
pub(crate) struct Transfer {
    taps: Taps,
    terms: Terms,
}

/// Sources on a lattice and targets that read it.
pub(crate) struct Grid {
    transfer: Transfer,
    sources: Vec<BlockRun>,
    targets: Vec<BlockRun>,
    route: Route,
}

impl Grid {
    pub(crate) fn new(window: Window, terms: Terms, sources: Vec<BlockRun>, targets: Vec<BlockRun>) -> Self {
        let keys = |runs: &[BlockRun]| {
            let mut keys: Vec<BlockKey> = runs.iter().map(|run| run.key).collect();
            keys.par_sort_unstable();
            keys
        };
        let near = readers(&window, &keys(&sources));
        let targets: Vec<BlockRun> = targets
            .into_par_iter()
            .filter(|run| near.binary_search(&run.key).is_ok())
            .flat_map_iter(|run| cut(&run))
            .collect();
        let route = Route::new(&window, &keys(&sources), &keys(&targets));
        Self { transfer: Transfer::new(window, terms), sources, targets, route }
    }

    /// Bytes that sums take for each column: nodes before, between and after the passes, and the sums of the targets.
    pub(crate) fn bytes(&self) -> u64 {
        let targets = self.targets.iter().map(|run| run.places.len() as u64).sum::<u64>();
        self.transfer.bytes(&self.route) + 8 * targets
    }

    /// The sums at the targets, block by block.
    pub(crate) fn sums(&self, sources: &impl Spreads, targets: &impl Reads, columns: usize) -> Vec<BlockSums> {
        let (at, numbers) = (positions(&self.route.stages[0]), self.transfer.numbers(columns));
        let mut spread = vec![0.0; at.len() * numbers];
        let blocks: Vec<Mutex<&mut [f64]>> = spread.chunks_exact_mut(numbers).map(Mutex::new).collect();
        self.transfer.spread(&self.sources, sources, columns, &at, &blocks);
        drop(blocks);
        let nodes = self.transfer.convolve(&self.route, spread, columns);
        self.transfer.read(&self.targets, targets, columns, &positions(self.route.last()), &nodes)
    }
}

impl Transfer {
    pub(crate) fn new(window: Window, terms: Terms) -> Self {
        Self { taps: Taps::new(window), terms }
    }

    pub(crate) fn window(&self) -> &Window {
        &self.taps.window
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

    /// Blocks whose nodes the points of a block touch.
    pub(crate) fn touched(&self, key: BlockKey) -> impl Iterator<Item = BlockKey> {
        cube(key, self.taps.window.dimensions, self.taps.shape.blocks)
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

    /// Points → nodes, added to the blocks, of which it is told where each is. Blocks whose surroundings overlap take turns, always in the
    /// same order.
    pub(crate) fn spread(
        &self,
        runs: &[BlockRun],
        sources: &impl Spreads,
        columns: usize,
        at: &HashMap<BlockKey, usize>,
        blocks: &[Mutex<&mut [f64]>],
    ) {
        let of_sets = self.terms.sets * columns;
        let dimensions = self.taps.window.dimensions;
        for turn in cube([0; 3], dimensions, self.taps.shape.blocks) {
            let now = |run: &&BlockRun| {
                (0..3).all(|k| run.key[k].rem_euclid(self.taps.shape.blocks as i64) == turn[k] || k < 3 - dimensions)
            };
            runs.par_iter().filter(now).for_each(|run| {
                let nodes = self.spread_run(run, sources, of_sets);
                for step in cube([0; 3], dimensions, self.taps.shape.blocks) {
                    let key = std::array::from_fn(|k| run.key[k] + step[k]);
                    if let Some(&at) = at.get(&key) {
                        let mut block = blocks[at].lock().expect("no task panics");
                        self.add_to_block(&nodes, step, &mut block, of_sets);
                    }
                }
            });
        }
    }

    /// The nodes around one block; many points are shared out, and their parts added in order.
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

    /// Nodes → points, block by block, from blocks of which it is told where each is.
    pub(crate) fn read(
        &self,
        runs: &[BlockRun],
        targets: &impl Reads,
        columns: usize,
        at: &HashMap<BlockKey, usize>,
        nodes: &[f64],
    ) -> Vec<BlockSums> {
        let numbers = self.numbers(columns);
        let block = |key: &BlockKey| at.get(key).map(|at| &nodes[at * numbers..(at + 1) * numbers]);
        // Memory for the nodes around a block is used again and again.
        let read = |memory: &mut Vec<f64>, run: &BlockRun| self.read_run(run, targets, block, columns, memory);
        runs.par_iter().map_init(Vec::new, read).collect()
    }

    fn read_run<'a>(
        &self,
        run: &BlockRun,
        targets: &impl Reads,
        block: impl Fn(&BlockKey) -> Option<&'a [f64]>,
        columns: usize,
        nodes: &mut Vec<f64>,
    ) -> BlockSums {
        let (n, dimensions) = (self.taps.window.nodes, self.taps.window.dimensions);
        let of_sets = self.terms.sets * columns;
        nodes.clear();
        nodes.resize(of_sets * self.taps.shape.len(), 0.0);
        let mut any = false;
        for step in cube([0; 3], dimensions, self.taps.shape.blocks) {
            let Some(block) = block(&std::array::from_fn(|k| run.key[k] + step[k])) else { continue };
            any = true;
            for column in 0..of_sets {
                let block = &block[column * self.taps.window.nodes_per_block()..];
                let nodes = &mut nodes[column * self.taps.shape.len()..];
                for (from, to) in self.taps.shape.rows(n, dimensions, step) {
                    nodes[to..to + n].copy_from_slice(&block[from..from + n]);
                }
            }
        }
        let mut values = vec![0.0; run.places.len() * columns];
        if any {
            targets.read(&self.taps, run, nodes, &mut values);
        }
        BlockSums { places: run.places.clone(), values }
    }
}

/// A block, [`SHARE`] places at a time.
pub(crate) fn cut(run: &BlockRun) -> impl Iterator<Item = BlockRun> + use<> {
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
