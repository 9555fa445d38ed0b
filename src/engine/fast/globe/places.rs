//! Places in the patches that they are in, and the steps between places and the nodes of patches.

use std::ops::Range;

use rayon::prelude::*;

use super::bands::{Bands, PatchKey, PatchPosition, angles};
use super::nodes::{read_patch, spread_to_patch};
use super::patches::GlobeLattice;
use crate::engine::fast::lattice::{BlockKey, BlockRun, LaidPlaces, LastBlocks, Points};
use crate::scene::Cloud;
use crate::space::compensated;

/// Places of a patch that one task works on. Chosen, not measured.
const PIECE: usize = 1 << 12;

/// Lays out consecutive places, patch by patch.
pub(super) fn lay_out(bands: &Bands, cloud: &Cloud, places: Range<usize>) -> LaidPlaces {
    let locate = |place: usize| (bands.spot(angles(cloud, place)), place as u32);
    let mut located: Vec<(PatchPosition, u32)> = places.into_par_iter().with_min_len(PIECE).map(locate).collect();
    located.par_sort_unstable_by_key(|(spot, place)| (spot.key, *place));
    let runs = located.chunk_by(|a, b| a.0.key == b.0.key).scan(0, |end, patch| {
        let start = std::mem::replace(end, *end + patch.len());
        Some(BlockRun { key: block_of(patch[0].0.key), places: start..*end })
    });
    let positions = [0, 1].map(|k| located.iter().map(|(spot, _)| spot.within[k]).collect());
    LaidPlaces { runs: runs.collect(), places: located.iter().map(|(_, place)| *place).collect(), positions }
}

/// A patch as a block of the lattice.
fn block_of((band, patch): PatchKey) -> BlockKey {
    [0, i64::from(band), i64::from(patch)]
}

/// Blocks of the lattice as patches.
pub(super) fn patches(blocks: &[BlockKey]) -> Vec<PatchKey> {
    blocks.iter().map(|[_, band, patch]| (*band as u32, *patch as u32)).collect()
}

/// The patches in pieces, each the work of a task: the number of the patch and the places.
pub(super) fn pieces(laid: &LaidPlaces) -> Vec<(usize, Range<usize>)> {
    let runs = laid.runs.iter().map(|run| run.places.clone()).enumerate();
    runs.flat_map(|(number, Range { start, end })| {
        (start..end).step_by(PIECE).map(move |start| (number, start..end.min(start + PIECE)))
    })
    .collect()
}

/// Sums of sources at the nodes of their patches: for each patch one column after the other.
pub(super) fn spread(mesh: &GlobeLattice, sources: &Points) -> Vec<Vec<f64>> {
    let pieces: Vec<(usize, Vec<f64>)> = pieces(sources.laid)
        .into_par_iter()
        .map(|(patch, places)| {
            let positions = positions(sources.laid, places.clone());
            (patch, spread_to_patch(&mesh.chebyshev, positions, &amounts(sources, &places)))
        })
        .collect();
    let numbers = sources.columns.len() * mesh.nodes_of_a_patch();
    let of_patch = pieces.chunk_by(|a, b| a.0 == b.0);
    of_patch
        .map(|pieces| (0..numbers).map(|at| compensated(pieces.iter().map(|(_, sums)| sums[at]))).collect())
        .collect()
}

/// The columns of some sources, in the order in which they are laid.
fn amounts(sources: &Points, places: &Range<usize>) -> Vec<Vec<f64>> {
    let order = &sources.laid.places[places.clone()];
    sources.columns.iter().map(|column| order.iter().map(|place| column[*place as usize]).collect()).collect()
}

/// The sums at targets: for each the columns.
pub(super) fn read(mesh: &GlobeLattice, targets: &Points, nodes: &LastBlocks) -> Vec<f64> {
    let columns = targets.columns.len();
    let mut sums = vec![0.0; targets.laid.len() * columns];
    let mut rest = sums.as_mut_slice();
    let pieces = pieces(targets.laid).into_iter().map(|(patch, places)| {
        let out = rest.split_off_mut(..places.len() * columns).unwrap_or_default();
        (patch, places, out)
    });
    pieces.collect::<Vec<_>>().into_par_iter().for_each(|(patch, places, out)| {
        if let Some(nodes) = nodes.get(&targets.laid.runs[patch].key, columns * mesh.nodes_of_a_patch()) {
            read_patch(&mesh.chebyshev, positions(targets.laid, places), nodes, out);
        }
    });
    sums
}

fn positions(laid: &LaidPlaces, places: Range<usize>) -> [&[f64]; 2] {
    [0, 1].map(|k: usize| &laid.positions[k][places.clone()])
}
