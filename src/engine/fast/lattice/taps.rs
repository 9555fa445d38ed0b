//! The inner loops between points and the lattice nodes around them.

use std::ops::Range;

use pulp::{Simd, WithSimd};

use super::around::{ROWS, Shape, WindowTable};
use super::window::{MOST_TAPS, Window};
use crate::kernel::{LANES, Lanes};
use crate::simd::arch;

/// What the steps from points to nodes and back need.
pub(crate) struct Taps {
    pub(crate) window: Window,
    pub(crate) shape: Shape,
    pub(crate) table: WindowTable,
}

impl Taps {
    pub(crate) fn new(window: Window) -> Self {
        Self { window, shape: Shape::of(&window), table: WindowTable::of(&window) }
    }

    /// Adds the columns of some places of a block to the nodes around it, one column after another.
    pub(crate) fn spread(&self, loader: &impl LoadPoints, places: Range<usize>, columns: &[&[f64]], nodes: &mut [f64]) {
        let work = SpreadTaps { taps: self, loader, places, columns, nodes };
        arch().dispatch(ForWidth { width: self.shape.width, work });
    }

    /// Reads the nodes around a block at its places: for each place one value of each column.
    pub(crate) fn read(&self, loader: &impl LoadPoints, places: Range<usize>, nodes: &[f64], values: &mut [f64]) {
        let work = ReadTaps { taps: self, loader, places, nodes, values };
        arch().dispatch(ForWidth { width: self.shape.width, work });
    }
}

/// Places of one block.
pub(crate) trait LoadPoints {
    /// Loads at most [`LANES`] of them, with the weights of `WIDTH` nodes along the last axis.
    fn load<S: Simd, const WIDTH: usize>(&self, taps: &Taps, places: &Range<usize>, points: &mut PointLanes);
}

/// Sixteen points of one block: the first node that each touches, and the weights of its nodes.
pub(crate) struct PointLanes {
    count: usize,
    corners: [usize; LANES],
    /// Weights along the first two axes, for each node those of all points; one node of weight one where there is no axis.
    pub(crate) across: [[Lanes; MOST_TAPS]; 2],
    /// Weights along the third, for each point those of all nodes.
    pub(crate) along: [[f64; MOST_TAPS]; LANES],
}

impl PointLanes {
    fn new() -> Box<Self> {
        let mut across = [[[0.0; LANES]; MOST_TAPS]; 2];
        for nodes in &mut across {
            nodes[0] = [1.0; LANES];
        }
        Box::new(Self { count: 0, corners: [0; LANES], across, along: [[0.0; MOST_TAPS]; LANES] })
    }

    /// Starts with this many other points.
    #[inline(always)]
    pub(crate) fn start(&mut self, count: usize) {
        self.count = count;
        self.corners = [0; LANES];
    }

    /// Takes their positions along the next axis; gives where they are within their cells.
    #[inline(always)]
    pub(crate) fn locate(&mut self, taps: &Taps, axis: usize, positions: &Lanes) -> Lanes {
        let mut within = [0.0; LANES];
        for lane in 0..LANES {
            let first = positions[lane] as i32;
            self.corners[lane] = self.corners[lane] * taps.shape.extent[axis] + first as usize;
            within[lane] = positions[lane] - f64::from(first);
        }
        within
    }

    /// Neighbours that touch the same nodes: the first of those, and which they are.
    #[inline(always)]
    fn cells(&self) -> impl Iterator<Item = (usize, Range<usize>)> {
        let mut start = 0;
        self.corners[..self.count].chunk_by(|a, b| a == b).map(move |cell| {
            start += cell.len();
            (cell[0], start - cell.len()..start)
        })
    }
}

/// Work on rows of nodes whose width, and the number of registers that are processed together, must be known at compile time.
trait WithWidth {
    fn run<S: Simd, const WIDTH: usize, const TOGETHER: usize>(self, simd: S);
}

/// Such work for a width that is known at run time.
struct ForWidth<W> {
    width: usize,
    work: W,
}

impl<W: WithWidth> WithSimd for ForWidth<W> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        // Three registers of eight numbers are the only odd number but one.
        match (self.width, (self.width / S::F64_LANES).is_multiple_of(2)) {
            (8, true) => self.work.run::<S, 8, 2>(simd),
            (8, false) => self.work.run::<S, 8, 1>(simd),
            (16, _) => self.work.run::<S, 16, 2>(simd),
            (24, true) => self.work.run::<S, 24, 2>(simd),
            (24, false) => self.work.run::<S, 24, 3>(simd),
            _ => self.work.run::<S, MOST_TAPS, 2>(simd),
        }
    }
}

/// Registers of a row of nodes.
#[inline(always)]
fn registers<S: Simd, const TOGETHER: usize>(row: &[f64]) -> &[[S::f64s; TOGETHER]] {
    S::as_simd_f64s(row).0.as_chunks().0
}

/// Products lane by lane, with explicit registers: otherwise the compiler vectorises over nodes, by gathers and scatters.
#[inline(always)]
fn products<S: Simd>(simd: S, a: &Lanes, b: &Lanes) -> Lanes {
    let mut products = [0.0; LANES];
    let factors = S::as_simd_f64s(a).0.iter().zip(S::as_simd_f64s(b).0);
    for (product, (a, b)) in S::as_mut_simd_f64s(&mut products).0.iter_mut().zip(factors) {
        *product = simd.mul_f64s(*a, *b);
    }
    products
}

struct SpreadTaps<'a, P> {
    taps: &'a Taps,
    loader: &'a P,
    places: Range<usize>,
    columns: &'a [&'a [f64]],
    nodes: &'a mut [f64],
}

impl<P: LoadPoints> WithWidth for SpreadTaps<'_, P> {
    #[inline(always)]
    fn run<S: Simd, const WIDTH: usize, const TOGETHER: usize>(self, simd: S) {
        let shape = &self.taps.shape;
        let mut points = PointLanes::new();
        let mut weights = [[0.0; LANES]; MOST_TAPS];
        for start in self.places.clone().step_by(LANES) {
            let places = start..self.places.end.min(start + LANES);
            self.loader.load::<S, WIDTH>(self.taps, &places, &mut points);
            for (column, nodes) in self.columns.iter().zip(self.nodes.chunks_exact_mut(shape.len())) {
                let mut values = [0.0; LANES];
                values[..places.len()].copy_from_slice(&column[places.clone()]);
                for a in 0..shape.taps[0] {
                    let values = products(simd, &values, &points.across[0][a]);
                    for (weights, across) in weights.iter_mut().zip(&points.across[1]).take(shape.sets() * ROWS) {
                        *weights = products(simd, &values, across);
                    }
                    for (corner, cell) in points.cells() {
                        let nodes = &mut nodes[corner + a * shape.extent[1] * shape.extent[2]..];
                        let sets = nodes.chunks_mut(ROWS * shape.extent[2]).zip(weights.as_chunks::<ROWS>().0);
                        for (rows, weights) in sets.take(shape.sets()) {
                            let along = &points.along[cell.clone()];
                            add_to_rows::<S, WIDTH, TOGETHER>(simd, rows, shape.extent[2], weights, cell.start, along);
                        }
                    }
                }
            }
        }
    }
}

/// Adds the points of one cell, of which `start` is the first, to a set of rows.
#[inline(always)]
fn add_to_rows<S: Simd, const WIDTH: usize, const TOGETHER: usize>(
    simd: S,
    rows: &mut [f64],
    stride: usize,
    weights: &[Lanes; ROWS],
    start: usize,
    along: &[[f64; MOST_TAPS]],
) {
    for part in 0..WIDTH / S::F64_LANES / TOGETHER {
        let mut sums: [[S::f64s; TOGETHER]; ROWS] =
            std::array::from_fn(|row| registers::<S, TOGETHER>(&rows[row * stride..][..WIDTH])[part]);
        for (lane, along) in (start..).zip(along) {
            let along = &registers::<S, TOGETHER>(&along[..WIDTH])[part];
            for row in 0..ROWS {
                let weight = simd.splat_f64s(weights[row][lane & (LANES - 1)]);
                for k in 0..TOGETHER {
                    sums[row][k] = simd.mul_add_e_f64s(weight, along[k], sums[row][k]);
                }
            }
        }
        for row in 0..ROWS {
            let row_of_nodes = &mut rows[row * stride..][..WIDTH];
            S::as_mut_simd_f64s(row_of_nodes).0.as_chunks_mut().0[part] = sums[row];
        }
    }
}

/// Points that read the same nodes together: each row of nodes is loaded once for all. Chosen, not measured.
const READERS: usize = 4;

struct ReadTaps<'a, P> {
    taps: &'a Taps,
    loader: &'a P,
    places: Range<usize>,
    nodes: &'a [f64],
    values: &'a mut [f64],
}

impl<P: LoadPoints> WithWidth for ReadTaps<'_, P> {
    #[inline(always)]
    fn run<S: Simd, const WIDTH: usize, const TOGETHER: usize>(self, simd: S) {
        let shape = &self.taps.shape;
        let mut points = PointLanes::new();
        let columns = self.nodes.len() / shape.len();
        let blocks = self.places.clone().step_by(LANES).zip(self.values.chunks_mut(LANES * columns));
        for (start, values) in blocks {
            let places = start..self.places.end.min(start + LANES);
            self.loader.load::<S, WIDTH>(self.taps, &places, &mut points);
            for (column, nodes) in self.nodes.chunks_exact(shape.len()).enumerate() {
                for (corner, cell) in points.cells() {
                    let mut first = cell.start;
                    while first < cell.end {
                        let values = &mut values[first * columns + column..];
                        let nodes = &nodes[corner..];
                        if first + READERS <= cell.end {
                            let read = read_rows::<S, WIDTH, TOGETHER, READERS>(simd, shape, nodes, &points, first);
                            values.iter_mut().step_by(columns).zip(read).for_each(|(value, read)| *value = read);
                            first += READERS;
                        } else {
                            [values[0]] = read_rows::<S, WIDTH, TOGETHER, 1>(simd, shape, nodes, &points, first);
                            first += 1;
                        }
                    }
                }
            }
        }
    }
}

/// Reads nodes at some points of one cell, of which `first` is the first.
#[inline(always)]
fn read_rows<S: Simd, const WIDTH: usize, const TOGETHER: usize, const POINTS: usize>(
    simd: S,
    shape: &Shape,
    nodes: &[f64],
    points: &PointLanes,
    first: usize,
) -> [f64; POINTS] {
    let zero = simd.splat_f64s(0.0);
    let mut values = [zero; POINTS];
    for part in 0..WIDTH / S::F64_LANES / TOGETHER {
        for a in 0..shape.taps[0] {
            let mut sums = [[zero; TOGETHER]; POINTS];
            let rows = nodes[a * shape.extent[1] * shape.extent[2]..].chunks(shape.extent[2]);
            for (row, weights) in rows.zip(&points.across[1]).take(shape.taps[1]) {
                let row = &registers::<S, TOGETHER>(&row[..WIDTH])[part];
                for (point, sums) in sums.iter_mut().enumerate() {
                    let weight = simd.splat_f64s(weights[(first + point) & (LANES - 1)]);
                    for k in 0..TOGETHER {
                        sums[k] = simd.mul_add_e_f64s(weight, row[k], sums[k]);
                    }
                }
            }
            for (point, (value, sums)) in values.iter_mut().zip(sums).enumerate() {
                let lane = (first + point) & (LANES - 1);
                let along = &registers::<S, TOGETHER>(&points.along[lane][..WIDTH])[part];
                let weight = simd.splat_f64s(points.across[0][a][lane]);
                for k in 0..TOGETHER {
                    *value = simd.mul_add_e_f64s(simd.mul_f64s(weight, along[k]), sums[k], *value);
                }
            }
        }
    }
    let mut sums = [0.0; POINTS];
    // No closure here: it would be compiled without the CPU features, and each step of the sum would be a call.
    for (sum, value) in sums.iter_mut().zip(values) {
        *sum = simd.reduce_sum_f64s(value);
    }
    sums
}
