//! Planning of a partition: which tiles hold all rows within their halo, and which form tile groups.

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::assignment::{Assignment, Destination};
use super::capacity::Capacity;
use super::cell::sigma_on_axes;
use super::cells::CountedCells;
use super::census::Census;
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

    /// Adds the tiles that a draft becomes; each has all sources, or its share of those of a tile group.
    fn number(&mut self, draft: &TileDraft, shares_sources: bool) -> Range<u32> {
        let (first, sources) = (self.tiles.len() as u32, draft.sources.rows());
        let sources = if shares_sources { sources.div_ceil(draft.parts) } else { sources };
        let tile = Tile { targets: draft.targets.div_ceil(draft.parts), sources };
        self.tiles.extend(std::iter::repeat_n(tile, draft.parts as usize));
        first..self.tiles.len() as u32
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
        Ok(self.assigned(self.cutter.by_rows(self.cutter.homes())?, Vec::new()))
    }

    fn of_tiles_and_groups(&self) -> Result<Partition, Error> {
        let (mut homes, crowded) = self.cutter.roomy_and_crowded();
        let (groups, left) = self.cutter.by_moments(crowded, |draft| self.tile_group(draft));
        homes.extend(left);
        Ok(self.assigned(self.cutter.by_rows(homes)?, groups))
    }

    fn tile_group(&self, draft: &TileDraft) -> Option<TileGroup> {
        let cells = CountedCells::near(self.census, &self.cutter.cells, draft);
        TileGroup::of_cells(&cells, self.problem, &self.halo, self.cutter.capacity.for_lattices())
    }

    /// The partition into these tiles and tile groups.
    fn assigned(&self, tiles: Vec<TileDraft>, groups: Vec<(TileDraft, TileGroup)>) -> Partition {
        let mut assignments = vec![Assignment::default(); self.cutter.cells.len()];
        let mut partition = Partition {
            sigma: self.census.sigma(),
            problem: self.problem.clone(),
            halo: self.halo,
            grid: self.census.grid,
            assignments: FxHashMap::default(),
            tiles: Vec::new(),
            counted: Vec::new(),
            tile_groups: Vec::new(),
        };
        let drafts = tiles.into_iter().map(|draft| (draft, None));
        for (draft, group) in drafts.chain(groups.into_iter().map(|(draft, group)| (draft, Some(group)))) {
            let numbers = partition.number(&draft, group.is_some());
            for (cell, is_home) in draft.cells() {
                let tiles = numbers.clone();
                assignments[cell].push(Destination { tiles, is_home, to_one: group.is_some() });
            }
            match group {
                Some(group) => partition.tile_groups.push(group.numbered(numbers)),
                None => {
                    let counted = draft.sources.with_label_weight(self.problem.label_weight);
                    partition.counted.extend(numbers.map(|_| counted));
                }
            }
        }
        partition.assignments = self.cutter.cells.iter().map(|(cell, _)| *cell).zip(assignments).collect();
        partition
    }
}
