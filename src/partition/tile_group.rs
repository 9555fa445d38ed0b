//! Tile groups: tiles that share their sources, for rows that do not fit in memory together.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::cells::{CountedCells, GroupLattice};
use super::census::Census;
use super::checksum::Checksums;
use super::halo::Halo;
use super::problem::SmoothingProblem;
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
    pub(super) sums: GroupLattice,
    /// For the squares of kernels and weights, if effective sources are wanted.
    pub(super) squares: Option<GroupLattice>,
    /// What sources that are in none of the tiles carry to a row at most.
    pub(super) beyond: f64,
}

impl TileGroup {
    /// One tile of all rows of a census, with lattices of so many bytes at most. `None` if none of that size certify all rows, or the kernel is cut by hand.
    #[must_use]
    pub fn whole(census: &Census, problem: &SmoothingProblem, limit: u64) -> Option<Self> {
        Self::new(&CountedCells::all(census), problem, None, limit)
    }

    /// Tiles, not numbered yet, of the rows in some cells, with lattices of so many bytes at most. With a halo there are more rows beyond it.
    pub(super) fn new(
        cells: &CountedCells,
        problem: &SmoothingProblem,
        halo: Option<&Halo>,
        limit: u64,
    ) -> Option<Self> {
        if problem.cutoff.is_some() {
            return None;
        }
        // What lies beyond has its own part of the tolerance.
        let tolerance = problem.tolerance * halo.map_or(1.0, |_| 1.0 - SHARE_BEYOND);
        let (sigma, weight) = (cells.census.sigma(), problem.label_weight);
        let sums = cells.lattice(sigma, weight, tolerance, 1 + problem.ranges.len(), limit)?;
        let squares = if problem.n_effective {
            // A squared Gaussian is one of σ/√2.
            let (narrower, left) = (sigma.scaled(0.5_f64.sqrt()).ok()?, limit.checked_sub(sums.bytes)?);
            Some(cells.lattice(narrower, weight * weight, tolerance, 1, left)?)
        } else {
            None
        };
        let counted = cells.rows().with_label_weight(weight);
        let beyond = halo.map_or(0.0, |halo| halo.carried_from_beyond(counted.weight(weight)));
        Some(Self { tiles: 0..1, counted, sigma, problem: problem.clone(), sums, squares, beyond })
    }

    /// The same with the numbers of its tiles.
    pub(super) fn numbered(self, tiles: Range<u32>) -> Self {
        Self { tiles, ..self }
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
        self.lattices().map(|lattice| lattice.bytes).sum()
    }

    /// Multiplications of the whole job, about.
    #[must_use]
    pub fn multiplications(&self) -> f64 {
        self.lattices().map(|lattice| lattice.multiplications).sum()
    }

    fn lattices(&self) -> impl Iterator<Item = &GroupLattice> {
        std::iter::once(&self.sums).chain(&self.squares)
    }

    /// Rows laid out along the curve of a lattice.
    pub(super) fn scene(
        &self,
        lattice: &GroupLattice,
        targets: &Places,
        sources: &[(&Places, f64)],
    ) -> Result<Scene, Error> {
        Scene::along(Some(lattice.plan.curve), self.sigma, targets, sources, Own::Counts)
    }

    pub(super) fn spans(&self) -> impl Iterator<Item = Span> + '_ {
        self.problem.ranges.iter().map(|(low, high)| Span::between(*low, *high))
    }
}
