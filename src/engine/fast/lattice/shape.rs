//! The nodes around a block in memory.

use super::blocks::BlockKey;
use super::window::Window;

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
