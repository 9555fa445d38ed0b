//! The windows of places on a chart: each has a width of its own.

use std::ops::Range;

use pulp::Simd;

use super::chart::ChartGrid;
use crate::engine::fast::lattice::{BlockRun, LaidPlaces, LoadPoints, PointLanes, Points, Taps, Window};
use crate::kernel::{LANES, lanes};

/// The scales of some places, and what follows from them for their windows.
struct Scales {
    /// α.
    scale_offsets: Vec<f64>,
    /// How fast windows decay, to base 2, in nodes.
    decays: Vec<f64>,
    /// `(1 + α) t / (t + α)`: the lattice gives the kernel divided by its variance, times those of the two windows and divided
    /// by t².
    factors: Vec<f64>,
}

impl Scales {
    /// Of the places of a block.
    fn of(grid: &ChartGrid, window: &Window, laid: &LaidPlaces, run: &BlockRun) -> Self {
        let scale_offset = |place: usize| grid.scale_offset(&run.key, [0, 1].map(|k: usize| laid.positions[k][place]));
        let scale_offsets: Vec<f64> = run.places.clone().map(scale_offset).collect();
        let decay = 0.5 * std::f64::consts::LOG2_E * window.step * window.step;
        Self {
            decays: scale_offsets.iter().map(|scale_offset| decay / (window.outer + scale_offset)).collect(),
            factors: scale_offsets
                .iter()
                .map(|scale_offset| (1.0 + scale_offset) * window.outer / (window.outer + scale_offset))
                .collect(),
            scale_offsets,
        }
    }

    fn loader<'a>(&'a self, laid: &'a LaidPlaces, run: &BlockRun) -> ChartLoader<'a> {
        let positions = [0, 1].map(|k: usize| &laid.positions[k][run.places.clone()]);
        ChartLoader { positions, decays: &self.decays }
    }
}

/// Adds some places of a block to the nodes around it, in as many sets of columns as the nodes have.
pub(super) fn spread(grid: &ChartGrid, taps: &Taps, sources: &Points, run: &BlockRun, nodes: &mut [f64]) {
    let scales = Scales::of(grid, &taps.window, sources.laid, run);
    let places = &sources.laid.places[run.places.clone()];
    let mut powers = scales.factors.clone();
    let mut sets: Vec<Vec<f64>> = Vec::new();
    while sets.len() * taps.shape.len() < nodes.len() {
        for column in sources.columns {
            sets.push(places.iter().zip(&powers).map(|(place, power)| power * column[*place as usize]).collect());
        }
        powers.iter_mut().zip(&scales.scale_offsets).for_each(|(power, scale_offset)| *power *= scale_offset);
    }
    let columns: Vec<&[f64]> = sets.iter().map(Vec::as_slice).collect();
    taps.spread(&scales.loader(sources.laid, run), 0..places.len(), &columns, nodes);
}

/// Reads the nodes around a block at its places, and adds up the sets of columns.
pub(super) fn read(grid: &ChartGrid, taps: &Taps, targets: &Points, run: &BlockRun, nodes: &[f64], values: &mut [f64]) {
    let scales = Scales::of(grid, &taps.window, targets.laid, run);
    let (columns, of_sets) = (targets.columns.len(), nodes.len() / taps.shape.len());
    let mut sets = vec![0.0; run.places.len() * of_sets];
    taps.read(&scales.loader(targets.laid, run), 0..run.places.len(), nodes, &mut sets);
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
        let decays = lanes(&self.decays[places.clone()], 0.0);
        let [first, second] = self.positions.map(|positions| lanes(&positions[places.clone()], 0.0));
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
