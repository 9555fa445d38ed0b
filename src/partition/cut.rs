//! Cutting cells into tiles: in halves, until each with all that is in reach of it fits.

use super::census::{Cell, Count};
use super::tiles::Capacity;
use crate::error::Error;

/// Cells that are smoothed together, and those within reach of them.
pub(super) struct Draft {
    /// Cells whose rows to predict it smooths.
    pub(super) homes: Vec<u32>,
    /// Cells within reach, its own among them.
    pub(super) near: Vec<u32>,
    pub(super) targets: u64,
    pub(super) sources: u64,
    /// In how many parts its targets are smoothed; each needs all sources.
    pub(super) parts: u64,
}

/// What cutting is about.
pub(super) struct Cutter<'a> {
    pub(super) cells: &'a [(Cell, Count)],
    /// How far rows are looked for, in cubes.
    pub(super) reach: f64,
    pub(super) capacity: &'a Capacity,
}

/// Copies of rows in all tiles together, as a multiple of the rows, beyond which cutting is given up: halos hold everything.
const MOST_COPIES: u64 = 64;

impl Cutter<'_> {
    /// All tiles.
    ///
    /// # Errors
    /// If the sources of a single cell do not fit, or halos would hold everything many times.
    pub(super) fn tiles(&self) -> Result<Vec<Draft>, Error> {
        let rows: u64 = self.cells.iter().map(|(_, count)| count.all()).sum();
        let homes: Vec<u32> = (0..self.cells.len() as u32).filter(|cell| self.count(*cell).to_predict > 0).collect();
        let mut open = vec![(homes, (0..self.cells.len() as u32).collect::<Vec<u32>>())];
        let (mut tiles, mut copies) = (Vec::new(), 0);
        while let Some((homes, candidates)) = open.pop() {
            if homes.is_empty() {
                continue;
            }
            let mut draft = self.draft(homes, &candidates);
            if draft.homes.len() > 1 && !self.capacity.holds(draft.targets, draft.sources) {
                let (first, second) = self.halves(draft.homes);
                open.extend([(second, draft.near.clone()), (first, draft.near)]);
                continue;
            }
            draft.parts = self.capacity.parts(draft.targets, draft.sources)?;
            copies += draft.sources * draft.parts;
            if copies > MOST_COPIES.saturating_mul(rows) {
                return Err(self.capacity.too_small(copies));
            }
            tiles.push(draft);
        }
        Ok(tiles)
    }

    fn count(&self, cell: u32) -> Count {
        self.cells[cell as usize].1
    }

    fn draft(&self, homes: Vec<u32>, candidates: &[u32]) -> Draft {
        let bounds = self.bounds(&homes);
        let near: Vec<u32> = candidates.iter().copied().filter(|cell| self.is_near(&bounds, *cell)).collect();
        let targets = homes.iter().map(|cell| self.count(*cell).to_predict).sum();
        let sources = near.iter().map(|cell| self.count(*cell).all()).sum();
        Draft { homes, near, targets, sources, parts: 1 }
    }

    /// Lowest and highest numbers of some cells.
    fn bounds(&self, cells: &[u32]) -> (Cell, Cell) {
        let first = self.cells[cells[0] as usize].0;
        cells.iter().map(|cell| self.cells[*cell as usize].0).fold((first, first), |(low, high), cell| {
            let pick = |choose: fn(i64, i64) -> i64, a: Cell, b: Cell| Cell {
                group: choose(a.group, b.group),
                cube: std::array::from_fn(|k| choose(a.cube[k], b.cube[k])),
            };
            (pick(i64::min, low, cell), pick(i64::max, high, cell))
        })
    }

    fn is_near(&self, (low, high): &(Cell, Cell), cell: u32) -> bool {
        let cell = self.cells[cell as usize].0;
        // Cubes in between: those at both ends may be touched at their very edges.
        let gap = |k: usize| (low.cube[k] - cell.cube[k] - 1).max(cell.cube[k] - high.cube[k] - 1).max(0) as f64;
        (low.group..=high.group).contains(&cell.group)
            && (0..3).map(|k| gap(k) * gap(k)).sum::<f64>() <= self.reach * self.reach
    }

    /// Two sets with about as many rows to predict: by groups, which have no halo, otherwise across the longest side.
    fn halves(&self, mut homes: Vec<u32>) -> (Vec<u32>, Vec<u32>) {
        let (low, high) = self.bounds(&homes);
        let length = |k: &usize| high.cube[*k] - low.cube[*k];
        let longest = (0..3).max_by_key(length).unwrap_or(0);
        let along = |cell: &u32| {
            let cell = self.cells[*cell as usize].0;
            (if high.group > low.group { cell.group } else { cell.cube[longest] }, cell)
        };
        homes.sort_unstable_by_key(along);
        let half = homes.iter().map(|cell| self.count(*cell).to_predict).sum::<u64>().div_ceil(2);
        let mut so_far = 0;
        let mut before_half = |cell: &u32| {
            so_far += self.count(*cell).to_predict;
            so_far <= half
        };
        let cut = homes.iter().take_while(|cell| before_half(cell)).count().clamp(1, homes.len() - 1);
        let second = homes.split_off(cut);
        (homes, second)
    }
}
