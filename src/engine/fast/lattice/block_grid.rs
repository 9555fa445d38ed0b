//! Blocks along the curve that places are sorted by: which block a place is in, and where in it.

use std::ops::Range;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::blocks::{BlockKey, BlockRun};
use crate::engine::pieces::pieces;
use crate::kernel::{LANES, Lanes};
use crate::scene::{Cloud, Curve};

/// Places that one task cuts into runs. Chosen, not measured.
const PIECE: usize = 1 << 14;

/// Blocks of one side along a curve.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct BlockGrid {
    pub(crate) curve: Curve,
    pub(crate) dimensions: usize,
    /// Side of a block in the unit of the axes: a power of two times the side of the smallest cubes.
    pub(crate) side: f64,
}

impl BlockGrid {
    fn first_axis(&self) -> usize {
        3 - self.dimensions
    }

    /// The block of a place.
    #[inline]
    pub(crate) fn key(&self, cloud: &Cloud, place: usize) -> BlockKey {
        let mut key = [0; 3];
        for k in 0..self.dimensions {
            key[self.first_axis() + k] = self.curve.cube(k, cloud.axes[k][place], self.side) as i64;
        }
        key
    }

    /// Cuts sorted places into those of each block.
    pub(crate) fn runs(&self, cloud: &Cloud, places: Range<usize>) -> Vec<BlockRun> {
        let pieces: Vec<Range<usize>> = pieces(&places, PIECE).collect();
        let runs: Vec<Vec<BlockRun>> = pieces.into_par_iter().map(|piece| self.runs_of_piece(cloud, piece)).collect();
        let mut joined: Vec<BlockRun> = Vec::with_capacity(runs.iter().map(Vec::len).sum());
        for run in runs.into_iter().flatten() {
            match joined.last_mut() {
                Some(last) if last.key == run.key => last.places.end = run.places.end,
                _ => joined.push(run),
            }
        }
        joined
    }

    fn runs_of_piece(&self, cloud: &Cloud, piece: Range<usize>) -> Vec<BlockRun> {
        let mut runs = Vec::new();
        let mut open = BlockRun { key: self.key(cloud, piece.start), places: piece.start..piece.start };
        for place in piece.clone() {
            let key = self.key(cloud, place);
            if key != open.key {
                runs.push(open);
                open = BlockRun { key, places: place..place };
            }
            open.places.end = place + 1;
        }
        runs.push(open);
        runs
    }

    /// Where up to sixteen places are within their block along one axis, in nodes.
    #[inline(always)]
    pub(crate) fn positions(
        &self,
        cloud: &Cloud,
        key: &BlockKey,
        k: usize,
        places: &Range<usize>,
        nodes: usize,
    ) -> Lanes {
        let corner = self.curve.corner(k, key[self.first_axis() + k] as u64, self.side);
        let mut positions = [0.0; LANES];
        for (position, coordinate) in positions.iter_mut().zip(&cloud.axes[k][places.clone()]) {
            *position = coordinate - corner;
        }
        // Rounding may have put a place on the far edge of its block.
        let (nodes_per_unit, most) = (nodes as f64 / self.side, nodes as f64 * (1.0 - f64::EPSILON));
        positions.map(|offset| (offset * nodes_per_unit).clamp(0.0, most))
    }
}
