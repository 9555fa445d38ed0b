//! Sums over many sources at once: points → nodes, nodes → nodes, nodes → points.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Mutex;

use rayon::prelude::*;

use super::lattice::{Blocks, Key, Route, convolve, cube, readers};
use super::ruler::{Ruler, Run};
use super::taps::Taps;
use super::window::Window;
use crate::scene::Cloud;

/// Points added to the nodes of a block before their sum goes to the total, so that roundings do not pile up.
const BATCH: usize = 512;
/// Points of one block that one task takes; a multiple of [`BATCH`].
const SHARE: usize = 16 * BATCH;

impl Window {
    /// Additions in the longest chain when so many points of a block come together at a node.
    pub(super) fn additions(&self, points: usize) -> f64 {
        (BATCH + SHARE / BATCH + points / SHARE + self.blocks_touched().pow(self.dimensions as u32)) as f64
    }
}

/// The sums of one block of targets: for each target the mass and the columns.
pub(super) struct BlockSums {
    pub(super) places: Range<usize>,
    pub(super) values: Vec<f64>,
}

/// Sources on a lattice and targets that read it.
pub(super) struct Grid {
    taps: Taps,
    /// Weight and variance of each Gaussian that the kernel is made of.
    mixture: Vec<(f64, f64)>,
    sources: Vec<Run>,
    targets: Vec<Run>,
    route: Route,
}

impl Grid {
    pub(super) fn new(ruler: Ruler, mixture: Vec<(f64, f64)>, sources: Vec<Run>, targets: Vec<Run>) -> Self {
        let window = &ruler.window;
        let keys = |runs: &[Run]| {
            let mut keys: Vec<Key> = runs.iter().map(|run| run.key).collect();
            keys.par_sort_unstable();
            keys
        };
        let near = readers(window, &keys(&sources));
        let targets: Vec<Run> = targets.into_par_iter().filter(|run| near.binary_search(&run.key).is_ok()).collect();
        let route = Route::new(window, &keys(&sources), &keys(&targets));
        Self { taps: Taps::new(ruler), mixture, sources, targets, route }
    }

    /// The sums at the targets, block by block.
    pub(super) fn sums(&self, sources: &Cloud, targets: &Cloud, columns: &[&[f64]]) -> Vec<BlockSums> {
        let nodes = self.spread(sources, columns);
        let mut total: Option<Blocks> = None;
        for &(weight, variance) in &self.mixture {
            let part = convolve(&self.taps.ruler.window, variance, &self.route, &nodes, columns.len());
            total = Some(add(total, weight, part));
        }
        let total = total.expect("a mixture has at least one part");
        self.targets.par_iter().map(|run| self.read(run, targets, &total, columns.len())).collect()
    }

    fn nodes_per_block(&self) -> usize {
        self.taps.ruler.window.nodes.pow(self.taps.ruler.window.dimensions as u32)
    }

    /// Points → nodes. Blocks whose surroundings overlap take turns, always in the same order.
    fn spread(&self, cloud: &Cloud, columns: &[&[f64]]) -> Blocks {
        let keys = &self.route.stages[0];
        let at: HashMap<&Key, usize> = keys.iter().enumerate().map(|(at, key)| (key, at)).collect();
        let empty = || Mutex::new(vec![0.0; columns.len() * self.nodes_per_block()]);
        let blocks: Vec<Mutex<Vec<f64>>> = keys.par_iter().map(|_| empty()).collect();
        let dimensions = self.taps.ruler.window.dimensions;
        for turn in cube([0; 3], dimensions, self.taps.shape.blocks) {
            let now = |run: &&Run| {
                (0..3).all(|k| run.key[k].rem_euclid(self.taps.shape.blocks as i64) == turn[k] || k < 3 - dimensions)
            };
            self.sources.par_iter().filter(now).for_each(|run| {
                let nodes = self.spread_run(run, cloud, columns);
                for step in cube([0; 3], dimensions, self.taps.shape.blocks) {
                    let key = std::array::from_fn(|k| run.key[k] + step[k]);
                    if let Some(&at) = at.get(&key) {
                        let mut block = blocks[at].lock().expect("no task panics");
                        self.add_to_block(&nodes, step, &mut block, columns.len());
                    }
                }
            });
        }
        let values = blocks.into_iter().map(|block| block.into_inner().expect("no task panics")).collect();
        Blocks::new(keys, values)
    }

    /// The nodes around one block; many points are shared out, and their parts added in order.
    fn spread_run(&self, run: &Run, cloud: &Cloud, columns: &[&[f64]]) -> Vec<f64> {
        let starts = run.places.clone().into_par_iter().step_by(SHARE);
        let parts: Vec<Vec<f64>> = starts
            .map(|start| self.spread_share(run.key, start..run.places.end.min(start + SHARE), cloud, columns))
            .collect();
        let mut parts = parts.into_iter();
        let mut total = parts.next().unwrap_or_default();
        for part in parts {
            add_all(&mut total, &part);
        }
        total
    }

    fn spread_share(&self, key: Key, share: Range<usize>, cloud: &Cloud, columns: &[&[f64]]) -> Vec<f64> {
        let empty = vec![0.0; columns.len() * self.taps.shape.len()];
        let mut total = Vec::new();
        for start in share.clone().step_by(BATCH) {
            let mut nodes = empty.clone();
            let batch = Run { key, places: start..share.end.min(start + BATCH) };
            self.taps.spread(&batch, cloud, columns, &mut nodes);
            if total.is_empty() { total = nodes } else { add_all(&mut total, &nodes) }
        }
        total
    }

    fn add_to_block(&self, nodes: &[f64], step: Key, block: &mut [f64], columns: usize) {
        let n = self.taps.ruler.window.nodes;
        for column in 0..columns {
            let block = &mut block[column * self.nodes_per_block()..];
            let nodes = &nodes[column * self.taps.shape.len()..];
            for (to, from) in self.taps.shape.rows(n, self.taps.ruler.window.dimensions, step) {
                block[to..to + n].iter_mut().zip(&nodes[from..from + n]).for_each(|(to, from)| *to += from);
            }
        }
    }

    /// Nodes → points.
    fn read(&self, run: &Run, cloud: &Cloud, total: &Blocks, columns: usize) -> BlockSums {
        let (n, dimensions) = (self.taps.ruler.window.nodes, self.taps.ruler.window.dimensions);
        let mut nodes = vec![0.0; columns * self.taps.shape.len()];
        let mut any = false;
        for step in cube([0; 3], dimensions, self.taps.shape.blocks) {
            let Some(block) = total.get(&std::array::from_fn(|k| run.key[k] + step[k])) else { continue };
            any = true;
            for column in 0..columns {
                let block = &block[column * self.nodes_per_block()..];
                let nodes = &mut nodes[column * self.taps.shape.len()..];
                for (from, to) in self.taps.shape.rows(n, dimensions, step) {
                    nodes[to..to + n].copy_from_slice(&block[from..from + n]);
                }
            }
        }
        let mut values = vec![0.0; run.places.len() * columns];
        if any {
            self.taps.read(run, cloud, &nodes, &mut values);
        }
        BlockSums { places: run.places.clone(), values }
    }
}

fn add_all(total: &mut [f64], part: &[f64]) {
    total.iter_mut().zip(part).for_each(|(total, part)| *total += part);
}

/// `total + weight · part`.
fn add(total: Option<Blocks>, weight: f64, mut part: Blocks) -> Blocks {
    if let Some(total) = total {
        part.values.par_iter_mut().zip(&total.values).for_each(|(part, total)| {
            part.iter_mut().zip(total).for_each(|(part, total)| *part = weight * *part + total);
        });
    } else if weight != 1.0 {
        part.values.par_iter_mut().flatten().for_each(|value| *value *= weight);
    }
    part
}
