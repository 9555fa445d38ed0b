//! Which rows are in which tiles, and that tiles and tile groups know the rows that were counted for them.

use std::collections::{HashMap, HashSet};

use super::*;
use crate::error::Error;
use crate::points::Places;
use crate::smoother::Smoother;
use crate::space::{Metric, Sigma};

/// A unit of [`town`] in degrees.
const KILOMETRE: f64 = 1.0 / 111.195;

/// A town, a thin country around it and a row far away.
fn country(rows: usize) -> Places {
    let at = |i: usize, factor: f64| (i as f64 * factor).fract();
    let wide = |i: usize| match i {
        0 => 1e5,
        i if i.is_multiple_of(2) => 0.03,
        _ => 1.0,
    };
    let axis = |factor: f64| (0..rows).map(move |i| 100.0 * wide(i) * at(i, factor) + if i == 0 { 1e7 } else { 0.0 });
    Places::index(vec![axis(0.754_877_666).collect(), axis(0.569_840_291).collect()]).unwrap()
}

/// Half of the rows within three units of each other, the others far apart.
fn town(rows: usize, axes: usize) -> Vec<Vec<f64>> {
    let factors = [0.754_877_666, 0.569_840_291, 0.437_016_024];
    let at = |i: usize, k: usize| {
        let x = (i as f64 * factors[k]).fract();
        if i.is_multiple_of(2) { 3.0 * x } else { 400.0 * x - 200.0 }
    };
    (0..axes).map(|k| (0..rows).map(|i| at(i, k)).collect()).collect()
}

/// A town on so many axes, or astride the date line.
fn town_places(rows: usize, axes: Option<usize>) -> (Places, Sigma) {
    if let Some(axes) = axes {
        return (Places::index(town(rows, axes)).unwrap(), one());
    }
    let [north, east]: [Vec<f64>; 2] = town(rows, 2).try_into().unwrap();
    let latitude = north.iter().map(|x| 40.0 + x * KILOMETRE).collect();
    let longitude = east.iter().map(|x| (179.99 + x * KILOMETRE + 180.0).rem_euclid(360.0) - 180.0).collect();
    (Places::lat_lon(latitude, longitude).unwrap(), Sigma::metres(1000.0).unwrap())
}

fn one() -> Sigma {
    Sigma::index(1.0).unwrap()
}

/// A thousand rows at one place.
fn at_one_place() -> Places {
    Places::index(vec![vec![1.0; 1000]]).unwrap()
}

fn problem(label_weight: f64) -> SmoothingProblem {
    SmoothingProblem { label_weight, ..SmoothingProblem::new(&[(0.0, 1.0)]) }
}

/// The rows counted in both roles.
fn census(places: &Places, sigma: Sigma, most: usize) -> Census {
    let mut census = Census::new(sigma, places.metric(sigma).unwrap(), most);
    for role in Role::ALL {
        census.add(role, &SourceRows::new(places, &[])).unwrap();
    }
    census
}

/// Room for so many rows to predict and sources.
fn room(rows: u64) -> Capacity {
    Capacity { bytes: rows, per_target: 1, per_source: 1 }
}

/// Room for so many sources, and for lattices beside some of them.
fn room_and_lattices(sources: u64) -> Capacity {
    Capacity { bytes: 64 << 20, per_target: 1, per_source: (64 << 20) / sources }
}

fn cut(places: &Places, most: usize, rows: u64) -> Result<Partition, Error> {
    Partition::new(&census(places, one(), most), &problem(1.0), &room(rows))
}

fn with_tile_groups(places: &Places, sigma: Sigma, cells: usize, rows: u64) -> Partition {
    let (census, capacity) = (census(places, sigma, cells), room_and_lattices(rows));
    assert!(Partition::new(&census, &problem(2.0), &capacity).is_err(), "no need of tile groups");
    Partition::with_tile_groups(&census, &problem(2.0), &capacity).unwrap()
}

/// Those of rows at home.
fn homes(memberships: &[Membership]) -> impl Iterator<Item = &Membership> {
    memberships.iter().filter(|it| it.role == TileRole::Home)
}

#[test]
fn every_row_has_one_home_and_all_in_reach_are_there() {
    let places = country(3000);
    for most in [100_000, 300] {
        let census = census(&places, one(), most);
        let partition = Partition::new(&census, &problem(2.0), &room(4000)).unwrap();
        assert!(partition.tiles().len() > 4, "{} tiles", partition.tiles().len());
        check(&places, &partition);
    }
}

#[test]
fn every_row_has_one_home_and_all_in_reach_are_in_one_tile_of_its_group() {
    let (fine, wide) = (Census::MOST_CELLS, 60);
    let fine_and_wide = [Some(1), Some(2), None].map(|axes| [(axes, fine), (axes, wide)]);
    // Cubes of space that are much wider than σ hold too many nodes.
    for (axes, cells) in fine_and_wide.into_iter().flatten().chain([(Some(3), fine)]) {
        let (places, sigma) = town_places(3000, axes);
        let partition = with_tile_groups(&places, sigma, cells, 2000);
        let (tiles, groups) = (partition.tiles(), partition.tile_groups());
        let shared = !groups.is_empty() && groups.iter().all(|group| group.tiles().len() > 1);
        assert!(shared, "{axes:?} {cells}");
        assert!(cells == wide || partition.tiles_alone() > 0, "tiles of their own outside");
        assert!(tiles.iter().all(|tile| tile.sources <= 2000), "{axes:?} {cells}");
        assert!(partition.deals() && partition.multiplications() > 0.0);
        check(&places, &partition);
    }
}

#[test]
fn groups_have_tile_groups_of_their_own() {
    let (places, sigma) = town_places(4000, Some(2));
    let places = places.with_groups((0..4000).map(|i| i / 2 % 2).collect()).unwrap();
    check(&places, &with_tile_groups(&places, sigma, Census::MOST_CELLS, 1200));
}

/// Every row has one home, and all rows within the halo of it are in the same tile or in one tile of its group.
fn check(places: &Places, partition: &Partition) {
    let memberships = partition.memberships(places, Role::ToPredict).unwrap();
    let home_of: HashMap<u32, u32> = homes(&memberships).map(|it| (it.row, it.tile)).collect();
    assert_eq!((home_of.len(), homes(&memberships).count()), (places.len(), places.len()));
    let inside = rows_in_tiles(partition, &memberships);
    assert_eq!(inside.len(), memberships.len(), "a row is in two tiles of a tile group");
    let labelled = partition.memberships(places, Role::Labelled).unwrap();
    assert!(labelled.iter().all(|it| it.role == TileRole::Labelled));
    assert_eq!(rows_in_tiles(partition, &labelled), inside);
    for one in (0..places.len()).step_by(7) {
        let home = first_of(partition, home_of[&(one as u32)]);
        for other in (0..places.len()).filter(|other| places.group(*other) == places.group(one)) {
            let is_in = inside.contains(&(home, other as u32));
            let kernel = (-0.5 * square(places, one, other)).exp();
            assert!(is_in || kernel <= partition.halo.least, "{one} and {other}");
        }
    }
}

/// Rows with their tiles, those of one tile group being one.
fn rows_in_tiles(partition: &Partition, memberships: &[Membership]) -> HashSet<(u32, u32)> {
    memberships.iter().map(|it| (first_of(partition, it.tile), it.row)).collect()
}

/// The first of the tiles that share their sources with a tile.
fn first_of(partition: &Partition, tile: u32) -> u32 {
    let group = partition.tile_groups().iter().find(|group| group.tiles().contains(&tile));
    group.map_or(tile, |group| group.tiles().start)
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

#[test]
fn a_crowded_cell_is_smoothed_in_parts() {
    let places = at_one_place();
    let partition = cut(&places, 100, 2100).unwrap();
    assert_eq!(partition.tiles().len(), 10);
    let memberships = partition.memberships(&places, Role::ToPredict).unwrap();
    assert_eq!(memberships.len(), 10_000);
    assert_eq!(homes(&memberships).filter(|it| it.tile == 3).count(), 100);
    let refused = cut(&places, 100, 2000);
    assert!(matches!(refused, Err(Error::Memory { need: 2001, limit: 2000, .. })), "sources alone do not fit");
}

#[test]
fn turns_and_not_rows_decide_which_tile_a_row_is_dealt_to() {
    let places = at_one_place();
    let partition = cut(&places, 100, 2100).unwrap();
    assert!(partition.deals());
    for turn in 0..20 {
        let memberships = partition.memberships_by_turn(&places.select(&[0]), Role::ToPredict, |_| turn).unwrap();
        let home = homes(&memberships).next().map(|it| u64::from(it.tile));
        assert_eq!((memberships.len(), home), (10, Some(turn % 10)));
    }
}

#[test]
fn a_row_that_was_not_counted_is_an_error() {
    let partition = cut(&country(100), 1000, 1000).unwrap();
    assert!(!partition.deals());
    let others = Places::index(vec![vec![1.0, -5e5], vec![1.0, 3.0]]).unwrap();
    let found = partition.memberships(&others, Role::Labelled);
    assert!(matches!(found, Err(Error::Uncounted { .. })), "{found:?}");
}

#[test]
fn groups_have_no_halo() {
    let places = at_one_place().with_groups((0..1000).map(|i| i % 4).collect()).unwrap();
    let partition = cut(&places, 1000, 1500).unwrap();
    assert_eq!(partition.tiles().len(), 2);
    assert_eq!(partition.memberships(&places, Role::ToPredict).unwrap().len(), 1000);
}

/// Rows to predict with some predictions and labelled rows with some labels, as they are counted and smoothed.
struct Values<'a> {
    places: &'a Places,
    predictions: &'a [f64],
    labels: &'a [f64],
}

impl Values<'_> {
    fn of(&self, role: Role) -> &[f64] {
        if role == Role::Labelled { self.labels } else { self.predictions }
    }

    /// What becomes of a tile with these rows; labelled rows may be left out.
    fn smooth(&self, partition: &Partition, tile: usize, with_labels: bool) -> Result<(), Error> {
        let chosen = TileRole::ALL.map(|role| {
            let is_here = |it: &&Membership| it.tile as usize == tile && it.role == role;
            let memberships = partition.memberships(self.places, role.role()).unwrap();
            let wanted = with_labels || role != TileRole::Labelled;
            let rows: Vec<usize> =
                memberships.iter().filter(is_here).filter(|_| wanted).map(|it| it.row as usize).collect();
            let values: Vec<f64> = rows.iter().map(|row| self.of(role.role())[*row]).collect();
            (self.places.select(&rows), values)
        });
        let columns = chosen.each_ref().map(|(_, values)| [values.as_slice()]);
        let rows = [0, 1, 2].map(|k| SourceRows::new(&chosen[k].0, &columns[k]));
        partition.smooth_tile(tile, &Smoother::new(one(), 0.5)?, &rows).map(drop)
    }
}

/// Issue 15: what is in a tile is what was counted for it, or there is an error.
#[test]
fn a_tile_knows_the_rows_that_were_counted_for_it() {
    let places = country(1000);
    let values: Vec<f64> = (0..1000).map(|i| f64::from(i % 17) / 17.0).collect();
    let others: Vec<f64> = values.iter().map(|value| value + 1e-9).collect();
    let mut census = Census::new(one(), Metric::Plane(2), 1000);
    for role in Role::ALL {
        census.add(role, &SourceRows::new(&places, &[&values])).unwrap();
    }
    let partition = Partition::new(&census, &problem(1.0), &room(1500)).unwrap();
    assert!(partition.tiles().len() > 3);
    let sound = Values { places: &places, predictions: &values, labels: &values };
    for tile in 0..partition.tiles().len() {
        sound.smooth(&partition, tile, true).unwrap();
        for changed in [Values { predictions: &others, ..sound }, Values { labels: &others, ..sound }] {
            let found = changed.smooth(&partition, tile, true);
            assert!(matches!(found, Err(Error::Changed { .. })), "{found:?}");
        }
        assert!(sound.smooth(&partition, tile, false).is_err(), "labelled rows are missing");
    }
    let without = Partition::new(&census, &problem(0.0), &room(1500)).unwrap();
    sound.smooth(&without, 0, false).unwrap();
    let nobody = Values { places: &places.select(&[]), ..sound };
    let error = nobody.smooth(&without, 0, false).unwrap_err();
    assert!(error.to_string().starts_with("there are 0 rows to predict where"), "{error}");
}

/// The same for a tile group, and for the rows at home in each of its tiles.
#[test]
fn a_tile_group_knows_its_rows_too() {
    let places = country(500);
    let values: Vec<f64> = (0..500).map(|i| f64::from(i % 17) / 17.0).collect();
    let rows = SourceRows::new(&places, &[&values]);
    let mut census = Census::new(one(), Metric::Plane(2), 1000);
    census.add(Role::ToPredict, &rows).unwrap();
    let group = TileGroup::whole(&census, &problem(1.0), u64::MAX).unwrap();
    assert!(matches!(GroupMoments::default().field(&group), Err(Error::Changed { .. })), "no row was added");
    let mut moments = GroupMoments::default();
    moments.add(&group, 0, TileRole::Home, &rows).unwrap();
    let field = moments.field(&group).unwrap();
    let mut seen = Checksums::default();
    assert!(field.check(0, &seen).is_err());
    seen.add(Role::ToPredict, &rows);
    field.check(0, &seen).unwrap();
    assert!(field.check(1, &seen).is_err());
}

#[test]
fn rows_are_kept_where_they_fit() {
    let (places, sigma) = town_places(3000, Some(2));
    let census = census(&places, sigma, 1000);
    let partition = Partition::with_tile_groups(&census, &problem(2.0), &room_and_lattices(7000)).unwrap();
    assert!(partition.tile_groups().is_empty());
}

#[test]
fn lattices_that_do_not_fit_are_no_way_out() {
    let (places, sigma) = town_places(3000, Some(2));
    let problem = SmoothingProblem { n_effective: true, ..problem(2.0) };
    assert!(Partition::with_tile_groups(&census(&places, sigma, 1000), &problem, &room(2000)).is_err());
}

#[test]
fn a_cutoff_has_no_lattices() {
    let (places, sigma) = town_places(3000, Some(2));
    let (census, problem) = (census(&places, sigma, 1000), SmoothingProblem { cutoff: Some(7.0), ..problem(2.0) });
    assert!(TileGroup::whole(&census, &problem, u64::MAX).is_none());
    assert!(Partition::with_tile_groups(&census, &problem, &room_and_lattices(2000)).is_err());
}
