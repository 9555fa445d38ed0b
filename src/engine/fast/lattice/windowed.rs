//! Lattices that spread by Gaussian windows: the three steps of the plane and of the charts of the sphere.

use rayon::prelude::*;

use super::blocks::{BlockKey, BlockRun, Route, cube, readers};
use super::convolution::{Terms, bytes_of_nodes, convolve};
use super::counted::{CountedRows, LatticeCost};
use super::steps::{LaidPlaces, LastBlocks, Lattice, NodeBlocks, Points, Sheets};
use super::taps::Taps;
use super::window::{Load, Window};
use crate::engine::pieces::{pieces, slots};

/// Points that are added plainly to the nodes of a block before their sum is added to the total, so that rounding errors grow slowly.
/// Chosen, not measured; the bound counts it ([`Window::additions`]).
const BATCH: usize = 512;
/// Points of one block that one task takes; a multiple of [`BATCH`]. Where σ is large there are few blocks with many points each, and with
/// larger shares threads would wait for each other. Chosen, not measured.
const SHARE: usize = 4 * BATCH;
/// Shares of a block whose nodes are in memory together. Chosen, not measured.
const SHARES_AT_ONCE: usize = 64;

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

/// What the plane and the charts of the sphere differ in, besides where places are.
pub(crate) trait Windowed: Sheets {
    fn window(&self) -> &Window;

    fn terms(&self) -> &Terms;

    /// Adds some places of a block to the nodes around it: set by set all columns.
    fn spread_run(&self, taps: &Taps, sources: &Points, run: &BlockRun, nodes: &mut [f64]);

    /// Reads the nodes around a block at its places: for each place one value of each column.
    fn read_run(&self, taps: &Taps, targets: &Points, run: &BlockRun, nodes: &[f64], values: &mut [f64]);

    /// The blocks of sources and of targets on each sheet, ascending; `None` if they are too many to list.
    fn blocks(&self, counted: &CountedRows) -> Option<Vec<(Vec<BlockKey>, Vec<BlockKey>)>>;
}

impl<L: Windowed> Lattice for L {
    fn route(&self, sources: &[BlockKey], targets: &[BlockKey]) -> Route {
        let near = readers(self.window(), sources);
        let is_near = |key: &&BlockKey| near.binary_search(key).is_ok();
        let targets: Vec<BlockKey> = targets.iter().filter(is_near).copied().collect();
        Route::new(self.window(), sources, &targets)
    }

    fn window_and_load(&self) -> Option<(Window, Load)> {
        Some((*self.window(), self.terms().load()))
    }

    fn touched(&self, key: BlockKey) -> Vec<BlockKey> {
        cube(key, self.window().dimensions, self.window().blocks_touched()).collect()
    }

    /// Set by set all columns.
    fn numbers(&self, columns: usize) -> usize {
        self.terms().sets * columns * self.window().nodes_per_block()
    }

    fn spread(&self, sources: &Points, nodes: &NodeBlocks) {
        Transfer::new(self, sources).spread(nodes);
    }

    fn convolve(&self, route: &Route, nodes: Vec<f64>, columns: usize) -> Vec<f64> {
        convolve(self.window(), self.terms(), route, nodes, columns)
    }

    fn read(&self, targets: &Points, nodes: &LastBlocks) -> Vec<f64> {
        Transfer::new(self, targets).read(nodes)
    }

    fn bytes(&self, _: &LaidPlaces, route: &Route) -> u64 {
        bytes_of_nodes(self.window(), self.terms(), route)
    }

    fn cost(&self, counted: &CountedRows, limit: u64) -> Option<LatticeCost> {
        let sheets = self.blocks(counted)?;
        // Where the blocks of sources alone are too many, the blocks that they reach are not listed.
        let least: u64 = sheets.iter().map(|(sources, _)| (8 * sources.len() * self.numbers(1)) as u64).sum();
        if least > limit {
            return None;
        }
        let routes: Vec<Route> = sheets.iter().map(|(sources, targets)| self.route(sources, targets)).collect();
        let (window, Load { point, node }) = (self.window(), self.terms().load());
        Some(LatticeCost {
            bytes: routes.iter().map(|route| bytes_of_nodes(window, self.terms(), route)).sum(),
            row: point * window.multiplications_at_a_point(),
            nodes: node * window.multiplications_in_a_block() * routes.iter().map(Route::passed).sum::<f64>(),
        })
    }
}

/// The steps between the points of one sheet and nodes.
struct Transfer<'a, L> {
    lattice: &'a L,
    points: &'a Points<'a>,
    taps: Taps,
    /// Columns at the nodes: set by set those of the points.
    columns: usize,
}

impl<'a, L: Windowed> Transfer<'a, L> {
    fn new(lattice: &'a L, points: &'a Points) -> Self {
        let columns = lattice.terms().sets * points.columns.len();
        Self { lattice, points, taps: Taps::new(*lattice.window()), columns }
    }

    /// Points → nodes, added to the blocks. Blocks whose surroundings overlap take turns in a fixed order, so that bits do not depend on
    /// threads.
    fn spread(&self, nodes: &NodeBlocks) {
        let (dimensions, blocks) = (self.taps.window.dimensions, self.taps.shape.blocks);
        for turn in cube([0; 3], dimensions, blocks) {
            let now =
                |run: &&BlockRun| (0..3).all(|k| run.key[k].rem_euclid(blocks as i64) == turn[k] || k < 3 - dimensions);
            self.points.laid.runs.par_iter().filter(now).for_each(|run| self.spread_block(run, nodes));
        }
    }

    fn spread_block(&self, run: &BlockRun, nodes: &NodeBlocks) {
        let (n, around) = (self.taps.window.nodes, self.sums_around(run));
        for (step, key) in self.blocks_around(run.key) {
            nodes.change(&key, |block| {
                for (to, from) in self.taps.shape.rows(&self.taps.window, self.columns, step) {
                    add_all(&mut block[to..to + n], &around[from..from + n]);
                }
            });
        }
    }

    /// The blocks that hold the nodes around a block: how many blocks on along each axis, and their keys.
    fn blocks_around(&self, key: BlockKey) -> impl Iterator<Item = (BlockKey, BlockKey)> + use<L> {
        let steps = cube([0; 3], self.taps.window.dimensions, self.taps.shape.blocks);
        steps.map(move |step| (step, std::array::from_fn(|k| key[k] + step[k])))
    }

    /// The sums of a block at the nodes around it; many points are shared among tasks, and the results are added in order.
    fn sums_around(&self, run: &BlockRun) -> Vec<f64> {
        let shares: Vec<BlockRun> = cut(run, SHARE).collect();
        let mut total = Vec::new();
        for shares in shares.chunks(SHARES_AT_ONCE) {
            let parts: Vec<Vec<f64>> = shares.into_par_iter().map(|share| self.sums_of_share(share)).collect();
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

    fn sums_of_share(&self, share: &BlockRun) -> Vec<f64> {
        let mut total = vec![0.0; self.columns * self.taps.shape.len()];
        let mut nodes = Vec::new();
        for batch in cut(share, BATCH) {
            if batch.places.start == share.places.start {
                self.lattice.spread_run(&self.taps, self.points, &batch, &mut total);
                continue;
            }
            nodes.clear();
            nodes.resize(total.len(), 0.0);
            self.lattice.spread_run(&self.taps, self.points, &batch, &mut nodes);
            add_all(&mut total, &nodes);
        }
        total
    }

    /// Nodes → points: one value of each column for each point.
    fn read(&self, nodes: &LastBlocks) -> Vec<f64> {
        let columns = self.points.columns.len();
        let shares: Vec<BlockRun> = self.points.laid.runs.iter().flat_map(|run| cut(run, SHARE)).collect();
        let mut values = vec![0.0; self.points.laid.len() * columns];
        let slots = slots(&mut values, shares.iter().map(|run| run.places.len() * columns));
        // Memory for the nodes around a block is used again and again.
        shares.par_iter().zip(slots).for_each_init(Vec::new, |around, (run, values)| {
            if self.gather(run.key, nodes, around) {
                self.lattice.read_run(&self.taps, self.points, run, around, values);
            }
        });
        values
    }

    /// Copies the nodes around a block from the blocks that exist; whether any does. Where sources are few, most targets have none.
    fn gather(&self, key: BlockKey, nodes: &LastBlocks, around: &mut Vec<f64>) -> bool {
        let (n, numbers) = (self.taps.window.nodes, self.columns * self.taps.window.nodes_per_block());
        let existing = self.blocks_around(key).filter_map(|(step, key)| Some((step, nodes.get(&key, numbers)?)));
        let blocks: Vec<(BlockKey, &[f64])> = existing.collect();
        if blocks.is_empty() {
            return false;
        }
        around.clear();
        around.resize(self.columns * self.taps.shape.len(), 0.0);
        for (step, block) in blocks {
            for (from, to) in self.taps.shape.rows(&self.taps.window, self.columns, step) {
                around[to..to + n].copy_from_slice(&block[from..from + n]);
            }
        }
        true
    }
}

/// A block, so many places at a time.
fn cut(run: &BlockRun, length: usize) -> impl Iterator<Item = BlockRun> + use<> {
    let key = run.key;
    pieces(&run.places, length).map(move |places| BlockRun { key, places })
}

fn add_all(total: &mut [f64], part: &[f64]) {
    total.iter_mut().zip(part).for_each(|(total, part)| *total += part);
}
