//! Crowds: more rows are within reach of one place than memory holds, so that no tile is small enough. Their rows are dealt out among tiles that fit, and
//! smoothed by what all of these add up to.

use std::ops::Range;

use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

use super::cells::CountedCells;
use super::census::{Cell, Census, Count};
use super::checksum::Checksums;
use super::cut::TileDraft;
use super::moments::Blueprint;
use crate::smoother::SHARE_BEYOND;
use crate::space::Sigma;

/// Tiles that share their sources: every row within reach is in one of them, the moments of all together make the field by which each smooths the rows
/// that are at home in it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TileGroup {
    first: u32,
    tiles: u32,
    counted: Checksums,
    blueprint: Blueprint,
}

impl TileGroup {
    pub(super) fn new(first: u32, draft: &TileDraft, counted: Checksums, blueprint: Blueprint) -> Self {
        Self { first, tiles: draft.parts as u32, counted, blueprint }
    }

    /// Its tiles, one after the other.
    #[must_use]
    pub fn tiles(&self) -> Range<u32> {
        self.first..self.first + self.tiles
    }

    /// The rows that were counted for all its tiles together.
    #[must_use]
    pub fn counted(&self) -> &Checksums {
        &self.counted
    }

    /// The lattices that its rows are added up on.
    #[must_use]
    pub fn blueprint(&self) -> &Blueprint {
        &self.blueprint
    }

    /// The tile of a row, by its turn.
    pub(super) fn tile(&self, turn: u64) -> u32 {
        self.first + (turn % u64::from(self.tiles)) as u32
    }
}

/// Bytes that the lattices of a tile group may take: on many machines they travel, and one message takes some hundred megabytes at most.
const MOST_BYTES: u64 = 1 << 28;

/// What lattices of tile groups are laid out with.
pub(super) struct GroupLattices<'a> {
    pub(super) census: &'a Census,
    pub(super) cells: &'a [(Cell, Count)],
    pub(super) sigma: Sigma,
    pub(super) label_weight: f64,
    pub(super) tolerance: f64,
    pub(super) ranges: &'a [(f64, f64)],
    pub(super) n_effective: bool,
    /// Bytes that they may take.
    pub(super) limit: u64,
}

impl GroupLattices<'_> {
    /// Lattices for the rows within reach of some homes, of which those at home are smoothed; none if there are none that certify them, or they take
    /// too much.
    pub(super) fn over(&self, draft: &TileDraft, beyond: impl Fn(f64) -> f64) -> Option<Blueprint> {
        let (counted_cells, limit) = (self.counted_cells(draft), self.limit.min(MOST_BYTES));
        let count = counted_cells.count();
        let inside = count.to_predict as f64 + self.label_weight * count.labelled as f64;
        // What lies beyond has its own part of the tolerance.
        let tolerance = self.tolerance * (1.0 - SHARE_BEYOND);
        let blueprint = Blueprint::over(&counted_cells, self.sigma, self.label_weight, tolerance, self.ranges, limit)?;
        let blueprint = blueprint.with_beyond(beyond(inside));
        if self.n_effective { blueprint.with_squares(&counted_cells, limit) } else { Some(blueprint) }
    }

    fn counted_cells(&self, draft: &TileDraft) -> CountedCells {
        let homes: FxHashSet<u32> = draft.homes.iter().copied().collect();
        let cell = |near: &u32| {
            let (cell, count) = self.cells[*near as usize];
            (cell, count, homes.contains(near))
        };
        CountedCells {
            metric: self.census.metric(),
            side: self.census.side(),
            cells: draft.near.iter().map(cell).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use super::*;
    use crate::partition::{Capacity, Partition, Role};
    use crate::points::Places;

    /// A unit of [`town`] in degrees.
    const KILOMETRE: f64 = 1.0 / 111.195;

    /// Half of the rows within three units of each other, the others far apart.
    fn town(rows: usize, axes: usize) -> Vec<Vec<f64>> {
        let factors = [0.754_877_666, 0.569_840_291, 0.437_016_024];
        let at = |i: usize, k: usize| {
            let x = (i as f64 * factors[k]).fract();
            if i.is_multiple_of(2) { 3.0 * x } else { 400.0 * x - 200.0 }
        };
        (0..axes).map(|k| (0..rows).map(|i| at(i, k)).collect()).collect()
    }

    /// On so many axes, or astride the date line.
    fn places(rows: usize, axes: Option<usize>) -> (Places, Sigma) {
        if let Some(axes) = axes {
            return (Places::index(town(rows, axes)).unwrap(), Sigma::index(1.0).unwrap());
        }
        let [north, east]: [Vec<f64>; 2] = town(rows, 2).try_into().unwrap();
        let latitude = north.iter().map(|x| 40.0 + x * KILOMETRE).collect();
        let longitude = east.iter().map(|x| (179.99 + x * KILOMETRE + 180.0).rem_euclid(360.0) - 180.0).collect();
        (Places::lat_lon(latitude, longitude).unwrap(), Sigma::metres(1000.0).unwrap())
    }

    /// Room for so many rows, and for lattices beside some of them.
    fn room_for(rows: u64) -> Capacity {
        Capacity { bytes: 64 << 20, per_target: 1, per_source: (64 << 20) / rows }
    }

    fn census(places: &Places, sigma: Sigma, cells: usize) -> Census {
        let mut census = Census::new(sigma, places.metric(sigma).unwrap(), cells);
        census.add(places, Role::ToPredict).unwrap();
        census.add(places, Role::Labelled).unwrap();
        census
    }

    fn with_tile_groups(places: &Places, sigma: Sigma, cells: usize, rows: u64) -> Partition {
        let (census, capacity) = (census(places, sigma, cells), room_for(rows));
        assert!(Partition::new(&census, sigma, 2.0, 1e-6, &capacity).is_err(), "no need of tile_groups");
        Partition::with_tile_groups(&census, sigma, 2.0, 1e-6, &capacity, &[(0.0, 1.0)], false).unwrap()
    }

    /// Squared distance in σ.
    fn square(places: &Places, one: usize, other: usize) -> f64 {
        let axes = places.axes();
        let plain = |axis: &Vec<f64>| (axis[one] - axis[other]).powi(2);
        if !places.is_geographic() {
            return axes.iter().map(plain).sum();
        }
        let half = |x: f64| (0.5 * x.to_radians()).sin().powi(2);
        let cosines = axes[0][one].to_radians().cos() * axes[0][other].to_radians().cos();
        let chord = half(axes[0][one] - axes[0][other]) + cosines * half(axes[1][one] - axes[1][other]);
        (2.0 * 6_371.008_8 * chord.sqrt().asin()).powi(2)
    }

    /// The set of tiles that share their sources with a tile, by its first.
    fn first_of(partition: &Partition, tile: u32) -> u32 {
        let tile_group = partition.tile_groups().iter().find(|tile_group| tile_group.tiles().contains(&tile));
        tile_group.map_or(tile, |tile_group| tile_group.tiles().start)
    }

    fn check(places: &Places, partition: &Partition) {
        let memberships = partition.memberships(places, Role::ToPredict).unwrap();
        let homes: HashMap<u32, u32> = memberships
            .iter()
            .filter(|membership| membership.at_home)
            .map(|membership| (membership.row, membership.tile))
            .collect();
        assert_eq!(
            (homes.len(), memberships.iter().filter(|membership| membership.at_home).count()),
            (places.len(), places.len())
        );
        let inside: HashSet<(u32, u32)> =
            memberships.iter().map(|membership| (first_of(partition, membership.tile), membership.row)).collect();
        assert_eq!(inside.len(), memberships.len(), "a row is in two tiles of a tile group");
        let labelled = partition.memberships(places, Role::Labelled).unwrap();
        let as_labelled: HashSet<(u32, u32)> =
            labelled.iter().map(|membership| (first_of(partition, membership.tile), membership.row)).collect();
        assert!(labelled.iter().all(|membership| !membership.at_home) && as_labelled == inside);
        let least = partition.beyond(0.0) / (places.len() as f64 * 3.0);
        for one in (0..places.len()).step_by(7) {
            let home = first_of(partition, homes[&(one as u32)]);
            for other in (0..places.len()).filter(|other| places.group(*other) == places.group(one)) {
                let is_in = inside.contains(&(home, other as u32));
                assert!(is_in || (-0.5 * square(places, one, other)).exp() <= least, "{one} and {other}");
            }
        }
    }

    #[test]
    fn every_row_has_one_home_and_all_in_reach_are_in_one_tile_of_its_crowd() {
        let (fine, wide) = (Census::MOST_CELLS, 60);
        let fine_and_wide = [Some(1), Some(2), None].map(|axes| [(axes, fine), (axes, wide)]);
        // Cubes of space that are much wider than σ hold too many nodes.
        for (axes, cells) in fine_and_wide.into_iter().flatten().chain([(Some(3), fine)]) {
            let (places, sigma) = places(3000, axes);
            let partition = with_tile_groups(&places, sigma, cells, 2000);
            let (tiles, tile_groups) = (partition.tiles(), partition.tile_groups());
            assert!(
                !tile_groups.is_empty() && tile_groups.iter().all(|tile_group| tile_group.tiles().len() > 1),
                "{axes:?} {cells}"
            );
            assert!(cells == wide || tile_groups[0].tiles().start > 0, "tiles of their own outside");
            assert!(tiles.iter().all(|tile| tile.sources <= 2000), "{axes:?} {cells}");
            assert!(partition.deals() && partition.multiplications() > 0.0);
            check(&places, &partition);
        }
    }

    #[test]
    fn groups_crowd_apart() {
        let (places, sigma) = places(4000, Some(2));
        let places = places.with_groups((0..4000).map(|i| i / 2 % 2).collect()).unwrap();
        check(&places, &with_tile_groups(&places, sigma, Census::MOST_CELLS, 1200));
    }

    #[test]
    fn rows_are_kept_where_they_fit() {
        let (places, sigma) = places(3000, Some(2));
        let capacity = room_for(7000);
        let partition = Partition::with_tile_groups(
            &census(&places, sigma, 1000),
            sigma,
            2.0,
            1e-6,
            &capacity,
            &[(0.0, 1.0)],
            false,
        );
        assert!(partition.unwrap().tile_groups().is_empty());
    }

    #[test]
    fn lattices_that_do_not_fit_are_no_way_out() {
        let (places, sigma) = places(3000, Some(2));
        let capacity = Capacity { bytes: 2000, per_target: 1, per_source: 1 };
        let census = census(&places, sigma, 1000);
        assert!(Partition::with_tile_groups(&census, sigma, 2.0, 1e-6, &capacity, &[(0.0, 1.0)], true).is_err());
    }
}
