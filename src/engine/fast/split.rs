//! Which sources go through the lattice and which are summed directly.

use std::collections::HashMap;
use std::ops::Range;

use super::grid::Grid;
use super::lattice::{Key, cube};
use super::mixture::Mixture;
use super::ruler::{Ruler, Run};
use super::tree::Tree;
use super::window::{Demand, Window};
use crate::scene::Scene;
use crate::space::Metric;

/// Multiplications on the lattice that take as long as one direct pair. Measured with AVX2 on 2026-11-16: 0.1 ns for a
/// multiplication, 1.6 ns for a pair, and half as much again for finding the leaves.
const MULTIPLICATIONS_PER_PAIR: f64 = 24.0;
/// Part of the pairs between neighbouring blocks that a direct sum looks at.
const PAIRS_IN_REACH: f64 = 0.6;
/// If only one in so many sources is in thin blocks, all blocks count as thick.
const FEW: usize = 100;
/// Sides of blocks that are tried, in σ.
const SIDES: Range<f64> = 1.5..14.0;

/// One group, ready for sums.
pub(super) struct Split {
    /// All sources.
    pub(super) all: Tree,
    /// Their total weight.
    pub(super) weight: f64,
    /// Sources that thick blocks hold, if any do.
    pub(super) thick: Option<Thick>,
}

/// Sources on the lattice.
pub(super) struct Thick {
    pub(super) grid: Grid,
    pub(super) bound: Bound,
    /// The other sources.
    pub(super) thin: Tree,
    /// Where thick sources are, ascending.
    ranges: Vec<Range<usize>>,
}

impl Thick {
    /// Whether a source is on the lattice.
    pub(super) fn holds(&self, source: usize) -> bool {
        let after = self.ranges.partition_point(|range| range.start <= source);
        after > 0 && self.ranges[after - 1].contains(&source)
    }
}

/// The error of sums by the lattice: relative, as a multiple of √(W D), and absolute as a multiple of W.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound {
    relative: f64,
    root: f64,
    absolute: f64,
    /// W: the weight on the lattice.
    weight: f64,
}

impl Bound {
    /// A bound on the error mass where the lattice gave this D.
    ///
    /// The true D is at most what was computed plus its error, `D ≤ D̃ + ρD + η√(WD) + aW`: a quadratic in √D.
    pub(super) fn error(&self, computed: f64) -> f64 {
        let room = 1.0 - self.relative;
        let linear = self.root * self.weight.sqrt();
        let constant = computed.max(0.0) + self.absolute * self.weight;
        let root = (linear + (linear * linear + 4.0 * room * constant).sqrt()) / (2.0 * room);
        self.relative * root * root + linear * root + self.absolute * self.weight
    }
}

impl Split {
    pub(super) fn new(scene: &Scene, group: usize, tolerance: f64) -> Self {
        let sources = scene.layout.sources.groups[group].clone();
        let weight = scene.group_mass(group);
        let thick = thick(scene, group, tolerance);
        Self { all: Tree::over(scene, std::slice::from_ref(&sources)), weight, thick }
    }
}

fn thick(scene: &Scene, group: usize, tolerance: f64) -> Option<Thick> {
    let layout = &scene.layout;
    let (sources, targets) = (layout.sources.groups[group].clone(), layout.targets.groups[group].clone());
    let (ruler, mixture) = ruler(scene, sources.len(), tolerance)?;
    let costs = Costs::of(&ruler.window, mixture.parts.len());
    let notable = ruler.runs(&layout.sources, sources.clone(), NOTABLE);
    let near = targets_near(&notable, &ruler.runs(&layout.targets, targets.clone(), NOTABLE), ruler.window.dimensions);
    let savings: Vec<f64> =
        notable.iter().zip(near).map(|(run, near)| costs.lattice_saves(run.places.len(), near)).collect();
    let worth_it = costs.overhead * (sources.len() + targets.len()) as f64;
    if savings.iter().filter(|saving| **saving > 0.0).sum::<f64>() < worth_it {
        return None;
    }
    let mut thick: Vec<Run> =
        notable.into_iter().zip(savings).filter(|(_, saving)| *saving > 0.0).map(|(run, _)| run).collect();
    let left = sources.len() - thick.iter().map(|run| run.places.len()).sum::<usize>();
    if left * FEW <= sources.len() {
        // A second way for every target would cost more than a few thin blocks on the lattice.
        thick = ruler.runs(&layout.sources, sources.clone(), 1);
    }
    let ranges = join(&thick);
    let largest = thick.iter().map(|run| run.places.len()).max().unwrap_or(0);
    let roundings = ruler.window.roundings() + ruler.window.additions(largest);
    let relative = mixture.near * (ruler.window.sampling + roundings * 0.5 * f64::EPSILON);
    let bound = Bound {
        relative,
        root: mixture.miss + mixture.amount() * ruler.window.truncation + mixture.far * relative,
        absolute: mixture.beyond,
        weight: ranges.iter().map(|range| scene.mass[range.clone()].iter().sum::<f64>()).sum(),
    };
    let thin = Tree::over(scene, &between(&ranges, &sources));
    let target_runs = ruler.runs(&layout.targets, targets, 1);
    Some(Thick { grid: Grid::new(ruler, mixture.parts, thick, target_runs), bound, thin, ranges })
}

/// Adjacent runs become one range.
fn join(runs: &[Run]) -> Vec<Range<usize>> {
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

/// The cheapest lattice that keeps a part of the tolerance.
fn ruler(scene: &Scene, sources: usize, tolerance: f64) -> Option<(Ruler, Mixture)> {
    let (metric, curve) = (scene.layout.metric, scene.layout.curve);
    let sigma = (0.5 * std::f64::consts::LOG2_E / scene.scale).sqrt();
    // A row with a few sources of the usual weight around it will still be certified.
    let root = tolerance / (2.0 * (sources as f64).sqrt());
    let mixture = match metric {
        Metric::Plane(_) => Mixture::gaussian(),
        Metric::Sphere => Mixture::of_arcs(sigma, 0.5 * root)?,
    };
    let demand = Demand {
        dimensions: metric.dimensions(),
        sampling: tolerance / (4.0 * mixture.near),
        truncation: root / mixture.amount(),
        variances: mixture.variances(),
        root: mixture.root,
    };
    let smallest = (SIDES.start * sigma / curve.side()).log2().ceil().max(0.0) as i32;
    let window = (smallest..smallest + 4)
        .map(|level| curve.side() * f64::from(level).exp2())
        .filter(|side| SIDES.contains(&(side / sigma)))
        .filter_map(|side| Window::design(side / sigma, &demand).map(|window| (window, side)))
        .min_by(|a, b| a.0.cost().total_cmp(&b.0.cost()));
    let (window, side) = window?;
    Some((Ruler { curve, window, side, low_parts: metric == Metric::Sphere }, mixture))
}

/// Blocks with fewer places than this do not count: most blocks, and not worth looking up.
const NOTABLE: usize = 8;

/// For each block of sources the number of targets in it and its neighbours.
fn targets_near(sources: &[Run], targets: &[Run], dimensions: usize) -> Vec<usize> {
    let count: HashMap<Key, usize> = targets.iter().map(|run| (run.key, run.places.len())).collect();
    let first = 3 - dimensions;
    let corner = |key: &Key| std::array::from_fn(|k| if k < first { key[k] } else { key[k] - 1 });
    let near = |run: &Run| cube(corner(&run.key), dimensions, 3).filter_map(|key| count.get(&key)).sum();
    sources.iter().map(near).collect()
}

/// What things cost, in multiplications, for two columns.
struct Costs {
    point: f64,
    block: f64,
    /// For each source and target, whether on the lattice or not: finding out which blocks there are.
    overhead: f64,
}

impl Costs {
    fn of(window: &Window, parts: usize) -> Self {
        let d = window.dimensions as i32;
        let nodes = (window.nodes as f64).powi(d);
        let passes = f64::from(d) * ((2 * window.blocks_reached() + 1) * window.nodes * parts) as f64;
        // Measured at 304k + 304k rows: in space a block of sources makes many more blocks of nodes than in the plane,
        // and its surroundings do not stay in the cache.
        let (slower, blocks) = if d == 3 { (1.5, 40.0) } else { (1.0, 2.0) };
        Self {
            point: slower * 2.0 * window.taps.next_multiple_of(8) as f64 * (window.taps as f64).powi(d - 1),
            block: 2.0 * blocks * nodes * passes,
            overhead: 100.0,
        }
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

    fn split(rows: usize, sigma: f64) -> Split {
        let axis = |factor: f64| (0..rows).map(|i| (i as f64 * factor).fract()).collect();
        let places = Places::index(vec![axis(0.754_877_666), axis(0.569_840_291)]).unwrap();
        let scene =
            Scene::new(Sigma::index(sigma).unwrap(), &places, &[(&places, 1.0)], Own::Counts).expect("a valid scene");
        Split::new(&scene, 0, 1e-6)
    }

    #[test]
    fn many_sources_go_through_the_lattice_and_few_do_not() {
        let thick = split(20_000, 0.1).thick.expect("many sources within sigma");
        assert!(thick.holds(0) && thick.holds(19_999) && thick.thin.is_empty());
        assert!(split(20_000, 0.001).thick.is_none());
        assert!(split(100, 0.1).thick.is_none());
    }

    #[test]
    fn the_bound_covers_the_error_that_it_allows() {
        let bound = Bound { relative: 1e-7, root: 1e-9, absolute: 0.0, weight: 1e6 };
        for mass in [0.0, 1e-12, 1e-3, 1.0, 1e5_f64] {
            // The largest error that a true sum can have: the computed sum is what is left of it.
            let error = 1e-7 * mass + 1e-9 * (1e6 * mass).sqrt();
            assert!(bound.error(mass - error) >= error * (1.0 - 1e-12), "{mass}");
        }
    }

    #[test]
    fn what_lies_between_ranges() {
        assert_eq!(between(&[2..3, 5..7], &(0..9)), [0..2, 3..5, 7..9]);
        assert!(between(&[0..4, 4..9], &(0..9)).is_empty());
    }
}
