//! The lattice of the plane, or of space with one or three axes: its blocks lie in the space that places are in, and all windows are alike.
//!
//! In: places sorted along a curve. Out: [`PlaneLattice`], which implements [`Lattice`](super::lattice::Lattice) through windows.
//! Bound: sampling and truncation of one window ([`Bound::of_window`]).

use std::ops::Range;

use pulp::Simd;
use serde::{Deserialize, Serialize};

use super::lattice::{
    Accuracy, BlockGrid, BlockKey, BlockRun, Bound, CountedRows, LaidPlaces, Load, LoadPoints, PointLanes, Points,
    Sheets, Taps, Terms, Window, Windowed, ascending, cube,
};
use crate::kernel::{LANES, Lanes};
use crate::scene::{Cloud, Curve};

/// Most blocks that are listed to find out what the lattice takes for counted rows. Chosen, not measured: their keys take 100 MB.
const MOST_BLOCKS: usize = 1 << 22;

/// The lattice of the plane, or of space.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PlaneLattice {
    pub(crate) grid: BlockGrid,
    window: Window,
    terms: Terms,
}

impl PlaneLattice {
    /// The cheapest one for this accuracy and load; `None` if no window has it.
    pub(crate) fn design(accuracy: &Accuracy, curve: Curve, dimensions: usize, load: Load) -> Option<Self> {
        let (grid, window) = accuracy.window(curve, dimensions, load)?;
        Some(Self { grid, window, terms: Terms::gaussian() })
    }
}

impl Sheets for PlaneLattice {
    fn runs(&self, cloud: &Cloud, places: Range<usize>) -> Vec<BlockRun> {
        self.grid.runs(cloud, places)
    }

    fn sources(&self, _: usize, _: &Cloud, runs: &[BlockRun]) -> LaidPlaces {
        LaidPlaces { runs: runs.to_vec(), ..LaidPlaces::default() }
    }

    fn targets(&self, _: usize, cloud: &Cloud, places: Range<usize>) -> LaidPlaces {
        LaidPlaces { runs: self.grid.runs(cloud, places), ..LaidPlaces::default() }
    }

    fn bound(&self, points: usize, weight: f64) -> Bound {
        Bound::of_window(&self.window, points, weight)
    }

    fn bytes_of_place(&self) -> (u64, u64) {
        (0, 0)
    }
}

impl Windowed for PlaneLattice {
    fn window(&self) -> &Window {
        &self.window
    }

    fn terms(&self) -> &Terms {
        &self.terms
    }

    fn spread_run(&self, taps: &Taps, sources: &Points, run: &BlockRun, nodes: &mut [f64]) {
        taps.spread(&self.loader(sources, run), run.places.clone(), sources.columns, nodes);
    }

    fn read_run(&self, taps: &Taps, targets: &Points, run: &BlockRun, nodes: &[f64], values: &mut [f64]) {
        taps.read(&self.loader(targets, run), run.places.clone(), nodes, values);
    }

    fn blocks(&self, counted: &CountedRows) -> Option<Vec<(Vec<BlockKey>, Vec<BlockKey>)>> {
        let per_block = (counted.side / self.grid.side).max(1.0);
        if counted.cubes.len() as f64 * per_block.powi(self.grid.dimensions as i32) > MOST_BLOCKS as f64 {
            return None;
        }
        let [all, targets] = [false, true].map(|only_targets| {
            let cubes = counted.cubes.iter().filter(|cube| cube.targets || !only_targets);
            ascending(cubes.flat_map(|cube| self.blocks_of_cube(&cube.at, counted.side)).collect())
        });
        Some(vec![(all, targets)])
    }
}

impl PlaneLattice {
    fn loader<'a>(&'a self, points: &Points<'a>, run: &'a BlockRun) -> PlaneLoader<'a> {
        PlaneLoader { grid: &self.grid, key: &run.key, cloud: points.cloud }
    }

    /// The blocks in a counted cube, or the block that it is in.
    fn blocks_of_cube(&self, number: &[i64; 3], side: f64) -> impl Iterator<Item = BlockKey> + use<> {
        let BlockGrid { curve, dimensions, side: block } = self.grid;
        let mut corner = [0; 3];
        for k in 0..dimensions {
            corner[3 - dimensions + k] = curve.cube(k, number[k] as f64 * side, block) as i64;
        }
        cube(corner, dimensions, (side / block).max(1.0) as usize)
    }
}

/// Places of one block.
struct PlaneLoader<'a> {
    grid: &'a BlockGrid,
    key: &'a BlockKey,
    cloud: &'a Cloud,
}

impl PlaneLoader<'_> {
    /// Where up to sixteen places are within their block along one axis, in nodes.
    #[inline(always)]
    fn positions(&self, k: usize, places: &Range<usize>, nodes: usize) -> Lanes {
        let BlockGrid { curve, dimensions, side } = self.grid;
        let corner = curve.corner(k, self.key[3 - dimensions + k] as u64, *side);
        let mut positions = [0.0; LANES];
        for (position, coordinate) in positions.iter_mut().zip(&self.cloud.axes[k][places.clone()]) {
            *position = coordinate - corner;
        }
        // Rounding may have put a place on the far edge of its block.
        let (nodes_per_unit, most) = (nodes as f64 / side, nodes as f64 * (1.0 - f64::EPSILON));
        positions.map(|offset| (offset * nodes_per_unit).clamp(0.0, most))
    }
}

impl LoadPoints for PlaneLoader<'_> {
    #[inline(always)]
    fn load<S: Simd, const WIDTH: usize>(&self, taps: &Taps, places: &Range<usize>, points: &mut PointLanes) {
        points.start(places.len());
        for k in 0..taps.window.dimensions {
            let axis = 3 - taps.window.dimensions + k;
            let positions = self.positions(k, places, taps.window.nodes);
            let within = points.locate(taps, axis, &positions);
            if axis == 2 {
                taps.table.by_point::<S, WIDTH>(&within, &mut points.along);
            } else {
                taps.table.by_node::<S>(taps.shape.rows_touched(axis), &within, &mut points.across[axis]);
            }
        }
    }
}
