//! The sphere on lattices: which charts there are, and the sums of each.
//!
//! A chart owns the targets of a piece of the curve. Sources within reach of them are spread in it too, so that those near an
//! edge are in more than one chart. Large charts need more sets of columns ([`expansion`](super::expansion)), small ones have more
//! sources in common: the cheapest size is taken.

use std::ops::Range;

use pulp::Simd;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::cap::{Cap, angle, squared_chord};
use super::chart::{ChartGrid, ChartPlaces, Frame};
use super::design::{ChartDemand, ChartDesign};
use crate::engine::bounds::Bounds;
use crate::engine::fast::lattice::{BlockGrid, BlockRun, Grid, LoadPoints, PointLanes, Reads, Spreads, Taps, Window};
use crate::kernel::LANES;
use crate::scene::{Cloud, Layout};

/// Most charts: beyond, each has so few targets that the lattice is of no use.
pub(crate) const MOST_CHARTS: usize = 1000;

/// Charts before their sources are known.
pub(crate) struct AtlasDraft {
    pub(crate) design: ChartDesign,
    /// The targets of each chart and where they are.
    pieces: Vec<(Range<usize>, Cap)>,
    halo: f64,
}

impl AtlasDraft {
    /// The cheapest way to cut targets into charts.
    pub(crate) fn new(
        task: &ChartDemand,
        layout: &Layout,
        sources: &Range<usize>,
        targets: &Range<usize>,
    ) -> Option<Self> {
        let halo = task.halo();
        let whole = vec![(targets.clone(), Cap::around(&layout.targets, targets.clone()))];
        let widest = whole[0].1.radius;
        let farthest = farthest(&layout.sources, &whole[0].1, sources);
        let sides = std::iter::successors(Some(layout.curve.side()), |side| Some(2.0 * side));
        let cut = sides.skip_while(|side| *side < 4.0 * halo).take_while(|side| *side < widest).filter_map(|side| {
            let block_grid = BlockGrid { curve: layout.curve, dimensions: 3, side };
            let runs = block_grid.runs(&layout.targets, targets.clone());
            let cap = |run: BlockRun| (run.places.clone(), Cap::around(&layout.targets, run.places));
            let overlap = (1.0 + 2.0 * halo / side).powi(2);
            (runs.len() <= MOST_CHARTS).then(|| (runs.into_iter().map(cap).collect::<Vec<_>>(), f64::INFINITY, overlap))
        });
        let draft = |(pieces, farthest, overlap): (Vec<(Range<usize>, Cap)>, f64, f64)| {
            let widest = pieces.iter().map(|(_, cap)| cap.radius).fold(0.0, f64::max);
            let design = ChartDesign::new(task, (widest + halo).min(farthest.max(widest)))?;
            Some((overlap * design.cost(task), Self { design, pieces, halo }))
        };
        let surveys = std::iter::once((whole, farthest, 1.0)).chain(cut).filter_map(draft);
        surveys.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, draft)| draft)
    }

    /// Charts with those sources on them that are in these runs of blocks, whose side is given.
    pub(crate) fn charts(self, layout: &Layout, sources: &[BlockRun], side: f64) -> Atlas {
        let Self { design, pieces, halo } = self;
        let chart = |(targets, cap): (Range<usize>, Cap)| {
            let reach = SourceReach::new(&layout.targets, &targets, cap, halo);
            let sources = reach.of(&layout.sources, sources, side);
            let frame = Frame::about(cap.centre);
            Chart::new(&design, &frame, layout, &sources, targets)
        };
        Atlas { grid: design.grid, charts: pieces.into_par_iter().map(chart).collect() }
    }
}

/// The largest angle from the centre of a cap to a source.
pub(crate) fn farthest(sources: &Cloud, cap: &Cap, places: &Range<usize>) -> f64 {
    let squares = places.clone().into_par_iter().with_min_len(1 << 14).map(|place| cap.squared_chord(sources, place));
    angle(squares.reduce(|| 0.0, f64::max))
}

/// Runs of sources that a task takes at least.
const RUNS_AT_ONCE: usize = 64;

/// Where the sources of a chart are.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct SourceReach {
    cap: Cap,
    /// Largest squared chord from the centre: the chart is designed for no more.
    from_centre: f64,
    /// The box around the targets. It leaves out much of what the cap, which is round, has beside them.
    bounds: Bounds,
    /// Largest squared chord from there.
    from_bounds: f64,
}

impl SourceReach {
    /// Around some targets within a cap: what is farther than the halo from the cap or from the box is so from each target.
    pub(crate) fn new(cloud: &Cloud, targets: &Range<usize>, cap: Cap, halo: f64) -> Self {
        let bounds = Bounds::around(cloud, 3, targets);
        Self { cap, from_centre: squared_chord(cap.radius + halo), bounds, from_bounds: squared_chord(halo) }
    }

    /// The same around targets that are so much farther out than what was taken for them, in chords.
    pub(crate) fn widened(self, off: f64) -> Self {
        Self { from_bounds: (self.from_bounds.sqrt() + off).powi(2), ..self }
    }

    /// The sources within reach, of those in some runs of blocks, whose side is given.
    fn of(&self, cloud: &Cloud, runs: &[BlockRun], side: f64) -> Vec<u32> {
        let diagonal = 3.0_f64.sqrt() * side;
        let within = |run: &BlockRun| {
            let (centre, bounds) = self.squares(cloud, run.places.start);
            let [centre, bounds] = [centre.sqrt() - self.from_centre.sqrt(), bounds.sqrt() - self.from_bounds.sqrt()];
            let farther = centre.max(bounds);
            let (all, none) = (farther + diagonal < 0.0, farther - diagonal > 0.0);
            let places = if none { 0..0 } else { run.places.clone() };
            places.filter(move |place| all || self.holds(cloud, *place)).map(|place| place as u32)
        };
        runs.par_iter().with_min_len(RUNS_AT_ONCE).flat_map_iter(within).collect()
    }

    pub(crate) fn holds(&self, cloud: &Cloud, place: usize) -> bool {
        let (centre, bounds) = self.squares(cloud, place);
        centre <= self.from_centre && bounds <= self.from_bounds
    }

    /// Squared chords from the centre and from the box.
    fn squares(&self, cloud: &Cloud, place: usize) -> (f64, f64) {
        let here = Bounds::at(&cloud.place::<3>(place));
        (self.cap.squared_chord(cloud, place), self.bounds.squared_distance(&here))
    }
}

/// All charts of a group.
pub(crate) struct Atlas {
    pub(crate) grid: ChartGrid,
    pub(crate) charts: Vec<Chart>,
}

impl Atlas {
    /// Most sources in a block.
    pub(crate) fn largest_block(&self) -> usize {
        let blocks = self.charts.iter().flat_map(|chart| &chart.sources.runs);
        blocks.map(|run| run.places.len()).max().unwrap_or(0)
    }
}

/// A chart with the targets that it owns and the sources near them.
pub(crate) struct Chart {
    grid: Grid,
    sources: ChartPlaces,
    targets: ChartPlaces,
    owns: Range<usize>,
    /// Where in the order of blocks each target is.
    rank: Vec<u32>,
}

impl Chart {
    fn new(design: &ChartDesign, frame: &Frame, layout: &Layout, sources: &[u32], owns: Range<usize>) -> Self {
        let all: Vec<u32> = (owns.start as u32..owns.end as u32).collect();
        let (sources, targets) = rayon::join(
            || frame.lay_out(&design.grid, &layout.sources, sources),
            || frame.lay_out(&design.grid, &layout.targets, &all),
        );
        let mut rank = vec![0; owns.len()];
        for (at, place) in (0..).zip(&targets.places) {
            rank[*place as usize - owns.start] = at;
        }
        let terms = design.expansion.terms.clone();
        let grid = Grid::new(design.window, terms, sources.runs.clone(), targets.runs.clone());
        Self { grid, sources, targets, owns, rank }
    }

    /// Places that it keeps.
    pub(crate) fn places(&self) -> usize {
        self.sources.places.len() + self.targets.places.len()
    }

    /// Bytes that sums take for each column.
    pub(crate) fn bytes(&self) -> u64 {
        self.grid.bytes() + 8 * self.owns.len() as u64
    }

    /// The targets whose sums it gives.
    pub(crate) fn targets(&self) -> Range<usize> {
        self.owns.clone()
    }

    /// The sums of all its targets, in the order of its blocks.
    pub(crate) fn sums(&self, grid: &ChartGrid, columns: &[&[f64]]) -> Vec<f64> {
        let [sources, targets] = [&self.sources, &self.targets].map(|laid| ChartPoints { grid, laid, columns });
        let mut values = vec![0.0; self.owns.len() * columns.len()];
        for block in self.grid.sums(&sources, &targets, columns.len()) {
            let start = block.places.start * columns.len();
            values[start..start + block.values.len()].copy_from_slice(&block.values);
        }
        values
    }

    /// The sums of one target among those of all.
    pub(crate) fn of_target<'a>(&self, values: &'a [f64], target: usize, columns: usize) -> &'a [f64] {
        let at = self.rank[target - self.owns.start] as usize * columns;
        &values[at..at + columns]
    }
}

/// Places of a chart, with sets of columns as the terms of the kernel want them.
pub(crate) struct ChartPoints<'a> {
    pub(crate) grid: &'a ChartGrid,
    pub(crate) laid: &'a ChartPlaces,
    pub(crate) columns: &'a [&'a [f64]],
}

/// What some places need for their windows, place by place.
struct Scales {
    /// α.
    scale_offsets: Vec<f64>,
    /// How fast windows decay, to base 2, in nodes.
    decays: Vec<f64>,
    /// `(1 + α) t / (t + α)`: the lattice gives the kernel divided by its variance, times those of the two windows and divided
    /// by t².
    factors: Vec<f64>,
}

impl ChartPoints<'_> {
    fn scales(&self, window: &Window, run: &BlockRun) -> Scales {
        let places = run.places.clone();
        let scale_offset =
            |place: usize| self.grid.scale_offset(&run.key, [0, 1].map(|k: usize| self.laid.positions[k][place]));
        let scale_offsets: Vec<f64> = places.map(scale_offset).collect();
        let decay = 0.5 * std::f64::consts::LOG2_E * window.step * window.step;
        Scales {
            decays: scale_offsets.iter().map(|scale_offset| decay / (window.outer + scale_offset)).collect(),
            factors: scale_offsets
                .iter()
                .map(|scale_offset| (1.0 + scale_offset) * window.outer / (window.outer + scale_offset))
                .collect(),
            scale_offsets,
        }
    }

    fn loader<'a>(&'a self, run: &BlockRun, scales: &'a Scales) -> ChartLoader<'a> {
        let positions = [0, 1].map(|k: usize| &self.laid.positions[k][run.places.clone()]);
        ChartLoader { positions, decays: &scales.decays }
    }
}

impl Spreads for ChartPoints<'_> {
    fn spread(&self, taps: &Taps, run: &BlockRun, nodes: &mut [f64]) {
        let scales = self.scales(&taps.window, run);
        let places = &self.laid.places[run.places.clone()];
        let mut powers = scales.factors.clone();
        let mut sets: Vec<Vec<f64>> = Vec::new();
        while sets.len() * taps.shape.len() < nodes.len() {
            for column in self.columns {
                sets.push(places.iter().zip(&powers).map(|(place, power)| power * column[*place as usize]).collect());
            }
            powers.iter_mut().zip(&scales.scale_offsets).for_each(|(power, scale_offset)| *power *= scale_offset);
        }
        let columns: Vec<&[f64]> = sets.iter().map(Vec::as_slice).collect();
        taps.spread(&self.loader(run, &scales), 0..places.len(), &columns, nodes);
    }
}

impl Reads for ChartPoints<'_> {
    fn read(&self, taps: &Taps, run: &BlockRun, nodes: &[f64], values: &mut [f64]) {
        let scales = self.scales(&taps.window, run);
        let of_sets = nodes.len() / taps.shape.len();
        let mut sets = vec![0.0; run.places.len() * of_sets];
        taps.read(&self.loader(run, &scales), 0..run.places.len(), nodes, &mut sets);
        let columns = self.columns.len();
        let places = values.chunks_exact_mut(columns).zip(sets.chunks_exact(of_sets));
        for ((values, sets), (scale_offset, factor)) in places.zip(scales.scale_offsets.iter().zip(&scales.factors)) {
            // By Horner's rule, the highest power first.
            for set in sets.chunks_exact(columns).rev() {
                values.iter_mut().zip(set).for_each(|(value, set)| *value = *value * scale_offset + set);
            }
            for value in values {
                *value *= factor;
            }
        }
    }
}

/// Places of a chart, where each has windows of its own width.
struct ChartLoader<'a> {
    /// Where they are in their block, in nodes.
    positions: [&'a [f64]; 2],
    /// How fast their windows decay, to base 2, in nodes.
    decays: &'a [f64],
}

impl LoadPoints for ChartLoader<'_> {
    #[inline(always)]
    fn load<S: Simd, const WIDTH: usize>(&self, taps: &Taps, places: &Range<usize>, points: &mut PointLanes) {
        points.start(places.len());
        let lanes = |values: &[f64]| {
            let mut lanes = [0.0; LANES];
            lanes.iter_mut().zip(&values[places.clone()]).for_each(|(lane, value)| *lane = *value);
            lanes
        };
        let decays = lanes(self.decays);
        let [first, second] = self.positions.map(lanes);
        let within = points.locate(taps, 1, &first);
        for (j, out) in points.across[1].iter_mut().enumerate().take(taps.shape.rows_touched(1)) {
            for lane in 0..LANES {
                out[lane] = taps.table.own::<S>(j, decays[lane], within[lane]);
            }
        }
        let within = points.locate(taps, 2, &second);
        for lane in 0..LANES {
            for j in 0..WIDTH {
                points.along[lane][j] = taps.table.own::<S>(j, decays[lane], within[lane]);
            }
        }
    }
}
