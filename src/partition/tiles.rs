//! Tiles: which rows are at home in each, and which are its guests.

use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::census::{Cell, Census, Role, cells_of, width};
use super::cut::{Cutter, Draft};
use crate::error::Error;
use crate::points::Places;
use crate::smoother::SHARE_BEYOND;
use crate::space::{Metric, Sigma};

/// How many rows a tile may have.
#[derive(Clone, Copy, Debug)]
pub struct Capacity {
    /// Memory for one tile.
    pub bytes: u64,
    /// Bytes for each row that it smooths, in addition to those for being a source.
    pub per_target: u64,
    /// Bytes for each row that it sums over.
    pub per_source: u64,
}

/// Bytes of the fast engine for each source and each target.
const ENGINE: u64 = 76;

impl Capacity {
    /// For tiles that [`smooth_tile`](crate::smooth_tile) smooths within so many bytes: so many columns of predictions, and effective
    /// sources too if asked for.
    #[must_use]
    pub fn for_smoothing(bytes: u64, metric: Metric, columns: usize, n_effective: bool) -> Self {
        let (axes, columns, plans) = (metric.axes() as u64, columns as u64, 1 + u64::from(n_effective));
        // As a scene lays them out, and as they come in.
        let per_source = 2 * (8 * axes + 16) + plans * ENGINE + 8 * (4 + columns);
        let per_target = 8 * axes + 12 + plans * (ENGINE + 32) + 64 * (1 + columns);
        Self { bytes, per_target, per_source }
    }

    fn need(&self, targets: u64, sources: u64) -> u64 {
        targets.saturating_mul(self.per_target).saturating_add(sources.saturating_mul(self.per_source))
    }

    pub(super) fn holds(&self, targets: u64, sources: u64) -> bool {
        self.need(targets, sources) <= self.bytes
    }

    /// In how many parts the targets fit beside all sources.
    pub(super) fn parts(&self, targets: u64, sources: u64) -> Result<u64, Error> {
        match self.bytes.checked_sub(self.need(0, sources)) {
            Some(left) if left >= self.per_target => Ok(targets.div_ceil(left / self.per_target).max(1)),
            _ => Err(self.too_small(sources)),
        }
    }

    pub(super) fn too_small(&self, sources: u64) -> Error {
        let what = "a tile with all rows that reach it".to_owned();
        Error::Memory { what, need: self.need(1, sources), limit: self.bytes }
    }
}

/// A piece of space whose rows are smoothed together.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Tile {
    /// Rows that it smooths, about: where a crowded cell is smoothed in parts, they share them out.
    pub targets: u64,
    /// Rows within reach, its own among them.
    pub sources: u64,
}

/// One row in one tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visit {
    /// The row, as it stands among the places.
    pub row: u32,
    /// The tile.
    pub tile: u32,
    /// Whether the tile smooths it; otherwise it is only a source there.
    pub at_home: bool,
}

/// Where the rows of a cell go.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Stay {
    /// The tile that smooths its rows to predict, and the tiles after it among which they are shared out.
    home: u32,
    parts: u32,
    /// Other tiles that need its rows.
    guest_of: Vec<u32>,
}

impl Stay {
    /// Every tile that a row of the cell is in. Rows are dealt out among the parts of a crowded one, by their turns.
    fn visits(&self, row: usize, role: Role, turn: u64) -> impl Iterator<Item = Visit> {
        let home = self.home + (turn % u64::from(self.parts.max(1))) as u32;
        let is_target = role == Role::ToPredict;
        let tiles = (self.home..self.home + self.parts).chain(self.guest_of.iter().copied());
        tiles.map(move |tile| Visit { row: row as u32, tile, at_home: is_target && tile == home })
    }
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
    stays: FxHashMap<Cell, Stay>,
    tiles: Vec<Tile>,
    /// Weight of all rows.
    weight: f64,
    /// Largest kernel of a row that is out of reach.
    least: f64,
}

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
        let (to_predict, labelled) = census.rows();
        let weight = to_predict as f64 + label_weight * labelled as f64;
        let least = (SHARE_BEYOND * tolerance / weight.max(1.0)).min(1.0);
        Self::within(census, sigma, weight, least, capacity)
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
        let (to_predict, labelled) = census.rows();
        let weight = to_predict as f64 + label_weight * labelled as f64;
        Self::within(census, sigma, weight, (-0.5 * cutoff * cutoff).exp(), capacity)
    }

    fn within(census: &Census, sigma: Sigma, weight: f64, least: f64, capacity: &Capacity) -> Result<Self, Error> {
        // On the sphere a chord is shorter than its arc, so that what is out of reach along chords is so along arcs.
        let reach = width(sigma, census.metric()) * (-2.0 * least.ln()).max(0.0).sqrt();
        let cells = census.cells();
        // A little farther, for roundings of places and of the reach itself.
        let cutter = Cutter { cells: &cells, reach: reach / census.side() * (1.0 + 1e-9) + 1e-9, capacity };
        let drafts = cutter.tiles()?;
        let mut stays: Vec<Stay> = vec![Stay::default(); cells.len()];
        let mut tiles = Vec::new();
        for draft in &drafts {
            settle(draft, tiles.len() as u32, &mut stays);
            let tile = Tile { targets: draft.targets.div_ceil(draft.parts), sources: draft.sources };
            tiles.extend(std::iter::repeat_n(tile, draft.parts as usize));
        }
        let stays = cells.iter().map(|(cell, _)| *cell).zip(stays).collect();
        Ok(Self { metric: census.metric(), side: census.side(), stays, tiles, weight, least })
    }

    /// The tiles.
    #[must_use]
    pub fn tiles(&self) -> &[Tile] {
        &self.tiles
    }

    /// Whether rows of one cell are dealt out among several tiles.
    #[must_use]
    pub fn deals(&self) -> bool {
        self.stays.values().any(|stay| stay.parts > 1)
    }

    /// Every tile that each row is in.
    ///
    /// # Errors
    /// If a row is where none was counted in the census.
    pub fn visits(&self, places: &Places, role: Role) -> Result<Vec<Visit>, Error> {
        self.visits_in_turn(places, role, |row| row as u64)
    }

    /// The same with a number for each row, by which those of a crowded cell are dealt out among its tiles. Where rows come in another order
    /// each time, it must not depend on the order, or rows would change their homes.
    ///
    /// # Errors
    /// As [`visits`](Self::visits).
    pub fn visits_in_turn(
        &self,
        places: &Places,
        role: Role,
        turn: impl Fn(usize) -> u64 + Sync,
    ) -> Result<Vec<Visit>, Error> {
        let cells = cells_of(places, self.metric, self.side);
        let known = |(row, cell): (usize, &Cell)| self.stays.get(cell).ok_or(Error::Uncounted { row });
        let stays = cells.par_iter().enumerate().map(known).collect::<Result<Vec<&Stay>, Error>>()?;
        let stays = stays.into_par_iter().enumerate().with_min_len(1 << 12);
        Ok(stays.flat_map_iter(|(row, stay)| stay.visits(row, role, turn(row))).collect())
    }

    /// A bound on what the rows that are not in a tile carry to each of its rows, from the weight of those that are.
    #[must_use]
    pub fn beyond(&self, weight_inside: f64) -> f64 {
        // Weights are added in another order: roundings must not make up what is left out.
        let outside = (self.weight - weight_inside).max(0.0) + 1e-12 * self.weight;
        outside * self.least
    }
}

/// Notes where the rows of a tile's cells go; its number is that of its first part.
fn settle(draft: &Draft, first: u32, stays: &mut [Stay]) {
    let parts = draft.parts as u32;
    for cell in &draft.homes {
        let stay = &mut stays[*cell as usize];
        (stay.home, stay.parts) = (first, parts);
    }
    for cell in &draft.near {
        let stay = &mut stays[*cell as usize];
        let is_home = stay.home == first && stay.parts > 0;
        if !is_home {
            stay.guest_of.extend(first..first + parts);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

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
            let visits = partition.visits(&places, Role::ToPredict).unwrap();
            let labels = partition.visits(&places, Role::Labelled).unwrap();
            let mut homes = vec![u32::MAX; places.len()];
            for visit in visits.iter().filter(|visit| visit.at_home) {
                assert_eq!(homes[visit.row as usize], u32::MAX);
                homes[visit.row as usize] = visit.tile;
            }
            assert!(homes.iter().all(|home| *home != u32::MAX) && labels.iter().all(|visit| !visit.at_home));
            let inside: HashSet<(u32, u32)> = visits.iter().map(|visit| (visit.tile, visit.row)).collect();
            assert_eq!(inside.len(), visits.len());
            for one in (0..places.len()).step_by(7) {
                for other in 0..places.len() {
                    let square: f64 = places.axes().iter().map(|axis| (axis[one] - axis[other]).powi(2)).sum();
                    let is_in = inside.contains(&(homes[one], other as u32));
                    assert!(is_in || (-0.5 * square).exp() <= partition.least, "{one} and {other}");
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
        let visits = partition.visits(&places, Role::ToPredict).unwrap();
        assert_eq!(visits.len(), 10_000);
        assert_eq!(visits.iter().filter(|visit| visit.at_home && visit.tile == 3).count(), 100);
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
            let visits = partition.visits_in_turn(&one, Role::ToPredict, |_| turn).unwrap();
            let home = visits.iter().find(|visit| visit.at_home).map(|visit| u64::from(visit.tile));
            assert_eq!((visits.len(), home), (10, Some(turn % 10)));
        }
    }

    #[test]
    fn a_row_that_was_not_counted_is_an_error() {
        let (places, sigma) = (places(100), Sigma::index(1.0).unwrap());
        let capacity = Capacity { bytes: 1000, per_target: 1, per_source: 1 };
        let partition = Partition::new(&census(&places, sigma, 1000), sigma, 1.0, 1e-6, &capacity).unwrap();
        assert!(!partition.deals());
        let others = Places::index(vec![vec![1.0, -5e5], vec![1.0, 3.0]]).unwrap();
        let found = partition.visits(&others, Role::Labelled);
        assert!(matches!(found, Err(Error::Uncounted { .. })), "{found:?}");
    }

    #[test]
    fn groups_have_no_halo() {
        let places = Places::index(vec![vec![1.0; 1000]]).unwrap().with_groups((0..1000).map(|i| i % 4).collect());
        let (places, sigma) = (places.unwrap(), Sigma::index(1.0).unwrap());
        let census = census(&places, sigma, 100);
        let capacity = Capacity { bytes: 1500, per_target: 1, per_source: 1 };
        let partition = Partition::new(&census, sigma, 1.0, 1e-6, &capacity).unwrap();
        assert_eq!(partition.tiles().len(), 2);
        assert_eq!(partition.visits(&places, Role::ToPredict).unwrap().len(), 1000);
    }
}
