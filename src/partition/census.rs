//! The census: how many rows there are where.

use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::cell::{Cell, CellGrid, ROWS_OF_A_TASK, sigma_on_axes};
use super::checksum::{Checksum, Checksums};
use super::role::Role;
use super::rows::SourceRows;
use crate::error::Error;
use crate::points::Places;
use crate::space::{Metric, Sigma};

/// Most classes that groups are told apart by. With [`CELLS_OF_A_CLASS`] this is what [`Census::MOST_CELLS`] leaves room for.
const MOST_CLASSES: usize = 4096;
/// Cells for each class at least, so that cubes stay narrow where groups are many. Chosen, not measured.
const CELLS_OF_A_CLASS: usize = 64;
/// Farthest cube from zero along an axis. Chosen: well below 2⁵³, up to which 64-bit floats hold all whole numbers.
const FARTHEST: f64 = (1_u64 << 40) as f64;
/// Cubes of the sphere are at most a sixteenth of its radius wide, 400 km, however wide σ is: reach and lattices need to know where rows are to a
/// fraction of the radius. Chosen, not measured.
const WIDEST_ON_THE_SPHERE: i32 = -4;

/// Rows counted in cubes of space, for one σ.
///
/// Cubes are about σ wide (on the sphere 400 km at most), or wider where there would be more of them than allowed: always the smallest cubes that are few
/// enough, whatever the order of rows. So censuses of parts, joined in any order, are the census of the whole.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Census {
    sigma: Sigma,
    pub(super) grid: CellGrid,
    cells: FxHashMap<Cell, Checksums>,
    most: usize,
}

impl Census {
    /// The usual number of cells: some 15 MB.
    pub const MOST_CELLS: usize = 1 << 18;

    /// No rows yet, in at most so many cells.
    #[must_use]
    pub fn new(sigma: Sigma, metric: Metric, most: usize) -> Self {
        let level = sigma_on_axes(sigma, metric).log2().floor() as i32;
        let level = if metric == Metric::Sphere { level.min(WIDEST_ON_THE_SPHERE) } else { level };
        let classes = (most / CELLS_OF_A_CLASS).clamp(1, MOST_CLASSES).next_power_of_two() as u32;
        let grid = CellGrid { metric, level, classes };
        Self { sigma, grid, cells: FxHashMap::default(), most: most.max(1) }
    }

    /// Counts rows, and adds their hashes to the checksums.
    ///
    /// # Errors
    /// If σ does not fit the places, or they have another number of axes.
    pub fn add(&mut self, role: Role, rows: &SourceRows) -> Result<(), Error> {
        let (places, metric) = (rows.places, self.metric());
        if places.metric(self.sigma)? != metric {
            let (found, expected) = (places.axes().len(), metric.axes());
            return Err(Error::Length { what: "the axes of a place", found, expected });
        }
        let farthest = farthest(places, metric);
        while farthest / self.grid.side() > FARTHEST {
            self.coarsen();
        }
        let cells = self.grid.cells(places);
        let cells = cells.par_iter().enumerate().with_min_len(ROWS_OF_A_TASK);
        let counts = cells.fold(FxHashMap::default, |mut counts: FxHashMap<Cell, Checksum>, (row, cell)| {
            counts.entry(*cell).or_default().add(rows.hash(row));
            counts
        });
        for (cell, rows) in counts.collect::<Vec<_>>().into_iter().flatten() {
            self.cells.entry(cell).or_default().join(Checksums::only(role, rows));
        }
        self.fit();
        Ok(())
    }

    /// Adds the rows of another census of the same kind.
    pub fn join(&mut self, mut other: Self) {
        while self.grid.level < other.grid.level {
            self.coarsen();
        }
        while other.grid.level < self.grid.level {
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

    /// Whether wider cubes would be the same cells, as with many groups in them.
    fn is_coarsest(&self) -> bool {
        self.cells.keys().all(|cell| cell.cube.iter().all(|number| (-1..=0).contains(number)))
    }

    /// Makes cubes twice as wide.
    fn coarsen(&mut self) {
        self.grid.level += 1;
        for (cell, rows) in std::mem::take(&mut self.cells) {
            let wider = Cell { cube: cell.cube.map(|number| number >> 1), ..cell };
            self.cells.entry(wider).or_default().join(rows);
        }
    }

    /// Rows to predict and labelled rows, in all.
    #[must_use]
    pub fn rows(&self) -> (u64, u64) {
        let [to_predict, labelled] = Role::ALL.map(|role| self.checksums().of(role).rows());
        (to_predict, labelled)
    }

    /// Checksums of all rows.
    #[must_use]
    pub fn checksums(&self) -> Checksums {
        self.cells.values().collect()
    }

    /// Cells with rows in them: about as many as the space with rows has squares or cubes of side σ, as far as they are allowed.
    #[must_use]
    pub fn occupied(&self) -> usize {
        self.cells.len()
    }

    /// The σ that rows are counted for.
    #[must_use]
    pub fn sigma(&self) -> Sigma {
        self.sigma
    }

    /// How distance is measured.
    #[must_use]
    pub fn metric(&self) -> Metric {
        self.grid.metric
    }

    /// The cells with their rows, in a fixed order.
    pub(super) fn cells(&self) -> Vec<(Cell, Checksums)> {
        let mut cells: Vec<(Cell, Checksums)> = self.cells.iter().map(|(cell, rows)| (*cell, *rows)).collect();
        cells.sort_unstable_by_key(|(cell, _)| *cell);
        cells
    }
}

/// The largest coordinate.
fn farthest(places: &Places, metric: Metric) -> f64 {
    match metric {
        Metric::Sphere => 1.0,
        Metric::Plane(_) => places.axes().iter().flatten().fold(0.0, |most: f64, x| most.max(x.abs())),
    }
}

#[cfg(test)]
mod tests {
    use super::super::cell::cube_number;
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
        whole.add(Role::ToPredict, &SourceRows::new(&places(0, 5000), &[])).unwrap();
        whole.add(Role::Labelled, &SourceRows::new(&places(5000, 3000), &[])).unwrap();
        let part = |start, rows, role| {
            let mut part = census(1000);
            part.add(role, &SourceRows::new(&places(start, rows), &[])).unwrap();
            part
        };
        let mut joined = part(5000, 3000, Role::Labelled);
        joined.join(part(10, 4990, Role::ToPredict));
        joined.join(part(0, 10, Role::ToPredict));
        assert_eq!((whole.grid.level, whole.cells()), (joined.grid.level, joined.cells()));
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
                        cube_number(x, side(level)) >> wider,
                        cube_number(x, side(level + wider)),
                        "{x:e} {level} {wider}"
                    );
                }
            }
        }
    }

    #[test]
    fn places_far_apart_have_wide_cubes() {
        let mut far = Census::new(Sigma::index(1e-9).unwrap(), Metric::Plane(1), 10);
        let places = Places::index(vec![vec![0.0, 1e15, -1e15]]).unwrap();
        far.add(Role::ToPredict, &SourceRows::new(&places, &[])).unwrap();
        assert_eq!(far.cells().len(), 3);
        let side = far.grid.side();
        assert!(side > 100.0 && side < 4000.0, "{side}");
    }

    #[test]
    fn many_groups_at_one_place_end_the_search() {
        let places = Places::index(vec![vec![1.0; 100]]).unwrap().with_groups((0..100).collect()).unwrap();
        let mut census = Census::new(Sigma::index(1.0).unwrap(), Metric::Plane(1), 10);
        census.add(Role::ToPredict, &SourceRows::new(&places, &[])).unwrap();
        // One class for so few cells.
        assert_eq!((census.cells().len(), census.rows()), (1, (100, 0)));
        let mut census = Census::new(Sigma::index(1.0).unwrap(), Metric::Plane(1), 80 * CELLS_OF_A_CLASS);
        census.add(Role::ToPredict, &SourceRows::new(&places, &[])).unwrap();
        assert_eq!((census.cells().len(), census.rows()), (100, (100, 0)));
    }
}
