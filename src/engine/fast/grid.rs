//! Sums over many sources at once: points → nodes, nodes → nodes, nodes → points.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Mutex;

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use super::lattice::{Blocks, Key, Route, add_multiple, convolve, cube, readers};
use super::window::{MOST_TAPS, Window};
use crate::kernel::{LANES, Lanes, exp2_minus};
use crate::scene::{Cloud, Curve};

/// Consecutive places in one block.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) key: Key,
    pub(super) places: Range<usize>,
}

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

/// Places that one task cuts into runs.
const PIECE: usize = 1 << 14;

/// How places become positions in blocks.
#[derive(Clone, Copy)]
pub(super) struct Ruler {
    pub(super) curve: Curve,
    pub(super) window: Window,
    /// Side of a block in the unit of the axes: a power of two times the side of the smallest cubes.
    pub(super) side: f64,
    /// Whether each axis has a low part, `dimensions` axes on.
    pub(super) low_parts: bool,
}

impl Ruler {
    fn first_axis(&self) -> usize {
        3 - self.window.dimensions
    }

    /// The block of a place.
    fn key(&self, cloud: &Cloud, place: usize) -> Key {
        let mut key = [0; 3];
        for k in 0..self.window.dimensions {
            key[self.first_axis() + k] = self.curve.cube(k, cloud.axes[k][place], self.side) as i32;
        }
        key
    }

    /// Cuts sorted places into those of each block.
    /// Those with fewer than `least` places are left out.
    pub(super) fn runs(&self, cloud: &Cloud, places: Range<usize>, least: usize) -> Vec<Run> {
        let (start, end) = (places.start, places.end);
        let pieces = (start..end).into_par_iter().step_by(PIECE).map(|at| at..end.min(at + PIECE));
        let runs: Vec<Vec<Run>> = pieces.map(|piece| self.runs_of_piece(cloud, piece, least)).collect();
        let mut joined: Vec<Run> = Vec::with_capacity(runs.iter().map(Vec::len).sum());
        for run in runs.into_iter().flatten() {
            match joined.last_mut() {
                Some(last) if last.key == run.key => last.places.end = run.places.end,
                _ => joined.push(run),
            }
        }
        joined.retain(|run| run.places.len() >= least);
        joined
    }

    fn runs_of_piece(&self, cloud: &Cloud, piece: Range<usize>, least: usize) -> Vec<Run> {
        let mut runs = Vec::new();
        let mut open = Run { key: self.key(cloud, piece.start), places: piece.start..piece.start };
        for place in piece.clone() {
            let key = self.key(cloud, place);
            if key != open.key {
                // The first run may go on in the piece before.
                if open.places.len() >= least || open.places.start == piece.start {
                    runs.push(open);
                }
                open = Run { key, places: place..place };
            }
            open.places.end = place + 1;
        }
        runs.push(open);
        runs
    }

    /// Where a place is within its block, in nodes.
    #[inline(always)]
    fn position(&self, cloud: &Cloud, key: &Key, k: usize, place: usize) -> f64 {
        let corner = self.curve.corner(k, key[self.first_axis() + k] as u64, self.side);
        let mut offset = cloud.axes[k][place] - corner;
        if self.low_parts {
            offset += cloud.axes[k + self.window.dimensions][place];
        }
        // Rounding may have put a place on the far edge of its block.
        let nodes = self.window.nodes as f64;
        (offset / self.side * nodes).clamp(0.0, nodes * (1.0 - f64::EPSILON))
    }
}

/// The sums of one block of targets: for each target the mass and the columns.
pub(super) struct Sums {
    pub(super) places: Range<usize>,
    pub(super) values: Vec<f64>,
}

/// Sources on a lattice and targets that read it.
pub(super) struct Grid {
    ruler: Ruler,
    /// Weight and variance of each Gaussian that the kernel is made of.
    mixture: Vec<(f64, f64)>,
    sources: Vec<Run>,
    targets: Vec<Run>,
    route: Route,
    shape: Shape,
    table: Table,
}

/// Nodes around a block: along the first, second and third axis, the third with room for whole registers.
#[derive(Clone, Copy)]
struct Shape {
    blocks: usize,
    extent: [usize; 3],
    taps: [usize; 3],
    width: usize,
}

impl Shape {
    fn of(window: &Window) -> Self {
        let blocks = window.blocks_touched();
        let width = window.taps.next_multiple_of(8);
        let along = |axis: usize| if axis < 3 - window.dimensions { 1 } else { blocks * window.nodes };
        let taps = |axis: usize| if axis < 3 - window.dimensions { 1 } else { window.taps };
        let last = along(2).max(window.nodes + width);
        Self { blocks, extent: [along(0), along(1), last], taps: std::array::from_fn(taps), width }
    }

    fn len(&self) -> usize {
        self.extent.iter().product()
    }

    /// Rows of the last axis that belong to one block: where they are in the block and in the surroundings.
    fn rows(&self, nodes: usize, dimensions: usize, step: Key) -> impl Iterator<Item = (usize, usize)> {
        let extent = self.extent;
        let count = move |axis: usize| if axis < 3 - dimensions { 1 } else { nodes };
        (0..count(0)).flat_map(move |a| {
            (0..count(1)).map(move |b| {
                let (x, y) = (step[0] as usize * nodes + a, step[1] as usize * nodes + b);
                ((a * count(1) + b) * nodes, (x * extent[1] + y) * extent[2] + step[2] as usize * nodes)
            })
        })
    }
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
        let (shape, table) = (Shape::of(window), Table::of(window));
        Self { ruler, mixture, sources, targets, route, shape, table }
    }

    /// The sums at the targets, block by block.
    pub(super) fn sums(&self, sources: &Cloud, targets: &Cloud, columns: &[&[f64]]) -> Vec<Sums> {
        let nodes = self.spread(sources, columns);
        let mut total: Option<Blocks> = None;
        for &(weight, variance) in &self.mixture {
            let part = convolve(&self.ruler.window, variance, &self.route, &nodes, columns.len());
            total = Some(add(total, weight, part));
        }
        let total = total.expect("a mixture has at least one part");
        self.targets.par_iter().map(|run| self.read(run, targets, &total, columns.len())).collect()
    }

    fn nodes_per_block(&self) -> usize {
        self.ruler.window.nodes.pow(self.ruler.window.dimensions as u32)
    }

    /// Points → nodes. Blocks whose surroundings overlap take turns, always in the same order.
    fn spread(&self, cloud: &Cloud, columns: &[&[f64]]) -> Blocks {
        let keys = &self.route.stages[0];
        let at: HashMap<&Key, usize> = keys.iter().enumerate().map(|(at, key)| (key, at)).collect();
        let empty = || Mutex::new(vec![0.0; columns.len() * self.nodes_per_block()]);
        let blocks: Vec<Mutex<Vec<f64>>> = keys.par_iter().map(|_| empty()).collect();
        let dimensions = self.ruler.window.dimensions;
        for turn in cube([0; 3], dimensions, self.shape.blocks) {
            let now = |run: &&Run| {
                (0..3).all(|k| run.key[k].rem_euclid(self.shape.blocks as i32) == turn[k] || k < 3 - dimensions)
            };
            self.sources.par_iter().filter(now).for_each(|run| {
                let nodes = self.spread_run(run, cloud, columns);
                for step in cube([0; 3], dimensions, self.shape.blocks) {
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
            .map(|start| self.spread_share(&run.key, start..run.places.end.min(start + SHARE), cloud, columns))
            .collect();
        let mut parts = parts.into_iter();
        let mut total = parts.next().unwrap_or_default();
        for part in parts {
            add_all(&mut total, &part);
        }
        total
    }

    fn spread_share(&self, key: &Key, share: Range<usize>, cloud: &Cloud, columns: &[&[f64]]) -> Vec<f64> {
        let empty = vec![0.0; columns.len() * self.shape.len()];
        let mut total = Vec::new();
        for start in share.clone().step_by(BATCH) {
            let mut nodes = empty.clone();
            let places = start..share.end.min(start + BATCH);
            Arch::new().dispatch(Spread { grid: self, key, cloud, columns, places, nodes: &mut nodes });
            if total.is_empty() { total = nodes } else { add_all(&mut total, &nodes) }
        }
        total
    }

    fn add_to_block(&self, nodes: &[f64], step: Key, block: &mut [f64], columns: usize) {
        let n = self.ruler.window.nodes;
        for column in 0..columns {
            let block = &mut block[column * self.nodes_per_block()..];
            let nodes = &nodes[column * self.shape.len()..];
            for (to, from) in self.shape.rows(n, self.ruler.window.dimensions, step) {
                block[to..to + n].iter_mut().zip(&nodes[from..from + n]).for_each(|(to, from)| *to += from);
            }
        }
    }

    /// Nodes → points.
    fn read(&self, run: &Run, cloud: &Cloud, total: &Blocks, columns: usize) -> Sums {
        let (n, dimensions) = (self.ruler.window.nodes, self.ruler.window.dimensions);
        let mut nodes = vec![0.0; columns * self.shape.len()];
        let mut any = false;
        for step in cube([0; 3], dimensions, self.shape.blocks) {
            let Some(block) = total.get(&std::array::from_fn(|k| run.key[k] + step[k])) else { continue };
            any = true;
            for column in 0..columns {
                let block = &block[column * self.nodes_per_block()..];
                let nodes = &mut nodes[column * self.shape.len()..];
                for (from, to) in self.shape.rows(n, dimensions, step) {
                    nodes[to..to + n].copy_from_slice(&block[from..from + n]);
                }
            }
        }
        let mut values = vec![0.0; run.places.len() * columns];
        if any {
            Arch::new().dispatch(Read { grid: self, run, cloud, columns, nodes: &nodes, values: &mut values });
        }
        Sums { places: run.places.clone(), values }
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

/// The outer Gaussian at the nodes around a point, from two exponentials:
/// `exp(−α(k − y)²) = exp(−αk²) · exp(−αy² − αy(T − 1)) · exp(2αy)^j`, `k = j − (T − 1)/2`.
struct Table {
    /// `exp(−αk²)`, zero beyond the taps.
    at_nodes: [f64; MOST_TAPS],
    /// α, to base 2.
    alpha: f64,
    span: f64,
}

/// The weights of the nodes around one point along one axis.
type Weights = [f64; MOST_TAPS];

impl Table {
    fn of(window: &Window) -> Self {
        let span = (window.taps - 1) as f64;
        let alpha = 0.5 * window.step * window.step / window.outer;
        let at_node = |j: usize| if j < window.taps { (-alpha * (j as f64 - 0.5 * span).powi(2)).exp() } else { 0.0 };
        Self { at_nodes: std::array::from_fn(at_node), alpha: alpha * std::f64::consts::LOG2_E, span }
    }

    /// Weights for sixteen points at these positions, in nodes, within their cell of the lattice.
    #[inline(always)]
    fn weights<S: Simd>(&self, width: usize, within: &Lanes, out: &mut [Weights; LANES]) {
        let (mut first, mut ratio) = ([0.0; LANES], [0.0; LANES]);
        for lane in 0..LANES {
            let y = within[lane] - 0.5;
            first[lane] = exp2_minus::<S>(self.alpha * y * (y + self.span));
            ratio[lane] = exp2_minus::<S>(-2.0 * self.alpha * y);
        }
        for lane in 0..LANES {
            let z = ratio[lane];
            let (z2, z4) = (z * z, (z * z) * (z * z));
            let mut powers = [1.0, z, z2, z2 * z, z4, z4 * z, z4 * z2, z4 * (z2 * z)].map(|power| power * first[lane]);
            let z8 = z4 * z4;
            for j in (0..width).step_by(8) {
                for i in 0..8 {
                    out[lane][j + i] = self.at_nodes[j + i] * powers[i];
                    powers[i] *= z8;
                }
            }
        }
    }
}

/// Sixteen points of one block: the first node that each touches, and the weights of its nodes.
struct Points {
    first: [[usize; LANES]; 3],
    weights: [[Weights; LANES]; 3],
}

impl Points {
    fn new() -> Box<Self> {
        let mut points = Self { first: [[0; LANES]; 3], weights: [[[0.0; MOST_TAPS]; LANES]; 3] };
        // Axes that there are not have one node of weight one.
        points.weights.iter_mut().flatten().for_each(|weights| weights[0] = 1.0);
        Box::new(points)
    }

    #[inline(always)]
    fn load<S: Simd>(&mut self, grid: &Grid, key: &Key, cloud: &Cloud, places: &Range<usize>) {
        for k in 0..grid.ruler.window.dimensions {
            let axis = grid.ruler.first_axis() + k;
            let mut within = [0.0; LANES];
            for (lane, place) in places.clone().enumerate() {
                let position = grid.ruler.position(cloud, key, k, place);
                self.first[axis][lane] = position as usize;
                within[lane] = position - (position as usize) as f64;
            }
            grid.table.weights::<S>(grid.shape.width, &within, &mut self.weights[axis]);
        }
    }

    /// The row of nodes that a point touches first, and how far the next ones are along the first and second axis.
    #[inline(always)]
    fn corner(&self, shape: &Shape, lane: usize) -> usize {
        let [x, y, z] = std::array::from_fn(|axis| self.first[axis][lane]);
        (x * shape.extent[1] + y) * shape.extent[2] + z
    }
}

struct Spread<'a> {
    grid: &'a Grid,
    key: &'a Key,
    cloud: &'a Cloud,
    columns: &'a [&'a [f64]],
    places: Range<usize>,
    nodes: &'a mut [f64],
}

impl WithSimd for Spread<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        match self.grid.shape.width {
            8 => self.run::<S, 8>(),
            16 => self.run::<S, 16>(),
            24 => self.run::<S, 24>(),
            _ => self.run::<S, 32>(),
        }
    }
}

impl Spread<'_> {
    #[inline(always)]
    fn run<S: Simd, const WIDTH: usize>(self) {
        let shape = &self.grid.shape;
        let mut points = Points::new();
        for start in self.places.clone().step_by(LANES) {
            let places = start..self.places.end.min(start + LANES);
            points.load::<S>(self.grid, self.key, self.cloud, &places);
            for (lane, place) in places.enumerate() {
                let weights: &[f64; WIDTH] = points.weights[2][lane].first_chunk().expect("a width is at most 32");
                let corner = points.corner(shape, lane);
                for (column, nodes) in self.columns.iter().zip(self.nodes.chunks_exact_mut(shape.len())) {
                    for a in 0..shape.taps[0] {
                        let value = column[place] * points.weights[0][lane][a];
                        let nodes = &mut nodes[corner + a * shape.extent[1] * shape.extent[2]..];
                        for (b, row) in nodes.chunks_mut(shape.extent[2]).take(shape.taps[1]).enumerate() {
                            let row: &mut [f64; WIDTH] = row.first_chunk_mut().expect("rows have room");
                            add_multiple::<S, WIDTH>(row, value * points.weights[1][lane][b], weights);
                        }
                    }
                }
            }
        }
    }
}

struct Read<'a> {
    grid: &'a Grid,
    run: &'a Run,
    cloud: &'a Cloud,
    columns: usize,
    nodes: &'a [f64],
    values: &'a mut [f64],
}

impl WithSimd for Read<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        match self.grid.shape.width {
            8 => self.run::<S, 8>(),
            16 => self.run::<S, 16>(),
            24 => self.run::<S, 24>(),
            _ => self.run::<S, 32>(),
        }
    }
}

impl Read<'_> {
    #[inline(always)]
    fn run<S: Simd, const WIDTH: usize>(self) {
        let shape = &self.grid.shape;
        let mut points = Points::new();
        let mut values = self.values.chunks_exact_mut(self.columns);
        for start in self.run.places.clone().step_by(LANES) {
            let places = start..self.run.places.end.min(start + LANES);
            points.load::<S>(self.grid, &self.run.key, self.cloud, &places);
            for (lane, values) in (0..places.len()).zip(&mut values) {
                let weights: &[f64; WIDTH] = points.weights[2][lane].first_chunk().expect("a width is at most 32");
                let corner = points.corner(shape, lane);
                for (value, nodes) in values.iter_mut().zip(self.nodes.chunks_exact(shape.len())) {
                    let mut sums = [0.0; WIDTH];
                    for a in 0..shape.taps[0] {
                        let nodes = &nodes[corner + a * shape.extent[1] * shape.extent[2]..];
                        for (b, row) in nodes.chunks(shape.extent[2]).take(shape.taps[1]).enumerate() {
                            let row: &[f64; WIDTH] = row.first_chunk().expect("rows have room");
                            let weight = points.weights[0][lane][a] * points.weights[1][lane][b];
                            add_multiple::<S, WIDTH>(&mut sums, weight, row);
                        }
                    }
                    *value = (0..WIDTH).map(|i| sums[i] * weights[i]).sum();
                }
            }
        }
    }
}
