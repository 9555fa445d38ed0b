//! Which sources go through the lattice and which are summed directly.

use std::collections::HashMap;
use std::ops::Range;

use rayon::prelude::*;

use super::direct::Tree;
use super::globe::{self, Globe};
use super::lattice::{
    Accuracy, BlockGrid, BlockKey, BlockRun, Bound, Grid, Load, POINTS_PER_VOLUME, Terms, Window, cube,
};
use super::sphere::{Atlas, AtlasDraft, ChartDemand};
use crate::scene::{Cloud, Scene};

/// Multiplications on the lattice that take as long as one direct pair. Measured with AVX2 on 2026-11-16: 0.1 ns for a
/// multiplication, 1.6 ns for a pair, and half as much again for finding the leaves.
const MULTIPLICATIONS_PER_PAIR: f64 = 24.0;
/// Part of the pairs between neighbouring blocks that a direct sum looks at.
const PAIRS_IN_REACH: f64 = 0.6;
/// If only one in so many sources is in thin blocks, all blocks count as dense.
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
    pub(super) lattice: AnyLattice,
    pub(super) bound: Bound,
    /// The other sources.
    pub(super) thin: Tree,
    /// Where dense sources are, ascending.
    ranges: Vec<Range<usize>>,
}

/// A lattice by what it lies in.
pub(super) enum AnyLattice {
    /// The space that places are in.
    Plane(BlockGrid, Box<Grid>),
    /// Charts.
    Sphere(Atlas),
    /// Patches of the whole sphere.
    Globe(Box<Globe>),
}

impl DenseSources {
    /// All sources in patches.
    fn on_globe(scene: &Scene, group: usize, globe: Globe) -> Self {
        let bound = Bound::absolute(globe.off(), scene.group_mass(group));
        let ranges = vec![scene.layout.sources.groups[group].clone()];
        Self { lattice: AnyLattice::Globe(Box::new(globe)), bound, thin: Tree::over(scene, &[]), ranges }
    }

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

fn dense(scene: &Scene, group: usize, tolerance: f64) -> Option<DenseSources> {
    let layout = &scene.layout;
    let (sources, targets) = (layout.sources.groups[group].clone(), layout.targets.groups[group].clone());
    let accuracy = Accuracy::new(scene, sources.len(), scene.group_mass(group), tolerance);
    let (block_grid, window) = accuracy.block_grid(layout.metric, layout.curve, Load::ONE)?;
    let worth_it = OVERHEAD * (sources.len() + targets.len()) as f64;
    let targets_per_source = targets.len() as f64 / sources.len() as f64;
    let pairs_in_blocks = pairs_in_blocks(&block_grid, &layout.sources, sources.clone());
    if MULTIPLICATIONS_PER_PAIR * pairs_in_blocks * targets_per_source < worth_it {
        return None;
    }
    let draft = if let Some(window) = window {
        LatticeDraft::Plane(window)
    } else {
        let in_block = pairs_in_blocks / sources.len() as f64 * (1.0 + targets_per_source);
        let density = in_block * (accuracy.sigma / block_grid.side).powi(2) / POINTS_PER_VOLUME;
        let draft =
            ChartDemand::new(&accuracy, density).and_then(|task| AtlasDraft::new(&task, layout, &sources, &targets));
        let Some(draft) = draft else {
            let task = globe::PatchProblem { layout, sources, targets, sigma: accuracy.sigma, tolerance };
            return Globe::new(&task).map(|globe| DenseSources::on_globe(scene, group, globe));
        };
        LatticeDraft::Sphere(draft)
    };
    let costs = draft.costs();
    let source_runs = block_grid.runs(&layout.sources, sources.clone());
    let target_runs = block_grid.runs(&layout.targets, targets);
    let near = targets_near(&source_runs, &target_runs, block_grid.dimensions);
    let savings: Vec<f64> =
        source_runs.iter().zip(near).map(|(run, near)| costs.lattice_saves(run.places.len(), near)).collect();
    if savings.iter().filter(|saving| **saving > 0.0).sum::<f64>() < worth_it {
        return None;
    }
    let saved = savings.iter().zip(&source_runs).filter(|(saving, _)| **saving > 0.0);
    let left = sources.len() - saved.map(|(_, run)| run.places.len()).sum::<usize>();
    // A second way for every target would cost more than a few thin blocks on the lattice.
    let all = left * FEW <= sources.len();
    let dense: Vec<BlockRun> =
        source_runs.into_iter().zip(savings).filter(|(_, saving)| all || *saving > 0.0).map(|(run, _)| run).collect();
    let ranges = join(&dense);
    let thin = Tree::over(scene, &between(&ranges, &sources));
    let weight = ranges.iter().map(|range| scene.mass[range.clone()].iter().sum::<f64>()).sum();
    let (lattice, bound) = match draft {
        LatticeDraft::Plane(window) => {
            let largest = dense.iter().map(|run| run.places.len()).max().unwrap_or(0);
            let grid = Grid::new(window, Terms::gaussian(), dense, target_runs);
            (AnyLattice::Plane(block_grid, Box::new(grid)), Bound::of_plane(&window, largest, weight))
        }
        LatticeDraft::Sphere(draft) => {
            let design = draft.design.clone();
            let atlas = draft.charts(layout, &dense, block_grid.side);
            let bound = design.bound(atlas.largest_block(), weight);
            (AnyLattice::Sphere(atlas), bound)
        }
    };
    Some(DenseSources { lattice, bound, thin, ranges })
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

/// A lattice before it is known which sources are on it.
enum LatticeDraft {
    Plane(Window),
    Sphere(AtlasDraft),
}

impl LatticeDraft {
    fn costs(&self) -> BlockCosts {
        match self {
            Self::Plane(window) => BlockCosts::of(window, Load::ONE),
            Self::Sphere(draft) => BlockCosts::of(&draft.design.window, draft.design.expansion.terms.load()),
        }
    }
}

/// Sources between two that are looked at to see whether the lattice may be worth it.
const STRIDE: usize = 32;

/// About how many pairs of sources share a block, from a glance at some of them.
fn pairs_in_blocks(block_grid: &BlockGrid, cloud: &Cloud, sources: Range<usize>) -> f64 {
    let keys: Vec<BlockKey> = sources.step_by(STRIDE).map(|source| block_grid.key(cloud, source)).collect();
    // Two in a row mean that there are as many sources at least; one alone may be the only one of its block.
    let crowded = keys.chunk_by(|a, b| a == b).filter(|block| block.len() > 1);
    crowded.map(|block| ((block.len() * STRIDE) as f64).powi(2)).sum()
}

/// Blocks with fewer places than this do not count: most blocks, and not worth looking up.
const NOTABLE: usize = 8;

/// For each block of sources the number of targets in it and its neighbours; none for blocks that do not count.
fn targets_near(sources: &[BlockRun], targets: &[BlockRun], dimensions: usize) -> Vec<usize> {
    let notable = |run: &&BlockRun| run.places.len() >= NOTABLE;
    let count: HashMap<BlockKey, usize> =
        targets.iter().filter(notable).map(|run| (run.key, run.places.len())).collect();
    let first = 3 - dimensions;
    let corner = |key: &BlockKey| std::array::from_fn(|k| if k < first { key[k] } else { key[k] - 1 });
    let near = |run: &BlockRun| {
        let around = cube(corner(&run.key), dimensions, 3).filter(|_| run.places.len() >= NOTABLE);
        around.filter_map(|key| count.get(&key)).sum()
    };
    sources.par_iter().map(near).collect()
}

/// What finding out which blocks there are costs for each source and target, whether on the lattice or not, in multiplications.
const OVERHEAD: f64 = 100.0;

/// What things cost, in multiplications, for two columns.
struct BlockCosts {
    point: f64,
    block: f64,
}

impl BlockCosts {
    fn of(window: &Window, load: Load) -> Self {
        let d = window.dimensions as i32;
        let nodes = (window.nodes as f64).powi(d);
        let passes = load.node * f64::from(d) * ((2 * window.blocks_reached() + 1) * window.nodes) as f64;
        // Measured at 304k + 304k rows: in space a block of sources makes many more blocks of nodes than in the plane,
        // and its surroundings do not stay in the cache.
        let (slower, blocks) = if d == 3 { (1.5, 40.0) } else { (1.0, 2.0) };
        let taps = window.multiplications_at_a_point();
        Self { point: load.point * slower * 2.0 * taps, block: 2.0 * blocks * nodes * passes }
    }

    /// What the lattice saves for the sources of a block, with so many targets around.
    fn lattice_saves(&self, sources: usize, targets_near: usize) -> f64 {
        let (sources, targets) = (sources as f64, targets_near as f64);
        let direct = MULTIPLICATIONS_PER_PAIR * PAIRS_IN_REACH * sources * targets;
        // Targets read the lattice once for all blocks around them.
        direct - self.point * (sources + targets / 9.0) - self.block
    }
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
