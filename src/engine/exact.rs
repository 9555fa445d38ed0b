//! All pairs: no approximation beyond rounding. The oracle that every other engine is tested against.
//!
//! Tiles of sixteen targets meet runs of 128 sources. Runs so far away that their kernel underflows to
//! nothing are passed over, which changes no digit.

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use super::bounds::Bounds;
use super::tile::{RUN, Tile};
use super::{Engine, Plan, Progress, Sums, rounding_error, too_small};
use crate::error::Error;
use crate::kernel::{Decay, LANES, Lanes, VANISHED, WithDecay, with_decay};
use crate::scene::{Cloud, Scene};

/// The engine of all pairs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Exact {
    /// Bytes that it may take; `None` for no limit.
    pub memory_limit: Option<u64>,
}

/// Bytes for each target, with one column of values: sixteen targets have a tile of 96 bytes and its sums of 410.
const AT_TARGET: u64 = 32;

impl Engine for Exact {
    fn plan(&self, scene: Arc<Scene>, _: &dyn Progress) -> Result<Box<dyn Plan>, Error> {
        let need = scene.target_places() as u64 * AT_TARGET;
        if let Some(limit) = self.memory_limit.filter(|limit| need > *limit) {
            return Err(Error::Memory { what: "the engine of all pairs".to_owned(), need, limit });
        }
        let runs = cut(&scene.layout.sources, scene.layout.metric.dimensions());
        Ok(Box::new(ExactPlan { scene, runs }))
    }
}

struct ExactPlan {
    scene: Arc<Scene>,
    /// Runs of sources, by group.
    runs: Vec<Vec<Run>>,
}

/// Neighbouring sources and the box around them.
struct Run {
    places: Range<usize>,
    bounds: Bounds,
}

/// Cuts each group into runs.
fn cut(cloud: &Cloud, dimensions: usize) -> Vec<Vec<Run>> {
    let run = |places: Range<usize>| Run { bounds: Bounds::around(cloud, dimensions, &places), places };
    let runs =
        |group: &Range<usize>| group.clone().step_by(RUN).map(|start| run(start..group.end.min(start + RUN))).collect();
    cloud.groups.iter().map(runs).collect()
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
        let groups = scene.layout.targets.groups.iter().enumerate();
        let tiles: Vec<(usize, Vec<u32>)> = groups
            .flat_map(|(group, places)| {
                let starts = places.clone().step_by(LANES);
                starts.map(move |start| (group, (start as u32..places.end.min(start + LANES) as u32).collect()))
            })
            .collect();
        let weights: Vec<f64> = (0..scene.layout.sources.groups.len()).map(|group| scene.group_mass(group)).collect();
        self.progress.start(tiles.len() as u64);
        let sum = |(group, places): &(usize, Vec<u32>)| {
            let mut tile = Tile::new(decay, scene, places);
            let result = sum_tile(&mut tile, &self.plan.runs[*group], &all, too_small(weights[*group]));
            self.progress.advance(1);
            result
        };
        let results: Vec<TileResult> = tiles.par_iter().map(sum).collect();
        let mut sums = Sums::zero(scene.layout.targets.len(), self.columns.len());
        for ((group, places), result) in tiles.iter().zip(&results) {
            result.write(places, weights[*group], &mut sums);
        }
        sums
    }
}

fn sum_tile<D: Decay<A>, const A: usize>(
    tile: &mut Tile<D, A>,
    runs: &[Run],
    columns: &[&[f64]],
    too_small: f64,
) -> TileResult {
    let mut sums = tile.sum(runs_in_reach(tile, runs), columns);
    if sums[0].iter().any(|&mass| mass < too_small) {
        let nearest = tile.nearest(runs.iter().map(|run| run.places.clone()));
        for lane in 0..LANES {
            // Still infinite where there is no source at all: the sum stays zero.
            if sums[0][lane] < too_small && nearest[lane].is_finite() {
                tile.shift[lane] = nearest[lane].floor();
            }
        }
        sums = tile.sum(runs_in_reach(tile, runs), columns);
    }
    TileResult { sums, shift: tile.shift }
}

/// Runs whose kernel has not vanished for every lane.
fn runs_in_reach<D: Decay<A>, const A: usize>(tile: &Tile<D, A>, runs: &[Run]) -> impl Iterator<Item = Range<usize>> {
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
    fn write(&self, places: &[u32], weight: f64, sums: &mut Sums) {
        for (lane, &place) in places.iter().enumerate() {
            let (place, mass, exponent) = (place as usize, self.sums[0][lane], -self.shift[lane]);
            sums.mass[place] = mass;
            sums.exponent[place] = exponent;
            if mass > 0.0 {
                sums.error[place] = mass * rounding_error(RUN, (weight / mass).log2() - exponent);
            }
            for (values, column) in sums.values.iter_mut().zip(&self.sums[1..]) {
                values[place] = column[lane];
            }
        }
    }
}
