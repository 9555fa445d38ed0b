//! Charts of the sphere for rows that nobody has all at once: where they are, by the cubes that rows are counted in.

use std::collections::BTreeMap;
use std::ops::Range;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::atlas::{Design, MOST_CHARTS, Reach, Task, farthest};
use super::chart::{Cap, Frame, Plot, Sheet, angle, squared_chord};
use super::lattice::Key;
use super::pattern::{Outline, ascending};
use crate::scene::Cloud;

/// Charts, each with the targets of some cubes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Sites {
    pub(super) sheet: Sheet,
    pub(super) charts: Vec<Site>,
    /// Side of the cubes, and the chart of each.
    side: f64,
    of_cube: FxHashMap<[i64; 3], u32>,
}

/// One chart.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Site {
    frame: Frame,
    reach: Reach,
}

impl Site {
    /// Puts those of some places that its targets need into its blocks.
    pub(super) fn sources(&self, sheet: &Sheet, cloud: &Cloud, places: Range<usize>) -> Plot {
        let near: Vec<u32> = places.filter(|place| self.reach.holds(cloud, *place)).map(|place| place as u32).collect();
        self.frame.plot(sheet, cloud, &near)
    }

    pub(super) fn targets(&self, sheet: &Sheet, cloud: &Cloud, places: &[u32]) -> Plot {
        self.frame.plot(sheet, cloud, places)
    }
}

impl Sites {
    /// The cheapest way to cut the targets into charts.
    pub(super) fn survey(task: &Task, outline: &Outline) -> Option<(Design, Self)> {
        let halo = task.halo();
        let whole = Piece::around(outline.cubes.iter().filter(|cube| cube.targets).map(|cube| cube.at), outline.side);
        let all = centres(outline.cubes.iter().map(|cube| cube.at), outline.side);
        let widest = whole.cap.radius;
        let farthest = farther(farthest(&all, &whole.cap, &(0..all.len())), half_diagonal(outline.side));
        let one = Cut { pieces: vec![([0; 3], whole)], side: f64::INFINITY, farthest, overlap: 1.0 };
        let sides = std::iter::successors(Some(outline.side), |side| Some(2.0 * side));
        // Small charts have most of their sources in common with others, but where σ is wide they are all there is.
        let cuts = sides.skip_while(|side| *side < 0.5 * halo).take_while(|side| *side < widest);
        let cut = |side: f64| Cut::new(outline, side, halo);
        let surveys = std::iter::once(one).chain(cuts.filter_map(cut)).filter_map(|cut| cut.design(task, halo));
        surveys.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, design, sites)| (design, sites))
    }

    /// The chart of each target, as places of the charts.
    pub(super) fn owners(&self, cloud: &Cloud, places: Range<usize>) -> Vec<Vec<u32>> {
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
    pub(super) fn blocks(&self, outline: &Outline) -> Vec<(Vec<Key>, Vec<Key>)> {
        let all = centres(outline.cubes.iter().map(|cube| cube.at), outline.side);
        let targets = centres(outline.cubes.iter().filter(|cube| cube.targets).map(|cube| cube.at), outline.side);
        let owners = self.owners(&targets, 0..targets.len());
        let keys = |plot: &Plot| ascending(plot.runs.iter().map(|run| run.key).collect());
        let of_chart = |(chart, owned): (&Site, &Vec<u32>)| {
            let sources = chart.sources(&self.sheet, &all, 0..all.len());
            (keys(&sources), keys(&chart.targets(&self.sheet, &targets, owned)))
        };
        self.charts.iter().zip(&owners).map(of_chart).collect()
    }
}

/// One way to cut the targets.
struct Cut {
    pieces: Vec<([i64; 3], Piece)>,
    side: f64,
    /// Largest angle from a centre to a source.
    farthest: f64,
    /// How many times a source is in a chart, about.
    overlap: f64,
}

impl Cut {
    /// Into cubes of this side; none if there are too many.
    fn new(outline: &Outline, side: f64, halo: f64) -> Option<Self> {
        let ratio = (side / outline.side) as i64;
        let mut pieces: BTreeMap<[i64; 3], Vec<[i64; 3]>> = BTreeMap::new();
        for cube in outline.cubes.iter().filter(|cube| cube.targets) {
            pieces.entry(cube.at.map(|number| number.div_euclid(ratio))).or_default().push(cube.at);
        }
        let piece = |(cube, cubes): ([i64; 3], Vec<[i64; 3]>)| (cube, Piece::around(cubes.into_iter(), outline.side));
        (pieces.len() <= MOST_CHARTS).then(|| Self {
            pieces: pieces.into_iter().map(piece).collect(),
            side,
            farthest: f64::INFINITY,
            overlap: (1.0 + 2.0 * halo / side).powi(2),
        })
    }

    /// What it costs, and the charts.
    fn design(self, task: &Task, halo: f64) -> Option<(f64, Design, Sites)> {
        let widest = self.pieces.iter().map(|(_, piece)| piece.cap.radius).fold(0.0, f64::max);
        let design = Design::new(task, (widest + halo).min(self.farthest.max(widest)))?;
        let site =
            |(_, piece): &([i64; 3], Piece)| Site { frame: Frame::about(piece.cap.centre), reach: piece.reach(halo) };
        let sites = Sites {
            sheet: design.sheet,
            charts: self.pieces.iter().map(site).collect(),
            side: self.side,
            of_cube: self.pieces.iter().map(|(cube, _)| *cube).zip(0..).collect(),
        };
        Some((self.overlap * design.cost(task), design, sites))
    }
}

/// Cubes of targets that share a chart.
pub(super) struct Piece {
    pub(super) cap: Cap,
    centres: Cloud,
    /// What is in a cube is no farther than this from its centre.
    off: f64,
}

impl Piece {
    pub(super) fn around(cubes: impl Iterator<Item = [i64; 3]>, side: f64) -> Self {
        let centres = centres(cubes, side);
        let cap = Cap::around(&centres, 0..centres.len());
        let off = half_diagonal(side);
        Self { cap: Cap { radius: farther(cap.radius, off), ..cap }, centres, off }
    }

    fn reach(&self, halo: f64) -> Reach {
        Reach::new(&self.centres, &(0..self.centres.len()), self.cap, halo).widened(self.off)
    }
}

/// What is in a cube is no farther than this from its centre.
pub(super) fn half_diagonal(side: f64) -> f64 {
    0.5 * 3.0_f64.sqrt() * side
}

/// An angle whose chord is longer by so much.
pub(super) fn farther(radius: f64, off: f64) -> f64 {
    angle((squared_chord(radius).sqrt() + off).powi(2))
}

/// The centres of cubes.
pub(super) fn centres(cubes: impl Iterator<Item = [i64; 3]>, side: f64) -> Cloud {
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
