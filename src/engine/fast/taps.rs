//! The inner loops between points and the lattice nodes around them.

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};

use super::lattice::{Key, add_multiple};
use super::ruler::{Ruler, Run};
use super::window::{MOST_TAPS, Window};
use crate::kernel::{LANES, Lanes, exp2_minus};
use crate::scene::Cloud;

/// What it takes to go from points to nodes and back.
pub(super) struct Taps {
    pub(super) ruler: Ruler,
    pub(super) shape: Shape,
    table: Table,
}

impl Taps {
    pub(super) fn new(ruler: Ruler) -> Self {
        Self { ruler, shape: Shape::of(&ruler.window), table: Table::of(&ruler.window) }
    }

    /// Adds the columns of some places of a block to the nodes around it, one column after another.
    pub(super) fn spread(&self, run: &Run, cloud: &Cloud, columns: &[&[f64]], nodes: &mut [f64]) {
        Arch::new().dispatch(Wide { width: self.shape.width, work: Spread { taps: self, run, cloud, columns, nodes } });
    }

    /// Reads the nodes around a block at its places: for each place one value of each column.
    pub(super) fn read(&self, run: &Run, cloud: &Cloud, nodes: &[f64], values: &mut [f64]) {
        Arch::new().dispatch(Wide { width: self.shape.width, work: Read { taps: self, run, cloud, nodes, values } });
    }
}

/// Nodes around a block: along the first, second and third axis, the third with room for whole registers.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    /// Blocks along each axis.
    pub(super) blocks: usize,
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

    pub(super) fn len(&self) -> usize {
        self.extent.iter().product()
    }

    /// Rows of the last axis that belong to one block: where they are in the block and in the surroundings.
    pub(super) fn rows(&self, nodes: usize, dimensions: usize, step: Key) -> impl Iterator<Item = (usize, usize)> {
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
    fn load<S: Simd>(&mut self, taps: &Taps, key: &Key, cloud: &Cloud, places: &Range<usize>) {
        for k in 0..taps.ruler.window.dimensions {
            let axis = taps.ruler.first_axis() + k;
            let mut within = [0.0; LANES];
            for (lane, place) in places.clone().enumerate() {
                let position = taps.ruler.position(cloud, key, k, place);
                self.first[axis][lane] = position as usize;
                within[lane] = position - (position as usize) as f64;
            }
            taps.table.weights::<S>(taps.shape.width, &within, &mut self.weights[axis]);
        }
    }

    /// The first node that a point touches.
    #[inline(always)]
    fn corner(&self, shape: &Shape, lane: usize) -> usize {
        let [x, y, z] = std::array::from_fn(|axis| self.first[axis][lane]);
        (x * shape.extent[1] + y) * shape.extent[2] + z
    }
}

/// Work on rows of nodes that needs to know at compile time how wide they are.
trait WithWidth {
    fn run<S: Simd, const WIDTH: usize>(self);
}

/// Such work for a width that is known only now.
struct Wide<W> {
    width: usize,
    work: W,
}

impl<W: WithWidth> WithSimd for Wide<W> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        match self.width {
            8 => self.work.run::<S, 8>(),
            16 => self.work.run::<S, 16>(),
            24 => self.work.run::<S, 24>(),
            _ => self.work.run::<S, MOST_TAPS>(),
        }
    }
}

struct Spread<'a> {
    taps: &'a Taps,
    run: &'a Run,
    cloud: &'a Cloud,
    columns: &'a [&'a [f64]],
    nodes: &'a mut [f64],
}

impl WithWidth for Spread<'_> {
    #[inline(always)]
    fn run<S: Simd, const WIDTH: usize>(self) {
        let shape = &self.taps.shape;
        let mut points = Points::new();
        for start in self.run.places.clone().step_by(LANES) {
            let places = start..self.run.places.end.min(start + LANES);
            points.load::<S>(self.taps, &self.run.key, self.cloud, &places);
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
    taps: &'a Taps,
    run: &'a Run,
    cloud: &'a Cloud,
    nodes: &'a [f64],
    values: &'a mut [f64],
}

impl WithWidth for Read<'_> {
    #[inline(always)]
    fn run<S: Simd, const WIDTH: usize>(self) {
        let shape = &self.taps.shape;
        let mut points = Points::new();
        let mut values = self.values.chunks_exact_mut(self.nodes.len() / shape.len());
        for start in self.run.places.clone().step_by(LANES) {
            let places = start..self.run.places.end.min(start + LANES);
            points.load::<S>(self.taps, &self.run.key, self.cloud, &places);
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
