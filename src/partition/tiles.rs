//! The partition of space into tiles: which rows are in each, and smoothing of one tile.

use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::assignment::{Assignment, Membership};
use super::cell::{Cell, CellGrid, ROWS_OF_A_TASK};
use super::checksum::Checksums;
use super::halo::Halo;
use super::problem::SmoothingProblem;
use super::role::{Role, TileRole};
use super::rows::SourceRows;
use super::tile_group::TileGroup;
use crate::error::Error;
use crate::points::Places;
use crate::smoother::{SmoothedTile, Smoother, TileContents, smooth_tile};
use crate::space::Sigma;

/// A piece of space whose rows are smoothed together.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Tile {
    /// Rows that it smooths, about: where a crowded cell is smoothed in parts, they share them out.
    pub targets: u64,
    /// Rows that are in it, its own among them: all within the halo, or its share of those of a [`TileGroup`].
    pub sources: u64,
}

/// Space cut into tiles.
///
/// # Examples
/// ```
/// use geosmooth::partition::{Capacity, Census, Partition, Role, SmoothingProblem, SourceRows, TileRole};
/// use geosmooth::{Places, Sigma, Smoother};
///
/// let sigma = Sigma::metres(500.0)?;
/// let homes = Places::lat_lon(vec![41.65, 41.66, 48.85, 48.86], vec![-83.54, -83.53, 2.35, 2.36])?;
/// let prices = [100.0, 120.0, 300.0, 500.0];
/// let mut census = Census::new(sigma, homes.metric(sigma)?, Census::MOST_CELLS);
/// census.add(Role::ToPredict, &SourceRows::new(&homes, &[&prices]))?;
///
/// // So little memory that Ohio and Paris are smoothed one after the other.
/// let capacity = Capacity { bytes: 1200, per_target: 200, per_source: 300 };
/// let partition = Partition::new(&census, &SmoothingProblem::new(&[(100.0, 500.0)]), &capacity)?;
/// assert_eq!(partition.tiles().len(), 2);
///
/// let memberships = partition.memberships(&homes, Role::ToPredict)?;
/// let paris = memberships.iter().find(|it| it.row == 2).unwrap().tile;
/// assert!(memberships.iter().all(|it| it.role == TileRole::Home && (it.tile == paris) == (it.row >= 2)));
///
/// let (in_paris, nowhere) = (homes.select(&[2, 3]), homes.select(&[]));
/// let [home, others] = [SourceRows::new(&in_paris, &[&prices[2..]]), SourceRows::new(&nowhere, &[&[]])];
/// let rows = [home, others.clone(), others];
/// let smoothed = partition.smooth_tile(paris as usize, &Smoother::new(sigma, 1.0)?, &rows)?;
/// assert!(smoothed.columns[0].values[0].unwrap() > 300.0);
/// # Ok::<(), geosmooth::Error>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Partition {
    pub(super) sigma: Sigma,
    pub(super) problem: SmoothingProblem,
    pub(super) halo: Halo,
    pub(super) grid: CellGrid,
    pub(super) assignments: FxHashMap<Cell, Assignment>,
    pub(super) tiles: Vec<Tile>,
    /// Rows in each tile that is in no tile group.
    pub(super) counted: Vec<Checksums>,
    /// Their tiles come after all others.
    pub(super) tile_groups: Vec<TileGroup>,
}

/// Multiplications on lattices that take as long as one row in one tile. Chosen before it was measured. The fit of 2026-11-18 (`benches/scale_model.py`) gives more: 0.64 µs
/// for a row in a tile (1.39 µs in metres) and 0.117 ns for a multiplication, which makes 5,500 (11,900).
/// So tiles are chosen until they take 1.4 times (3 times in metres) as long as moments.
const MULTIPLICATIONS_PER_COPY: f64 = 4000.0;

impl Partition {
    /// The σ that rows are smoothed with.
    #[must_use]
    pub fn sigma(&self) -> Sigma {
        self.sigma
    }

    /// The tiles.
    #[must_use]
    pub fn tiles(&self) -> &[Tile] {
        &self.tiles
    }

    /// How many tiles are in no tile group. They come first.
    #[must_use]
    pub fn tiles_alone(&self) -> usize {
        self.counted.len()
    }

    /// The tile groups.
    #[must_use]
    pub fn tile_groups(&self) -> &[TileGroup] {
        &self.tile_groups
    }

    /// Rows in all tiles, guests among them.
    #[must_use]
    pub fn copies(&self) -> u64 {
        self.tiles.iter().map(|tile| tile.sources).sum()
    }

    /// Multiplications on the lattices of tile groups, about.
    #[must_use]
    pub fn multiplications(&self) -> f64 {
        self.tile_groups.iter().map(TileGroup::multiplications).sum()
    }

    /// Work of all tiles, in multiplications on lattices.
    #[must_use]
    pub fn work(&self) -> f64 {
        MULTIPLICATIONS_PER_COPY * self.copies() as f64 + self.multiplications()
    }

    /// Whether rows of one cell are dealt out among several tiles.
    #[must_use]
    pub fn deals(&self) -> bool {
        self.assignments.values().any(Assignment::deals)
    }

    /// Every tile that each row is in.
    ///
    /// # Errors
    /// If a row is where none was counted in the census.
    pub fn memberships(&self, places: &Places, role: Role) -> Result<Vec<Membership>, Error> {
        self.memberships_by_turn(places, role, |row| row as u64)
    }

    /// The same with a number for each row, its turn, by which those of a crowded cell are dealt out among its tiles. Where rows come in another order
    /// each time, the turn must not depend on the order, or rows would change their homes.
    ///
    /// # Errors
    /// As [`memberships`](Self::memberships).
    pub fn memberships_by_turn(
        &self,
        places: &Places,
        role: Role,
        turn: impl Fn(usize) -> u64 + Sync,
    ) -> Result<Vec<Membership>, Error> {
        let cells = self.grid.cells(places);
        let assignment = |(row, cell): (usize, &Cell)| self.assignments.get(cell).ok_or(Error::Uncounted { row });
        let assignments = cells.par_iter().enumerate().map(assignment).collect::<Result<Vec<&Assignment>, Error>>()?;
        let assignments = assignments.into_par_iter().enumerate().with_min_len(ROWS_OF_A_TASK);
        Ok(assignments.flat_map_iter(|(row, assignment)| assignment.memberships(row, role, turn(row))).collect())
    }

    /// Smooths the rows at home in a tile that is in no tile group. The rows are those at home, guests and labelled rows, as in [`TileRole::ALL`].
    ///
    /// # Errors
    /// If the rows are not those that were counted for the tile, or as [`smooth_tile`].
    ///
    /// # Panics
    /// If there is no such tile, or it is in a tile group.
    pub fn smooth_tile(&self, tile: usize, smoother: &Smoother, rows: &[SourceRows; 3]) -> Result<SmoothedTile, Error> {
        let mut seen = Checksums::default();
        TileRole::ALL.into_iter().zip(rows).for_each(|(role, rows)| seen.add(role.role(), rows));
        let label_weight = self.problem.label_weight;
        seen.with_label_weight(label_weight).check(&self.counted[tile])?;
        let [home, guests, labelled] = rows;
        if home.is_empty() {
            return Ok(SmoothedTile { columns: Vec::new(), n_effective: None });
        }
        let contents = TileContents {
            home: home.in_tile(),
            guests: guests.in_tile(),
            labelled: Some(labelled.in_tile()),
            ranges: &self.problem.ranges,
            beyond: self.halo.carried_from_beyond(seen.weight(label_weight)),
        };
        smooth_tile(smoother, &contents, self.problem.n_effective, &())
    }
}
