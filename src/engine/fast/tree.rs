//! A tree over sorted sources: boxes around runs of neighbours, boxes around four of those, and so on.

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use super::super::bounds::Bounds;
use crate::kernel::{Decay, LANES, Lanes};
use crate::scene::{Cloud, NOWHERE, Scene};

/// Sources in a leaf: one set of lanes.
const LEAF: usize = LANES;
/// Children of a node.
const FAN: usize = 4;

/// Sources of one group, or some of them.
pub(super) struct Tree {
    /// Leaves first, the root last.
    levels: Vec<Vec<Node>>,
}

/// A box, the weight in it and the places of a leaf.
pub(super) struct Node {
    bounds: Bounds,
    /// Logarithm to base 2 of the total weight.
    pub(super) log_mass: f64,
    places: Range<u32>,
}

impl Tree {
    /// A tree over the sources in some ranges, which ascend.
    pub(super) fn over(scene: &Scene, ranges: &[Range<usize>]) -> Self {
        let dimensions = scene.layout.metric.dimensions();
        let leaf = |places: Range<usize>| Node {
            bounds: Bounds::around(&scene.layout.sources, dimensions, places.clone()),
            log_mass: scene.mass[places.clone()].iter().sum::<f64>().log2(),
            places: places.start as u32..places.end as u32,
        };
        let leaves = |range: &Range<usize>| {
            let end = range.end;
            range.clone().into_par_iter().step_by(LEAF).map(move |start| leaf(start..end.min(start + LEAF)))
        };
        let mut levels: Vec<Vec<Node>> = vec![ranges.par_iter().flat_map(leaves).collect()];
        while levels.last().is_some_and(|level| level.len() > 1) {
            let above = levels[levels.len() - 1].chunks(FAN).map(Node::above).collect();
            levels.push(above);
        }
        Self { levels }
    }

    /// Walks from the root to the sources near a box, in ascending order. `far` hears of every node with the least
    /// decay to it and says whether it can be left out.
    pub(super) fn walk<D: Decay<A>, const A: usize>(
        &self,
        decay: D,
        from: &Bounds,
        mut far: impl FnMut(&Node, f64) -> bool,
        mut near: impl FnMut(Range<usize>),
    ) {
        let mut open = vec![(self.levels.len() - 1, 0)];
        while let Some((level, at)) = open.pop() {
            let Some(node) = self.levels[level].get(at) else { continue };
            if far(node, decay.least(from.squared_distance(&node.bounds))) {
                continue;
            }
            if level == 0 {
                near(node.places.start as usize..node.places.end as usize);
            } else {
                open.extend((at * FAN..(at + 1) * FAN).rev().map(|child| (level - 1, child)));
            }
        }
    }

    /// Decay and place of the source nearest to a target, `left_out` apart; `None` if there is no other.
    pub(super) fn nearest<D: Decay<A>, const A: usize>(
        &self,
        decay: D,
        sources: &Cloud,
        target: &[f64; A],
        left_out: u32,
    ) -> Option<(f64, usize)> {
        let from = Bounds::at(target);
        let least = |level: usize, at: usize| {
            let node = self.levels[level].get(at)?;
            Some((decay.least(from.squared_distance(&node.bounds)), level, at))
        };
        let mut nearest = (f64::INFINITY, NOWHERE as usize);
        let mut open: Vec<(f64, usize, usize)> = least(self.levels.len() - 1, 0).into_iter().collect();
        while let Some((least_decay, level, at)) = open.pop() {
            if least_decay > nearest.0 {
                continue;
            }
            if level == 0 {
                self.levels[0][at].look(decay, sources, target, left_out, &mut nearest);
            } else {
                let first = open.len();
                open.extend((at * FAN..(at + 1) * FAN).filter_map(|child| least(level - 1, child)));
                // The nearest child is looked at first, so that the others can be passed over.
                open[first..].sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
            }
        }
        nearest.0.is_finite().then_some(nearest)
    }
}

impl Node {
    /// Looks for a nearer source among those of a leaf.
    fn look<D: Decay<A>, const A: usize>(
        &self,
        decay: D,
        sources: &Cloud,
        target: &[f64; A],
        left_out: u32,
        nearest: &mut (f64, usize),
    ) {
        let place = |lane: usize| (self.places.start as usize + lane).min(self.places.end as usize - 1);
        let many = std::array::from_fn(|k| std::array::from_fn(|lane| sources.axes[k][place(lane)]));
        let decays = Arch::new().dispatch(Decays { decay, many: &many, one: target });
        for (lane, here) in decays.into_iter().enumerate() {
            if here < nearest.0 && place(lane) != left_out as usize {
                *nearest = (here, place(lane));
            }
        }
    }

    fn above(children: &[Self]) -> Self {
        let mass: f64 = children.iter().map(|child| child.log_mass.exp2()).sum();
        Self {
            bounds: children.iter().fold(Bounds::EMPTY, |bounds, child| bounds.with(&child.bounds)),
            // A hair more than the rounded logarithms say.
            log_mass: mass.log2() + 1e-12,
            places: 0..0,
        }
    }
}

/// Decays of the sources of a leaf to one target.
struct Decays<'a, D, const A: usize> {
    decay: D,
    many: &'a [Lanes; A],
    one: &'a [f64; A],
}

impl<D: Decay<A>, const A: usize> WithSimd for Decays<'_, D, A> {
    type Output = Lanes;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Lanes {
        self.decay.lanes::<S>(self.many, self.one)
    }
}
