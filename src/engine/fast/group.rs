//! The groups of a scene: which sources of each go through a lattice and which are summed directly.
//!
//! Plans of large groups are kept. Plans of small ones are made whenever they are summed, so that a million groups of one row take no more
//! memory than one group of a million rows.

use std::ops::Range;

use rayon::prelude::*;

use super::any_lattice::{AnyLattice, LatticeProblem};
use super::direct::{BOXES, LEAF, Tree};
use super::laid::LaidLattice;
use super::lattice::{Accuracy, BlockGrid, BlockRun, Bound};
use super::savings::{BlockCosts, OVERHEAD, direct_costs, pairs_in_blocks, targets_near};
use crate::scene::Scene;

/// Most places of a small group: its tree is a single node, made in about the time of one of its sums.
const SMALL: usize = LEAF * BOXES;

/// The groups of a scene, ready for sums.
pub(super) struct Groups {
    /// Plans of large groups with the numbers of these, ascending.
    pub(super) large: Vec<(usize, GroupPlan)>,
    /// Total weight of the sources of the group that has most.
    pub(super) largest_weight: f64,
}

impl Groups {
    pub(super) fn new(scene: &Scene, tolerance: f64) -> Self {
        let all = 0..scene.layout.sources.groups.len();
        let split = |group| (group, GroupPlan::new(scene, group, tolerance));
        Self {
            large: all.clone().into_par_iter().filter(|group| is_large(scene, *group)).map(split).collect(),
            largest_weight: all.map(|group| scene.group_mass(group)).fold(0.0, f64::max),
        }
    }

    /// The plan of a group; that of a small one is made here.
    pub(super) fn of<'a>(&'a self, scene: &Scene, group: usize, made: &'a mut Option<GroupPlan>) -> &'a GroupPlan {
        match self.large.binary_search_by_key(&group, |(large, _)| *large) {
            Ok(at) => &self.large[at].1,
            Err(_) => made.insert(GroupPlan::direct(scene, group)),
        }
    }
}

fn is_large(scene: &Scene, group: usize) -> bool {
    [&scene.layout.sources, &scene.layout.targets].iter().any(|cloud| cloud.groups[group].len() > SMALL)
}

/// If at most one in this many sources is in thin blocks, all blocks count as dense: direct sums for every target would cost more than a
/// few thin blocks on the lattice. Chosen, not measured.
const FEW: usize = 100;

/// One group, ready for sums.
pub(super) struct GroupPlan {
    /// All sources.
    pub(super) all: Tree,
    /// Their total weight.
    pub(super) weight: f64,
    /// Sources that dense blocks hold, if any do.
    pub(super) dense: Option<DenseSources>,
}

/// Sources on the lattice.
pub(super) struct DenseSources {
    pub(super) laid: LaidLattice,
    pub(super) bound: Bound,
    /// The other sources.
    pub(super) thin: Tree,
    /// Where dense sources are, ascending.
    ranges: Vec<Range<usize>>,
}

impl DenseSources {
    /// Whether a source is on the lattice.
    pub(super) fn holds(&self, source: usize) -> bool {
        let after = self.ranges.partition_point(|range| range.start <= source);
        after > 0 && self.ranges[after - 1].contains(&source)
    }
}

impl GroupPlan {
    pub(super) fn new(scene: &Scene, group: usize, tolerance: f64) -> Self {
        Self { dense: dense(scene, group, tolerance), ..Self::direct(scene, group) }
    }

    /// All sources summed directly.
    pub(super) fn direct(scene: &Scene, group: usize) -> Self {
        let sources = &scene.layout.sources.groups[group];
        Self { all: Tree::over(scene, std::slice::from_ref(sources)), weight: scene.group_mass(group), dense: None }
    }
}

/// The sources for which a lattice is cheaper, if there are enough of them.
fn dense(scene: &Scene, group: usize, tolerance: f64) -> Option<DenseSources> {
    let layout = &*scene.layout;
    let (sources, targets) = (layout.sources.groups[group].clone(), layout.targets.groups[group].clone());
    let accuracy = Accuracy::new(scene, sources.len(), scene.group_mass(group), tolerance);
    let problem = LatticeProblem { layout, sources: sources.clone(), targets: targets.clone(), accuracy, tolerance };
    let (grid, plane) = problem.blocks()?;
    let targets_per_source = targets.len() as f64 / sources.len() as f64;
    let pairs = pairs_in_blocks(&grid, &layout.sources, sources.clone());
    if direct_costs(pairs * targets_per_source) < overhead(&problem) {
        return None;
    }
    let in_cell = pairs / sources.len() as f64 * (1.0 + targets_per_source);
    let lattice = plane.or_else(|| problem.on_sphere(grid, in_cell))?;
    let runs = dense_runs(&problem, &lattice, &grid)?;
    let laid = LaidLattice::new(lattice, layout, &runs, targets);
    let ranges = join(&runs);
    let thin = Tree::over(scene, &between(&ranges, &sources));
    let weight = ranges.iter().map(|range| scene.mass[range.clone()].iter().sum::<f64>()).sum();
    Some(DenseSources { bound: laid.lattice.bound(laid.largest_block(), weight), laid, thin, ranges })
}

/// The runs of sources for which the lattice is cheaper, or all; `None` if they save too little.
fn dense_runs(problem: &LatticeProblem, lattice: &AnyLattice, grid: &BlockGrid) -> Option<Vec<BlockRun>> {
    let sources = lattice.runs(&problem.layout.sources, problem.sources.clone());
    let Some((window, load)) = lattice.window_and_load() else { return Some(sources) };
    let costs = BlockCosts::of(&window, load);
    let targets = grid.runs(&problem.layout.targets, problem.targets.clone());
    let near = targets_near(&sources, &targets, grid.dimensions);
    let savings: Vec<f64> =
        sources.iter().zip(near).map(|(run, near)| costs.lattice_saves(run.places.len(), near)).collect();
    if savings.iter().filter(|saving| **saving > 0.0).sum::<f64>() < overhead(problem) {
        return None;
    }
    let saved = savings.iter().zip(&sources).filter(|(saving, _)| **saving > 0.0);
    let left = problem.sources.len() - saved.map(|(_, run)| run.places.len()).sum::<usize>();
    let all = left * FEW <= problem.sources.len();
    let dense = sources.into_iter().zip(savings).filter(|(_, saving)| all || *saving > 0.0);
    Some(dense.map(|(run, _)| run).collect())
}

/// What a lattice must save at least.
fn overhead(problem: &LatticeProblem) -> f64 {
    OVERHEAD * (problem.sources.len() + problem.targets.len()) as f64
}

/// Adjacent runs become one range.
fn join(runs: &[BlockRun]) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for run in runs {
        match ranges.last_mut() {
            Some(last) if last.end == run.places.start => last.end = run.places.end,
            _ => ranges.push(run.places.clone()),
        }
    }
    ranges
}

/// What ascending ranges leave of a whole.
fn between(ranges: &[Range<usize>], whole: &Range<usize>) -> Vec<Range<usize>> {
    let starts = std::iter::once(whole.start).chain(ranges.iter().map(|range| range.end));
    let ends = ranges.iter().map(|range| range.start).chain([whole.end]);
    starts.zip(ends).map(|(start, end)| start..end).filter(|range| !range.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::points::Places;
    use crate::scene::Own;
    use crate::space::Sigma;

    fn split(rows: usize, sigma: f64) -> GroupPlan {
        let axis = |factor: f64| (0..rows).map(|i| (i as f64 * factor).fract()).collect();
        let places = Places::index(vec![axis(0.754_877_666), axis(0.569_840_291)]).unwrap();
        let scene =
            Scene::new(Sigma::index(sigma).unwrap(), &places, &[(&places, 1.0)], Own::Counts).expect("a valid scene");
        GroupPlan::new(&scene, 0, 1e-6)
    }

    #[test]
    fn many_sources_go_through_the_lattice_and_few_do_not() {
        let dense = split(20_000, 0.1).dense.expect("many sources within sigma");
        assert!(dense.holds(0) && dense.holds(19_999) && dense.thin.is_empty());
        assert!(split(20_000, 0.001).dense.is_none());
        assert!(split(100, 0.1).dense.is_none());
    }

    #[test]
    fn what_lies_between_ranges() {
        assert_eq!(between(&[2..3, 5..7], &(0..9)), [0..2, 3..5, 7..9]);
        assert!(between(&[0..4, 4..9], &(0..9)).is_empty());
    }
}
