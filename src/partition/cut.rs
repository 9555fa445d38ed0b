//! Cuts cells into tiles: in halves, until each tile fits with all rows within its halo.

use rustc_hash::FxHashSet;

use super::capacity::Capacity;
use super::cell::Cell;
use super::checksum::Checksums;
use super::tile_group::TileGroup;
use super::tiles::Tile;
use crate::error::Error;

/// Cells that are smoothed together, and those within the halo of them.
pub(super) struct TileDraft {
    /// Cells whose rows to predict it smooths.
    homes: Vec<u32>,
    /// Cells within the halo, its own among them.
    near: Vec<u32>,
    pub(super) targets: u64,
    /// The rows of all cells within the halo.
    pub(super) sources: Checksums,
    /// In how many parts its targets are smoothed; each needs all sources, or their moments.
    pub(super) parts: u64,
    /// The tile group that its parts form, if it is smoothed by moments.
    pub(super) group: Option<TileGroup>,
}

impl TileDraft {
    /// One of its parts: with all sources, or with its share of those of a tile group.
    pub(super) fn tile(&self) -> Tile {
        let sources = self.sources.rows().div_ceil(if self.group.is_some() { self.parts } else { 1 });
        Tile { targets: self.targets.div_ceil(self.parts), sources }
    }

    /// Cells within the halo, and whether it smooths their rows to predict.
    pub(super) fn cells(&self) -> impl Iterator<Item = (usize, bool)> {
        let homes: FxHashSet<u32> = self.homes.iter().copied().collect();
        self.near.iter().map(move |cell| (*cell as usize, homes.contains(cell)))
    }
}

/// Cuts cells into tiles.
pub(super) struct Cutter<'a> {
    pub(super) cells: Vec<(Cell, Checksums)>,
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
        (0..self.cells.len() as u32).filter(|cell| self.rows(*cell).to_predict() > 0).collect()
    }

    /// Tiles that hold all rows within their halo.
    ///
    /// # Errors
    /// If the sources of a single cell do not fit, or halos would hold everything many times.
    pub(super) fn by_rows(&self, homes: Vec<u32>) -> Result<Vec<TileDraft>, Error> {
        let rows: u64 = self.cells.iter().map(|(_, rows)| rows.rows()).sum();
        let fits = |draft: &TileDraft| self.capacity.holds(draft.targets, draft.sources.rows()).then_some(());
        let (mut tiles, mut copies) = (Vec::new(), 0);
        for (mut draft, _) in self.cut(homes, self.everywhere(), fits) {
            draft.parts = self.capacity.parts(draft.targets, draft.sources.rows())?;
            copies += draft.sources.rows() * draft.parts;
            if copies > MOST_COPIES.saturating_mul(rows) {
                return Err(self.capacity.too_small(copies));
            }
            tiles.push(draft);
        }
        Ok(tiles)
    }

    /// Homes around which tiles have room for several cells, and those around which there are too many rows.
    pub(super) fn roomy_and_crowded(&self) -> (Vec<u32>, Vec<u32>) {
        let (mut roomy, mut crowded) = (Vec::new(), Vec::new());
        let has_room = |draft: &TileDraft| self.capacity.has_room_beside(draft.sources.rows()).then_some(());
        for (draft, has_room) in self.cut(self.homes(), self.everywhere(), has_room) {
            if has_room.is_some() { &mut roomy } else { &mut crowded }.extend(draft.homes);
        }
        (roomy, crowded)
    }

    /// Tile groups around some homes, as large as there are lattices for any; and homes for which there are none.
    pub(super) fn by_moments(
        &self,
        homes: Vec<u32>,
        group: impl Fn(&TileDraft) -> Option<TileGroup>,
    ) -> (Vec<TileDraft>, Vec<u32>) {
        let (mut tile_groups, mut left) = (Vec::new(), Vec::new());
        let grouped = self.cut(homes, self.everywhere(), |draft| {
            let draft = self.tightened(draft);
            let parts = self.capacity.parts_beside_lattices(draft.targets, draft.sources.rows());
            group(&draft).map(|group| TileDraft { group: Some(group), parts, ..draft })
        });
        for (draft, grouped) in grouped {
            match grouped {
                Some(grouped) => tile_groups.push(grouped),
                None => left.extend(draft.homes),
            }
        }
        (tile_groups, left)
    }

    /// Halves some homes, with the candidates near each half, until `take` gives something for a set, or it is a single cell.
    fn cut<T>(
        &self,
        homes: Vec<u32>,
        candidates: Vec<u32>,
        take: impl Fn(&TileDraft) -> Option<T>,
    ) -> impl Iterator<Item = (TileDraft, Option<T>)> {
        let mut open = vec![(homes, candidates)];
        open.retain(|(homes, _)| !homes.is_empty());
        std::iter::from_fn(move || {
            loop {
                let (homes, candidates) = open.pop()?;
                let draft = self.draft(homes, &candidates);
                let taken = take(&draft);
                if taken.is_some() || draft.homes.len() == 1 {
                    return Some((draft, taken));
                }
                let (first, second) = self.halves(draft.homes);
                open.extend([(second, draft.near.clone()), (first, draft.near)]);
            }
        })
    }

    fn everywhere(&self) -> Vec<u32> {
        (0..self.cells.len() as u32).collect()
    }

    fn rows(&self, cell: u32) -> &Checksums {
        &self.cells[cell as usize].1
    }

    /// Rows to predict in some cells.
    fn to_predict(&self, cells: &[u32]) -> u64 {
        cells.iter().map(|cell| self.rows(*cell).to_predict()).sum()
    }

    fn draft(&self, homes: Vec<u32>, candidates: &[u32]) -> TileDraft {
        let bounds = self.bounds(&homes);
        let near = candidates.iter().copied().filter(|cell| self.is_near(&bounds, *cell)).collect();
        self.counted(homes, near)
    }

    fn counted(&self, homes: Vec<u32>, near: Vec<u32>) -> TileDraft {
        let sources = near.iter().map(|cell| self.rows(*cell)).collect();
        TileDraft { targets: self.to_predict(&homes), homes, near, sources, parts: 1, group: None }
    }

    /// The same without cells that are near the box around all homes, but near none of them: a large set has holes.
    fn tightened(&self, draft: &TileDraft) -> TileDraft {
        let is_clump = |part: &TileDraft| (part.homes.len() <= CLUMP).then_some(());
        let clumps = self.cut(draft.homes.clone(), draft.near.clone(), is_clump);
        let mut near: Vec<u32> = clumps.flat_map(|(clump, _)| clump.near).collect();
        near.sort_unstable();
        near.dedup();
        self.counted(draft.homes.clone(), near)
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
        let longest = (0..3).max_by_key(|k| high.cube[*k] - low.cube[*k]).unwrap_or(0);
        homes.sort_unstable_by_key(|cell| {
            let cell = self.cells[*cell as usize].0;
            (if high.group > low.group { cell.group } else { cell.cube[longest] }, cell)
        });
        let (half, mut so_far) = (self.to_predict(&homes).div_ceil(2), 0);
        let past_half = homes.iter().position(|cell| {
            so_far += self.rows(*cell).to_predict();
            so_far > half
        });
        let cut = past_half.unwrap_or(homes.len()).clamp(1, homes.len() - 1);
        let second = homes.split_off(cut);
        (homes, second)
    }
}

/// A cell of numbers that are chosen from those of two cells, one by one.
fn each_number(choose: fn(i64, i64) -> i64, a: Cell, b: Cell) -> Cell {
    Cell { group: choose(a.group, b.group), cube: std::array::from_fn(|k| choose(a.cube[k], b.cube[k])) }
}
