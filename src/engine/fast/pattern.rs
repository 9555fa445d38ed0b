//! Lattices for rows that nobody has all at once: laid out from counts alone, so accurate that no row has to be summed again.
//!
//! Every target is a source of weight one itself, so that D ≥ 1 and `E ≤ ρD + η√(WD) + aW` is within the tolerance for all rows if
//! it is for D = 1. That is known beforehand.

use serde::{Deserialize, Serialize};

use super::expansion::Terms;
use super::globe::{Mesh, least_mass};
use super::grid::Transfer;
use super::lattice::{Key, Route};
use super::ruler::Ruler;
use super::sites::Sites;
use super::split::{Aim, Bound};
use super::window::{Load, POINTS_PER_VOLUME, Window};
use crate::scene::Curve;
use crate::space::Metric;

/// What is known of all rows before the first of them comes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outline<'a> {
    pub(crate) metric: Metric,
    /// σ in the unit of the axes.
    pub(crate) sigma: f64,
    pub(crate) tolerance: f64,
    /// Weight of all sources.
    pub(crate) weight: f64,
    pub(crate) rows: u64,
    /// Cubes with rows in them.
    pub(crate) cubes: &'a [Cube],
    /// Side of the cubes: a power of two.
    pub(crate) side: f64,
    /// Groups that have rows in these cubes.
    pub(crate) groups: usize,
}

/// A cube with rows in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cube {
    /// Its numbers along the axes.
    pub(crate) at: [i64; 3],
    /// Whether targets are among the rows.
    pub(crate) targets: bool,
    /// Weight of the rows.
    pub(crate) weight: f64,
}

/// Parts in which rows may come; more would add up more roundings than were counted on.
pub(crate) const MOST_PARTS: usize = 1 << 14;
/// Most blocks that are looked at to find out what lattices take.
const MOST_BLOCKS: usize = 1 << 22;

/// How nodes are laid out, and what can be said of their sums.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Pattern {
    curve: Curve,
    pub(super) ground: Ground,
    pub(super) bound: Bound,
}

/// What nodes lie in.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Ground {
    /// Lattices in the space that places are in.
    Plane(Ruler, Weave),
    /// Lattices in charts.
    Sphere(Sites, Weave),
    /// Patches of the whole sphere.
    Globe(Mesh),
}

/// What lattices are made of.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Weave {
    window: Window,
    terms: Terms,
}

impl Weave {
    pub(super) fn transfer(&self) -> Transfer {
        Transfer::new(self.window, self.terms.clone())
    }

    /// What lattices with sources and targets in these blocks take; none if it is more than so many bytes for each column.
    fn takes(&self, lattices: &[(Vec<Key>, Vec<Key>)], limit: u64) -> Option<Takes> {
        let transfer = self.transfer();
        // Blocks of sources alone may be too many: then nobody works out which others they reach.
        let least: u64 = lattices.iter().map(|(sources, _)| (8 * sources.len() * transfer.numbers(1)) as u64).sum();
        if least > limit {
            return None;
        }
        let route = |(sources, targets): &(Vec<Key>, Vec<Key>)| Route::new(&self.window, sources, targets);
        let routes: Vec<Route> = lattices.iter().map(route).collect();
        let Load { point, node } = self.terms.load();
        Some(Takes {
            bytes: routes.iter().map(|route| transfer.bytes(route)).sum(),
            row: point * self.window.multiplications_at_a_point(),
            nodes: node * self.window.multiplications_in_a_block() * routes.iter().map(Route::passed).sum::<f64>(),
        })
    }
}

/// What a pattern takes, for each group and each column, the mass being one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Takes {
    /// Bytes while nodes are convolved, when they take most.
    pub(crate) bytes: u64,
    /// Multiplications for each row that is spread or read.
    pub(crate) row: f64,
    /// Multiplications at the nodes.
    pub(crate) nodes: f64,
}

impl Pattern {
    /// The cheapest pattern; none if there is none that certifies all rows.
    pub(crate) fn new(outline: &Outline) -> Option<Self> {
        let lattices = AIMS.into_iter().find_map(|part| {
            let aim = Aim::for_all(outline.sigma, outline.weight, part * outline.tolerance);
            let lay_out = if outline.metric == Metric::Sphere { Self::sphere } else { Self::plane };
            lay_out(outline, &aim).filter(|pattern| pattern.certifies(outline.tolerance, 1.0))
        });
        lattices.or_else(|| Self::globe(outline))
    }

    /// Whether all rows keep the tolerance, if so much mass is around each: those that have no more do.
    fn certifies(&self, tolerance: f64, least: f64) -> bool {
        let error = self.bound.error(least);
        error <= (1.0 - LEFT) * tolerance * (least - error)
    }

    fn plane(outline: &Outline, aim: &Aim) -> Option<Self> {
        let dimensions = outline.metric.dimensions();
        let ends = |k: usize| {
            let numbers = outline.cubes.iter().map(|cube| cube.at[k]);
            (
                numbers.clone().min().unwrap_or(0) as f64 * outline.side,
                (numbers.max().unwrap_or(0) + 1) as f64 * outline.side,
            )
        };
        let curve = Curve::over(std::array::from_fn(|k| ends(k).0), std::array::from_fn(|k| ends(k).1), dimensions);
        let load = Load { point: outline.crowding(), node: 1.0 };
        let (ruler, window) = aim.ruler(outline.metric, curve, load)?;
        let (window, terms) = (window?, Terms::gaussian());
        let bound = Bound::of_plane(&window, outline.points(&window), outline.weight);
        Some(Self { curve, ground: Ground::Plane(ruler, Weave { window, terms }), bound })
    }

    fn sphere(outline: &Outline, aim: &Aim) -> Option<Self> {
        let (design, sites) = Sites::survey(&aim.task_for_all(outline.crowding())?, outline)?;
        let bound = Bound::of_sphere(&design, outline.points(&design.window), outline.weight);
        let weave = Weave { window: design.window, terms: design.expansion.terms };
        Some(Self { curve: around_the_sphere(), ground: Ground::Sphere(sites, weave), bound })
    }

    /// Patches are off by the same for all pairs: they do if there is a fair part of all weight around every row.
    fn globe(outline: &Outline) -> Option<Self> {
        let least = if outline.metric == Metric::Sphere { least_mass(outline) } else { 0.0 };
        let mesh = Mesh::for_all(outline, least)?;
        let pattern = Self {
            bound: Bound::of_globe(mesh.off, outline.weight),
            curve: around_the_sphere(),
            ground: Ground::Globe(mesh),
        };
        pattern.certifies(outline.tolerance, least).then_some(pattern)
    }

    /// The curve that rows are laid out along.
    pub(crate) fn curve(&self) -> Curve {
        self.curve
    }

    /// What it takes, by the cubes of the rows; none if it is more than so many bytes for each column.
    pub(crate) fn takes(&self, outline: &Outline, limit: u64) -> Option<Takes> {
        let takes = match &self.ground {
            Ground::Plane(ruler, weave) => weave.takes(&[self.blocks(ruler, outline)?], limit),
            Ground::Sphere(sites, weave) => weave.takes(&sites.blocks(outline), limit),
            Ground::Globe(mesh) => mesh.takes(outline),
        };
        takes.filter(|takes| takes.bytes <= limit)
    }

    /// The blocks of sources and of targets.
    fn blocks(&self, ruler: &Ruler, outline: &Outline) -> Option<(Vec<Key>, Vec<Key>)> {
        let (first, per_block) = (3 - ruler.dimensions, outline.side / ruler.side);
        let in_cube = per_block.max(1.0).powi(ruler.dimensions as i32);
        if outline.cubes.len() as f64 * in_cube > MOST_BLOCKS as f64 {
            return None;
        }
        let wide = per_block.max(1.0) as usize;
        let of_cube = |cube: &[i64; 3]| {
            let mut corner = [0; 3];
            for k in 0..ruler.dimensions {
                corner[first + k] = self.curve.cube(k, cube[k] as f64 * outline.side, ruler.side) as i64;
            }
            super::lattice::cube(corner, ruler.dimensions, wide)
        };
        let blocks = |only_targets: bool| {
            let cubes = outline.cubes.iter().filter(|cube| cube.targets || !only_targets);
            ascending(cubes.flat_map(|cube| of_cube(&cube.at)).collect())
        };
        Some((blocks(false), blocks(true)))
    }
}

/// Parts of the tolerance that are aimed at: on the sphere, errors of sampling count far from a row too, and a first aim may miss.
const AIMS: [f64; 7] = [1.0, 1.0 / 2.0, 1.0 / 4.0, 1.0 / 8.0, 1.0 / 32.0, 1.0 / 128.0, 1.0 / 512.0];
/// Part of the tolerance that is left for the rounding of averages, which joins their bound afterwards.
const LEFT: f64 = 1.0 / 64.0;

impl Outline<'_> {
    /// Points in σ^d next to where the lattice begins to pay.
    fn crowding(&self) -> f64 {
        let volume = self.cubes.len() as f64 * (self.side / self.sigma).powi(self.metric.dimensions().min(2) as i32);
        (self.rows as f64 / volume / POINTS_PER_VOLUME).max(1.0)
    }

    /// Points of a block, all rows at the worst, and as many more as the parts they come in make of it.
    fn points(&self, window: &Window) -> usize {
        self.rows as usize + window.points_of_parts(MOST_PARTS)
    }
}

fn around_the_sphere() -> Curve {
    Curve::over([-1.0; 3], [1.0; 3], 3)
}

/// Keys in order, each once.
pub(super) fn ascending(mut keys: Vec<Key>) -> Vec<Key> {
    keys.sort_unstable();
    keys.dedup();
    keys
}
