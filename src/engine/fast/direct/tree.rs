//! A tree over sorted sources: leaves of neighbours, boxes around eight leaves, and so on.

use std::ops::Range;

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use super::boxes::{BOXES, Boxes, Omission, leave_out};
use super::leaves::{LEAF, NearLeaves};
use crate::engine::bounds::Bounds;
use crate::engine::decays::find_decays;
use crate::engine::pieces::pieces;
use crate::kernel::Decay;
use crate::scene::{Cloud, NOWHERE, Scene};
use crate::simd::arch;

/// Sources of one group, or some of them.
pub(crate) struct Tree {
    /// The sources of each leaf: [`LEAF`] of them or fewer.
    leaves: Vec<Range<u32>>,
    /// The boxes of the leaves, boxes around [`BOXES`] of those, up to the root.
    levels: Vec<Vec<Boxes>>,
}

impl Tree {
    /// A tree over the sources in some ranges, which ascend.
    pub(crate) fn over(scene: &Scene, ranges: &[Range<usize>]) -> Self {
        let dimensions = scene.layout.metric.dimensions();
        let leaves: Vec<Range<u32>> = ranges.iter().flat_map(leaves_of).collect();
        let boxes_of = |leaves: &[Range<u32>]| Boxes::new(leaves.iter().map(|leaf| box_of(scene, dimensions, leaf)));
        let mut levels: Vec<Vec<Boxes>> = vec![leaves.par_chunks(BOXES).map(boxes_of).collect()];
        while levels[levels.len() - 1].len() > 1 {
            let above = |boxes: &[Boxes]| Boxes::new(boxes.iter().map(join));
            levels.push(levels[levels.len() - 1].par_chunks(BOXES).map(above).collect());
        }
        Self { leaves, levels }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.leaves.is_empty()
    }

    /// Walks from the root to the leaves near a box, in ascending order, leaving out what `omission` allows; gives a bound of what that
    /// contributes.
    pub(crate) fn walk<D: Decay<A>, const A: usize>(
        &self,
        decay: D,
        from: &Bounds,
        omission: Omission,
        near: &mut NearLeaves,
    ) -> f64 {
        if self.leaves.is_empty() {
            return 0.0;
        }
        arch().dispatch(Walk::<D, A> { tree: self, decay, from, omission, near }).iter().sum()
    }

    /// Decay and place of the source nearest to a target, without `left_out`; `None` if there is no other.
    pub(crate) fn nearest<D: Decay<A>, const A: usize>(
        &self,
        decay: D,
        sources: &Cloud,
        target: &[f64; A],
        left_out: u32,
    ) -> Option<(f64, usize)> {
        let from = Bounds::at(target);
        let mut nearest = (f64::INFINITY, NOWHERE as usize);
        let mut open: Vec<(f64, usize, usize)> = Vec::new();
        if !self.is_empty() {
            self.open_children(decay, &from, (self.levels.len() - 1, 0), &mut open);
        }
        while let Some((least_decay, level, at)) = open.pop() {
            if least_decay > nearest.0 {
                continue;
            }
            if level == 0 {
                look(decay, sources, &self.leaves[at], target, left_out, &mut nearest);
            } else {
                self.open_children(decay, &from, (level - 1, at), &mut open);
            }
        }
        nearest.0.is_finite().then_some(nearest)
    }

    /// Puts the boxes of one level and number on the stack: decay, level and number of each.
    fn open_children<D: Decay<A>, const A: usize>(
        &self,
        decay: D,
        from: &Bounds,
        (level, at): (usize, usize),
        open: &mut Vec<(f64, usize, usize)>,
    ) {
        let first = open.len();
        let decays = self.levels[level][at].decays(decay, from).into_iter().enumerate();
        open.extend(decays.filter(|(_, least)| *least < f64::INFINITY).map(|(k, d)| (d, level, at * BOXES + k)));
        // The nearest child is visited first, so that the others can be skipped.
        open[first..].sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    }
}

/// Cuts a range of sources into leaves.
fn leaves_of(range: &Range<usize>) -> impl Iterator<Item = Range<u32>> + use<> {
    pieces(range, LEAF).map(|leaf| leaf.start as u32..leaf.end as u32)
}

/// The box around a leaf, and the logarithm of its weight.
fn box_of(scene: &Scene, dimensions: usize, leaf: &Range<u32>) -> (Bounds, f64) {
    let places = leaf.start as usize..leaf.end as usize;
    let log_mass = scene.mass[places.clone()].iter().sum::<f64>().log2();
    (Bounds::around(&scene.layout.sources, dimensions, &places), log_mass)
}

/// The box around some boxes, and the logarithm of the weight in all of them.
fn join(boxes: &Boxes) -> (Bounds, f64) {
    // A little more, for the rounding of the logarithms.
    let log_mass = boxes.log_mass.iter().map(|log_mass| log_mass.exp2()).sum::<f64>().log2() + 1e-12;
    (boxes.bounds(), log_mass)
}

/// A walk through the tree. Gives what is left out.
struct Walk<'a, D, const A: usize> {
    tree: &'a Tree,
    decay: D,
    from: &'a Bounds,
    omission: Omission,
    near: &'a mut NearLeaves,
}

/// Most boxes on the stack: eight for each level, and fewer than eleven levels (8¹¹ leaves of 16 sources exceed 2³²).
const OPEN: usize = 11 * BOXES + 1;

impl<D: Decay<A>, const A: usize> WithSimd for Walk<'_, D, A> {
    type Output = [f64; BOXES];

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> [f64; BOXES] {
        let Self { tree, decay, from, omission, near } = self;
        let mut carried = [0.0; BOXES];
        let mut open = [(0_u8, 0_u32); OPEN];
        open[0] = (tree.levels.len() as u8 - 1, 0);
        let mut count = 1;
        while count > 0 {
            count -= 1;
            let (level, at) = open[count];
            let boxes = &tree.levels[level as usize][at as usize];
            let carries = boxes.carries(&boxes.decays(decay, from), omission);
            leave_out(&carries, omission.little, &mut carried);
            let children = at as usize * BOXES;
            if level == 0 {
                for (k, _) in carries.iter().enumerate().filter(|(_, carries)| **carries > omission.little) {
                    near.push(boxes, k, &tree.leaves[children + k]);
                }
            } else {
                // Pushed backwards, so that they are popped in ascending order.
                for (k, carries) in carries.iter().enumerate().rev() {
                    // Written always, counted only if near: no branch to mispredict.
                    open[count] = (level - 1, (children + k) as u32);
                    count += usize::from(*carries > omission.little);
                }
            }
        }
        carried
    }
}

/// Looks for a nearer source among those of a leaf.
fn look<D: Decay<A>, const A: usize>(
    decay: D,
    sources: &Cloud,
    leaf: &Range<u32>,
    target: &[f64; A],
    left_out: u32,
    nearest: &mut (f64, usize),
) {
    // Spare lanes repeat the last place.
    let places: [usize; LEAF] = std::array::from_fn(|lane| (leaf.start as usize + lane).min(leaf.end as usize - 1));
    let many = std::array::from_fn(|k| places.map(|place| sources.axes[k][place]));
    let mut decays = [[0.0; LEAF]];
    find_decays(decay, target, &[many], &mut decays);
    for (here, place) in decays[0].into_iter().zip(places) {
        if here < nearest.0 && place != left_out as usize {
            *nearest = (here, place);
        }
    }
}
