//! From places to blocks: which block a place is in, and where in it.

use std::ops::Range;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::lattice::Key;
use crate::kernel::{LANES, Lanes};
use crate::scene::{Cloud, Curve};

/// Consecutive places in one block.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) key: Key,
    pub(super) places: Range<usize>,
}

/// Places that one task cuts into runs.
const PIECE: usize = 1 << 14;

/// How places become positions in blocks.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Ruler {
    pub(super) curve: Curve,
    pub(super) dimensions: usize,
    /// Side of a block in the unit of the axes: a power of two times the side of the smallest cubes.
    pub(super) side: f64,
}

impl Ruler {
    fn first_axis(&self) -> usize {
        3 - self.dimensions
    }

    /// The block of a place.
    #[inline]
    pub(super) fn key(&self, cloud: &Cloud, place: usize) -> Key {
        let mut key = [0; 3];
        for k in 0..self.dimensions {
            key[self.first_axis() + k] = self.curve.cube(k, cloud.axes[k][place], self.side) as i64;
        }
        key
    }

    /// Cuts sorted places into those of each block.
    /// Those with fewer than `least` places are left out.
    pub(super) fn runs(&self, cloud: &Cloud, places: Range<usize>, least: usize) -> Vec<Run> {
        let (start, end) = (places.start, places.end);
        let pieces = (start..end).into_par_iter().step_by(PIECE).map(|at| at..end.min(at + PIECE));
        let runs: Vec<Vec<Run>> = pieces.map(|piece| self.runs_of_piece(cloud, piece, least)).collect();
        let mut joined: Vec<Run> = Vec::with_capacity(runs.iter().map(Vec::len).sum());
        for run in runs.into_iter().flatten() {
            match joined.last_mut() {
                Some(last) if last.key == run.key => last.places.end = run.places.end,
                _ => joined.push(run),
            }
        }
        joined.retain(|run| run.places.len() >= least);
        joined
    }

    fn runs_of_piece(&self, cloud: &Cloud, piece: Range<usize>, least: usize) -> Vec<Run> {
        let mut runs = Vec::new();
        let mut open = Run { key: self.key(cloud, piece.start), places: piece.start..piece.start };
        for place in piece.clone() {
            let key = self.key(cloud, place);
            if key != open.key {
                // The first run may go on in the piece before.
                if open.places.len() >= least || open.places.start == piece.start {
                    runs.push(open);
                }
                open = Run { key, places: place..place };
            }
            open.places.end = place + 1;
        }
        runs.push(open);
        runs
    }

    /// Where up to sixteen places are within their block along one axis, in nodes.
    #[inline(always)]
    pub(super) fn positions(&self, cloud: &Cloud, key: &Key, k: usize, places: &Range<usize>, nodes: usize) -> Lanes {
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
