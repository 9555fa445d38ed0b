//! The windows of places in the plane, or in space: all are alike.

use std::ops::Range;

use pulp::Simd;

use crate::engine::fast::lattice::{BlockGrid, BlockKey, BlockRun, LoadPoints, PointLanes, Reads, Spreads, Taps};
use crate::scene::Cloud;

/// Places with windows that are all alike; they have one set of columns.
pub(crate) struct PlaneWindows<'a> {
    pub(super) block_grid: &'a BlockGrid,
    pub(super) cloud: &'a Cloud,
    pub(super) columns: &'a [&'a [f64]],
}

impl PlaneWindows<'_> {
    fn loader<'a>(&'a self, run: &'a BlockRun) -> PlaneLoader<'a> {
        PlaneLoader { block_grid: self.block_grid, key: &run.key, cloud: self.cloud }
    }
}

impl Spreads for PlaneWindows<'_> {
    fn spread(&self, taps: &Taps, run: &BlockRun, nodes: &mut [f64]) {
        taps.spread(&self.loader(run), run.places.clone(), self.columns, nodes);
    }
}

impl Reads for PlaneWindows<'_> {
    fn read(&self, taps: &Taps, run: &BlockRun, nodes: &[f64], values: &mut [f64]) {
        taps.read(&self.loader(run), run.places.clone(), nodes, values);
    }
}

/// Places of the plane, or of space.
struct PlaneLoader<'a> {
    block_grid: &'a BlockGrid,
    key: &'a BlockKey,
    cloud: &'a Cloud,
}

impl LoadPoints for PlaneLoader<'_> {
    #[inline(always)]
    fn load<S: Simd, const WIDTH: usize>(&self, taps: &Taps, places: &Range<usize>, points: &mut PointLanes) {
        points.start(places.len());
        for k in 0..taps.window.dimensions {
            let axis = 3 - taps.window.dimensions + k;
            let positions = self.block_grid.positions(self.cloud, self.key, k, places, taps.window.nodes);
            let within = points.locate(taps, axis, &positions);
            if axis == 2 {
                taps.table.by_point::<S, WIDTH>(&within, &mut points.along);
            } else {
                taps.table.by_node::<S>(taps.shape.rows_touched(axis), &within, &mut points.across[axis]);
            }
        }
    }
}
