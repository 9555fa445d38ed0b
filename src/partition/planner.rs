//! Planning of a partition: which tiles hold all rows within their halo, and which form tile groups.

use super::assignment::{Assignment, Destination};
use super::capacity::Capacity;
use super::cell::sigma_on_axes;
use super::cells::CountedCells;
use super::census::Census;
use super::cut::{Cutter, TileDraft};
use super::halo::Halo;
use super::problem::SmoothingProblem;
use super::tile_group::TileGroup;
use super::tiles::Partition;
use crate::error::Error;

/// Copies of a row in all tiles, beyond which tile groups are tried, which may be less work. Chosen, not measured.
const MANY_COPIES: u64 = 2;

/// Bytes that the lattices of a tile group may take. On many machines they travel, in messages of some hundred megabytes at most. Chosen, not measured.
const MOST_BYTES: u64 = 1 << 28;

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
        let few_copies = |it: &Self| it.copies() <= MANY_COPIES * census.checksums().rows();
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
    cutter: Cutter<'a>,
    halo: Halo,
}

impl<'a> Planner<'a> {
    fn new(census: &'a Census, problem: &'a SmoothingProblem, capacity: &'a Capacity) -> Self {
        let halo = Halo::new(census, problem);
        // On the sphere a chord is shorter than its arc, so that what is out of reach along chords is so along arcs.
        let radius = sigma_on_axes(census.sigma(), census.metric()) * halo.radius();
        // A little farther, for roundings of places and of the radius itself.
        let radius = radius / census.grid.side() * (1.0 + 1e-9) + 1e-9;
        Self { census, problem, cutter: Cutter { cells: census.cells(), radius, capacity }, halo }
    }

    fn of_tiles(&self) -> Result<Partition, Error> {
        Ok(self.assigned(self.cutter.by_rows(self.cutter.homes())?))
    }

    fn of_tiles_and_groups(&self) -> Result<Partition, Error> {
        let (mut homes, crowded) = self.cutter.roomy_and_crowded();
        let (groups, left) = self.cutter.by_moments(crowded, |draft| self.tile_group(draft));
        homes.extend(left);
        Ok(self.assigned(self.cutter.by_rows(homes)?.into_iter().chain(groups)))
    }

    fn tile_group(&self, draft: &TileDraft) -> Option<TileGroup> {
        let all = &self.cutter.cells;
        let near = draft.cells().map(|(at, is_home)| (all[at].0, all[at].1, is_home));
        let cells = CountedCells::near(self.census, near);
        TileGroup::new(&cells, self.problem, Some(&self.halo), self.cutter.capacity.for_lattices().min(MOST_BYTES))
    }

    /// The partition into these tiles, and after them those of tile groups.
    fn assigned(&self, drafts: impl IntoIterator<Item = TileDraft>) -> Partition {
        let mut assignments = vec![Assignment::default(); self.cutter.cells.len()];
        let (mut tiles, mut counted, mut tile_groups) = (Vec::new(), Vec::new(), Vec::new());
        for draft in drafts {
            let first = tiles.len() as u32;
            tiles.extend(std::iter::repeat_n(draft.tile(), draft.parts as usize));
            let (numbers, to_one) = (first..tiles.len() as u32, draft.group.is_some());
            for (cell, is_home) in draft.cells() {
                assignments[cell].push(Destination { tiles: numbers.clone(), is_home, to_one });
            }
            if let Some(group) = draft.group {
                tile_groups.push(group.numbered(numbers));
            } else {
                let sources = draft.sources.with_label_weight(self.problem.label_weight);
                counted.extend(numbers.map(|_| sources));
            }
        }
        Partition {
            sigma: self.census.sigma(),
            problem: self.problem.clone(),
            halo: self.halo,
            grid: self.census.grid,
            assignments: self.cutter.cells.iter().map(|(cell, _)| *cell).zip(assignments).collect(),
            tiles,
            counted,
            tile_groups,
        }
    }
}
