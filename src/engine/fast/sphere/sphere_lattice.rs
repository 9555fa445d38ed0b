//! The lattice of the sphere: charts, each with the targets of a piece of the curve.
//!
//! Sources within reach of these targets are on the chart too, so that those near an edge are on more than one chart. Large charts need more
//! sets of columns ([`expansion`](super::expansion)), small ones have more sources in common: the cheapest size is taken.

use std::ops::Range;

use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::chart::Frame;
use super::design::{ChartDemand, ChartDesign};
use super::known::{Cap, KnownPlaces, sorted_centres};
use super::places::{SourceReach, lay_out};
use super::windows;
use crate::engine::fast::lattice::{
    BlockGrid, BlockKey, BlockRun, Bound, CountedRows, LaidPlaces, Points, Sheets, Taps, Terms, Window, Windowed,
};
use crate::scene::Cloud;

/// Most charts. Chosen, not measured: beyond, each has so few targets that the lattice is of no use.
const MOST_CHARTS: usize = 1000;
/// Bytes of a place on a chart: two coordinates (16), its number (4), its rank (4), and 4 to spare.
pub(crate) const BYTES_OF_PLACE: u64 = 28;

/// Charts of the sphere.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SphereLattice {
    design: ChartDesign,
    charts: Vec<Chart>,
    /// Blocks along the curve in which sources are compared with what a chart reaches.
    cells: BlockGrid,
    /// The cubes whose targets the charts own; `None` if one chart owns all.
    cubes: Option<ChartCubes>,
}

/// A chart: the plane that it is drawn in, and which sources its targets need.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Chart {
    frame: Frame,
    reach: SourceReach,
}

impl Chart {
    fn new(targets: &KnownPlaces, cap: Cap, halo: f64) -> Self {
        Self { frame: Frame::about(cap.centre), reach: SourceReach::new(targets, cap, halo) }
    }
}

/// Cubes along the curve, and the chart of each.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct ChartCubes {
    grid: BlockGrid,
    chart: FxHashMap<BlockKey, usize>,
}

/// What charts are drawn for.
pub(crate) struct ChartProblem<'a> {
    pub(crate) demand: ChartDemand,
    pub(crate) sources: &'a KnownPlaces<'a>,
    pub(crate) targets: &'a KnownPlaces<'a>,
    /// Blocks along the curve in which sources are compared with what a chart reaches.
    pub(crate) cells: BlockGrid,
    /// Smallest side of a chart.
    pub(crate) smallest: f64,
}

/// One way to cut the targets into charts.
struct ChartCut {
    /// The targets of each chart, and a cap around them.
    pieces: Vec<(BlockRun, Cap)>,
    /// Blocks that they were cut by; `None` if they were not cut.
    grid: Option<BlockGrid>,
    /// Largest angle from the centre of a chart to a source.
    farthest: f64,
    /// How many charts a source is on, about.
    overlap: f64,
}

impl SphereLattice {
    /// The cheapest charts; `None` if no charts are accurate enough.
    pub(crate) fn design(problem: &ChartProblem) -> Option<Self> {
        let ChartProblem { demand, targets, cells, .. } = problem;
        let halo = demand.halo();
        let whole = ChartCut::whole(problem);
        let widest = whole.pieces[0].1.radius;
        let sides = std::iter::successors(Some(cells.curve.side()), |side| Some(2.0 * side));
        let cuts = sides
            .skip_while(|side| *side < problem.smallest)
            .take_while(|side| *side < widest.min(LARGEST_SIDE))
            .filter_map(|side| ChartCut::new(targets, BlockGrid { side, ..*cells }, halo));
        let designed = std::iter::once(whole).chain(cuts).filter_map(|cut| {
            let design = ChartDesign::new(demand, cut.radius(halo))?;
            Some((cut.overlap * design.cost(demand), design, cut))
        });
        let (_, design, cut) = designed.min_by(|a, b| a.0.total_cmp(&b.0))?;
        let charts = cut.pieces.iter().map(|(run, cap)| Chart::new(&targets.part(run.places.clone()), *cap, halo));
        Some(Self { design, charts: charts.collect(), cells: *cells, cubes: cut.cubes() })
    }
}

/// Larger cubes would not be aligned with those that rows are counted in, and cut the sphere no better than into octants. Chosen, not measured.
const LARGEST_SIDE: f64 = 1.5;

impl ChartCut {
    /// All targets on one chart.
    fn whole(problem: &ChartProblem) -> Self {
        let cap = problem.targets.cap();
        let run = BlockRun { key: [0; 3], places: problem.targets.places.clone() };
        Self { pieces: vec![(run, cap)], grid: None, farthest: problem.sources.farthest(&cap), overlap: 1.0 }
    }

    /// One chart for each block with targets; `None` if these are too many.
    fn new(targets: &KnownPlaces, grid: BlockGrid, halo: f64) -> Option<Self> {
        let runs = grid.runs(targets.cloud, targets.places.clone());
        if runs.len() > MOST_CHARTS {
            return None;
        }
        let pieces = runs.into_iter().map(|run| (run.clone(), targets.part(run.places).cap())).collect();
        let overlap = (1.0 + 2.0 * halo / grid.side).powi(2);
        Some(Self { pieces, grid: Some(grid), farthest: f64::INFINITY, overlap })
    }

    /// The largest angle from the centre of a chart to a place on it.
    fn radius(&self, halo: f64) -> f64 {
        let widest = self.pieces.iter().map(|(_, cap)| cap.radius).fold(0.0, f64::max);
        (widest + halo).min(self.farthest.max(widest))
    }

    fn cubes(&self) -> Option<ChartCubes> {
        let chart = self.pieces.iter().map(|(run, _)| run.key).zip(0..).collect();
        self.grid.map(|grid| ChartCubes { grid, chart })
    }
}

impl Sheets for SphereLattice {
    fn sheets(&self) -> usize {
        self.charts.len()
    }

    fn runs(&self, cloud: &Cloud, places: Range<usize>) -> Vec<BlockRun> {
        self.cells.runs(cloud, places)
    }

    fn sources(&self, sheet: usize, cloud: &Cloud, runs: &[BlockRun]) -> LaidPlaces {
        let Chart { frame, reach } = &self.charts[sheet];
        lay_out(frame, &self.design.grid, cloud, &reach.sources(cloud, runs, self.cells.side))
    }

    fn owned(&self, cloud: &Cloud, places: Range<usize>) -> Vec<(usize, Range<usize>)> {
        let Some(ChartCubes { grid, chart }) = &self.cubes else { return vec![(0, places)] };
        // Rows that were not counted have no chart: they find no mass, which the caller reports.
        let owner = |run: BlockRun| chart.get(&run.key).map(|chart| (*chart, run.places));
        grid.runs(cloud, places).into_iter().filter_map(owner).collect()
    }

    fn targets(&self, sheet: usize, cloud: &Cloud, places: Range<usize>) -> LaidPlaces {
        let places: Vec<u32> = (places.start as u32..places.end as u32).collect();
        lay_out(&self.charts[sheet].frame, &self.design.grid, cloud, &places)
    }

    fn bound(&self, points: usize, weight: f64) -> Bound {
        self.design.bound(points, weight)
    }

    fn bytes_of_place(&self) -> (u64, u64) {
        (BYTES_OF_PLACE, BYTES_OF_PLACE)
    }
}

impl Windowed for SphereLattice {
    fn window(&self) -> &Window {
        &self.design.window
    }

    fn terms(&self) -> &Terms {
        &self.design.expansion.terms
    }

    fn spread_run(&self, taps: &Taps, sources: &Points, run: &BlockRun, nodes: &mut [f64]) {
        windows::spread(&self.design.grid, taps, sources, run, nodes);
    }

    fn read_run(&self, taps: &Taps, targets: &Points, run: &BlockRun, nodes: &[f64], values: &mut [f64]) {
        windows::read(&self.design.grid, taps, targets, run, nodes, values);
    }

    /// About: as if all rows were at the centres of their cubes.
    fn blocks(&self, counted: &CountedRows) -> Option<Vec<(Vec<BlockKey>, Vec<BlockKey>)>> {
        let [all, targets] = [false, true].map(|only| sorted_centres(counted, only, self.cells.curve));
        let runs = self.runs(&all, 0..all.len());
        let owned = self.owned(&targets, 0..targets.len());
        let of_chart = |(chart, places): (usize, Range<usize>)| {
            (self.sources(chart, &all, &runs).keys(), self.targets(chart, &targets, places).keys())
        };
        Some(owned.into_par_iter().map(of_chart).collect())
    }
}
