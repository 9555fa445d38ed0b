//! The places of a chart: which sources its targets need, and the order of all: block by block, and in a block cell by cell.

use std::ops::Range;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::chart::{ChartGrid, ChartPosition, Frame};
use super::known::{Cap, KnownPlaces, squared_chord};
use crate::engine::bounds::Bounds;
use crate::engine::fast::lattice::{BlockRun, LaidPlaces};
use crate::scene::Cloud;

/// Runs of sources that a task takes at least. Chosen, not measured.
const RUNS_AT_ONCE: usize = 64;

/// Where the sources of a chart are.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct SourceReach {
    cap: Cap,
    /// Largest squared chord from the centre: the chart is designed for no more.
    from_centre: f64,
    /// The box around the targets: it excludes much that the round cap includes.
    bounds: Bounds,
    /// Largest squared chord from there.
    from_bounds: f64,
}

impl SourceReach {
    /// For some targets within a cap. A source farther than the halo from the cap or from the box is so from each target.
    pub(super) fn new(targets: &KnownPlaces, cap: Cap, halo: f64) -> Self {
        let bounds = Bounds::around(targets.cloud, 3, &targets.places);
        let from_bounds = targets.farther(squared_chord(halo));
        Self { cap, from_centre: squared_chord(cap.radius + halo), bounds, from_bounds }
    }

    /// The sources within reach, of those in some runs of blocks, whose side is given.
    pub(super) fn sources(&self, cloud: &Cloud, runs: &[BlockRun], side: f64) -> Vec<u32> {
        let diagonal = 3.0_f64.sqrt() * side;
        let runs = runs.par_iter().with_min_len(RUNS_AT_ONCE);
        runs.flat_map_iter(|run| self.sources_of_run(cloud, run.places.clone(), diagonal)).collect()
    }

    /// The same for one run, whose places are no farther than this from each other.
    fn sources_of_run(&self, cloud: &Cloud, run: Range<usize>, diagonal: f64) -> impl Iterator<Item = u32> {
        let (centre, bounds) = self.squares(cloud, run.start);
        let [centre, bounds] = [centre.sqrt() - self.from_centre.sqrt(), bounds.sqrt() - self.from_bounds.sqrt()];
        let farther = centre.max(bounds);
        let (all, none) = (farther + diagonal < 0.0, farther - diagonal > 0.0);
        let places = if none { 0..0 } else { run };
        places.filter(move |place| all || self.holds(cloud, *place)).map(|place| place as u32)
    }

    fn holds(&self, cloud: &Cloud, place: usize) -> bool {
        let (centre, bounds) = self.squares(cloud, place);
        centre <= self.from_centre && bounds <= self.from_bounds
    }

    /// Squared chords from the centre and from the box.
    fn squares(&self, cloud: &Cloud, place: usize) -> (f64, f64) {
        let here = Bounds::at(&cloud.place::<3>(place));
        (self.cap.squared_chord(cloud, place), self.bounds.squared_distance(&here))
    }
}

/// Neighbours along the curve in one block: where they are in the chart, and which places they are.
type CurvePiece<'a> = (&'a [ChartPosition], &'a [u32]);

/// Lays out places on a chart. Places of one cell touch the same nodes, which are then loaded once for many.
pub(super) fn lay_out(frame: &Frame, grid: &ChartGrid, cloud: &Cloud, places: &[u32]) -> LaidPlaces {
    let located = frame.locate(grid, cloud, places);
    // Neighbours along the curve are mostly in one block: there is much less to sort than places.
    let mut pieces: Vec<CurvePiece> = Vec::new();
    let mut rest = places;
    for piece in located.chunk_by(|a, b| a.block == b.block) {
        pieces.extend(rest.split_off(..piece.len()).map(|places| (piece, places)));
    }
    pieces.par_sort_by_key(|(located, _)| located[0].block);
    let (length, mut end) = (places.len(), 0);
    let positions = [vec![0.0; length], vec![0.0; length]];
    let mut laid = LaidPlaces { runs: Vec::new(), places: vec![0; length], positions };
    for block in pieces.chunk_by(|a, b| a.0[0].block == b.0[0].block) {
        let start = end;
        end += block.iter().map(|(located, _)| located.len()).sum::<usize>();
        write_block(&mut laid, grid.nodes, block, start);
        let [first, second] = block[0].0[0].block;
        laid.runs.push(BlockRun { key: [0, i64::from(first), i64::from(second)], places: start..end });
    }
    laid
}

/// Writes the places of a block from `start` on, sorted by counting those of each cell.
fn write_block(laid: &mut LaidPlaces, nodes: usize, block: &[CurvePiece], start: usize) {
    let mut next = vec![0; nodes * nodes + 1];
    next[0] = start;
    for position in block.iter().flat_map(|(located, _)| *located) {
        next[position.cell(nodes) + 1] += 1;
    }
    for cell in 0..nodes * nodes {
        next[cell + 1] += next[cell];
    }
    for (position, place) in block.iter().flat_map(|(located, places)| located.iter().zip(*places)) {
        let at = &mut next[position.cell(nodes)];
        laid.places[*at] = *place;
        for (axis, position) in laid.positions.iter_mut().zip(position.position) {
            axis[*at] = position;
        }
        *at += 1;
    }
}
