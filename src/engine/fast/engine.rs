//! The engine itself: it plans, then sums as many columns at once as memory allows. What sums need besides the scene is counted from the blocks of
//! the lattices before their nodes exist.

use std::sync::Arc;

use super::group::Groups;
use super::sphere::BYTES_OF_PLACE;
use super::summation::{SHARE_OF_ARITHMETIC, Summation};
use crate::engine::plan::{Engine, Plan, Progress, Sums};
use crate::error::Error;
use crate::kernel::{Decay, WithDecay, with_decay, with_decay_within};
use crate::scene::{RowCounts, Scene};
use crate::space::Metric;

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

/// Bytes of the trees for each source: a box of 56 bytes and a range of 8 for sixteen sources, boxes around those, and all once more for
/// sources in thin blocks.
const TREES: u64 = 10;
/// Bytes of a target besides its sums: tasks, and rows that are summed again. Estimated, not measured.
const AT_TARGET: u64 = 16;
/// Times that a source is on a chart: charts overlap (1.1 to 1.3 at 2M + 2M rows, σ = 500 m to 20 km, 2026-11-18).
const USUAL_CHARTS: f64 = 1.2;

/// Bytes that sums over this many rows usually take besides the scene, before their places are known.
pub(in crate::engine) fn usual_need(rows: &RowCounts, metric: Metric) -> u64 {
    let charts = if metric == Metric::Sphere { (rows.targets + rows.sources) * BYTES_OF_PLACE } else { 0 };
    rows.sources * TREES + rows.targets * AT_TARGET + (USUAL_CHARTS * charts as f64) as u64
}

/// What sums need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MemoryNeed {
    /// For any number of columns.
    pub(super) fixed: u64,
    /// For each column that is summed at once, the mass being one.
    pub(super) column: u64,
}

impl MemoryNeed {
    /// Groups are worked on one after the other, so that the largest lattice counts; laid places stay.
    pub(super) fn of(groups: &Groups, sources: usize, targets: usize) -> Self {
        let dense = groups.large.iter().filter_map(|(_, split)| split.dense.as_ref());
        let mut need = Self { fixed: sources as u64 * TREES + targets as u64 * AT_TARGET, column: 0 };
        for dense in dense {
            need.fixed += dense.laid.bytes_kept();
            need.column = need.column.max(dense.laid.bytes_of_column());
        }
        need
    }

    /// Columns of values that can be summed at once.
    pub(super) fn columns(&self, limit: u64) -> Result<usize, Error> {
        let left = limit.saturating_sub(self.fixed);
        let columns = left.checked_div(self.column).unwrap_or(if left > 0 { u64::MAX } else { 0 });
        if columns < 2 {
            let need = self.fixed + 2 * self.column;
            return Err(Error::Memory { what: "the fast engine".to_owned(), need, limit });
        }
        Ok(usize::try_from(columns - 1).unwrap_or(usize::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_columns_as_fit_beside_the_mass() {
        let need = MemoryNeed { fixed: 100, column: 10 };
        assert_eq!(need.columns(120).unwrap(), 1);
        assert_eq!(need.columns(159).unwrap(), 4);
        let Err(Error::Memory { need: 120, limit: 119, .. }) = need.columns(119) else { panic!("must not fit") };
        assert!(need.columns(50).is_err());
        assert!(MemoryNeed { fixed: 100, column: 0 }.columns(u64::MAX).unwrap() > 1_000_000);
        assert!(MemoryNeed { fixed: 100, column: 0 }.columns(100).is_err());
    }
}
