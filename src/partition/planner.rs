//! Planning of a partition: which tiles hold all rows within their halo, and which form tile groups.

use super::assignment::{Assignment, assign, assign_group};
use super::capacity::Capacity;
use super::cell::{Cell, Count, sigma_on_axes};
use super::cells::CountedCells;
use super::census::Census;
use super::checksum::Checksums;
use super::cut::{Cutter, TileDraft};
use super::halo::Halo;
use super::problem::SmoothingProblem;
use super::tile_group::TileGroup;
use super::tiles::{Partition, Tile};
use crate::error::Error;

/// Copies of a row in all tiles, beyond which tile groups are tried, which may be less work. Chosen, not measured.
const MANY_COPIES: u64 = 2;

impl Partition {
    /// Cuts space into tiles of which each fits.
    ///
    /// # Errors
    /// If the rows within the halo of a single cell do not fit, or tiles would hold so many rows in common that cutting is of no use.
    pub fn new(census: &Census, problem: &SmoothingProblem, capacity: &Capacity) -> Result<Self, Error> {
        Planner::new(census, problem, capacity).of_tiles()
    }

    /// The same with [tile groups](TileGroup) where tiles that hold all rows within their halo do not fit, or would be more work.
    ///
    /// # Errors
    /// If the rows within the halo of a single cell do not fit, and lattices for them do not either.
    pub fn with_tile_groups(census: &Census, problem: &SmoothingProblem, capacity: &Capacity) -> Result<Self, Error> {
        let planner = Planner::new(census, problem, capacity);
        let of_tiles = planner.of_tiles();
        let few_copies = |it: &Self| it.copies() <= MANY_COPIES * census.count().all();
        if problem.cutoff.is_some() || of_tiles.as_ref().is_ok_and(few_copies) {
            return of_tiles;
        }
        match (of_tiles, planner.of_tiles_and_groups()) {
            (Ok(of_tiles), Ok(mixed)) if of_tiles.work() <= mixed.work() => Ok(of_tiles),
            (_, Ok(mixed)) => Ok(mixed),
            (of_tiles, Err(_)) => of_tiles,
        }
    }
}

struct Planner<'a> {
    census: &'a Census,
    problem: &'a SmoothingProblem,
    capacity: &'a Capacity,
    cells: Vec<(Cell, Count)>,
    halo: Halo,
}

impl<'a> Planner<'a> {
    fn new(census: &'a Census, problem: &'a SmoothingProblem, capacity: &'a Capacity) -> Self {
        Self { census, problem, capacity, cells: census.cells(), halo: Halo::new(census, problem) }
    }

    fn cutter(&self) -> Cutter<'_> {
        // On the sphere a chord is shorter than its arc, so that what is out of reach along chords is so along arcs.
        let radius = sigma_on_axes(self.census.sigma(), self.census.metric()) * self.halo.radius();
        // A little farther, for roundings of places and of the radius itself.
        let radius = radius / self.census.side() * (1.0 + 1e-9) + 1e-9;
        Cutter { cells: &self.cells, radius, capacity: self.capacity }
    }

    fn of_tiles(&self) -> Result<Partition, Error> {
        let cutter = self.cutter();
        Ok(self.assigned(&cutter.by_rows(cutter.homes())?, Vec::new()))
    }

    fn of_tiles_and_groups(&self) -> Result<Partition, Error> {
        let cutter = self.cutter();
        let (mut homes, crowded) = cutter.roomy_and_crowded();
        let (groups, left) = cutter.by_moments(crowded, |draft| self.tile_group(draft));
        homes.extend(left);
        Ok(self.assigned(&cutter.by_rows(homes)?, groups))
    }

    fn tile_group(&self, draft: &TileDraft) -> Option<TileGroup> {
        let cells = CountedCells::near(self.census, &self.cells, draft);
        TileGroup::of_cells(&cells, self.problem, &self.halo, self.capacity.for_lattices())
    }

    /// The partition into these tiles and tile groups.
    fn assigned(&self, drafts: &[TileDraft], groups: Vec<(TileDraft, TileGroup)>) -> Partition {
        let mut assignments = vec![Assignment::default(); self.cells.len()];
        let (mut tiles, mut tile_groups, mut counted) = (Vec::new(), Vec::new(), Vec::new());
        for draft in drafts {
            counted.extend(std::iter::repeat_n(self.rows_near(draft), draft.parts as usize));
            assign(draft, tiles.len() as u32, &mut assignments);
            let tile = Tile { targets: draft.targets.div_ceil(draft.parts), sources: draft.sources };
            tiles.extend(std::iter::repeat_n(tile, draft.parts as usize));
        }
        for (draft, group) in groups {
            assign_group(&draft, tile_groups.len() as u32, &mut assignments);
            let [targets, sources] = [draft.targets, draft.sources].map(|rows| rows.div_ceil(draft.parts));
            let first = tiles.len() as u32;
            tiles.extend(std::iter::repeat_n(Tile { targets, sources }, draft.parts as usize));
            tile_groups.push(group.numbered(first..tiles.len() as u32, self.rows_near(&draft)));
        }
        Partition {
            sigma: self.census.sigma(),
            problem: self.problem.clone(),
            halo: self.halo,
            grid: self.census.grid(),
            assignments: self.cells.iter().map(|(cell, _)| *cell).zip(assignments).collect(),
            tiles,
            counted,
            tile_groups,
        }
    }

    /// The rows that were counted near a tile, as far as they weigh anything.
    fn rows_near(&self, draft: &TileDraft) -> Checksums {
        let near = draft.near.iter().map(|cell| self.cells[*cell as usize].0);
        self.census.checksums_in(near).with_label_weight(self.problem.label_weight)
    }
}
