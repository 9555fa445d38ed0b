//! Sixteen targets against runs of sources: the direct sum that the engine of all pairs is made of.
//!
//! Inside a run sums are plain, across runs they are compensated, so the rounding error is that of [`RUN`]
//! additions for any number of sources.

use std::ops::Range;

use pulp::{Simd, WithSimd};

use super::bounds::Bounds;
use crate::kernel::{Decay, LANES, Lanes, exp2_minus, fma};
use crate::scene::{Cloud, NOWHERE, Own, Scene};
use crate::simd::arch;
use crate::space::two_sum;

/// Most sources in a run: its kernel values for one tile (16 KiB) stay in the first-level cache. Chosen, not measured.
pub(super) const RUN: usize = 128;

/// Up to sixteen targets with their coordinates, and what they leave out.
pub(super) struct TargetTile<'a, D, const A: usize> {
    pub(super) decay: D,
    pub(super) bounds: Bounds,
    sources: &'a Cloud,
    targets: [Lanes; A],
    /// The source that each lane must leave out, or [`NOWHERE`].
    left_out: [u32; LANES],
    /// Subtracted from every decay of a lane, so that far rows do not underflow; whole numbers.
    pub(super) shift: Lanes,
}

impl<'a, D: Decay<A>, const A: usize> TargetTile<'a, D, A> {
    /// A tile of these target places.
    pub(super) fn new(decay: D, scene: &'a Scene, places: &[u32]) -> Self {
        let layout = &scene.layout;
        let tile = Self::between(decay, &layout.targets, &layout.sources, layout.metric.dimensions(), places);
        match layout.own {
            Own::Counts => tile,
            Own::LeftOut => Self { left_out: lanes_of(places).map(|place| layout.home[place]), ..tile },
        }
    }

    /// A tile of any places, without sources to leave out.
    pub(super) fn between(decay: D, targets: &Cloud, sources: &'a Cloud, dimensions: usize, places: &[u32]) -> Self {
        let all = places.iter().map(|&place| place as usize);
        let bounds = Bounds::around(targets, dimensions, &all);
        let targets = std::array::from_fn(|k| lanes_of(places).map(|place| targets.axes[k][place]));
        Self { decay, bounds, sources, targets, left_out: [NOWHERE; LANES], shift: [0.0; LANES] }
    }

    /// `Σ K x` over runs of sources of at most [`RUN`] places, for each column `x`.
    pub(super) fn sum(&self, runs: impl Iterator<Item = Range<usize>>, columns: &[&[f64]]) -> Vec<Lanes> {
        arch().dispatch(TilePass { tile: self, runs, columns })
    }

    /// The decay to the nearest source of each lane, infinite if there is none.
    pub(super) fn nearest(&self, runs: impl Iterator<Item = Range<usize>>) -> Lanes {
        arch().dispatch(Nearest { tile: self, runs })
    }

    /// The places that lanes leave out, as positions in the run.
    fn left_out_of(&self, run: &Range<usize>) -> impl Iterator<Item = (usize, usize)> {
        let run = run.clone();
        self.left_out.iter().enumerate().filter_map(move |(lane, &place)| {
            let place = place as usize;
            run.contains(&place).then(|| (lane, place - run.start))
        })
    }
}

/// The place of each lane: spare lanes repeat the last.
fn lanes_of(places: &[u32]) -> [usize; LANES] {
    std::array::from_fn(|lane| places[lane.min(places.len() - 1)] as usize)
}

/// One pass over the runs: all sums.
struct TilePass<'t, 'a, R, D, const A: usize> {
    tile: &'t TargetTile<'a, D, A>,
    runs: R,
    columns: &'t [&'t [f64]],
}

impl<R: Iterator<Item = Range<usize>>, D: Decay<A>, const A: usize> WithSimd for TilePass<'_, '_, R, D, A> {
    type Output = Vec<Lanes>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Vec<Lanes> {
        let tile = self.tile;
        let mut totals = vec![[0.0; LANES]; self.columns.len()];
        let mut lost = vec![[0.0; LANES]; self.columns.len()];
        let mut kernel = [[0.0; LANES]; RUN];
        for run in self.runs {
            for (row, place) in kernel.iter_mut().zip(run.clone()) {
                let decay = tile.decay.lanes::<S, LANES>(&tile.targets, &tile.sources.place(place));
                for lane in 0..LANES {
                    row[lane] = exp2_minus::<S>(decay[lane] - tile.shift[lane]);
                }
            }
            for (lane, row) in tile.left_out_of(&run) {
                kernel[row][lane] = 0.0;
            }
            for (column, (total, lost)) in self.columns.iter().zip(totals.iter_mut().zip(&mut lost)) {
                let partial = weigh::<S>(&kernel, &column[run.clone()]);
                for lane in 0..LANES {
                    let sum = two_sum(total[lane], partial[lane]);
                    total[lane] = sum.hi;
                    lost[lane] += sum.lo;
                }
            }
        }
        for (total, lost) in totals.iter_mut().zip(lost) {
            for lane in 0..LANES {
                total[lane] += lost[lane];
            }
        }
        totals
    }
}

/// `Σ K x` over one run.
#[inline(always)]
fn weigh<S: Simd>(kernel: &[Lanes; RUN], column: &[f64]) -> Lanes {
    let mut sum = [0.0; LANES];
    for (row, &x) in kernel.iter().zip(column) {
        for lane in 0..LANES {
            sum[lane] = fma::<S>(row[lane], x, sum[lane]);
        }
    }
    sum
}

/// The decay to the nearest source of each lane.
struct Nearest<'t, 'a, R, D, const A: usize> {
    tile: &'t TargetTile<'a, D, A>,
    runs: R,
}

impl<R: Iterator<Item = Range<usize>>, D: Decay<A>, const A: usize> WithSimd for Nearest<'_, '_, R, D, A> {
    type Output = Lanes;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Lanes {
        let tile = self.tile;
        let mut nearest = [f64::INFINITY; LANES];
        for place in self.runs.flatten() {
            let decay = tile.decay.lanes::<S, LANES>(&tile.targets, &tile.sources.place(place));
            for lane in 0..LANES {
                let here = if tile.left_out[lane] as usize == place { f64::INFINITY } else { decay[lane] };
                nearest[lane] = nearest[lane].min(here);
            }
        }
        nearest
    }
}
