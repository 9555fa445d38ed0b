//! The sphere on lattices: which charts there are, and the sums of each.
//!
//! A chart owns the targets of a piece of the curve. Sources within reach of them are spread in it too, so that those near an
//! edge are in more than one chart. Large charts need more sets of columns ([`expansion`](super::expansion)), small ones have more
//! sources in common: the cheapest size is taken.

use std::ops::Range;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::super::bounds::Bounds;
use super::chart::{Cap, Frame, Plot, Sheet, angle, squared_chord};
use super::expansion::{Expansion, Extent};
use super::grid::{Grid, Reads, Spreads};
use super::mixture::Mixture;
use super::ruler::{Ruler, Run};
use super::taps::{Charted, Taps};
use super::window::{Demand, Load, Window};
use super::yardstick::Yardstick;
use crate::scene::{Cloud, Layout};

/// Sides of blocks that are tried, in σ, each a little larger than the one before.
const SIDES: Range<f64> = 1.5..14.0;
const NEXT_SIDE: f64 = 1.1;
/// Smallest slant for which terms are looked for: no chart is so small that it matters.
const LEAST_SLANT: f64 = 1e-6;
/// Most charts: beyond, each has so few targets that the lattice is of no use.
pub(super) const MOST_CHARTS: usize = 1000;
/// Blocks from the centre of a chart to its edge that their numbers can count.
const MOST_BLOCKS: f64 = 1e9;
/// Roundings besides those of the lattice itself: of scales and directions, which change distances and so matter as the decay
/// does, up to 10 σ; of powers and factors.
const ROUNDINGS: f64 = 50.0 * 16.0 + 64.0;

/// Part of the relative error that the expansion gets; the rest is for sampling.
const EXPANDING_SHARE: f64 = 0.5;
/// Part of the error of the expansion that the mixture of chords gets.
const MIXTURE_SHARE: f64 = 0.7;

/// What a multiplication at a node costs next to one at a point, which also loads and stores.
const NODE: f64 = 0.3;

/// What charts are for, and how accurate they must be.
#[derive(Clone, Debug)]
pub(super) struct Task {
    /// σ in radians.
    sigma: f64,
    /// Relative error of the sampling.
    relative: f64,
    /// Everything else, as a multiple of √K.
    root: f64,
    /// What the error of the expansion is measured by: it gets half of the above.
    yardstick: Yardstick,
    mixture: Mixture,
    /// Sources with a smaller kernel than this need not be in a chart.
    left_out: f64,
    /// Points in σ² where they are many, next to where the lattice begins to pay.
    crowding: f64,
}

impl Task {
    /// With this relative error for all, of which the expansion gets a part.
    pub(super) fn new(sigma: f64, relative: f64, root: f64, left_out: f64, crowding: f64) -> Option<Self> {
        let yardstick = Yardstick::new(2.0 * EXPANDING_SHARE * relative / root);
        let mixture = Mixture::of_arcs(sigma, &yardstick, 0.5 * MIXTURE_SHARE * root)?;
        Some(Self { sigma, relative: (1.0 - EXPANDING_SHARE) * relative, root, yardstick, mixture, left_out, crowding })
    }

    /// How far from its targets a chart takes sources, in radians.
    pub(super) fn halo(&self) -> f64 {
        self.sigma * (-2.0 * self.left_out.ln()).max(0.0).sqrt()
    }
}

/// What all charts have in common.
#[derive(Clone, Debug)]
pub(super) struct Design {
    pub(super) sheet: Sheet,
    pub(super) window: Window,
    pub(super) expansion: Expansion,
    /// κ of the yardstick that the expansion is measured by.
    near: f64,
    /// Largest kernel of what is not in a chart.
    pub(super) left_out: f64,
}

impl Design {
    /// The cheapest one for charts of this radius, an angle.
    pub(super) fn new(task: &Task, radius: f64) -> Option<Self> {
        let sigma = task.sigma;
        let square = (0.5 * radius.min(2.0)).tan().powi(2);
        // Scales from 1 to 1 + square, and the middle between them.
        let scale = 1.0 + 0.5 * square;
        let slant = (0.5 * square / scale * (1.0 + 1e-9)).max(LEAST_SLANT);
        let extent = Extent { sigma, slant, radius: 2.0 * square.sqrt() };
        let expansion = Expansion::new(&extent, &task.mixture, &task.yardstick, 0.5 * task.root)?;
        let demand = Demand {
            dimensions: 2,
            sampling: task.relative / expansion.near,
            truncation: task.root / expansion.amount,
            variances: expansion.terms.variances(),
            root: expansion.root,
            slant,
            load: crowded(&expansion, task),
        };
        let unit = sigma * scale;
        let sides = std::iter::successors(Some(SIDES.start), |side| Some(side * NEXT_SIDE));
        let (window, side) = sides
            .take_while(|side| SIDES.contains(side))
            .map(|side| few_digits(side * unit))
            .filter_map(|side| Window::design(side / unit, &demand).map(|window| (window, side)))
            .min_by(|a, b| a.0.cost(demand.load).total_cmp(&b.0.cost(demand.load)))?;
        let sheet = Sheet { scale, side, nodes: window.nodes };
        let (near, left_out) = (task.yardstick.near, task.left_out);
        (extent.radius < MOST_BLOCKS * side).then_some(Self { sheet, window, expansion, near, left_out })
    }

    /// Work for the points and nodes of one σ².
    pub(super) fn cost(&self, task: &Task) -> f64 {
        self.window.cost(crowded(&self.expansion, task))
    }

    /// Relative error of sampling and rounding, when so many points of a block come together at a node.
    pub(super) fn sampling(&self, points: usize) -> f64 {
        let window = &self.window;
        // The exponents of windows, each right to some units in the last place.
        let largest = 0.125 * (window.step * window.taps as f64).powi(2) / window.narrow();
        let roundings = window.roundings() + window.additions(points) + 4.0 * 10.0 * largest + ROUNDINGS;
        self.expansion.near * (window.sampling + self.expansion.in_all * roundings * 0.5 * f64::EPSILON)
    }

    /// Relative error of the expansion; it has another part that is a multiple of √K.
    pub(super) fn expanding(&self) -> f64 {
        self.near * self.expansion.miss
    }

    /// Error of everything that is cut off, as a multiple of √K.
    pub(super) fn root(&self) -> f64 {
        self.expansion.miss + self.expansion.amount * self.window.truncation
    }
}

fn crowded(expansion: &Expansion, task: &Task) -> Load {
    let load = expansion.terms.load();
    Load { point: load.point * task.crowding, node: load.node * NODE }
}

/// A number with sixteen binary digits of its mantissa.
fn few_digits(x: f64) -> f64 {
    f64::from_bits(x.to_bits() & !((1 << 36) - 1))
}

/// Charts before their sources are known.
pub(super) struct Survey {
    pub(super) design: Design,
    /// The targets of each chart and where they are.
    pieces: Vec<(Range<usize>, Cap)>,
    halo: f64,
}

impl Survey {
    /// The cheapest way to cut targets into charts.
    pub(super) fn new(task: &Task, layout: &Layout, sources: &Range<usize>, targets: &Range<usize>) -> Option<Self> {
        let halo = task.halo();
        let whole = vec![(targets.clone(), Cap::around(&layout.targets, targets.clone()))];
        let widest = whole[0].1.radius;
        let farthest = farthest(&layout.sources, &whole[0].1, sources);
        let sides = std::iter::successors(Some(layout.curve.side()), |side| Some(2.0 * side));
        let cut = sides.skip_while(|side| *side < 4.0 * halo).take_while(|side| *side < widest).filter_map(|side| {
            let ruler = Ruler { curve: layout.curve, dimensions: 3, side };
            let runs = ruler.runs(&layout.targets, targets.clone(), 1);
            let cap = |run: Run| (run.places.clone(), Cap::around(&layout.targets, run.places));
            let overlap = (1.0 + 2.0 * halo / side).powi(2);
            (runs.len() <= MOST_CHARTS).then(|| (runs.into_iter().map(cap).collect::<Vec<_>>(), f64::INFINITY, overlap))
        });
        let survey = |(pieces, farthest, overlap): (Vec<(Range<usize>, Cap)>, f64, f64)| {
            let widest = pieces.iter().map(|(_, cap)| cap.radius).fold(0.0, f64::max);
            let design = Design::new(task, (widest + halo).min(farthest.max(widest)))?;
            Some((overlap * design.cost(task), Self { design, pieces, halo }))
        };
        let surveys = std::iter::once((whole, farthest, 1.0)).chain(cut).filter_map(survey);
        surveys.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, survey)| survey)
    }

    /// Charts with those sources on them that are in these runs of blocks, whose side is given.
    pub(super) fn charts(self, layout: &Layout, sources: &[Run], side: f64) -> Atlas {
        let Self { design, pieces, halo } = self;
        let chart = |(targets, cap): (Range<usize>, Cap)| {
            let reach = Reach::new(&layout.targets, &targets, cap, halo);
            let sources = reach.of(&layout.sources, sources, side);
            let frame = Frame::about(cap.centre);
            Chart::new(&design, &frame, layout, &sources, targets)
        };
        Atlas { sheet: design.sheet, charts: pieces.into_par_iter().map(chart).collect() }
    }
}

/// The largest angle from the centre of a cap to a source.
pub(super) fn farthest(sources: &Cloud, cap: &Cap, places: &Range<usize>) -> f64 {
    let squares = places.clone().into_par_iter().with_min_len(1 << 14).map(|place| cap.squared_chord(sources, place));
    angle(squares.reduce(|| 0.0, f64::max))
}

/// Runs of sources that a task takes at least.
const RUNS_AT_ONCE: usize = 64;

/// Where the sources of a chart are.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Reach {
    cap: Cap,
    /// Largest squared chord from the centre: the chart is designed for no more.
    from_centre: f64,
    /// The box around the targets. It leaves out much of what the cap, which is round, has beside them.
    bounds: Bounds,
    /// Largest squared chord from there.
    from_bounds: f64,
}

impl Reach {
    /// Around some targets within a cap: what is farther than the halo from the cap or from the box is so from each target.
    pub(super) fn new(cloud: &Cloud, targets: &Range<usize>, cap: Cap, halo: f64) -> Self {
        let bounds = Bounds::around(cloud, 3, targets);
        Self { cap, from_centre: squared_chord(cap.radius + halo), bounds, from_bounds: squared_chord(halo) }
    }

    /// The same around targets that are so much farther out than what was taken for them, in chords.
    pub(super) fn widened(self, off: f64) -> Self {
        Self { from_bounds: (self.from_bounds.sqrt() + off).powi(2), ..self }
    }

    /// The sources within reach, of those in some runs of blocks, whose side is given.
    fn of(&self, cloud: &Cloud, runs: &[Run], side: f64) -> Vec<u32> {
        let diagonal = 3.0_f64.sqrt() * side;
        let within = |run: &Run| {
            let (centre, bounds) = self.squares(cloud, run.places.start);
            let [centre, bounds] = [centre.sqrt() - self.from_centre.sqrt(), bounds.sqrt() - self.from_bounds.sqrt()];
            let farther = centre.max(bounds);
            let (all, none) = (farther + diagonal < 0.0, farther - diagonal > 0.0);
            let places = if none { 0..0 } else { run.places.clone() };
            places.filter(move |place| all || self.holds(cloud, *place)).map(|place| place as u32)
        };
        runs.par_iter().with_min_len(RUNS_AT_ONCE).flat_map_iter(within).collect()
    }

    pub(super) fn holds(&self, cloud: &Cloud, place: usize) -> bool {
        let (centre, bounds) = self.squares(cloud, place);
        centre <= self.from_centre && bounds <= self.from_bounds
    }

    /// Squared chords from the centre and from the box.
    fn squares(&self, cloud: &Cloud, place: usize) -> (f64, f64) {
        let here = Bounds::at(&cloud.place::<3>(place));
        (self.cap.squared_chord(cloud, place), self.bounds.squared_distance(&here))
    }
}

/// All charts of a group.
pub(super) struct Atlas {
    pub(super) sheet: Sheet,
    pub(super) charts: Vec<Chart>,
}

impl Atlas {
    /// Most sources in a block.
    pub(super) fn largest_block(&self) -> usize {
        let blocks = self.charts.iter().flat_map(|chart| &chart.sources.runs);
        blocks.map(|run| run.places.len()).max().unwrap_or(0)
    }
}

/// A chart with the targets that it owns and the sources near them.
pub(super) struct Chart {
    grid: Grid,
    sources: Plot,
    targets: Plot,
    owns: Range<usize>,
    /// Where in the order of blocks each target is.
    rank: Vec<u32>,
}

impl Chart {
    fn new(design: &Design, frame: &Frame, layout: &Layout, sources: &[u32], owns: Range<usize>) -> Self {
        let all: Vec<u32> = (owns.start as u32..owns.end as u32).collect();
        let (sources, targets) = rayon::join(
            || frame.plot(&design.sheet, &layout.sources, sources),
            || frame.plot(&design.sheet, &layout.targets, &all),
        );
        let mut rank = vec![0; owns.len()];
        for (at, place) in (0..).zip(&targets.places) {
            rank[*place as usize - owns.start] = at;
        }
        let terms = design.expansion.terms.clone();
        let grid = Grid::new(design.window, terms, sources.runs.clone(), targets.runs.clone());
        Self { grid, sources, targets, owns, rank }
    }

    /// Places that it keeps.
    pub(super) fn places(&self) -> usize {
        self.sources.places.len() + self.targets.places.len()
    }

    /// Bytes that sums take for each column.
    pub(super) fn bytes(&self) -> u64 {
        self.grid.bytes() + 8 * self.owns.len() as u64
    }

    /// The targets whose sums it gives.
    pub(super) fn targets(&self) -> Range<usize> {
        self.owns.clone()
    }

    /// The sums of all its targets, in the order of its blocks.
    pub(super) fn sums(&self, sheet: &Sheet, columns: &[&[f64]]) -> Vec<f64> {
        let [sources, targets] = [&self.sources, &self.targets].map(|plot| OnChart { sheet, plot, columns });
        let mut values = vec![0.0; self.owns.len() * columns.len()];
        for block in self.grid.sums(&sources, &targets, columns.len()) {
            let start = block.places.start * columns.len();
            values[start..start + block.values.len()].copy_from_slice(&block.values);
        }
        values
    }

    /// The sums of one target among those of all.
    pub(super) fn of_target<'a>(&self, values: &'a [f64], target: usize, columns: usize) -> &'a [f64] {
        let at = self.rank[target - self.owns.start] as usize * columns;
        &values[at..at + columns]
    }
}

/// Places of a chart, with sets of columns as the terms of the kernel want them.
pub(super) struct OnChart<'a> {
    pub(super) sheet: &'a Sheet,
    pub(super) plot: &'a Plot,
    pub(super) columns: &'a [&'a [f64]],
}

/// What some places need for their windows, place by place.
struct Scales {
    /// α.
    slants: Vec<f64>,
    /// How fast windows decay, to base 2, in nodes.
    decays: Vec<f64>,
    /// `(1 + α) t / (t + α)`: the lattice gives the kernel divided by its variance, times those of the two windows and divided
    /// by t².
    factors: Vec<f64>,
}

impl OnChart<'_> {
    fn scales(&self, window: &Window, run: &Run) -> Scales {
        let places = run.places.clone();
        let slant = |place: usize| self.sheet.slant(&run.key, [0, 1].map(|k: usize| self.plot.positions[k][place]));
        let slants: Vec<f64> = places.map(slant).collect();
        let decay = 0.5 * std::f64::consts::LOG2_E * window.step * window.step;
        Scales {
            decays: slants.iter().map(|slant| decay / (window.outer + slant)).collect(),
            factors: slants.iter().map(|slant| (1.0 + slant) * window.outer / (window.outer + slant)).collect(),
            slants,
        }
    }

    fn spots<'a>(&'a self, run: &Run, scales: &'a Scales) -> Charted<'a> {
        let positions = [0, 1].map(|k: usize| &self.plot.positions[k][run.places.clone()]);
        Charted { positions, decays: &scales.decays }
    }
}

impl Spreads for OnChart<'_> {
    fn spread(&self, taps: &Taps, run: &Run, nodes: &mut [f64]) {
        let scales = self.scales(&taps.window, run);
        let places = &self.plot.places[run.places.clone()];
        let mut powers = scales.factors.clone();
        let mut sets: Vec<Vec<f64>> = Vec::new();
        while sets.len() * taps.shape.len() < nodes.len() {
            for column in self.columns {
                sets.push(places.iter().zip(&powers).map(|(place, power)| power * column[*place as usize]).collect());
            }
            powers.iter_mut().zip(&scales.slants).for_each(|(power, slant)| *power *= slant);
        }
        let columns: Vec<&[f64]> = sets.iter().map(Vec::as_slice).collect();
        taps.spread(&self.spots(run, &scales), 0..places.len(), &columns, nodes);
    }
}

impl Reads for OnChart<'_> {
    fn read(&self, taps: &Taps, run: &Run, nodes: &[f64], values: &mut [f64]) {
        let scales = self.scales(&taps.window, run);
        let of_sets = nodes.len() / taps.shape.len();
        let mut sets = vec![0.0; run.places.len() * of_sets];
        taps.read(&self.spots(run, &scales), 0..run.places.len(), nodes, &mut sets);
        let columns = self.columns.len();
        let places = values.chunks_exact_mut(columns).zip(sets.chunks_exact(of_sets));
        for ((values, sets), (slant, factor)) in places.zip(scales.slants.iter().zip(&scales.factors)) {
            // By Horner's rule, the highest power first.
            for set in sets.chunks_exact(columns).rev() {
                values.iter_mut().zip(set).for_each(|(value, set)| *value = *value * slant + set);
            }
            for value in values {
                *value *= factor;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::super::{Engine, Exact};
    use super::super::Fast;
    use super::super::split::{Lattice, Split};
    use super::*;
    use crate::points::Places;
    use crate::scene::{Own, Scene};
    use crate::space::Sigma;

    /// Numbers between 0 and 1 with a fixed sequence.
    struct Random(u64);

    impl Random {
        fn unit(&mut self) -> f64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 11) as f64 / (1_u64 << 53) as f64
        }

        /// Places around one, so many degrees in latitude and as far in longitude, and never beyond a pole.
        fn around(&mut self, latitude: f64, longitude: f64, degrees: f64, count: usize) -> Vec<(f64, f64)> {
            let across = degrees / latitude.to_radians().cos().max(0.01);
            let place = |_| {
                let (north, east) = (2.0 * self.unit() - 1.0, 2.0 * self.unit() - 1.0);
                ((latitude + degrees * north).clamp(-90.0, 90.0), (longitude + across * east).clamp(-180.0, 360.0))
            };
            (0..count).map(place).collect()
        }

        /// Cities all over the globe.
        fn cities(&mut self, count: usize) -> Vec<(f64, f64)> {
            let city = |k: usize| (40.0 * (0.9 * k as f64).sin(), 30.0 * k as f64 - 180.0);
            (0..count).flat_map(|k| self.around(city(k).0, city(k).1, 1.0, 500)).collect()
        }
    }

    fn places(rows: &[(f64, f64)]) -> Places {
        Places::lat_lon(rows.iter().map(|row| row.0).collect(), rows.iter().map(|row| row.1).collect()).unwrap()
    }

    fn scene(kilometres: f64, targets: &Places, labelled: &Places, own: Own) -> Scene {
        let sigma = Sigma::metres(1000.0 * kilometres).unwrap();
        Scene::new(sigma, targets, &[(targets, 1.0), (labelled, 0.7)], own).unwrap()
    }

    /// Compares two columns with all pairs for some tolerances; every error must stay within its bound and every bound within
    /// the tolerance. Gives the charts at the middle tolerance and how much of a bound was used.
    fn check(scene: Scene, what: &str) -> (usize, f64) {
        let scene = Arc::new(scene);
        let values = |row: usize| (0.5 * (0.37 * row as f64).sin(), if row.is_multiple_of(3) { 0.5 } else { -0.5 });
        let columns = [0, 1].map(|k| {
            let value = |row: usize| if k == 0 { values(row).0 } else { values(row).1 };
            scene.mass.iter().enumerate().map(|(row, mass)| mass * value(row)).collect::<Vec<f64>>()
        });
        let exact = Exact::default().plan(scene.clone(), &()).unwrap().sums(&columns, &());
        let mut used = 0.0_f64;
        for tolerance in [1e-3, 1e-6, 1e-10] {
            let fast = Fast { tolerance, memory_limit: None }.plan(scene.clone(), &()).unwrap().sums(&columns, &());
            for row in 0..exact.mass.len() {
                let (scale, bound) = ((exact.exponent[row] - fast.exponent[row]).exp2(), fast.error[row]);
                let most = bound + scale * exact.error[row];
                let off = (fast.mass[row] - scale * exact.mass[row]).abs();
                assert!(off <= most, "{what} to {tolerance:e}, row {row}: mass {off:e} above {most:e}");
                for (fast, exact) in fast.values.iter().zip(&exact.values) {
                    let off = (fast[row] - scale * exact[row]).abs();
                    assert!(off <= 0.5 * most, "{what} to {tolerance:e}, row {row}: value {off:e} above {most:e}");
                }
                assert!(
                    bound <= tolerance * (fast.mass[row] + scene.beside),
                    "{what} to {tolerance:e}, row {row}: bound"
                );
                used = used.max(off / most);
            }
        }
        let charts = (0..scene.layout.sources.groups.len()).map(|group| {
            match Split::new(&scene, group, 1e-6).thick.map(|thick| thick.lattice) {
                Some(Lattice::Sphere(atlas)) => atlas.charts.len(),
                _ => 0,
            }
        });
        (charts.min().unwrap(), used)
    }

    #[test]
    fn the_whole_globe_takes_many_charts() {
        let mut random = Random(1);
        let [targets, labelled] = [(); 2].map(|()| places(&random.cities(13)));
        let (charts, used) = check(scene(30.0, &targets, &labelled, Own::Counts), "globe");
        assert!(charts > 4 && used > 1e-3, "{charts} charts, {used}");
    }

    #[test]
    fn a_pole_and_the_date_line_are_places_like_others() {
        let mut random = Random(2);
        let rows = |random: &mut Random| {
            let mut rows: Vec<(f64, f64)> =
                (0..4000).map(|_| (90.0 - 4.0 * random.unit().sqrt(), 360.0 * random.unit() - 180.0)).collect();
            rows.extend([(90.0, 0.0), (90.0, 77.0), (88.0, 180.0), (88.0, -180.0)]);
            rows
        };
        let [targets, labelled] = [(); 2].map(|()| places(&rows(&mut random)));
        let (charts, used) = check(scene(40.0, &targets, &labelled, Own::Counts), "pole");
        assert!(charts == 1 && used > 1e-3, "{charts} charts, {used}");
    }

    #[test]
    fn a_city_at_the_edge_of_a_large_chart() {
        let mut random = Random(3);
        let rows = |random: &mut Random| {
            let mut rows = random.around(40.0, 170.0, 20.0, 1500);
            rows.extend(random.around(60.0, 140.0, 1.0, 3500));
            rows.extend(random.around(20.0, 190.0, 0.3, 1000));
            rows
        };
        let [targets, labelled] = [(); 2].map(|()| places(&rows(&mut random)));
        for kilometres in [15.0, 60.0] {
            let (charts, used) = check(scene(kilometres, &targets, &labelled, Own::Counts), "edge");
            assert!(charts > 0 && used > 1e-3, "{kilometres} km: {charts} charts, {used}");
        }
    }

    #[test]
    fn sources_beyond_the_edge_of_a_chart_count() {
        // Targets along two meridians far apart, labelled rows beside one of them, and each row left out of its own sum.
        let mut random = Random(4);
        let mut rows = random.around(10.0, 20.0, 0.4, 3000);
        rows.extend(random.around(10.0, 120.0, 0.4, 3000));
        let targets = places(&rows);
        let labelled = places(&random.around(12.2, 20.0, 0.8, 5000));
        for own in [Own::Counts, Own::LeftOut] {
            let (charts, used) = check(scene(30.0, &targets, &labelled, own), "halo");
            assert!(charts > 1 && used > 1e-3, "{charts} charts, {used}");
        }
    }

    #[test]
    fn groups_and_mass_beside() {
        let mut random = Random(5);
        let grouped = |random: &mut Random| {
            let rows = random.around(-33.0, 18.0, 2.0, 6000);
            places(&rows).with_groups((0..6000).map(|row| row % 2).collect()).unwrap()
        };
        let (targets, labelled) = (grouped(&mut random), grouped(&mut random));
        let mut scene = scene(25.0, &targets, &labelled, Own::Counts);
        scene.beside = 10.0;
        let (charts, used) = check(scene, "groups");
        assert!(charts == 1 && used > 1e-3, "{charts} charts, {used}");
    }

    #[test]
    fn a_design_keeps_what_it_is_asked_for() {
        for (kilometres, radius) in [(0.1, 0.5), (1.0, 0.3), (10.0, 0.45), (100.0, 0.3)] {
            let task = Task::new(kilometres / 6371.0, 3e-7, 6e-10, 1e-13, 1.0).expect("a mixture");
            let design = Design::new(&task, radius).expect("a chart of a continent");
            assert!(design.sampling(1000) < 1.1 * task.relative && design.root() < 1.7 * task.root, "{design:?}");
            assert!(design.expanding() <= 0.5 * task.root * task.yardstick.near, "{design:?}");
            // Corners of blocks are exact.
            assert_eq!(few_digits(design.sheet.side).to_bits() & 0xF_FFFF_FFFF, 0);
        }
        assert!(Task::new(0.5, 3e-7, 6e-10, 1e-13, 1.0).is_none_or(|task| Design::new(&task, 0.5).is_none()));
    }
}
