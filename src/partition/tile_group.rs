//! Tile groups: tiles that share their sources, for rows that do not fit in memory together.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::cells::CountedCells;
use super::census::Census;
use super::checksum::Checksums;
use super::halo::Halo;
use super::lattices::GroupLattices;
use super::problem::SmoothingProblem;
use crate::engine::LatticePlan;
use crate::error::Error;
use crate::points::Places;
use crate::scene::{Own, Scene};
use crate::smoother::SHARE_BEYOND;
use crate::space::Sigma;
use crate::span::Span;

/// Tiles that share their sources. Every row within reach is in one of them. The rows of all tiles are added up to [`GroupMoments`](super::GroupMoments) at the
/// nodes of lattices. These become a [`GroupField`](super::GroupField), off which each tile reads the results of its rows.
///
/// A group of [all rows](Self::whole) is what smooths where σ is wide. A [`Partition`](super::Partition) has groups where more rows are within reach of
/// one place than memory holds.
///
/// # Examples
/// ```
/// use geosmooth::partition::{Census, GroupMoments, Role, SmoothingProblem, SourceRows, TileGroup, TileRole};
/// use geosmooth::{Places, Sigma};
///
/// let sigma = Sigma::index(10.0)?;
/// let part = |start: u32| Places::index(vec![(start..start + 500).map(|i| f64::from(i) * 0.1).collect()]);
/// let (parts, values) = ([part(0)?, part(500)?], (0..500).map(|i| f64::from(i % 7)).collect::<Vec<f64>>());
/// let rows = |part: usize| SourceRows::new(&parts[part], &[&values]);
///
/// let mut census = Census::new(sigma, parts[0].metric(sigma)?, Census::MOST_CELLS);
/// for part in 0..2 {
///     census.add(Role::ToPredict, &rows(part))?;
/// }
/// let group = TileGroup::whole(&census, &SmoothingProblem::new(&[(0.0, 6.0)]), u64::MAX).expect("one fits");
/// let mut moments = GroupMoments::default();
/// for part in 0..2 {
///     moments.add(&group, 0, TileRole::Home, &rows(part))?;
/// }
/// let smoothed = moments.field(&group)?.smooth(&group, 1.0, &rows(1))?;
/// assert!((smoothed.columns[0].values[250].unwrap() - 3.0).abs() < 0.1);
/// assert!(smoothed.columns[0].error_bound[250] < 6e-6);
/// # Ok::<(), geosmooth::Error>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TileGroup {
    tiles: Range<u32>,
    counted: Checksums,
    sigma: Sigma,
    pub(super) problem: SmoothingProblem,
    pub(super) lattices: GroupLattices,
    /// Rows in all tiles.
    pub(super) rows: u64,
    /// What sources that are in none of the tiles carry to a row at most.
    pub(super) beyond: f64,
}

/// Bytes that the lattices of a tile group may take. On many machines they travel, in messages of some hundred megabytes at most.
const MOST_BYTES: u64 = 1 << 28;

impl TileGroup {
    /// One tile of all rows of a census, with lattices of so many bytes at most. `None` if none of that size certify all rows, or the kernel is cut by hand.
    #[must_use]
    pub fn whole(census: &Census, problem: &SmoothingProblem, limit: u64) -> Option<Self> {
        let cells = CountedCells::all(census);
        let lattices = GroupLattices::new(&cells, problem, problem.tolerance, limit)?;
        let counted = census.checksums().with_label_weight(problem.label_weight);
        Some(Self { counted, ..Self::new(&cells, problem, lattices) })
    }

    /// Tiles, not numbered yet, of the rows in some cells and those within the halo of them, with lattices of so many bytes at most.
    pub(super) fn of_cells(cells: &CountedCells, problem: &SmoothingProblem, halo: &Halo, limit: u64) -> Option<Self> {
        // What lies beyond has its own part of the tolerance.
        let tolerance = problem.tolerance * (1.0 - SHARE_BEYOND);
        let lattices = GroupLattices::new(cells, problem, tolerance, limit.min(MOST_BYTES))?;
        Some(Self {
            beyond: halo.carried_from_beyond(cells.count().weight(problem.label_weight)),
            ..Self::new(cells, problem, lattices)
        })
    }

    fn new(cells: &CountedCells, problem: &SmoothingProblem, lattices: GroupLattices) -> Self {
        Self {
            tiles: 0..1,
            counted: Checksums::default(),
            sigma: cells.sigma,
            problem: problem.clone(),
            lattices,
            rows: cells.count().all(),
            beyond: 0.0,
        }
    }

    /// The same with the numbers of its tiles and the rows that were counted for them.
    pub(super) fn numbered(self, tiles: Range<u32>, counted: Checksums) -> Self {
        Self { tiles, counted, ..self }
    }

    /// Its tiles, which are consecutive.
    #[must_use]
    pub fn tiles(&self) -> Range<u32> {
        self.tiles.clone()
    }

    /// The rows that were counted for all its tiles together.
    #[must_use]
    pub fn counted(&self) -> &Checksums {
        &self.counted
    }

    /// The σ that its rows are smoothed with.
    #[must_use]
    pub fn sigma(&self) -> Sigma {
        self.sigma
    }

    /// Bytes that moments and fields take, about.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.lattices.bytes
    }

    /// Multiplications of the whole job, about.
    #[must_use]
    pub fn multiplications(&self) -> f64 {
        self.lattices.multiplications
    }

    /// The tile of a row, by its turn.
    pub(super) fn tile(&self, turn: u64) -> u32 {
        self.tiles.start + (turn % self.tiles.len() as u64) as u32
    }

    /// Rows laid out along the curve of a lattice.
    pub(super) fn scene(
        &self,
        plan: &LatticePlan,
        targets: &Places,
        sources: &[(&Places, f64)],
    ) -> Result<Scene, Error> {
        Scene::along(Some(plan.curve), self.sigma, targets, sources, Own::Counts)
    }

    pub(super) fn spans(&self) -> impl Iterator<Item = Span> + '_ {
        self.problem.ranges.iter().map(|(low, high)| Span::between(*low, *high))
    }
}
