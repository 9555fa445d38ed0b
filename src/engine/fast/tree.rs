//! A tree over sorted sources: leaves of neighbours, boxes around four leaves, and so on.

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use super::super::bounds::Bounds;
use super::leaves::Leaf;
use crate::kernel::{Decay, LANES, Lanes};
use crate::scene::{Cloud, NOWHERE, Scene};

/// Children of a node.
const FAN: usize = 4;

/// Sources of one group, or some of them.
pub(super) struct Tree {
    leaves: Vec<Leaf>,
    /// Boxes around [`FAN`] leaves, boxes around as many of those, up to the root.
    levels: Vec<Vec<Node>>,
}

/// A box and the logarithm of the weight in it.
struct Node {
    bounds: Bounds,
    log_mass: f64,
}

impl Tree {
    /// A tree over the sources in some ranges, which ascend.
    pub(super) fn over(scene: &Scene, ranges: &[Range<usize>]) -> Self {
        let dimensions = scene.layout.metric.dimensions();
        let leaf = |places: Range<usize>| Leaf {
            bounds: Bounds::around(&scene.layout.sources, dimensions, &places),
            log_mass: scene.mass[places.clone()].iter().sum::<f64>().log2(),
            places: places.start as u32..places.end as u32,
        };
        let cut = |range: &Range<usize>| {
            let end = range.end;
            range.clone().step_by(LANES).map(move |start| start..end.min(start + LANES)).collect::<Vec<_>>()
        };
        let pieces: Vec<Range<usize>> = ranges.iter().flat_map(cut).collect();
        let leaves: Vec<Leaf> = pieces.into_par_iter().map(leaf).collect();
        let mut levels = vec![above(leaves.iter().map(|leaf| (&leaf.bounds, leaf.log_mass)))];
        while levels[levels.len() - 1].len() > 1 {
            levels.push(above(levels[levels.len() - 1].iter().map(|node| (&node.bounds, node.log_mass))));
        }
        Self { leaves, levels }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.leaves.is_empty()
    }

    /// Walks from the root to the leaves near a box, in ascending order. `far` hears of the logarithm of the weight
    /// and the least decay of every box, and says whether it can be left out.
    pub(super) fn walk<D: Decay<A>, const A: usize>(
        &self,
        decay: D,
        from: &Bounds,
        mut far: impl FnMut(f64, f64) -> bool,
        mut near: impl FnMut(&Leaf),
    ) {
        if !self.leaves.is_empty() {
            self.descend(decay, from, self.levels.len(), 0..1, &mut far, &mut near);
        }
    }

    fn descend<D: Decay<A>, const A: usize>(
        &self,
        decay: D,
        from: &Bounds,
        level: usize,
        nodes: Range<usize>,
        far: &mut impl FnMut(f64, f64) -> bool,
        near: &mut impl FnMut(&Leaf),
    ) {
        if level == 0 {
            for leaf in &self.leaves[nodes.start..nodes.end.min(self.leaves.len())] {
                if !far(leaf.log_mass, decay.least(from.squared_distance(&leaf.bounds))) {
                    near(leaf);
                }
            }
            return;
        }
        let nodes = nodes.start..nodes.end.min(self.levels[level - 1].len());
        for (node, at) in self.levels[level - 1][nodes.clone()].iter().zip(nodes) {
            if !far(node.log_mass, decay.least(from.squared_distance(&node.bounds))) {
                self.descend(decay, from, level - 1, at * FAN..(at + 1) * FAN, far, near);
            }
        }
    }

    /// A leaf for level 0, else a box.
    fn node(&self, level: usize, at: usize) -> Option<(&Bounds, f64)> {
        match level.checked_sub(1) {
            None => self.leaves.get(at).map(|leaf| (&leaf.bounds, leaf.log_mass)),
            Some(level) => self.levels[level].get(at).map(|node| (&node.bounds, node.log_mass)),
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
            let (bounds, _) = self.node(level, at)?;
            Some((decay.least(from.squared_distance(bounds)), level, at))
        };
        let mut nearest = (f64::INFINITY, NOWHERE as usize);
        let mut open: Vec<(f64, usize, usize)> = least(self.levels.len(), 0).into_iter().collect();
        while let Some((least_decay, level, at)) = open.pop() {
            if least_decay > nearest.0 {
                continue;
            }
            if level == 0 {
                look(decay, sources, &self.leaves[at], target, left_out, &mut nearest);
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

/// The level above some boxes.
fn above<'a>(boxes: impl Iterator<Item = (&'a Bounds, f64)>) -> Vec<Node> {
    let boxes: Vec<(&Bounds, f64)> = boxes.collect();
    let join = |children: &[(&Bounds, f64)]| Node {
        bounds: children.iter().fold(Bounds::EMPTY, |bounds, (child, _)| bounds.with(child)),
        // A hair more than the rounded logarithms say.
        log_mass: children.iter().map(|(_, log_mass)| log_mass.exp2()).sum::<f64>().log2() + 1e-12,
    };
    boxes.par_chunks(FAN).map(join).collect()
}

/// Looks for a nearer source among those of a leaf.
fn look<D: Decay<A>, const A: usize>(
    decay: D,
    sources: &Cloud,
    leaf: &Leaf,
    target: &[f64; A],
    left_out: u32,
    nearest: &mut (f64, usize),
) {
    let place = |lane: usize| (leaf.places.start as usize + lane).min(leaf.places.end as usize - 1);
    let many = std::array::from_fn(|k| std::array::from_fn(|lane| sources.axes[k][place(lane)]));
    let decays = Arch::new().dispatch(Decays { decay, many: &many, one: target });
    for (lane, here) in decays.into_iter().enumerate() {
        if here < nearest.0 && place(lane) != left_out as usize {
            *nearest = (here, place(lane));
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
