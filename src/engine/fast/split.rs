//! Which sources go through the lattice and which are summed directly.

use std::collections::HashMap;
use std::ops::Range;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::atlas::{Atlas, Design, Survey, Task};
use super::expansion::Terms;
use super::globe::{self, Globe};
use super::grid::Grid;
use super::lattice::{Key, cube};
use super::ruler::{Ruler, Run};
use super::tree::Tree;
use super::window::{Demand, Load, POINTS_PER_VOLUME, Window};
use crate::scene::{Cloud, Curve, Scene};
use crate::space::Metric;

/// Multiplications on the lattice that take as long as one direct pair. Measured with AVX2 on 2026-11-16: 0.1 ns for a
/// multiplication, 1.6 ns for a pair, and half as much again for finding the leaves.
const MULTIPLICATIONS_PER_PAIR: f64 = 24.0;
/// Part of the pairs between neighbouring blocks that a direct sum looks at.
const PAIRS_IN_REACH: f64 = 0.6;
/// If only one in so many sources is in thin blocks, all blocks count as thick.
const FEW: usize = 100;
/// Part of the tolerance that sampling may use up: coarse nodes are worth more than what is left for others, the truncation
/// with at most half for a row of one source, and the boxes that direct sums leave out.
const SAMPLING_SHARE: f64 = 0.375;
/// The same for truncation where no row is to be summed again: on the sphere up to one and a half times as much is used.
const ROOT_SHARE: f64 = 0.25;
/// The same for sources that are too far from a chart to be in it, for a row with at least its own weight around it.
const LEFT_OUT_SHARE: f64 = 1.0 / 32.0;
/// Sides of blocks that are tried, in σ.
const SIDES: Range<f64> = 1.5..14.0;
/// On the sphere, where charts have blocks of their own, cubes in which sources are counted have at most this side, in σ.
const CUBE: f64 = 6.0;

/// By how much the accuracy of charts is relaxed at most where points are many: rows with a few sources around them are still
/// certified.
const MOST_RELAXED: f64 = 3.0;

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
    pub(super) lattice: Lattice,
    pub(super) bound: Bound,
    /// The other sources.
    pub(super) thin: Tree,
    /// Where thick sources are, ascending.
    ranges: Vec<Range<usize>>,
}

/// A lattice by what it lies in.
pub(super) enum Lattice {
    /// The space that places are in.
    Plane(Ruler, Box<Grid>),
    /// Charts.
    Sphere(Atlas),
    /// Patches of the whole sphere.
    Globe(Box<Globe>),
}

impl Thick {
    /// All sources in patches.
    fn on_globe(scene: &Scene, group: usize, globe: Globe) -> Self {
        let bound = Bound::of_globe(globe.off(), scene.group_mass(group));
        let ranges = vec![scene.layout.sources.groups[group].clone()];
        Self { lattice: Lattice::Globe(Box::new(globe)), bound, thin: Tree::over(scene, &[]), ranges }
    }

    /// Whether a source is on the lattice.
    pub(super) fn holds(&self, source: usize) -> bool {
        let after = self.ranges.partition_point(|range| range.start <= source);
        after > 0 && self.ranges[after - 1].contains(&source)
    }
}

/// The error of sums by the lattice: relative, as a multiple of √(W D), and absolute as a multiple of W.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Bound {
    relative: f64,
    root: f64,
    absolute: f64,
    /// W: the weight on the lattice.
    weight: f64,
}

impl Bound {
    /// For a lattice of the plane, or of space, with so many sources in one block.
    pub(super) fn of_plane(window: &Window, points: usize, weight: f64) -> Self {
        let roundings = window.roundings() + window.additions(points);
        let relative = window.sampling + roundings * 0.5 * f64::EPSILON;
        Self { relative, root: window.truncation, absolute: 0.0, weight }
    }

    pub(super) fn of_sphere(design: &Design, points: usize, weight: f64) -> Self {
        let (sampling, expansion) = (design.sampling(points), &design.expansion);
        let root = design.root() + expansion.far * sampling;
        Self { relative: sampling + design.expanding(), root, absolute: expansion.beyond + design.left_out, weight }
    }

    /// For patches of the sphere that are off by so much for each pair.
    pub(super) fn of_globe(off: f64, weight: f64) -> Self {
        Self { relative: 0.0, root: 0.0, absolute: off, weight }
    }

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
        Self { thick: thick(scene, group, tolerance), ..Self::direct(scene, group) }
    }

    /// All sources summed directly.
    pub(super) fn direct(scene: &Scene, group: usize) -> Self {
        let sources = &scene.layout.sources.groups[group];
        Self { all: Tree::over(scene, std::slice::from_ref(sources)), weight: scene.group_mass(group), thick: None }
    }
}

fn thick(scene: &Scene, group: usize, tolerance: f64) -> Option<Thick> {
    let layout = &scene.layout;
    let (sources, targets) = (layout.sources.groups[group].clone(), layout.targets.groups[group].clone());
    let aim = Aim::new(scene, sources.len(), scene.group_mass(group), tolerance);
    let (ruler, window) = aim.ruler(layout.metric, layout.curve, Load::ONE)?;
    let worth_it = OVERHEAD * (sources.len() + targets.len()) as f64;
    let targets_per_source = targets.len() as f64 / sources.len() as f64;
    let crowd = crowd(&ruler, &layout.sources, sources.clone());
    if MULTIPLICATIONS_PER_PAIR * crowd * targets_per_source < worth_it {
        return None;
    }
    let draft = if let Some(window) = window {
        Draft::Plane(window)
    } else {
        let in_block = crowd / sources.len() as f64 * (1.0 + targets_per_source);
        let crowding = in_block * (aim.sigma / ruler.side).powi(2) / POINTS_PER_VOLUME;
        let survey = aim.task(crowding).and_then(|task| Survey::new(&task, layout, &sources, &targets));
        let Some(survey) = survey else {
            let task = globe::Task { layout, sources, targets, sigma: aim.sigma, tolerance };
            return Globe::new(&task).map(|globe| Thick::on_globe(scene, group, globe));
        };
        Draft::Sphere(survey)
    };
    let costs = draft.costs();
    let source_runs = ruler.runs(&layout.sources, sources.clone(), 1);
    let target_runs = ruler.runs(&layout.targets, targets, 1);
    let near = targets_near(&source_runs, &target_runs, ruler.dimensions);
    let savings: Vec<f64> =
        source_runs.iter().zip(near).map(|(run, near)| costs.lattice_saves(run.places.len(), near)).collect();
    if savings.iter().filter(|saving| **saving > 0.0).sum::<f64>() < worth_it {
        return None;
    }
    let saved = savings.iter().zip(&source_runs).filter(|(saving, _)| **saving > 0.0);
    let left = sources.len() - saved.map(|(_, run)| run.places.len()).sum::<usize>();
    // A second way for every target would cost more than a few thin blocks on the lattice.
    let all = left * FEW <= sources.len();
    let thick: Vec<Run> =
        source_runs.into_iter().zip(savings).filter(|(_, saving)| all || *saving > 0.0).map(|(run, _)| run).collect();
    let ranges = join(&thick);
    let thin = Tree::over(scene, &between(&ranges, &sources));
    let weight = ranges.iter().map(|range| scene.mass[range.clone()].iter().sum::<f64>()).sum();
    let (lattice, bound) = match draft {
        Draft::Plane(window) => {
            let largest = thick.iter().map(|run| run.places.len()).max().unwrap_or(0);
            let grid = Grid::new(window, Terms::gaussian(), thick, target_runs);
            (Lattice::Plane(ruler, Box::new(grid)), Bound::of_plane(&window, largest, weight))
        }
        Draft::Sphere(survey) => {
            let design = survey.design.clone();
            let atlas = survey.charts(layout, &thick, ruler.side);
            let bound = Bound::of_sphere(&design, atlas.largest_block(), weight);
            (Lattice::Sphere(atlas), bound)
        }
    };
    Some(Thick { lattice, bound, thin, ranges })
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

/// A lattice before it is known which sources are on it.
enum Draft {
    Plane(Window),
    Sphere(Survey),
}

impl Draft {
    fn costs(&self) -> Costs {
        match self {
            Self::Plane(window) => Costs::of(window, Load::ONE),
            Self::Sphere(survey) => Costs::of(&survey.design.window, survey.design.expansion.terms.load()),
        }
    }
}

/// How accurate a lattice is to be.
pub(super) struct Aim {
    /// σ in the unit of the axes.
    sigma: f64,
    /// Largest relative error of the sampling.
    relative: f64,
    /// Largest error of the truncation, as a multiple of √K.
    root: f64,
    /// Largest kernel of sources that are left out altogether.
    left_out: f64,
}

impl Aim {
    fn new(scene: &Scene, sources: usize, weight: f64, tolerance: f64) -> Self {
        let sigma = (0.5 * std::f64::consts::LOG2_E / scene.scale).sqrt();
        // A row with a few sources of the usual weight around it will still be certified.
        let root = tolerance / (2.0 * (sources as f64).sqrt());
        Self { sigma, root, ..Self::for_all(sigma, weight, tolerance) }
    }

    /// So accurate that every row is certified, however lonely, if it is a source of weight one itself.
    pub(super) fn for_all(sigma: f64, weight: f64, tolerance: f64) -> Self {
        Self {
            sigma,
            relative: SAMPLING_SHARE * tolerance,
            root: ROOT_SHARE * tolerance / weight.sqrt(),
            left_out: LEFT_OUT_SHARE * tolerance / weight,
        }
    }

    /// The same for charts, with points so many times as dense as where the lattice begins to pay.
    pub(super) fn task(&self, crowding: f64) -> Option<Task> {
        // Where points are many, lonely rows are few and may be summed directly.
        let root = self.root * (1.0 + 0.25 * crowding).sqrt().min(MOST_RELAXED);
        Task::new(self.sigma, self.relative, root, self.left_out, crowding)
    }

    /// The same where all rows are certified by the charts.
    pub(super) fn task_for_all(&self, crowding: f64) -> Option<Task> {
        Task::new(self.sigma, self.relative, self.root, self.left_out, crowding)
    }

    /// The cheapest lattice of the plane; for the sphere only cubes to count in.
    pub(super) fn ruler(&self, metric: Metric, curve: Curve, load: Load) -> Option<(Ruler, Option<Window>)> {
        let dimensions = metric.dimensions();
        let level = |side: f64| curve.side() * (side * self.sigma / curve.side()).log2().floor().max(0.0).exp2();
        if metric == Metric::Sphere {
            let side = level(CUBE);
            return (side <= CUBE * self.sigma).then_some((Ruler { curve, dimensions, side }, None));
        }
        let demand = Demand {
            dimensions,
            sampling: self.relative,
            truncation: self.root,
            variances: (1.0, 1.0),
            root: 2.0,
            slant: 0.0,
            load,
        };
        let (window, side) = (0..5)
            .map(|double| level(SIDES.start) * f64::from(double).exp2())
            .filter(|side| SIDES.contains(&(side / self.sigma)))
            .filter_map(|side| Window::design(side / self.sigma, &demand).map(|window| (window, side)))
            .min_by(|a, b| a.0.cost(load).total_cmp(&b.0.cost(load)))?;
        Some((Ruler { curve, dimensions, side }, Some(window)))
    }
}

/// Sources between two that are looked at to see whether the lattice may be worth it.
const STRIDE: usize = 32;

/// About how many pairs of sources share a block, from a glance at some of them.
fn crowd(ruler: &Ruler, cloud: &Cloud, sources: Range<usize>) -> f64 {
    let keys: Vec<Key> = sources.step_by(STRIDE).map(|source| ruler.key(cloud, source)).collect();
    // Two in a row mean that there are as many sources at least; one alone may be the only one of its block.
    let crowded = keys.chunk_by(|a, b| a == b).filter(|block| block.len() > 1);
    crowded.map(|block| ((block.len() * STRIDE) as f64).powi(2)).sum()
}

/// Blocks with fewer places than this do not count: most blocks, and not worth looking up.
const NOTABLE: usize = 8;

/// For each block of sources the number of targets in it and its neighbours; none for blocks that do not count.
fn targets_near(sources: &[Run], targets: &[Run], dimensions: usize) -> Vec<usize> {
    let notable = |run: &&Run| run.places.len() >= NOTABLE;
    let count: HashMap<Key, usize> = targets.iter().filter(notable).map(|run| (run.key, run.places.len())).collect();
    let first = 3 - dimensions;
    let corner = |key: &Key| std::array::from_fn(|k| if k < first { key[k] } else { key[k] - 1 });
    let near = |run: &Run| {
        let around = cube(corner(&run.key), dimensions, 3).filter(|_| run.places.len() >= NOTABLE);
        around.filter_map(|key| count.get(&key)).sum()
    };
    sources.par_iter().map(near).collect()
}

/// What finding out which blocks there are costs for each source and target, whether on the lattice or not, in multiplications.
const OVERHEAD: f64 = 100.0;

/// What things cost, in multiplications, for two columns.
struct Costs {
    point: f64,
    block: f64,
}

impl Costs {
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
