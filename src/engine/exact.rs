//! All pairs: no approximation beyond rounding. The oracle that every other engine is tested against.
//!
//! Tiles of sixteen targets meet runs of 128 sources. Runs whose kernel underflows to zero are skipped, which changes no digit.
//!
//! In: a scene. Out: sums over all pairs. Bound: rounding alone ([`rounding_error`]).

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use super::bounds::Bounds;
use super::pieces::pieces;
use super::plan::{Engine, Plan, Progress, Sums};
use super::rounding::{rounding_error, too_small};
use super::tile::{RUN, TargetTile};
use crate::error::Error;
use crate::kernel::{Decay, LANES, Lanes, VANISHED, WithDecay, with_decay};
use crate::scene::{Cloud, Layout, Scene};

/// The engine of all pairs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Exact {
    /// Bytes that it may take; `None` for no limit.
    pub memory_limit: Option<u64>,
}

/// Bytes of a group: where its runs end (4), and its weight (8).
const A_GROUP: u64 = 12;

impl Engine for Exact {
    fn plan(&self, scene: Arc<Scene>, _: &dyn Progress) -> Result<Box<dyn Plan>, Error> {
        let Layout { targets, sources, .. } = &*scene.layout;
        let (tiles, runs) = (count(targets, LANES), count(sources, RUN));
        let need = tiles * size_of::<TargetRun>() as u64
            + runs * size_of::<SourceRun>() as u64
            + sources.groups.len() as u64 * A_GROUP;
        if let Some(limit) = self.memory_limit.filter(|limit| need > *limit) {
            return Err(Error::Memory { what: "the engine of all pairs".to_owned(), need, limit });
        }
        let runs = SourceRuns::of(sources, scene.layout.metric.dimensions());
        Ok(Box::new(ExactPlan { scene, runs }))
    }
}

/// Number of pieces of this length that the groups are cut into.
fn count(cloud: &Cloud, length: usize) -> u64 {
    cloud.groups.iter().map(|group| group.len().div_ceil(length) as u64).sum()
}

struct ExactPlan {
    scene: Arc<Scene>,
    runs: SourceRuns,
}

/// Runs of sources, group after group.
struct SourceRuns {
    all: Vec<SourceRun>,
    /// Where the runs of each group end.
    ends: Vec<u32>,
}

/// Neighbouring sources and the box around them.
struct SourceRun {
    places: Range<usize>,
    bounds: Bounds,
}

impl SourceRuns {
    /// Cuts each group into runs of neighbours.
    fn of(cloud: &Cloud, dimensions: usize) -> Self {
        let all = Vec::with_capacity(count(cloud, RUN) as usize);
        let mut runs = Self { all, ends: Vec::with_capacity(cloud.groups.len()) };
        for group in &cloud.groups {
            let run = |places| SourceRun { bounds: Bounds::around(cloud, dimensions, &places), places };
            runs.all.extend(pieces(group, RUN).map(run));
            runs.ends.push(runs.all.len() as u32);
        }
        runs
    }

    fn of_group(&self, group: usize) -> &[SourceRun] {
        let start = if group == 0 { 0 } else { self.ends[group - 1] as usize };
        &self.all[start..self.ends[group] as usize]
    }
}

impl Plan for ExactPlan {
    fn sums(&self, columns: &[Vec<f64>], progress: &dyn Progress) -> Sums {
        with_decay(self.scene.layout.metric, self.scene.scale, AllTiles { plan: self, columns, progress })
    }
}

struct AllTiles<'a> {
    plan: &'a ExactPlan,
    columns: &'a [Vec<f64>],
    progress: &'a dyn Progress,
}

impl WithDecay for AllTiles<'_> {
    type Output = Sums;

    fn run<D: Decay<A>, const A: usize, const K: usize>(self, decay: D) -> Sums {
        let scene = &self.plan.scene;
        let all: Vec<&[f64]> = std::iter::once(&scene.mass).chain(self.columns).map(Vec::as_slice).collect();
        let tiles = target_runs(&scene.layout.targets);
        let weights: Vec<f64> = (0..scene.layout.sources.groups.len()).map(|group| scene.group_mass(group)).collect();
        self.progress.start(tiles.len() as u64);
        let mut sums = Sums::zero(scene.layout.targets.len(), self.columns.len());
        for tiles in tiles.chunks(TILES_AT_ONCE) {
            let results: Vec<TileResult> = tiles
                .par_iter()
                .map(|targets| self.sum_tile(decay, targets, &all, weights[targets.group as usize]))
                .collect();
            for (targets, result) in tiles.iter().zip(&results) {
                result.write(targets, weights[targets.group as usize], &mut sums);
            }
        }
        sums
    }
}

impl AllTiles<'_> {
    /// The sums of the targets of one tile; `weight` is that of all sources of its group. Sums that are too small are computed again,
    /// relative to the nearest source.
    fn sum_tile<D: Decay<A>, const A: usize>(
        &self,
        decay: D,
        targets: &TargetRun,
        columns: &[&[f64]],
        weight: f64,
    ) -> TileResult {
        let runs = self.plan.runs.of_group(targets.group as usize);
        let places: Vec<u32> = (targets.start..targets.end).collect();
        let mut tile = TargetTile::new(decay, &self.plan.scene, &places);
        let too_small = too_small(weight);
        let mut sums = tile.sum(runs_in_reach(&tile, runs), columns);
        if sums[0].iter().any(|&mass| mass < too_small) {
            let nearest = tile.nearest(runs.iter().map(|run| run.places.clone()));
            for lane in 0..LANES {
                // Still infinite where there is no source at all: the sum stays zero.
                if sums[0][lane] < too_small && nearest[lane].is_finite() {
                    tile.shift[lane] = nearest[lane].floor();
                }
            }
            sums = tile.sum(runs_in_reach(&tile, runs), columns);
        }
        self.progress.advance(1);
        TileResult { sums, shift: tile.shift }
    }
}

/// Tiles whose sums wait until they are written. A tile takes some 400 bytes, so that these take 6 MB. Chosen, not measured.
const TILES_AT_ONCE: usize = 1 << 14;

/// Consecutive targets of one group, sixteen at most.
struct TargetRun {
    group: u32,
    start: u32,
    end: u32,
}

/// Cuts each group into such runs.
fn target_runs(targets: &Cloud) -> Vec<TargetRun> {
    let mut runs = Vec::with_capacity(count(targets, LANES) as usize);
    for (group, places) in (0..).zip(&targets.groups) {
        let run = |places: Range<usize>| TargetRun { group, start: places.start as u32, end: places.end as u32 };
        runs.extend(pieces(places, LANES).map(run));
    }
    runs
}

/// Runs whose kernel has not vanished for every lane.
fn runs_in_reach<D: Decay<A>, const A: usize>(
    tile: &TargetTile<D, A>,
    runs: &[SourceRun],
) -> impl Iterator<Item = Range<usize>> {
    let reach = VANISHED + tile.shift.iter().copied().fold(0.0, f64::max);
    runs.iter()
        .filter(move |run| tile.decay.least(tile.bounds.squared_distance(&run.bounds)) <= reach)
        .map(|run| run.places.clone())
}

/// The sums of one tile: mass first, then the columns; and the shift of each lane.
struct TileResult {
    sums: Vec<Lanes>,
    shift: Lanes,
}

impl TileResult {
    /// `weight` is that of all sources.
    fn write(&self, targets: &TargetRun, weight: f64, sums: &mut Sums) {
        for (lane, place) in (targets.start as usize..targets.end as usize).enumerate() {
            let (mass, exponent) = (self.sums[0][lane], -self.shift[lane]);
            let rounding = rounding_error(RUN, (weight / mass).log2() - exponent);
            let error = if mass > 0.0 { mass * rounding } else { 0.0 };
            sums.write(place, self.sums.iter().map(|column| column[lane]), error, exponent);
        }
    }
}
