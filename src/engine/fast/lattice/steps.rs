//! What every lattice does: it lays out places, then sums in three steps. The plane, the sphere and the globe implement it.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Mutex;

use super::blocks::{BlockKey, BlockRun, Route, ascending};
use super::bound::Bound;
use super::counted::{CountedRows, LatticeCost};
use super::window::{Load, Window};
use crate::scene::Cloud;
use crate::space::two_sum;

/// Where a lattice puts places. It is known before its sources are.
///
/// Nodes come in blocks, and blocks in sheets: the charts of the sphere, or one sheet for everything. No sum crosses from one sheet to
/// another, so sheets are worked on one after the other.
pub(crate) trait Sheets: Send + Sync {
    /// Number of sheets.
    fn sheets(&self) -> usize {
        1
    }

    /// Cuts consecutive places into runs, from which [`sources`](Self::sources) takes what it needs.
    fn runs(&self, cloud: &Cloud, places: Range<usize>) -> Vec<BlockRun>;

    /// Lays out the sources that the targets of a sheet need, out of some runs.
    fn sources(&self, sheet: usize, cloud: &Cloud, runs: &[BlockRun]) -> LaidPlaces;

    /// The sheets that own some of these consecutive targets, with the targets that they own. A target has one owner at most.
    fn owned(&self, _: &Cloud, places: Range<usize>) -> Vec<(usize, Range<usize>)> {
        vec![(0, places)]
    }

    /// Lays out consecutive targets that a sheet owns.
    fn targets(&self, sheet: usize, cloud: &Cloud, places: Range<usize>) -> LaidPlaces;

    /// The bound of the sums, with at most this many sources in one block and this weight on the lattice.
    fn bound(&self, points: usize, weight: f64) -> Bound;

    /// Bytes of a laid place: those that it keeps, and those that it takes while its sheet is laid out.
    fn bytes_of_place(&self) -> (u64, u64);
}

/// The three steps from sources to targets.
pub(crate) trait Lattice: Sheets {
    /// The blocks on the way from those of sources to those of targets; both ascend.
    fn route(&self, sources: &[BlockKey], targets: &[BlockKey]) -> Route;

    /// The window and the load, if sources are spread by windows: then it may be cheaper to sum some sources directly.
    fn window_and_load(&self) -> Option<(Window, Load)> {
        None
    }

    /// Blocks whose nodes the sources of a block touch.
    fn touched(&self, key: BlockKey) -> Vec<BlockKey>;

    /// Numbers that a block of touched nodes holds for this many columns.
    fn numbers(&self, columns: usize) -> usize;

    /// Whether the second half of these numbers is the rounding error of the first.
    fn is_compensated(&self) -> bool {
        false
    }

    /// Step 1, points → nodes: adds the columns of the sources to the blocks.
    fn spread(&self, sources: &Points, nodes: &NodeBlocks);

    /// Step 2, nodes → nodes: from the first blocks of the route, one after the other, to the last.
    fn convolve(&self, route: &Route, nodes: Vec<f64>, columns: usize) -> Vec<f64>;

    /// Step 3, nodes → points: one value of each column for each laid target, zeros where there are no nodes.
    fn read(&self, targets: &Points, nodes: &LastBlocks) -> Vec<f64>;

    /// Bytes that the steps take for each column, besides the sums of the targets.
    fn bytes(&self, sources: &LaidPlaces, route: &Route) -> u64;

    /// What the steps take for counted rows; `None` if it is more than this many bytes for each column.
    fn cost(&self, counted: &CountedRows, limit: u64) -> Option<LatticeCost>;
}

/// Places on one sheet of a lattice, block by block.
#[derive(Default)]
pub(crate) struct LaidPlaces {
    /// The places of each block, by where they stand in this order.
    pub(crate) runs: Vec<BlockRun>,
    /// Which places they are. Empty in the plane, where places stand in the order of the cloud.
    pub(crate) places: Vec<u32>,
    /// Where they are in their block: in nodes on a chart, from −1 to 1 in a patch. Empty in the plane, which computes it when needed.
    pub(crate) positions: [Vec<f64>; 2],
}

impl LaidPlaces {
    /// Number of places.
    pub(crate) fn len(&self) -> usize {
        self.runs.iter().map(|run| run.places.len()).sum()
    }

    /// The blocks, ascending.
    pub(crate) fn keys(&self) -> Vec<BlockKey> {
        ascending(self.runs.iter().map(|run| run.key).collect())
    }

    /// Where each of consecutive places stands in this order; empty if they stand in the order of the cloud.
    pub(crate) fn ranks(&self, places: &Range<usize>) -> Vec<u32> {
        let mut ranks = vec![0; self.places.len()];
        for (at, place) in (0..).zip(&self.places) {
            ranks[*place as usize - places.start] = at;
        }
        ranks
    }
}

/// Laid places with columns of numbers. Targets have columns that are empty: only their number matters.
pub(crate) struct Points<'a> {
    pub(crate) cloud: &'a Cloud,
    pub(crate) laid: &'a LaidPlaces,
    pub(crate) columns: &'a [&'a [f64]],
}

/// Blocks of touched nodes, and where each is.
pub(crate) struct NodeBlocks<'a> {
    pub(crate) at: &'a HashMap<BlockKey, usize>,
    pub(crate) blocks: Vec<Mutex<&'a mut [f64]>>,
}

impl<'a> NodeBlocks<'a> {
    pub(crate) fn new(at: &'a HashMap<BlockKey, usize>, blocks: impl Iterator<Item = &'a mut [f64]>) -> Self {
        Self { at, blocks: blocks.map(Mutex::new).collect() }
    }

    /// Changes a block, if it is there.
    pub(crate) fn change(&self, key: &BlockKey, change: impl FnOnce(&mut [f64])) {
        if let Some(&at) = self.at.get(key) {
            change(&mut self.blocks[at].lock().expect("no task panics"));
        }
    }
}

/// Blocks of nodes that targets read, in one piece, and where each is.
pub(crate) struct LastBlocks<'a> {
    pub(crate) at: &'a HashMap<BlockKey, usize>,
    pub(crate) values: &'a [f64],
}

impl<'a> LastBlocks<'a> {
    /// A block, if it is there; blocks have this many numbers.
    pub(crate) fn get(&self, key: &BlockKey, numbers: usize) -> Option<&'a [f64]> {
        self.at.get(key).map(|at| &self.values[at * numbers..(at + 1) * numbers])
    }
}

/// Adds terms to the first half of a block, and the rounding errors of that to the second.
pub(crate) fn add_compensated(block: &mut [f64], terms: &[f64]) {
    let (sums, lost) = block.split_at_mut(terms.len());
    for ((sum, lost), term) in sums.iter_mut().zip(lost).zip(terms) {
        let total = two_sum(*sum, *term);
        *sum = total.hi;
        *lost += total.lo;
    }
}
