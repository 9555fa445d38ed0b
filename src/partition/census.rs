//! How many rows there are where.

use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::checksum::{Checksum, Checksums, RowHashes};
use crate::error::Error;
use crate::points::Places;
use crate::space::{Metric, Sigma};

/// What a row is: to be predicted, or labelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// Its prediction is smoothed, and a source.
    ToPredict,
    /// Its label is a source.
    Labelled,
}

/// A cube of space, for some of the groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Cell {
    /// Groups modulo the number of classes: those that share a class are only thought to touch.
    pub(crate) group: i64,
    /// Its number along each axis that spans the space.
    pub(crate) cube: [i64; 3],
}

/// Rows in a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Count {
    pub(crate) to_predict: u64,
    pub(crate) labelled: u64,
}

impl Count {
    fn of(rows: &Checksums) -> Self {
        Self { to_predict: rows.of(Role::ToPredict).rows(), labelled: rows.of(Role::Labelled).rows() }
    }

    pub(crate) fn all(self) -> u64 {
        self.to_predict + self.labelled
    }

    pub(super) fn add(&mut self, other: Self) {
        self.to_predict += other.to_predict;
        self.labelled += other.labelled;
    }
}

/// Groups that cells tell apart at most, a power of two.
const MOST_CLASSES: usize = 4096;
/// Cells that there are to be for each of these classes at least, so that cubes stay narrow where groups are many.
const CELLS_OF_A_CLASS: usize = 64;
/// Farthest cube from zero along an axis: all numbers up to it are exact.
const FARTHEST: f64 = (1_u64 << 40) as f64;
/// Cubes of the sphere are at most a sixteenth of its radius wide, however wide σ is: those who ask how far rows are apart need to know better than by halves of it.
const WIDEST_ON_THE_SPHERE: i32 = -4;
/// Rows that one task counts.
const PIECE: usize = 1 << 14;

/// Rows counted in cubes of space.
///
/// Cubes are about σ wide (on the sphere 400 km at most), or wider where there would be more of them than allowed: always the smallest cubes that are few
/// enough, whatever the order of rows. So censuses of parts, joined in any order, are the census of the whole.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Census {
    metric: Metric,
    /// Sides of cubes are two to this power, in the unit of the axes.
    level: i32,
    cells: FxHashMap<Cell, Checksums>,
    most: usize,
    /// Classes of groups.
    classes: u32,
}

impl Census {
    /// Cells unless somebody asks for another number: some 15 MB.
    pub const MOST_CELLS: usize = 1 << 18;

    /// No rows yet, in at most so many cells.
    #[must_use]
    pub fn new(sigma: Sigma, metric: Metric, most: usize) -> Self {
        let level = width(sigma, metric).log2().floor() as i32;
        let level = if metric == Metric::Sphere { level.min(WIDEST_ON_THE_SPHERE) } else { level };
        let classes = (most / CELLS_OF_A_CLASS).clamp(1, MOST_CLASSES).next_power_of_two() as u32;
        Self { metric, level, cells: FxHashMap::default(), most: most.max(1), classes }
    }

    /// Counts rows. Of their values nothing is known afterwards.
    ///
    /// # Errors
    /// If the places are measured in another way.
    pub fn add(&mut self, places: &Places, role: Role) -> Result<(), Error> {
        self.count(places, role, |_| 0);
        Ok(())
    }

    /// Counts rows, and notes their [checksums](Self::checksums).
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn add_hashed(&mut self, places: &Places, role: Role, hashes: &RowHashes) -> Result<(), Error> {
        self.count(places, role, |row| hashes.row(row));
        Ok(())
    }

    fn count(&mut self, places: &Places, role: Role, hash: impl Fn(usize) -> u64 + Sync) {
        let metric = self.metric;
        let farthest = match metric {
            Metric::Sphere => 1.0,
            Metric::Plane(_) => places.axes().iter().flatten().fold(0.0, |most: f64, x| most.max(x.abs())),
        };
        while farthest / self.side() > FARTHEST {
            self.coarsen();
        }
        let count = |rows: std::ops::Range<usize>| {
            let mut counts: FxHashMap<Cell, Checksum> = FxHashMap::default();
            for (row, cell) in rows.clone().zip(cells(places, metric, self.side(), self.classes, rows)) {
                counts.entry(cell).or_default().add(hash(row));
            }
            counts
        };
        let counts: Vec<FxHashMap<Cell, Checksum>> = pieces(places.len()).into_par_iter().map(count).collect();
        for (cell, rows) in counts.into_iter().flatten() {
            self.cells.entry(cell).or_default().join(Checksums::only(role, rows));
        }
        self.fit();
    }

    /// Adds the rows of another census of the same kind.
    pub fn join(&mut self, mut other: Self) {
        while self.level < other.level {
            self.coarsen();
        }
        while other.level < self.level {
            other.coarsen();
        }
        for (cell, rows) in other.cells {
            self.cells.entry(cell).or_default().join(rows);
        }
        self.fit();
    }

    fn fit(&mut self) {
        while self.cells.len() > self.most && !self.is_coarsest() {
            self.coarsen();
        }
    }

    /// Whether wider cubes would be the same cells: there are many groups in them.
    fn is_coarsest(&self) -> bool {
        self.cells.keys().all(|cell| cell.cube.iter().all(|number| (-1..=0).contains(number)))
    }

    /// Cubes twice as wide.
    fn coarsen(&mut self) {
        self.level += 1;
        for (cell, rows) in std::mem::take(&mut self.cells) {
            let wider = Cell { cube: cell.cube.map(|number| number >> 1), ..cell };
            self.cells.entry(wider).or_default().join(rows);
        }
    }

    /// Rows to predict and labelled rows, in all.
    #[must_use]
    pub fn rows(&self) -> (u64, u64) {
        let Count { to_predict, labelled } = Count::of(&self.checksums());
        (to_predict, labelled)
    }

    /// Checksums of all rows, as far as their [hashes](Self::add_hashed) are known.
    #[must_use]
    pub fn checksums(&self) -> Checksums {
        together(self.cells.values())
    }

    /// Those of the rows of some cells.
    pub(super) fn checksums_in(&self, cells: impl Iterator<Item = Cell>) -> Checksums {
        together(cells.filter_map(|cell| self.cells.get(&cell)))
    }

    /// Cells with rows in them: about as many as the space with rows has squares or cubes of side σ, as far as they are allowed.
    #[must_use]
    pub fn occupied(&self) -> usize {
        self.cells.len()
    }

    /// How distance is measured.
    #[must_use]
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// Side of the cubes, in the unit of the axes.
    pub(crate) fn side(&self) -> f64 {
        f64::from(self.level).exp2()
    }

    /// Classes that groups fall into.
    pub(super) fn classes(&self) -> u32 {
        self.classes
    }

    /// The cells in a fixed order.
    pub(crate) fn cells(&self) -> Vec<(Cell, Count)> {
        let mut cells: Vec<(Cell, Count)> = self.cells.iter().map(|(cell, rows)| (*cell, Count::of(rows))).collect();
        cells.sort_unstable_by_key(|(cell, _)| *cell);
        cells
    }
}

fn together<'a>(parts: impl Iterator<Item = &'a Checksums>) -> Checksums {
    parts.fold(Checksums::default(), |mut all, rows| {
        all.join(*rows);
        all
    })
}

/// σ in the unit of the axes.
pub(crate) fn width(sigma: Sigma, metric: Metric) -> f64 {
    (0.5 * std::f64::consts::LOG2_E / metric.decay_scale(sigma)).sqrt()
}

/// Ranges of rows, for a task each.
fn pieces(rows: usize) -> Vec<std::ops::Range<usize>> {
    (0..rows).step_by(PIECE).map(|start| start..rows.min(start + PIECE)).collect()
}

/// The cells of consecutive rows.
fn cells(places: &Places, metric: Metric, side: f64, classes: u32, rows: std::ops::Range<usize>) -> Vec<Cell> {
    match metric.axes() {
        1 => cells_on::<1>(places, metric, side, classes, rows),
        2 => cells_on::<2>(places, metric, side, classes, rows),
        3 => cells_on::<3>(places, metric, side, classes, rows),
        _ => cells_on::<6>(places, metric, side, classes, rows),
    }
}

fn cells_on<const A: usize>(
    places: &Places,
    metric: Metric,
    side: f64,
    classes: u32,
    rows: std::ops::Range<usize>,
) -> Vec<Cell> {
    let mut coordinates = vec![[0.0; A]; rows.len()];
    places.coordinates(rows.start, metric, &mut coordinates);
    let cell = |(row, place): (usize, &[f64; A])| {
        let cube = std::array::from_fn(|k| if k < A.min(3) { number(place[k], side) } else { 0 });
        Cell { group: i64::from(places.group(row) % classes), cube }
    };
    rows.zip(&coordinates).map(cell).collect()
}

/// The cube that a coordinate is in, the same whether it is found at once or by halving the number of a smaller one.
fn number(x: f64, side: f64) -> i64 {
    // Sides are powers of two: a quotient is exact, unless it vanishes, and then it is still on its side of zero.
    let quotient = x / side;
    if quotient == 0.0 && x < 0.0 { -1 } else { quotient.floor() as i64 }
}

/// The cells of all rows, in cubes of this side and so many classes of groups.
pub(crate) fn cells_of(places: &Places, metric: Metric, side: f64, classes: u32) -> Vec<Cell> {
    pieces(places.len()).into_par_iter().flat_map_iter(|rows| cells(places, metric, side, classes, rows)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(start: usize, rows: usize) -> Places {
        let axis = |factor: f64| (start..start + rows).map(|i| 100.0 * (i as f64 * factor).fract() - 30.0).collect();
        Places::index(vec![axis(0.754_877_666), axis(0.569_840_291)]).unwrap()
    }

    fn census(most: usize) -> Census {
        Census::new(Sigma::index(0.5).unwrap(), Metric::Plane(2), most)
    }

    #[test]
    fn parts_joined_in_any_order_are_the_whole() {
        let mut whole = census(1000);
        whole.add(&places(0, 5000), Role::ToPredict).unwrap();
        whole.add(&places(5000, 3000), Role::Labelled).unwrap();
        let part = |start, rows, role| {
            let mut part = census(1000);
            part.add(&places(start, rows), role).unwrap();
            part
        };
        let mut joined = part(5000, 3000, Role::Labelled);
        joined.join(part(10, 4990, Role::ToPredict));
        joined.join(part(0, 10, Role::ToPredict));
        assert_eq!((whole.level, whole.cells()), (joined.level, joined.cells()));
        assert_eq!((whole.rows(), whole.occupied()), ((5000, 3000), whole.cells().len()));
        assert!((250..=1000).contains(&whole.cells.len()), "{}", whole.cells.len());
    }

    #[test]
    fn a_place_is_in_one_cube_however_small_its_coordinate() {
        for x in [0.0_f64, -0.0, 1e-320, -1e-320, -5e-324, 3.0, -3.0, -1e300, 1e300] {
            for level in [-1074, -1060, -900, 0, 900, 1000] {
                let side = |level: i32| f64::from(level).exp2();
                if x.abs() / side(level) > FARTHEST {
                    continue;
                }
                for wider in 1..20 {
                    assert_eq!(
                        number(x, side(level)) >> wider,
                        number(x, side(level + wider)),
                        "{x:e} {level} {wider}"
                    );
                }
            }
        }
    }

    #[test]
    fn places_far_apart_have_wide_cubes() {
        let mut far = Census::new(Sigma::index(1e-9).unwrap(), Metric::Plane(1), 10);
        far.add(&Places::index(vec![vec![0.0, 1e15, -1e15]]).unwrap(), Role::ToPredict).unwrap();
        assert_eq!(far.cells().len(), 3);
        assert!(far.side() > 100.0 && far.side() < 4000.0, "{}", far.side());
    }

    #[test]
    fn many_groups_at_one_place_end_the_search() {
        let places = Places::index(vec![vec![1.0; 100]]).unwrap().with_groups((0..100).collect()).unwrap();
        let mut census = Census::new(Sigma::index(1.0).unwrap(), Metric::Plane(1), 10);
        census.add(&places, Role::ToPredict).unwrap();
        // One class for so few cells.
        assert_eq!((census.cells().len(), census.rows()), (1, (100, 0)));
        let mut census = Census::new(Sigma::index(1.0).unwrap(), Metric::Plane(1), 80 * CELLS_OF_A_CLASS);
        census.add(&places, Role::ToPredict).unwrap();
        assert_eq!((census.cells().len(), census.rows()), (100, (100, 0)));
    }
}
