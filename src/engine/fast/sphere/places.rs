//! Places of a chart in order: block by block, and in a block cell by cell.

use rayon::prelude::*;

use super::chart::{ChartGrid, ChartPosition, Frame};
use crate::engine::fast::lattice::{BlockRun, LaidPlaces};
use crate::scene::Cloud;

/// Neighbours along the curve in one block: where they are in the chart, and which places they are.
type Neighbours<'a> = (&'a [ChartPosition], &'a [u32]);

/// Lays out places on a chart. Places of one cell touch the same nodes, which are then loaded once for many.
pub(super) fn lay_out(frame: &Frame, grid: &ChartGrid, cloud: &Cloud, places: &[u32]) -> LaidPlaces {
    let located = frame.locate(grid, cloud, places);
    // Neighbours along the curve are mostly in one block: there is much less to sort than places.
    let mut pieces: Vec<Neighbours> = Vec::new();
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
fn write_block(laid: &mut LaidPlaces, nodes: usize, block: &[Neighbours], start: usize) {
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
