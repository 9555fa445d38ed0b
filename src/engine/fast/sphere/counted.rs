//! Charts of the sphere for rows that nobody has all at once: where they are, by the cubes that rows are counted in.

use std::collections::BTreeMap;
use std::ops::Range;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::atlas::{MOST_CHARTS, SourceReach, farthest};
use super::cap::{Cap, angle, squared_chord};
use super::chart::{ChartGrid, ChartPlaces, Frame};
use super::design::{ChartDemand, ChartDesign};
use crate::engine::fast::lattice::{BlockKey, CountedRows, ascending};
use crate::scene::Cloud;

/// Charts, each with the targets of some cubes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct CountedAtlas {
    pub(crate) grid: ChartGrid,
    pub(crate) charts: Vec<ChartSite>,
    /// Side of the cubes, and the chart of each.
    side: f64,
    of_cube: FxHashMap<[i64; 3], u32>,
}

/// One chart.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct ChartSite {
    frame: Frame,
    reach: SourceReach,
}

impl ChartSite {
    /// Puts those of some places that its targets need into its blocks.
    pub(crate) fn sources(&self, grid: &ChartGrid, cloud: &Cloud, places: Range<usize>) -> ChartPlaces {
        let near: Vec<u32> = places.filter(|place| self.reach.holds(cloud, *place)).map(|place| place as u32).collect();
        self.frame.lay_out(grid, cloud, &near)
    }

    pub(crate) fn targets(&self, grid: &ChartGrid, cloud: &Cloud, places: &[u32]) -> ChartPlaces {
        self.frame.lay_out(grid, cloud, places)
    }
}

impl CountedAtlas {
    /// The cheapest way to cut the targets into charts.
    pub(crate) fn draft(task: &ChartDemand, counted: &CountedRows) -> Option<(ChartDesign, Self)> {
        let halo = task.halo();
        let whole =
            CubeCluster::around(counted.cubes.iter().filter(|cube| cube.targets).map(|cube| cube.at), counted.side);
        let all = centres(counted.cubes.iter().map(|cube| cube.at), counted.side);
        let widest = whole.cap.radius;
        let farthest = farther(farthest(&all, &whole.cap, &(0..all.len())), half_diagonal(counted.side));
        let one = ChartCut { pieces: vec![([0; 3], whole)], side: f64::INFINITY, farthest, overlap: 1.0 };
        let sides = std::iter::successors(Some(counted.side), |side| Some(2.0 * side));
        // Small charts have most of their sources in common with others, but where σ is wide they are all there is.
        let cuts = sides.skip_while(|side| *side < 0.5 * halo).take_while(|side| *side < widest);
        let cut = |side: f64| ChartCut::new(counted, side, halo);
        let surveys = std::iter::once(one).chain(cuts.filter_map(cut)).filter_map(|cut| cut.design(task, halo));
        surveys.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, design, atlas)| (design, atlas))
    }

    /// The chart of each target, as places of the charts.
    pub(crate) fn owners(&self, cloud: &Cloud, places: Range<usize>) -> Vec<Vec<u32>> {
        let mut of_chart = vec![Vec::new(); self.charts.len()];
        for place in places {
            let chart = self.owner(&cloud.place::<3>(place));
            of_chart[chart].push(place as u32);
        }
        of_chart
    }

    fn owner(&self, place: &[f64; 3]) -> usize {
        if self.charts.len() == 1 {
            return 0;
        }
        // Rows that were not counted have no chart; in any other they find nothing, which is told.
        self.of_cube.get(&place.map(|x| (x / self.side).floor() as i64)).map_or(0, |chart| *chart as usize)
    }

    /// The blocks of sources and of targets of each chart, by the centres of cubes: about.
    pub(crate) fn blocks(&self, counted: &CountedRows) -> Vec<(Vec<BlockKey>, Vec<BlockKey>)> {
        let all = centres(counted.cubes.iter().map(|cube| cube.at), counted.side);
        let targets = centres(counted.cubes.iter().filter(|cube| cube.targets).map(|cube| cube.at), counted.side);
        let owners = self.owners(&targets, 0..targets.len());
        let keys = |laid: &ChartPlaces| ascending(laid.runs.iter().map(|run| run.key).collect());
        let of_chart = |(chart, owned): (&ChartSite, &Vec<u32>)| {
            let sources = chart.sources(&self.grid, &all, 0..all.len());
            (keys(&sources), keys(&chart.targets(&self.grid, &targets, owned)))
        };
        self.charts.iter().zip(&owners).map(of_chart).collect()
    }
}

/// One way to cut the targets.
struct ChartCut {
    pieces: Vec<([i64; 3], CubeCluster)>,
    side: f64,
    /// Largest angle from a centre to a source.
    farthest: f64,
    /// How many times a source is in a chart, about.
    overlap: f64,
}

impl ChartCut {
    /// Into cubes of this side; none if there are too many.
    fn new(counted: &CountedRows, side: f64, halo: f64) -> Option<Self> {
        let ratio = (side / counted.side) as i64;
        let mut pieces: BTreeMap<[i64; 3], Vec<[i64; 3]>> = BTreeMap::new();
        for cube in counted.cubes.iter().filter(|cube| cube.targets) {
            pieces.entry(cube.at.map(|number| number.div_euclid(ratio))).or_default().push(cube.at);
        }
        let piece =
            |(cube, cubes): ([i64; 3], Vec<[i64; 3]>)| (cube, CubeCluster::around(cubes.into_iter(), counted.side));
        (pieces.len() <= MOST_CHARTS).then(|| Self {
            pieces: pieces.into_iter().map(piece).collect(),
            side,
            farthest: f64::INFINITY,
            overlap: (1.0 + 2.0 * halo / side).powi(2),
        })
    }

    /// What it costs, and the charts.
    fn design(self, task: &ChartDemand, halo: f64) -> Option<(f64, ChartDesign, CountedAtlas)> {
        let widest = self.pieces.iter().map(|(_, piece)| piece.cap.radius).fold(0.0, f64::max);
        let design = ChartDesign::new(task, (widest + halo).min(self.farthest.max(widest)))?;
        let site = |(_, piece): &([i64; 3], CubeCluster)| ChartSite {
            frame: Frame::about(piece.cap.centre),
            reach: piece.reach(halo),
        };
        let atlas = CountedAtlas {
            grid: design.grid,
            charts: self.pieces.iter().map(site).collect(),
            side: self.side,
            of_cube: self.pieces.iter().map(|(cube, _)| *cube).zip(0..).collect(),
        };
        Some((self.overlap * design.cost(task), design, atlas))
    }
}

/// Cubes of targets that share a chart.
pub(crate) struct CubeCluster {
    pub(crate) cap: Cap,
    centres: Cloud,
    /// What is in a cube is no farther than this from its centre.
    off: f64,
}

impl CubeCluster {
    pub(crate) fn around(cubes: impl Iterator<Item = [i64; 3]>, side: f64) -> Self {
        let centres = centres(cubes, side);
        let cap = Cap::around(&centres, 0..centres.len());
        let off = half_diagonal(side);
        Self { cap: Cap { radius: farther(cap.radius, off), ..cap }, centres, off }
    }

    fn reach(&self, halo: f64) -> SourceReach {
        SourceReach::new(&self.centres, &(0..self.centres.len()), self.cap, halo).widened(self.off)
    }
}

/// What is in a cube is no farther than this from its centre.
pub(crate) fn half_diagonal(side: f64) -> f64 {
    0.5 * 3.0_f64.sqrt() * side
}

/// An angle whose chord is longer by so much.
pub(crate) fn farther(radius: f64, off: f64) -> f64 {
    angle((squared_chord(radius).sqrt() + off).powi(2))
}

/// The centres of cubes.
pub(crate) fn centres(cubes: impl Iterator<Item = [i64; 3]>, side: f64) -> Cloud {
    let mut axes = vec![Vec::new(); 6];
    for cube in cubes {
        for k in 0..3 {
            axes[k].push((cube[k] as f64 + 0.5) * side);
        }
    }
    let count = axes[0].len();
    axes[3..].iter_mut().for_each(|low| low.resize(count, 0.0));
    Cloud { axes, groups: Vec::new() }
}
