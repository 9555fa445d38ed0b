//! Lattices for rows that nobody has all at once: laid out from counts alone, so accurate that no row has to be summed again.
//!
//! Every target is a source of weight one itself, so that D ≥ 1 and `E ≤ ρD + η√(WD) + aW` is within the tolerance for all rows if
//! it is for D = 1. That is known beforehand.

use serde::{Deserialize, Serialize};

use super::globe::{Mesh, least_mass};
use super::lattice::{
    Accuracy, BlockGrid, BlockKey, Bound, CountedRows, LatticeCost, Load, Route, Terms, Transfer, Window, ascending,
    cube,
};
use super::sphere::{ChartDemand, CountedAtlas};
use crate::scene::Curve;
use crate::space::Metric;

/// Most blocks that are looked at to find out what lattices take.
const MOST_BLOCKS: usize = 1 << 22;

/// How nodes are laid out, and what can be said of their sums.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct LatticePlan {
    curve: Curve,
    pub(super) kind: LatticeKind,
    pub(super) bound: Bound,
}

/// What nodes lie in.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum LatticeKind {
    /// Lattices in the space that places are in.
    Plane(BlockGrid, LatticeDesign),
    /// Lattices in charts.
    Sphere(CountedAtlas, LatticeDesign),
    /// Patches of the whole sphere.
    Globe(Mesh),
}

/// What lattices are made of.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct LatticeDesign {
    window: Window,
    terms: Terms,
}

impl LatticeDesign {
    pub(super) fn transfer(&self) -> Transfer {
        Transfer::new(self.window, self.terms.clone())
    }

    /// What lattices with sources and targets in these blocks take; none if it is more than so many bytes for each column.
    fn cost(&self, lattices: &[(Vec<BlockKey>, Vec<BlockKey>)], limit: u64) -> Option<LatticeCost> {
        let transfer = self.transfer();
        // Blocks of sources alone may be too many: then nobody works out which others they reach.
        let least: u64 = lattices.iter().map(|(sources, _)| (8 * sources.len() * transfer.numbers(1)) as u64).sum();
        if least > limit {
            return None;
        }
        let route = |(sources, targets): &(Vec<BlockKey>, Vec<BlockKey>)| Route::new(&self.window, sources, targets);
        let routes: Vec<Route> = lattices.iter().map(route).collect();
        let Load { point, node } = self.terms.load();
        Some(LatticeCost {
            bytes: routes.iter().map(|route| transfer.bytes(route)).sum(),
            row: point * self.window.multiplications_at_a_point(),
            nodes: node * self.window.multiplications_in_a_block() * routes.iter().map(Route::passed).sum::<f64>(),
        })
    }
}

impl LatticePlan {
    /// The cheapest pattern; none if there is none that certifies all rows.
    pub(crate) fn new(counted: &CountedRows) -> Option<Self> {
        let lattices = SHARES_TRIED.into_iter().find_map(|part| {
            let accuracy = Accuracy::for_all(counted.sigma, counted.weight, part * counted.tolerance);
            let lay_out = if counted.metric == Metric::Sphere { Self::sphere } else { Self::plane };
            lay_out(counted, &accuracy).filter(|plan| plan.certifies(counted.tolerance, 1.0))
        });
        lattices.or_else(|| Self::globe(counted))
    }

    /// Whether all rows keep the tolerance, if so much mass is around each: those that have no more do.
    fn certifies(&self, tolerance: f64, least: f64) -> bool {
        let error = self.bound.error(least);
        error <= (1.0 - LEFT) * tolerance * (least - error)
    }

    fn plane(counted: &CountedRows, accuracy: &Accuracy) -> Option<Self> {
        let dimensions = counted.metric.dimensions();
        let ends = |k: usize| {
            let numbers = counted.cubes.iter().map(|cube| cube.at[k]);
            (
                numbers.clone().min().unwrap_or(0) as f64 * counted.side,
                (numbers.max().unwrap_or(0) + 1) as f64 * counted.side,
            )
        };
        let curve = Curve::over(std::array::from_fn(|k| ends(k).0), std::array::from_fn(|k| ends(k).1), dimensions);
        let load = Load { point: counted.density(), node: 1.0 };
        let (block_grid, window) = accuracy.block_grid(counted.metric, curve, load)?;
        let (window, terms) = (window?, Terms::gaussian());
        let bound = Bound::of_plane(&window, counted.points(&window), counted.weight);
        Some(Self { curve, kind: LatticeKind::Plane(block_grid, LatticeDesign { window, terms }), bound })
    }

    fn sphere(counted: &CountedRows, accuracy: &Accuracy) -> Option<Self> {
        let (design, atlas) = CountedAtlas::draft(&ChartDemand::for_all(accuracy, counted.density())?, counted)?;
        let bound = design.bound(counted.points(&design.window), counted.weight);
        let design = LatticeDesign { window: design.window, terms: design.expansion.terms };
        Some(Self { curve: around_the_sphere(), kind: LatticeKind::Sphere(atlas, design), bound })
    }

    /// Patches are off by the same for all pairs: they do if there is a fair part of all weight around every row.
    fn globe(counted: &CountedRows) -> Option<Self> {
        let least = if counted.metric == Metric::Sphere { least_mass(counted) } else { 0.0 };
        let mesh = Mesh::for_all(counted, least)?;
        let plan = Self {
            bound: Bound::absolute(mesh.off, counted.weight),
            curve: around_the_sphere(),
            kind: LatticeKind::Globe(mesh),
        };
        plan.certifies(counted.tolerance, least).then_some(plan)
    }

    /// The curve that rows are laid out along.
    pub(crate) fn curve(&self) -> Curve {
        self.curve
    }

    /// What it takes, by the cubes of the rows; none if it is more than so many bytes for each column.
    pub(crate) fn cost(&self, counted: &CountedRows, limit: u64) -> Option<LatticeCost> {
        let takes = match &self.kind {
            LatticeKind::Plane(block_grid, design) => design.cost(&[self.blocks(block_grid, counted)?], limit),
            LatticeKind::Sphere(atlas, design) => design.cost(&atlas.blocks(counted), limit),
            LatticeKind::Globe(mesh) => mesh.cost(counted),
        };
        takes.filter(|takes| takes.bytes <= limit)
    }

    /// The blocks of sources and of targets.
    fn blocks(&self, block_grid: &BlockGrid, counted: &CountedRows) -> Option<(Vec<BlockKey>, Vec<BlockKey>)> {
        let (first, per_block) = (3 - block_grid.dimensions, counted.side / block_grid.side);
        let in_cube = per_block.max(1.0).powi(block_grid.dimensions as i32);
        if counted.cubes.len() as f64 * in_cube > MOST_BLOCKS as f64 {
            return None;
        }
        let wide = per_block.max(1.0) as usize;
        let of_cube = |number: &[i64; 3]| {
            let mut corner = [0; 3];
            for k in 0..block_grid.dimensions {
                corner[first + k] = self.curve.cube(k, number[k] as f64 * counted.side, block_grid.side) as i64;
            }
            cube(corner, block_grid.dimensions, wide)
        };
        let blocks = |only_targets: bool| {
            let cubes = counted.cubes.iter().filter(|cube| cube.targets || !only_targets);
            ascending(cubes.flat_map(|cube| of_cube(&cube.at)).collect())
        };
        Some((blocks(false), blocks(true)))
    }
}

/// Parts of the tolerance that are aimed at: on the sphere, errors of sampling count far from a row too, and a first aim may miss.
const SHARES_TRIED: [f64; 7] = [1.0, 1.0 / 2.0, 1.0 / 4.0, 1.0 / 8.0, 1.0 / 32.0, 1.0 / 128.0, 1.0 / 512.0];
/// Part of the tolerance that is left for the rounding of averages, which joins their bound afterwards.
const LEFT: f64 = 1.0 / 64.0;

fn around_the_sphere() -> Curve {
    Curve::over([-1.0; 3], [1.0; 3], 3)
}
