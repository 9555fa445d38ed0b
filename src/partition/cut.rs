//! Cuts cells into tiles: in halves, until each tile fits with all rows within its halo.

use std::convert::Infallible;

use super::capacity::Capacity;
use super::cell::{Cell, Count};
use crate::error::Error;

/// Cells that are smoothed together, and those within the halo of them.
pub(super) struct TileDraft {
    /// Cells whose rows to predict it smooths.
    pub(super) homes: Vec<u32>,
    /// Cells within the halo, its own among them.
    pub(super) near: Vec<u32>,
    pub(super) targets: u64,
    pub(super) sources: u64,
    /// In how many parts its targets are smoothed; each needs all sources, or their moments.
    pub(super) parts: u64,
}

/// Cuts cells into tiles.
pub(super) struct Cutter<'a> {
    pub(super) cells: &'a [(Cell, Count)],
    /// Radius of the halo, in cubes.
    pub(super) radius: f64,
    pub(super) capacity: &'a Capacity,
}

/// Copies of rows in all tiles together, as a multiple of the rows, beyond which cutting is given up because halos hold almost everything. Chosen, not measured.
const MOST_COPIES: u64 = 64;
/// Most home cells whose common bounding box stands for each of them when cells near them are looked for. Chosen, not measured.
const CLUMP: usize = 4;

impl Cutter<'_> {
    /// Cells with rows to predict.
    pub(super) fn homes(&self) -> Vec<u32> {
        (0..self.cells.len() as u32).filter(|cell| self.count(*cell).to_predict > 0).collect()
    }

    /// Tiles that hold all rows within their halo.
    ///
    /// # Errors
    /// If the sources of a single cell do not fit, or halos would hold everything many times.
    pub(super) fn by_rows(&self, homes: Vec<u32>) -> Result<Vec<TileDraft>, Error> {
        let rows: u64 = self.cells.iter().map(|(_, count)| count.all()).sum();
        let (mut tiles, mut copies) = (Vec::new(), 0);
        self.cut(homes, self.everywhere(), |mut draft| {
            if draft.homes.len() > 1 && !self.capacity.holds(draft.targets, draft.sources) {
                return Ok(Some(draft));
            }
            draft.parts = self.capacity.parts(draft.targets, draft.sources)?;
            copies += draft.sources * draft.parts;
            if copies > MOST_COPIES.saturating_mul(rows) {
                return Err(self.capacity.too_small(copies));
            }
            tiles.push(draft);
            Ok(None)
        })?;
        Ok(tiles)
    }

    /// Homes around which tiles have room for several cells, and those around which there are too many rows.
    pub(super) fn roomy_and_crowded(&self) -> (Vec<u32>, Vec<u32>) {
        let (mut roomy, mut crowded) = (Vec::new(), Vec::new());
        let Ok(()) = self.cut::<Infallible>(self.homes(), self.everywhere(), |draft| {
            match draft.homes.len() {
                _ if self.capacity.has_room_beside(draft.sources) => roomy.extend(draft.homes),
                1 => crowded.extend(draft.homes),
                _ => return Ok(Some(draft)),
            }
            Ok(None)
        });
        (roomy, crowded)
    }

    /// Sets of homes with their lattices, as large as there are any; and homes for which there are none.
    pub(super) fn by_moments<L>(
        &self,
        homes: Vec<u32>,
        lattices: impl Fn(&TileDraft) -> Option<L>,
    ) -> (Vec<(TileDraft, L)>, Vec<u32>) {
        let (mut tile_groups, mut left) = (Vec::new(), Vec::new());
        let Ok(()) = self.cut::<Infallible>(homes, self.everywhere(), |draft| {
            let mut draft = self.tightened(draft);
            match lattices(&draft) {
                Some(lattices) => {
                    draft.parts = self.capacity.parts_beside_lattices(draft.targets, draft.sources);
                    tile_groups.push((draft, lattices));
                }
                None if draft.homes.len() == 1 => left.extend(draft.homes),
                None => return Ok(Some(draft)),
            }
            Ok(None)
        });
        (tile_groups, left)
    }

    /// Halves some homes until each set is taken. `take` gets a set with the candidates near it, and gives it back to have it halved.
    fn cut<E>(
        &self,
        homes: Vec<u32>,
        candidates: Vec<u32>,
        mut take: impl FnMut(TileDraft) -> Result<Option<TileDraft>, E>,
    ) -> Result<(), E> {
        let mut open = vec![(homes, candidates)];
        while let Some((homes, candidates)) = open.pop() {
            if homes.is_empty() {
                continue;
            }
            if let Some(draft) = take(self.draft(homes, &candidates))? {
                let (first, second) = self.halves(draft.homes);
                open.extend([(second, draft.near.clone()), (first, draft.near)]);
            }
        }
        Ok(())
    }

    fn everywhere(&self) -> Vec<u32> {
        (0..self.cells.len() as u32).collect()
    }

    fn count(&self, cell: u32) -> Count {
        self.cells[cell as usize].1
    }

    fn draft(&self, homes: Vec<u32>, candidates: &[u32]) -> TileDraft {
        let bounds = self.bounds(&homes);
        let near = candidates.iter().copied().filter(|cell| self.is_near(&bounds, *cell)).collect();
        self.counted(homes, near)
    }

    fn counted(&self, homes: Vec<u32>, near: Vec<u32>) -> TileDraft {
        let targets = homes.iter().map(|cell| self.count(*cell).to_predict).sum();
        let sources = near.iter().map(|cell| self.count(*cell).all()).sum();
        TileDraft { homes, near, targets, sources, parts: 1 }
    }

    /// The same without cells that are near the box around all homes, but near none of them: a large set has holes.
    fn tightened(&self, draft: TileDraft) -> TileDraft {
        let mut near = Vec::new();
        let Ok(()) = self.cut::<Infallible>(draft.homes.clone(), draft.near, |part| {
            if part.homes.len() > CLUMP {
                return Ok(Some(part));
            }
            near.extend(part.near);
            Ok(None)
        });
        near.sort_unstable();
        near.dedup();
        self.counted(draft.homes, near)
    }

    /// Lowest and highest numbers of some cells.
    fn bounds(&self, cells: &[u32]) -> (Cell, Cell) {
        let first = self.cells[cells[0] as usize].0;
        cells.iter().map(|cell| self.cells[*cell as usize].0).fold((first, first), |(low, high), cell| {
            (each_number(i64::min, low, cell), each_number(i64::max, high, cell))
        })
    }

    fn is_near(&self, (low, high): &(Cell, Cell), cell: u32) -> bool {
        let cell = self.cells[cell as usize].0;
        // Cubes in between: those at both ends may be touched at their very edges.
        let gap = |k: usize| (low.cube[k] - cell.cube[k] - 1).max(cell.cube[k] - high.cube[k] - 1).max(0) as f64;
        (low.group..=high.group).contains(&cell.group)
            && (0..3).map(|k| gap(k) * gap(k)).sum::<f64>() <= self.radius * self.radius
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

/// A cell of numbers that are chosen from those of two cells, one by one.
fn each_number(choose: fn(i64, i64) -> i64, a: Cell, b: Cell) -> Cell {
    Cell { group: choose(a.group, b.group), cube: std::array::from_fn(|k| choose(a.cube[k], b.cube[k])) }
}
