//! The inner loop of direct sums: one target after another against leaves of sixteen sources.

use std::ops::Range;

use pulp::{Simd, WithSimd};

use super::boxes::{BOXES, Boxes, Omission, leave_out, log2_below};
use crate::engine::bounds::Bounds;
use crate::engine::rounding::{rounding_error, sum};
use crate::kernel::{Decay, LANES, Lanes, exp2_minus, fma, lanes};
use crate::scene::Cloud;

/// Most sources in a leaf. With eight, fewer pairs would be far apart, but the compiler does not vectorise so short a loop.
pub(crate) const LEAF: usize = LANES;

/// Leaves whose sums are added plainly before they are added to the total, so that rounding errors grow slowly. Chosen, not measured.
const BATCH: usize = 64;

/// The leaves that may matter to a team.
#[derive(Default)]
pub(crate) struct NearLeaves {
    boxes: Vec<Boxes>,
    places: Vec<Range<u32>>,
}

impl NearLeaves {
    pub(crate) fn clear(&mut self) {
        self.boxes.clear();
        self.places.clear();
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, boxes: &Boxes, at: usize, places: &Range<u32>) {
        let here = self.places.len() % BOXES;
        if here == 0 {
            self.boxes.push(Boxes::EMPTY);
        }
        if let Some(last) = self.boxes.last_mut() {
            last.copy(here, boxes, at);
        }
        self.places.push(places.clone());
    }
}

/// One target, and how to compute its sums.
pub(crate) struct DirectTarget<const A: usize> {
    pub(crate) place: [f64; A],
    /// A source that does not count.
    pub(crate) left_out: u32,
    /// Leaves that contribute at most two to this power are left out.
    pub(crate) little: f64,
    /// Subtracted from every decay; a whole number.
    pub(crate) shift: f64,
}

/// Memory for sums over leaves, reused from target to target.
pub(crate) struct LeafSums {
    kernel: Vec<Lanes>,
    /// Which of the leaves near a team are taken, and how many.
    taken: Vec<u32>,
    count: usize,
    total: Vec<Lanes>,
}

impl LeafSums {
    pub(crate) fn new(columns: usize) -> Self {
        Self { kernel: vec![[0.0; LEAF]; BATCH], taken: Vec::new(), count: 0, total: vec![[0.0; LEAF]; columns] }
    }
}

/// Targets against the leaves near them: for each `Σ K x` for every column, and a bound on the error of what was left out
/// among the leaves and of rounding.
pub(crate) struct LeafPass<'a, D, const A: usize> {
    pub(crate) decay: D,
    pub(crate) sources: &'a Cloud,
    pub(crate) columns: &'a [&'a [f64]],
    /// Logarithm of the total weight, or anything larger.
    pub(crate) log_weight: f64,
    pub(crate) near: &'a NearLeaves,
    pub(crate) targets: &'a [DirectTarget<A>],
    pub(crate) memory: &'a mut LeafSums,
    pub(crate) found: &'a mut Vec<f64>,
}

impl<D: Decay<A>, const A: usize> WithSimd for LeafPass<'_, D, A> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, _: S) {
        self.memory.taken.resize(self.near.boxes.len() * BOXES + 1, 0);
        for target in self.targets {
            let left_out = self.take(target);
            self.memory.total.fill([0.0; LEAF]);
            for first in (0..self.memory.count).step_by(BATCH) {
                self.add_batch::<S>(target, first);
            }
            self.finish(target, left_out, BATCH + self.memory.count / BATCH + LEAF);
        }
    }
}

impl<D: Decay<A>, const A: usize> LeafPass<'_, D, A> {
    /// Selects the leaves that matter to a target; gives a bound of what the others contribute.
    #[inline(always)]
    fn take(&mut self, target: &DirectTarget<A>) -> f64 {
        let from = Bounds::at(&target.place);
        let omission = Omission { little: target.little, farthest: f64::INFINITY };
        let mut carried = [0.0; BOXES];
        let mut count = 0;
        for (first, boxes) in (0..).step_by(BOXES).zip(&self.near.boxes) {
            let carries = boxes.carries(&boxes.decays(self.decay, &from), omission);
            leave_out(&carries, omission.little, &mut carried);
            for (leaf, carries) in (first..).zip(carries) {
                // Written always, counted only if near: no branch to mispredict.
                self.memory.taken[count] = leaf;
                count += usize::from(carries > target.little);
            }
        }
        self.memory.count = count;
        sum(&carried)
    }

    /// Adds a batch of the selected leaves.
    #[inline(always)]
    fn add_batch<S: Simd>(&mut self, target: &DirectTarget<A>, first: usize) {
        let LeafSums { kernel, taken, count, total } = &mut *self.memory;
        let taken = &taken[first..(*count).min(first + BATCH)];
        for (kernel, &leaf) in kernel.iter_mut().zip(taken) {
            let leaf = &self.near.places[leaf as usize];
            let many = std::array::from_fn(|k| of_leaf(&self.sources.axes[k], leaf, f64::NAN));
            let decays = self.decay.lanes::<S, LEAF>(&many, &target.place);
            for lane in 0..LEAF {
                kernel[lane] = exp2_minus::<S>(decays[lane] - target.shift);
            }
            if leaf.contains(&target.left_out) {
                kernel[(target.left_out - leaf.start) as usize] = 0.0;
            }
        }
        for (column, total) in self.columns.iter().zip(total) {
            let mut partial = [0.0; LEAF];
            for (kernel, &leaf) in kernel.iter().zip(taken) {
                let x = of_leaf(column, &self.near.places[leaf as usize], 0.0);
                for lane in 0..LEAF {
                    partial[lane] = fma::<S>(kernel[lane], x[lane], partial[lane]);
                }
            }
            for lane in 0..LEAF {
                total[lane] += partial[lane];
            }
        }
    }

    /// Writes the sums of a target and their error; `terms` are the additions in the longest chain.
    #[inline(always)]
    fn finish(&mut self, target: &DirectTarget<A>, left_out: f64, terms: usize) {
        let start = self.found.len();
        self.found.extend(self.memory.total.iter().map(|total| sum(total)));
        let mass = self.found[start];
        let rounding = if mass > 0.0 {
            let rounding = rounding_error(terms, self.log_weight - log2_below(mass) + target.shift);
            mass * (rounding + self.decay.off())
        } else {
            0.0
        };
        self.found.push(left_out + rounding);
    }
}

/// The numbers of a leaf; spare lanes hold `spare`.
#[inline(always)]
fn of_leaf(all: &[f64], leaf: &Range<u32>, spare: f64) -> Lanes {
    lanes(&all[leaf.start as usize..leaf.end as usize], spare)
}
