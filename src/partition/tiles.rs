//! Tiles: which rows are at home in each, and which are its guests.

use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::assignment::{Assignment, Membership, assign, assign_group};
use super::capacity::Capacity;
use super::census::{Cell, Census, Count, Role, cells_of, width};
use super::checksum::Checksums;
use super::cut::{Cutter, TileDraft};
use super::moments::Blueprint;
use super::tile_group::{GroupLattices, TileGroup};
use crate::error::Error;
use crate::points::Places;
use crate::smoother::SHARE_BEYOND;
use crate::space::{Metric, Sigma};

/// A piece of space whose rows are smoothed together.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Tile {
    /// Rows that it smooths, about: where a crowded cell is smoothed in parts, they share them out.
    pub targets: u64,
    /// Rows that are in it, its own among them: all within reach, or its share of those of a [`TileGroup`].
    pub sources: u64,
}

/// Space cut into tiles.
///
/// # Examples
/// ```
/// use geosmooth::partition::{Capacity, Census, Partition, Role};
/// use geosmooth::{Places, Sigma};
///
/// let sigma = Sigma::metres(500.0)?;
/// let homes = Places::lat_lon(vec![41.65, 41.66, 48.85, 48.86], vec![-83.54, -83.53, 2.35, 2.36])?;
/// let mut census = Census::new(sigma, homes.metric(sigma)?, Census::MOST_CELLS);
/// census.add(&homes, Role::ToPredict)?;
///
/// // So little memory that Ohio and Paris are smoothed one after the other.
/// let capacity = Capacity { bytes: 1200, per_target: 200, per_source: 300 };
/// let partition = Partition::new(&census, sigma, 1.0, 1e-6, &capacity)?;
/// assert_eq!(partition.tiles().len(), 2);
/// assert_eq!(partition.visits(&homes, Role::ToPredict)?.iter().filter(|visit| visit.at_home).count(), 4);
/// # Ok::<(), geosmooth::Error>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Partition {
    metric: Metric,
    side: f64,
    /// Classes that groups fall into.
    classes: u32,
    assignments: FxHashMap<Cell, Assignment>,
    tiles: Vec<Tile>,
    /// Rows in each tile that is in no tile group.
    counted: Vec<Checksums>,
    /// Those of the last tiles that share their sources.
    tile_groups: Vec<TileGroup>,
    reach: Halo,
}

/// How far rows are looked for.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Halo {
    label_weight: f64,
    /// Weight of all rows.
    weight: f64,
    /// Largest kernel of a row that is out of reach.
    least: f64,
}

impl Halo {
    fn new(census: &Census, label_weight: f64, least: impl Fn(f64) -> f64) -> Self {
        let (to_predict, labelled) = census.rows();
        let weight = to_predict as f64 + label_weight * labelled as f64;
        Self { label_weight, weight, least: least(weight) }
    }

    /// What is beyond uses up no more than its part of a tolerance.
    fn of_tolerance(census: &Census, label_weight: f64, tolerance: f64) -> Self {
        Self::new(census, label_weight, |weight| (SHARE_BEYOND * tolerance / weight.max(1.0)).min(1.0))
    }

    fn cutter<'a>(
        &self,
        census: &Census,
        cells: &'a [(Cell, Count)],
        sigma: Sigma,
        capacity: &'a Capacity,
    ) -> Cutter<'a> {
        // On the sphere a chord is shorter than its arc, so that what is out of reach along chords is so along arcs.
        let reach = width(sigma, census.metric()) * (-2.0 * self.least.ln()).max(0.0).sqrt();
        // A little farther, for roundings of places and of the reach itself.
        Cutter { cells, reach: reach / census.side() * (1.0 + 1e-9) + 1e-9, capacity }
    }

    fn beyond(&self, weight_inside: f64) -> f64 {
        // Weights are added in another order: roundings must not make up what is left out.
        let outside = (self.weight - weight_inside).max(0.0) + 1e-12 * self.weight;
        outside * self.least
    }
}

/// Copies of a row in all tiles, beyond which tile groups may be less work.
const MANY_COPIES: u64 = 2;
/// Multiplications on lattices that take as long as having one row in one tile.
const MULTIPLICATIONS_PER_COPY: f64 = 4000.0;

impl Partition {
    /// Cuts space into tiles of which each fits, for a label weight and a tolerance.
    ///
    /// # Errors
    /// If the rows in reach of a single cell do not fit, or tiles would hold so many rows in common that cutting is of no use.
    pub fn new(
        census: &Census,
        sigma: Sigma,
        label_weight: f64,
        tolerance: f64,
        capacity: &Capacity,
    ) -> Result<Self, Error> {
        Self::by_rows(census, sigma, Halo::of_tolerance(census, label_weight, tolerance), capacity)
    }

    /// The same for a kernel that is cut at so many σ by hand.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_cutoff(
        census: &Census,
        sigma: Sigma,
        label_weight: f64,
        cutoff: f64,
        capacity: &Capacity,
    ) -> Result<Self, Error> {
        let reach = Halo::new(census, label_weight, |_| (-0.5 * cutoff * cutoff).exp());
        Self::by_rows(census, sigma, reach, capacity)
    }

    /// The same with [tile groups](Crowd) where tiles that hold all rows within reach do not fit, or would be more work: for columns with these ranges,
    /// and effective sources if asked for.
    ///
    /// # Errors
    /// If the rows in reach of a single cell do not fit, and lattices for them do not either.
    pub fn with_tile_groups(
        census: &Census,
        sigma: Sigma,
        label_weight: f64,
        tolerance: f64,
        capacity: &Capacity,
        ranges: &[(f64, f64)],
        n_effective: bool,
    ) -> Result<Self, Error> {
        let by_rows = Self::new(census, sigma, label_weight, tolerance, capacity);
        let (to_predict, labelled) = census.rows();
        if by_rows.as_ref().is_ok_and(|it| it.copies() <= MANY_COPIES * (to_predict + labelled)) {
            return by_rows;
        }
        let (cells, limit) = (census.cells(), capacity.for_lattices());
        let lattices =
            GroupLattices { census, cells: &cells, sigma, label_weight, tolerance, ranges, n_effective, limit };
        match (by_rows, Self::mixed(&lattices, capacity)) {
            (Ok(by_rows), Ok(mixed)) if by_rows.work() <= mixed.work() => Ok(by_rows),
            (_, Ok(mixed)) => Ok(mixed),
            (by_rows, Err(_)) => by_rows,
        }
    }

    fn by_rows(census: &Census, sigma: Sigma, reach: Halo, capacity: &Capacity) -> Result<Self, Error> {
        let cells = census.cells();
        let cutter = reach.cutter(census, &cells, sigma, capacity);
        Ok(Self::assigned(census, &cells, reach, &cutter.by_rows(cutter.homes())?, Vec::new()))
    }

    fn mixed(lattices: &GroupLattices, capacity: &Capacity) -> Result<Self, Error> {
        let GroupLattices { census, cells, sigma, label_weight, tolerance, .. } = *lattices;
        let reach = Halo::of_tolerance(census, label_weight, tolerance);
        let cutter = reach.cutter(census, cells, sigma, capacity);
        let (mut homes, crowded) = cutter.told_apart();
        let over = |draft: &TileDraft| lattices.over(draft, |weight| reach.beyond(weight));
        let (tile_groups, left) = cutter.by_moments(crowded, over);
        homes.extend(left);
        Ok(Self::assigned(census, cells, reach, &cutter.by_rows(homes)?, tile_groups))
    }

    fn assigned(
        census: &Census,
        cells: &[(Cell, Count)],
        reach: Halo,
        drafts: &[TileDraft],
        crowded: Vec<(TileDraft, Blueprint)>,
    ) -> Self {
        let mut assignments: Vec<Assignment> = vec![Assignment::default(); cells.len()];
        let (mut tiles, mut tile_groups, mut counted) = (Vec::new(), Vec::new(), Vec::new());
        let rows_near = |draft: &TileDraft| {
            let near = draft.near.iter().map(|cell| cells[*cell as usize].0);
            census.checksums_in(near).with_label_weight(reach.label_weight)
        };
        for draft in drafts {
            counted.extend(std::iter::repeat_n(rows_near(draft), draft.parts as usize));
            assign(draft, tiles.len() as u32, &mut assignments);
            let tile = Tile { targets: draft.targets.div_ceil(draft.parts), sources: draft.sources };
            tiles.extend(std::iter::repeat_n(tile, draft.parts as usize));
        }
        for (draft, blueprint) in crowded {
            assign_group(&draft, tile_groups.len() as u32, &mut assignments);
            tile_groups.push(TileGroup::new(tiles.len() as u32, &draft, rows_near(&draft), blueprint));
            let [targets, sources] = [draft.targets, draft.sources].map(|rows| rows.div_ceil(draft.parts));
            tiles.extend(std::iter::repeat_n(Tile { targets, sources }, draft.parts as usize));
        }
        let assignments = cells.iter().map(|(cell, _)| *cell).zip(assignments).collect();
        Self {
            metric: census.metric(),
            side: census.side(),
            classes: census.classes(),
            assignments,
            tiles,
            counted,
            tile_groups,
            reach,
        }
    }

    /// The tiles.
    #[must_use]
    pub fn tiles(&self) -> &[Tile] {
        &self.tiles
    }

    /// Whether a tile has all rows that were counted for it, and no others: those at home and guests as rows to predict, and labelled rows as far as they weigh anything.
    ///
    /// # Errors
    /// If it has not.
    ///
    /// # Panics
    /// If there is no such tile, or it is one of a tile group: its rows are dealt out as they come, and known for [all its tiles](Crowd::counted) together.
    pub fn check(&self, tile: usize, rows: &Checksums) -> Result<(), Error> {
        rows.check(&self.counted[tile])
    }

    /// The tile groups, whose tiles come after all others.
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
        self.tile_groups.iter().map(|tile_group| tile_group.blueprint().multiplications()).sum()
    }

    /// Work of all tiles, in multiplications on lattices.
    #[must_use]
    pub fn work(&self) -> f64 {
        MULTIPLICATIONS_PER_COPY * self.copies() as f64 + self.multiplications()
    }

    /// Whether rows of one cell are dealt out among several tiles.
    #[must_use]
    pub fn deals(&self) -> bool {
        self.assignments.values().any(|assignment| assignment.parts > 1)
            || self.tile_groups.iter().any(|tile_group| tile_group.tiles().len() > 1)
    }

    /// Every tile that each row is in.
    ///
    /// # Errors
    /// If a row is where none was counted in the census.
    pub fn memberships(&self, places: &Places, role: Role) -> Result<Vec<Membership>, Error> {
        self.memberships_by_turn(places, role, |row| row as u64)
    }

    /// The same with a number for each row, by which those of a crowded cell are dealt out among its tiles. Where rows come in another order
    /// each time, it must not depend on the order, or rows would change their homes.
    ///
    /// # Errors
    /// As [`memberships`](Self::visits).
    pub fn memberships_by_turn(
        &self,
        places: &Places,
        role: Role,
        turn: impl Fn(usize) -> u64 + Sync,
    ) -> Result<Vec<Membership>, Error> {
        let cells = cells_of(places, self.metric, self.side, self.classes);
        let known = |(row, cell): (usize, &Cell)| self.assignments.get(cell).ok_or(Error::Uncounted { row });
        let assignments = cells.par_iter().enumerate().map(known).collect::<Result<Vec<&Assignment>, Error>>()?;
        let assignments = assignments.into_par_iter().enumerate().with_min_len(1 << 12);
        Ok(assignments
            .flat_map_iter(|(row, assignment)| assignment.memberships(row, role, turn(row), &self.tile_groups))
            .collect())
    }

    /// A bound on what the rows that are not in a tile carry to each of its rows, from the weight of those that are.
    #[must_use]
    pub fn beyond(&self, weight_inside: f64) -> f64 {
        self.reach.beyond(weight_inside)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::partition::RowHashes;

    /// A town, a thin country around it and a row far away.
    fn places(rows: usize) -> Places {
        let at = |i: usize, factor: f64| (i as f64 * factor).fract();
        let wide = |i: usize| match i {
            0 => 1e5,
            i if i.is_multiple_of(2) => 0.03,
            _ => 1.0,
        };
        let axis =
            |factor: f64| (0..rows).map(move |i| 100.0 * wide(i) * at(i, factor) + if i == 0 { 1e7 } else { 0.0 });
        Places::index(vec![axis(0.754_877_666).collect(), axis(0.569_840_291).collect()]).unwrap()
    }

    fn census(places: &Places, sigma: Sigma, most: usize) -> Census {
        let mut census = Census::new(sigma, places.metric(sigma).unwrap(), most);
        census.add(places, Role::ToPredict).unwrap();
        census.add(places, Role::Labelled).unwrap();
        census
    }

    #[test]
    fn every_row_has_one_home_and_all_in_reach_are_there() {
        let (places, sigma) = (places(3000), Sigma::index(1.0).unwrap());
        for most in [100_000, 300] {
            let census = census(&places, sigma, most);
            let capacity = Capacity { bytes: 4000, per_target: 1, per_source: 1 };
            let partition = Partition::new(&census, sigma, 2.0, 1e-6, &capacity).unwrap();
            assert!(partition.tiles().len() > 4, "{} tiles", partition.tiles().len());
            let memberships = partition.memberships(&places, Role::ToPredict).unwrap();
            let labels = partition.memberships(&places, Role::Labelled).unwrap();
            let mut homes = vec![u32::MAX; places.len()];
            for membership in memberships.iter().filter(|membership| membership.at_home) {
                assert_eq!(homes[membership.row as usize], u32::MAX);
                homes[membership.row as usize] = membership.tile;
            }
            assert!(homes.iter().all(|home| *home != u32::MAX) && labels.iter().all(|membership| !membership.at_home));
            let inside: HashSet<(u32, u32)> =
                memberships.iter().map(|membership| (membership.tile, membership.row)).collect();
            assert_eq!(inside.len(), memberships.len());
            for one in (0..places.len()).step_by(7) {
                for other in 0..places.len() {
                    let square: f64 = places.axes().iter().map(|axis| (axis[one] - axis[other]).powi(2)).sum();
                    let is_in = inside.contains(&(homes[one], other as u32));
                    assert!(is_in || (-0.5 * square).exp() <= partition.reach.least, "{one} and {other}");
                }
            }
        }
    }

    #[test]
    fn a_crowded_cell_is_smoothed_in_parts() {
        let places = Places::index(vec![vec![1.0; 1000]]).unwrap();
        let sigma = Sigma::index(1.0).unwrap();
        let census = census(&places, sigma, 100);
        let capacity = Capacity { bytes: 2100, per_target: 1, per_source: 1 };
        let partition = Partition::new(&census, sigma, 1.0, 1e-6, &capacity).unwrap();
        assert_eq!(partition.tiles().len(), 10);
        let memberships = partition.memberships(&places, Role::ToPredict).unwrap();
        assert_eq!(memberships.len(), 10_000);
        assert_eq!(memberships.iter().filter(|membership| membership.at_home && membership.tile == 3).count(), 100);
        let capacity = Capacity { bytes: 2000, ..capacity };
        let Err(Error::Memory { need: 2001, limit: 2000, .. }) = Partition::new(&census, sigma, 1.0, 1e-6, &capacity)
        else {
            panic!("sources alone do not fit")
        };
    }

    #[test]
    fn turns_and_not_rows_decide_who_is_dealt_where() {
        let places = Places::index(vec![vec![1.0; 1000]]).unwrap();
        let sigma = Sigma::index(1.0).unwrap();
        let capacity = Capacity { bytes: 2100, per_target: 1, per_source: 1 };
        let partition = Partition::new(&census(&places, sigma, 100), sigma, 1.0, 1e-6, &capacity).unwrap();
        assert!(partition.deals());
        let one = places.select(&[0]);
        for turn in 0..20 {
            let memberships = partition.memberships_by_turn(&one, Role::ToPredict, |_| turn).unwrap();
            let home =
                memberships.iter().find(|membership| membership.at_home).map(|membership| u64::from(membership.tile));
            assert_eq!((memberships.len(), home), (10, Some(turn % 10)));
        }
    }

    #[test]
    fn a_row_that_was_not_counted_is_an_error() {
        let (places, sigma) = (places(100), Sigma::index(1.0).unwrap());
        let capacity = Capacity { bytes: 1000, per_target: 1, per_source: 1 };
        let partition = Partition::new(&census(&places, sigma, 1000), sigma, 1.0, 1e-6, &capacity).unwrap();
        assert!(!partition.deals());
        let others = Places::index(vec![vec![1.0, -5e5], vec![1.0, 3.0]]).unwrap();
        let found = partition.memberships(&others, Role::Labelled);
        assert!(matches!(found, Err(Error::Uncounted { .. })), "{found:?}");
    }

    /// Issue 15: what is in a tile is what was counted for it, or it is told.
    #[test]
    fn a_tile_knows_the_rows_that_were_counted_for_it() {
        let (places, sigma) = (places(1000), Sigma::index(1.0).unwrap());
        let values: Vec<f64> = (0..1000).map(|i| f64::from(i % 17)).collect();
        let mut census = Census::new(sigma, Metric::Plane(2), 1000);
        for role in [Role::ToPredict, Role::Labelled] {
            census.add_hashed(&places, role, &RowHashes::of(&places, &[&values])).unwrap();
        }
        let capacity = Capacity { bytes: 1500, per_target: 1, per_source: 1 };
        let partition = Partition::new(&census, sigma, 1.0, 1e-6, &capacity).unwrap();
        assert!(partition.tiles().len() > 3);
        for tile in 0..partition.tiles().len() {
            let rows = |role, values: &[f64]| {
                let memberships = partition.memberships(&places, role).unwrap();
                let here: Vec<usize> =
                    memberships.iter().filter(|it| it.tile as usize == tile).map(|it| it.row as usize).collect();
                let some: Vec<f64> = here.iter().map(|row| values[*row]).collect();
                let mut seen = Checksums::default();
                seen.add(role, &RowHashes::of(&places.select(&here), &[&some]));
                seen
            };
            let others: Vec<f64> = values.iter().map(|value| value + 1e-9).collect();
            let all = |to_predict, labels| {
                let mut all = rows(Role::ToPredict, to_predict);
                all.join(rows(Role::Labelled, labels));
                partition.check(tile, &all)
            };
            all(&values, &values).unwrap();
            for changed in [all(&others, &values), all(&values, &others)] {
                assert!(matches!(changed, Err(Error::Changed { .. })), "{changed:?}");
            }
            assert!(partition.check(tile, &rows(Role::ToPredict, &values)).is_err(), "labelled rows are missing");
        }
        let without = Partition::new(&census, sigma, 0.0, 1e-6, &capacity).unwrap();
        let nobody = Checksums::default();
        assert!(without.check(0, &nobody).unwrap_err().to_string().starts_with("there are 0 rows to predict where"));
    }

    #[test]
    fn groups_have_no_halo() {
        let places = Places::index(vec![vec![1.0; 1000]]).unwrap().with_groups((0..1000).map(|i| i % 4).collect());
        let (places, sigma) = (places.unwrap(), Sigma::index(1.0).unwrap());
        let census = census(&places, sigma, 1000);
        let capacity = Capacity { bytes: 1500, per_target: 1, per_source: 1 };
        let partition = Partition::new(&census, sigma, 1.0, 1e-6, &capacity).unwrap();
        assert_eq!(partition.tiles().len(), 2);
        assert_eq!(partition.memberships(&places, Role::ToPredict).unwrap().len(), 1000);
    }
}
