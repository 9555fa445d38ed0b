//! The engine itself: it plans, then sums as many columns at once as memory allows.

use std::sync::Arc;

use super::group::Groups;
use super::memory::MemoryNeed;
use super::summation::{SHARE_OF_ARITHMETIC, Summation};
use crate::engine::plan::{Engine, Plan, Progress, Sums};
use crate::error::Error;
use crate::kernel::{Decay, WithDecay, with_decay, with_decay_within};
use crate::scene::Scene;

/// The engine for any σ at near-linear cost.
#[derive(Clone, Copy, Debug)]
pub struct Fast {
    /// Largest error of any row, relative to the range of the values.
    pub tolerance: f64,
    /// Bytes that it may take; `None` for no limit.
    pub memory_limit: Option<u64>,
}

impl Engine for Fast {
    fn plan(&self, scene: Arc<Scene>, _: &dyn Progress) -> Result<Box<dyn Plan>, Error> {
        let groups = Groups::new(&scene, self.tolerance);
        let need = MemoryNeed::of(&groups, scene.source_places(), scene.target_places());
        let at_once = need.columns(self.memory_limit.unwrap_or(u64::MAX))?;
        Ok(Box::new(FastPlan { scene, tolerance: self.tolerance, groups, at_once }))
    }
}

struct FastPlan {
    scene: Arc<Scene>,
    tolerance: f64,
    groups: Groups,
    /// Columns of values that there is memory for at once.
    at_once: usize,
}

impl Plan for FastPlan {
    fn sums(&self, columns: &[Vec<f64>], progress: &dyn Progress) -> Sums {
        let (first, rest) = columns.split_at(columns.len().min(self.at_once));
        let mut all = self.sums_at_once(first, progress);
        // The sums of a column do not depend on the columns that are summed with it.
        rest.chunks(self.at_once).for_each(|columns| all.values.extend(self.sums_at_once(columns, progress).values));
        all
    }
}

impl FastPlan {
    fn sums_at_once(&self, columns: &[Vec<f64>], progress: &dyn Progress) -> Sums {
        let scene = &self.scene;
        let all: Vec<&[f64]> = std::iter::once(&scene.mass).chain(columns).map(Vec::as_slice).collect();
        let mut sums = Sums::zero(scene.layout.targets.len(), columns.len());
        progress.start(scene.layout.targets.len() as u64);
        let (metric, scale, off) = (scene.layout.metric, scene.scale, SHARE_OF_ARITHMETIC * self.tolerance);
        let quick = FirstPass { plan: self, columns: &all, progress, sums: &mut sums };
        let missed = with_decay_within(metric, scale, off, quick);
        with_decay(metric, scale, Repair { plan: self, columns: &all, missed: &missed, sums: &mut sums });
        sums
    }

    fn summation<'a, D, const A: usize>(&'a self, decay: D, columns: &'a [&'a [f64]]) -> Summation<'a, D, A> {
        Summation { scene: &self.scene, groups: &self.groups, tolerance: self.tolerance, decay, columns }
    }
}

/// First pass: the sums of all targets; gives those that miss the tolerance, with their group.
struct FirstPass<'a> {
    plan: &'a FastPlan,
    columns: &'a [&'a [f64]],
    progress: &'a dyn Progress,
    sums: &'a mut Sums,
}

impl WithDecay for FirstPass<'_> {
    type Output = Vec<(usize, u32)>;

    fn run<D: Decay<A>, const A: usize, const K: usize>(self, decay: D) -> Self::Output {
        let work = self.plan.summation(decay, self.columns);
        work.read_lattices(self.sums);
        work.add_direct(self.sums, self.progress)
    }
}

/// Second pass: sums again the targets that missed the tolerance.
struct Repair<'a> {
    plan: &'a FastPlan,
    columns: &'a [&'a [f64]],
    missed: &'a [(usize, u32)],
    sums: &'a mut Sums,
}

impl WithDecay for Repair<'_> {
    type Output = ();

    fn run<D: Decay<A>, const A: usize, const K: usize>(self, decay: D) {
        self.plan.summation(decay, self.columns).repair(self.missed, self.sums);
    }
}
