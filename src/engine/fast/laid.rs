//! A lattice with all sources and targets laid out on it: in memory the steps run once for each sheet.

use std::ops::Range;

use rayon::prelude::*;

use super::any_lattice::AnyLattice;
use super::lattice::{BlockRun, LaidPlaces, LastBlocks, Lattice, NodeBlocks, Points, Route, positions};
use crate::scene::Layout;

/// A lattice and its sheets.
pub(super) struct LaidLattice {
    pub(super) lattice: AnyLattice,
    pub(super) sheets: Vec<LaidSheet>,
}

/// A sheet with the targets that it owns and the sources that they need.
pub(super) struct LaidSheet {
    pub(super) owns: Range<usize>,
    sources: LaidPlaces,
    targets: LaidPlaces,
    /// Where each target stands among the laid ones; empty if they are in order.
    ranks: Vec<u32>,
    route: Route,
}

impl LaidLattice {
    /// Lays out some runs of sources and consecutive targets.
    pub(super) fn new(lattice: AnyLattice, layout: &Layout, sources: &[BlockRun], targets: Range<usize>) -> Self {
        let owned = lattice.owned(&layout.targets, targets);
        let lay_out = |(sheet, owns)| LaidSheet::new(&*lattice, sheet, layout, sources, owns);
        let sheets = owned.into_par_iter().map(lay_out).collect();
        Self { lattice, sheets }
    }

    /// Most sources in one block.
    pub(super) fn largest_block(&self) -> usize {
        self.sheets.iter().flat_map(|sheet| &sheet.sources.runs).map(|run| run.places.len()).max().unwrap_or(0)
    }

    /// Bytes of laid places, and of the sorting of sheets, one on each thread.
    pub(super) fn bytes_kept(&self) -> u64 {
        let (kept, meanwhile) = self.lattice.bytes_of_place();
        let places = |sheet: &LaidSheet| (sheet.sources.len() + sheet.targets.len()) as u64;
        let mut places: Vec<u64> = self.sheets.iter().map(places).collect();
        places.sort_unstable_by(|a, b| b.cmp(a));
        let at_once = places.iter().take(rayon::current_num_threads()).sum::<u64>();
        places.iter().sum::<u64>() * kept + at_once * meanwhile
    }

    /// Bytes that sums take for each column: sheets are worked on one after the other, so that the largest counts.
    pub(super) fn bytes_of_column(&self) -> u64 {
        let bytes = |sheet: &LaidSheet| self.lattice.bytes(&sheet.sources, &sheet.route) + 8 * sheet.owns.len() as u64;
        self.sheets.iter().map(bytes).max().unwrap_or(0)
    }
}

impl LaidSheet {
    fn new(lattice: &dyn Lattice, sheet: usize, layout: &Layout, sources: &[BlockRun], owns: Range<usize>) -> Self {
        let (sources, targets) = rayon::join(
            || lattice.sources(sheet, &layout.sources, sources),
            || lattice.targets(sheet, &layout.targets, owns.clone()),
        );
        let route = lattice.route(&sources.keys(), &targets.keys());
        Self { ranks: targets.ranks(&owns), owns, sources, targets, route }
    }

    /// The sums of all targets, in the order in which they are laid.
    pub(super) fn sums(&self, lattice: &dyn Lattice, layout: &Layout, columns: &[&[f64]]) -> Vec<f64> {
        let [sources, targets] = [(&layout.sources, &self.sources), (&layout.targets, &self.targets)]
            .map(|(cloud, laid)| Points { cloud, laid, columns });
        let (first, numbers) = (positions(&self.route.stages[0]), lattice.numbers(columns.len()));
        let mut nodes = vec![0.0; first.len() * numbers];
        lattice.spread(&sources, &NodeBlocks::new(&first, nodes.chunks_exact_mut(numbers)));
        let nodes = lattice.convolve(&self.route, nodes, columns.len());
        lattice.read(&targets, &LastBlocks { at: &positions(self.route.last()), values: &nodes })
    }

    /// The sums of one target among those of all.
    pub(super) fn of_target<'s>(&self, sums: &'s [f64], target: usize, columns: usize) -> &'s [f64] {
        let at = target - self.owns.start;
        let at = self.ranks.get(at).map_or(at, |rank| *rank as usize) * columns;
        &sums[at..at + columns]
    }
}
