//! The nodes around a point: where they are in memory, and their weights.

use pulp::Simd;

use super::blocks::BlockKey;
use super::window::{MOST_TAPS, Window};
use crate::kernel::{LANES, Lanes, exp2_minus};

/// Rows of nodes that are kept in registers together: with two registers for each, enough for additions not to wait for
/// each other, and not too many for AVX2. Chosen, not measured.
pub(super) const ROWS: usize = 4;

/// Nodes around a block: along the first, second and third axis, the second with room for whole sets of [`ROWS`], the
/// third with room for whole registers.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    /// Blocks along each axis.
    pub(crate) blocks: usize,
    pub(super) extent: [usize; 3],
    pub(super) taps: [usize; 3],
    pub(super) width: usize,
}

impl Shape {
    pub(super) fn of(window: &Window) -> Self {
        let blocks = window.blocks_touched();
        let width = window.taps.next_multiple_of(8);
        // One node on axes that do not exist.
        let [along, taps] = [blocks * window.nodes, window.taps]
            .map(|count| [0, 1, 2].map(|axis| if axis < 3 - window.dimensions { 1 } else { count }));
        let second = if window.dimensions == 1 { ROWS } else { window.nodes + window.taps.next_multiple_of(ROWS) };
        let extent = [along[0], along[1].max(second), along[2].max(window.nodes + width)];
        Self { blocks, extent, taps, width }
    }

    /// Number of nodes.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.extent.iter().product()
    }

    /// Rows along one of the first two axes that a point touches, and spare ones to make whole sets.
    #[inline]
    pub(crate) fn rows_touched(&self, axis: usize) -> usize {
        self.taps[axis].next_multiple_of(ROWS)
    }

    /// Sets of rows that a point touches.
    #[inline]
    pub(super) fn sets(&self) -> usize {
        self.taps[1].div_ceil(ROWS)
    }

    /// Rows of the last axis that belong to the block so many blocks on, column after column: where they are in the block and in the
    /// surroundings.
    pub(crate) fn rows(&self, window: &Window, columns: usize, step: BlockKey) -> impl Iterator<Item = (usize, usize)> {
        let (nodes, of_block, extent, around) = (window.nodes, window.nodes_per_block(), self.extent, self.len());
        let [planes, lines] = [0, 1].map(|axis| if axis < 3 - window.dimensions { 1 } else { nodes });
        let of_column = (0..planes).flat_map(move |a| (0..lines).map(move |b| (a, b)));
        (0..columns).flat_map(move |column| {
            of_column.clone().map(move |(a, b)| {
                let (x, y) = (step[0] as usize * nodes + a, step[1] as usize * nodes + b);
                let in_surroundings = (x * extent[1] + y) * extent[2] + step[2] as usize * nodes;
                (column * of_block + (a * lines + b) * nodes, column * around + in_surroundings)
            })
        })
    }
}

/// The outer Gaussian at the nodes around a point, from two exponentials:
/// `exp(−α(k − y)²) = exp(−αk²) · exp(−αy² − αy(T − 1)) · exp(2αy)^j`, `k = j − (T − 1)/2`.
pub(crate) struct WindowTable {
    /// `exp(−αk²)`, zero beyond the taps.
    at_nodes: [f64; MOST_TAPS],
    /// One, and zero beyond the taps.
    inside: [f64; MOST_TAPS],
    /// Where they are, from the first node of the cell that a point is in.
    nodes: [f64; MOST_TAPS],
    /// α, to base 2.
    alpha: f64,
    span: f64,
}

impl WindowTable {
    pub(super) fn of(window: &Window) -> Self {
        let span = (window.taps - 1) as f64;
        let alpha = 0.5 * window.step * window.step / window.outer;
        let at_node = |j: usize| if j < window.taps { (-alpha * (j as f64 - 0.5 * span).powi(2)).exp() } else { 0.0 };
        let inside = |j: usize| if j < window.taps { 1.0 } else { 0.0 };
        Self {
            at_nodes: std::array::from_fn(at_node),
            inside: std::array::from_fn(inside),
            nodes: std::array::from_fn(|j| j as f64 - 0.5 * (span - 1.0)),
            alpha: alpha * std::f64::consts::LOG2_E,
            span,
        }
    }

    /// The two exponentials for sixteen points at these positions, in nodes, within their cell of the lattice.
    #[inline(always)]
    fn exponentials<S: Simd>(&self, within: &Lanes) -> (Lanes, Lanes) {
        let (mut first, mut ratio) = ([0.0; LANES], [0.0; LANES]);
        for lane in 0..LANES {
            let y = within[lane] - 0.5;
            first[lane] = exp2_minus::<S>(self.alpha * y * (y + self.span));
            ratio[lane] = exp2_minus::<S>(-2.0 * self.alpha * y);
        }
        (first, ratio)
    }

    /// The weight of one node for a point whose window decays in its own way.
    #[inline(always)]
    pub(crate) fn own<S: Simd>(&self, node: usize, decay: f64, within: f64) -> f64 {
        let distance = self.nodes[node] - within;
        self.inside[node] * exp2_minus::<S>(decay * (distance * distance))
    }

    /// Weights of `taps` nodes, for each node those of all points.
    #[inline(always)]
    pub(crate) fn by_node<S: Simd>(&self, taps: usize, within: &Lanes, out: &mut [Lanes; MOST_TAPS]) {
        let (mut power, ratio) = self.exponentials::<S>(within);
        for (out, at_node) in out.iter_mut().zip(&self.at_nodes).take(taps) {
            for lane in 0..LANES {
                out[lane] = at_node * power[lane];
                power[lane] *= ratio[lane];
            }
        }
    }

    /// Weights of nodes, for each point those of all nodes.
    #[inline(always)]
    pub(crate) fn by_point<S: Simd, const WIDTH: usize>(&self, within: &Lanes, out: &mut [[f64; MOST_TAPS]; LANES]) {
        let (first, ratio) = self.exponentials::<S>(within);
        for lane in 0..LANES {
            let z = ratio[lane];
            let (z2, z4) = (z * z, (z * z) * (z * z));
            let mut powers = [1.0, z, z2, z2 * z, z4, z4 * z, z4 * z2, z4 * (z2 * z)].map(|power| power * first[lane]);
            let z8 = z4 * z4;
            for j in (0..WIDTH).step_by(8) {
                for i in 0..8 {
                    out[lane][j + i] = self.at_nodes[j + i] * powers[i];
                    powers[i] *= z8;
                }
            }
        }
    }
}
