//! The lattice of the globe: places in the patches that they are in, and the three steps.

use std::ops::Range;

use rayon::prelude::*;

use super::bands::{PatchKey, PatchPosition, angles};
use super::nodes::{ReadFromPatch, SpreadToPatch};
use super::patches::GlobeLattice;
use crate::engine::fast::lattice::{
    BlockKey, BlockRun, Bound, CountedRows, LaidPlaces, LastBlocks, Lattice, LatticeCost, NodeBlocks, Points, Route,
    Sheets, add_compensated,
};
use crate::engine::pieces::{pieces, slots};
use crate::scene::Cloud;
use crate::simd::arch;
use crate::space::compensated;

/// Places of a patch that one task works on. Chosen, not measured.
const PIECE: usize = 1 << 12;
/// Bytes of a place in a patch: where it is, which it is, its rank, and the first two once more while it is sorted.
const BYTES_OF_PLACE: u64 = 72;

impl Sheets for GlobeLattice {
    fn runs(&self, _: &Cloud, places: Range<usize>) -> Vec<BlockRun> {
        vec![BlockRun { key: [0; 3], places }]
    }

    fn sources(&self, sheet: usize, cloud: &Cloud, runs: &[BlockRun]) -> LaidPlaces {
        let (start, end) =
            (runs.first().map_or(0, |run| run.places.start), runs.last().map_or(0, |run| run.places.end));
        self.targets(sheet, cloud, start..end)
    }

    /// Patch by patch.
    fn targets(&self, _: usize, cloud: &Cloud, places: Range<usize>) -> LaidPlaces {
        let locate = |place: usize| (self.bands.spot(angles(cloud, place)), place as u32);
        let mut located: Vec<(PatchPosition, u32)> = places.into_par_iter().with_min_len(PIECE).map(locate).collect();
        located.par_sort_unstable_by_key(|(spot, place)| (spot.key, *place));
        let runs = located.chunk_by(|a, b| a.0.key == b.0.key).scan(0, |end, patch| {
            let start = std::mem::replace(end, *end + patch.len());
            let (band, patch) = patch[0].0.key;
            Some(BlockRun { key: [0, i64::from(band), i64::from(patch)], places: start..*end })
        });
        let positions = [0, 1].map(|k| located.iter().map(|(spot, _)| spot.within[k]).collect());
        LaidPlaces { runs: runs.collect(), places: located.iter().map(|(_, place)| *place).collect(), positions }
    }

    fn bound(&self, _: usize, weight: f64) -> Bound {
        Bound::absolute(self.off, weight)
    }

    fn bytes_of_place(&self) -> (u64, u64) {
        (BYTES_OF_PLACE, 0)
    }
}

impl Lattice for GlobeLattice {
    fn route(&self, sources: &[BlockKey], targets: &[BlockKey]) -> Route {
        Route::at_once(sources, targets)
    }

    fn touched(&self, key: BlockKey) -> Vec<BlockKey> {
        vec![key]
    }

    fn numbers(&self, columns: usize) -> usize {
        2 * columns * self.nodes_of_a_patch()
    }

    /// With compensation the rounding error does not grow with the number of parts.
    fn is_compensated(&self) -> bool {
        true
    }

    fn spread(&self, sources: &Points, nodes: &NodeBlocks) {
        let pieces: Vec<(usize, Vec<f64>)> = pieces_of_patches(sources.laid)
            .into_par_iter()
            .map(|(patch, places)| {
                let (amounts, within) = (amounts(sources, &places), positions(sources.laid, places));
                (patch, arch().dispatch(SpreadToPatch { chebyshev: &self.chebyshev, within, amounts: &amounts }))
            })
            .collect();
        for pieces in pieces.chunk_by(|a, b| a.0 == b.0) {
            let numbers = 0..pieces[0].1.len();
            let sums: Vec<f64> = numbers.map(|at| compensated(pieces.iter().map(|(_, sums)| sums[at]))).collect();
            nodes.change(&sources.laid.runs[pieces[0].0].key, |block| add_compensated(block, &sums));
        }
    }

    fn convolve(&self, route: &Route, nodes: Vec<f64>, columns: usize) -> Vec<f64> {
        let mut moments = vec![Vec::with_capacity(nodes.len() / (2 * columns)); columns];
        for block in nodes.chunks_exact(self.numbers(columns)) {
            let (sums, lost) = block.split_at(block.len() / 2);
            let of_patch = self.nodes_of_a_patch();
            let of_columns = sums.chunks_exact(of_patch).zip(lost.chunks_exact(of_patch));
            for (column, (sums, lost)) in moments.iter_mut().zip(of_columns) {
                column.extend(sums.iter().zip(lost).map(|(sum, lost)| sum + lost));
            }
        }
        drop(nodes);
        self.transfer(&patches(&route.stages[0]), &moments, &patches(route.last()))
    }

    fn read(&self, targets: &Points, nodes: &LastBlocks) -> Vec<f64> {
        let columns = targets.columns.len();
        let mut sums = vec![0.0; targets.laid.len() * columns];
        let pieces = pieces_of_patches(targets.laid);
        let slots = slots(&mut sums, pieces.iter().map(|(_, places)| places.len() * columns));
        pieces.into_par_iter().zip(slots).for_each(|((patch, places), out)| {
            if let Some(nodes) = nodes.get(&targets.laid.runs[patch].key, columns * self.nodes_of_a_patch()) {
                let within = positions(targets.laid, places);
                arch().dispatch(ReadFromPatch { chebyshev: &self.chebyshev, within, nodes, out });
            }
        });
        sums
    }

    /// Nodes of sources by pieces, with their rounding errors, and in columns; nodes of targets by tiles and in one piece.
    fn bytes(&self, sources: &LaidPlaces, route: &Route) -> u64 {
        let patches = pieces_of_patches(sources).len() + 3 * route.stages[0].len() + 2 * route.last().len();
        8 * (patches * self.nodes_of_a_patch()) as u64
    }

    fn cost(&self, counted: &CountedRows, limit: u64) -> Option<LatticeCost> {
        self.cost_of_counted(counted).filter(|cost| cost.bytes <= limit)
    }
}

/// Blocks of the lattice as patches.
fn patches(blocks: &[BlockKey]) -> Vec<PatchKey> {
    blocks.iter().map(|[_, band, patch]| (*band as u32, *patch as u32)).collect()
}

/// The patches in pieces, each the work of a task: the number of the patch and the places.
fn pieces_of_patches(laid: &LaidPlaces) -> Vec<(usize, Range<usize>)> {
    let runs = laid.runs.iter().enumerate();
    runs.flat_map(|(number, run)| pieces(&run.places, PIECE).map(move |places| (number, places))).collect()
}

/// The columns of some sources, in the order in which they are laid.
fn amounts(sources: &Points, places: &Range<usize>) -> Vec<Vec<f64>> {
    let order = &sources.laid.places[places.clone()];
    sources.columns.iter().map(|column| order.iter().map(|place| column[*place as usize]).collect()).collect()
}

fn positions(laid: &LaidPlaces, places: Range<usize>) -> [&[f64]; 2] {
    [0, 1].map(|k: usize| &laid.positions[k][places.clone()])
}
