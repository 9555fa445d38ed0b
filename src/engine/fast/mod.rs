//! The certified fast engine: any σ at near-linear cost, every row within the tolerance.
//!
//! Space is cut into blocks a few σ wide. Sources in blocks where there are few are summed directly, by a tree of boxes
//! that leaves out what carries too little ([`direct`]). Sources in blocks where there are many go through a lattice
//! ([`lattice`]): the Gaussian is three Gaussians one after the other, `K = g ∗ G ∗ g`, the first from points to lattice
//! nodes, the second from nodes to nodes, axis by axis, the third from nodes to points. All terms are positive, so errors
//! are relative but for what is cut off, and that is a multiple of √K ([`window`](lattice) has the proof). With ρ and η for the two
//! and W for the weight on the lattice, Cauchy and Schwarz give
//!
//! ```text
//! E ≤ ρ D + η √(W D) + (what direct sums left out) + rounding
//! ```
//!
//! for every row, whatever lies around it. On the sphere lattices lie in charts ([`sphere`]); for σ too wide for those there are patches with
//! nodes of their own ([`globe`]). Rows that miss the tolerance by this are summed again, directly, over all
//! sources within the radius that surely keeps it.
//!
//! Rooms, from the bottom up, each importing only from those before: [`direct`]; [`lattice`] ← [`sphere`] ← [`globe`]; then [`group`] and
//! [`plan`], which choose among them.

mod direct;
mod globe;
mod group;
mod groups;
mod lattice;
mod memory;
mod moments;
mod plan;
mod sphere;
#[cfg(test)]
mod tests;

pub(crate) use self::lattice::{CountedCube, CountedRows, MOST_PARTS};
pub(crate) use self::moments::{NodeField, NodeMoments};
pub(crate) use self::plan::LatticePlan;

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use self::direct::{DirectSums, Scratch, TargetSums, log2_below};
use self::globe::Globe;
use self::group::{AnyLattice, DenseSources, GroupPlan};
use self::groups::Groups;
use self::lattice::{BlockGrid, Grid, PlanePoints};
use self::memory::MemoryNeed;
use self::sphere::{Chart, ChartGrid};
use super::rounding::too_small;
use super::{Engine, Plan, Progress, Sums};
use crate::error::Error;
use crate::kernel::{Decay, WithDecay, with_decay, with_decay_within};
use crate::scene::{NOWHERE, Own, RowCounts, Scene};
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

impl Fast {
    /// Bytes that a plan over so many rows usually takes.
    pub(super) fn usual_need(rows: &RowCounts, metric: Metric) -> u64 {
        memory::usual_need(rows, metric)
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
        // A column has the same sums, whichever others are summed with it.
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
}

/// The sums of all targets; gives those that miss the tolerance, with their group.
struct FirstPass<'a> {
    plan: &'a FastPlan,
    columns: &'a [&'a [f64]],
    progress: &'a dyn Progress,
    sums: &'a mut Sums,
}

impl WithDecay for FirstPass<'_> {
    type Output = Vec<(usize, u32)>;

    fn run<D: Decay<A>, const A: usize, const K: usize>(self, decay: D) -> Self::Output {
        let work = Summation { plan: self.plan, decay, columns: self.columns };
        work.read_lattices(self.sums);
        work.add_direct::<A>(self.sums, self.progress)
    }
}

/// Sums again what missed the tolerance.
struct Repair<'a> {
    plan: &'a FastPlan,
    columns: &'a [&'a [f64]],
    missed: &'a [(usize, u32)],
    sums: &'a mut Sums,
}

impl WithDecay for Repair<'_> {
    type Output = ();

    fn run<D: Decay<A>, const A: usize, const K: usize>(self, decay: D) {
        Summation { plan: self.plan, decay, columns: self.columns }.repair::<A>(self.missed, self.sums);
    }
}

struct Summation<'a, D> {
    plan: &'a FastPlan,
    decay: D,
    /// Mass first, then the values.
    columns: &'a [&'a [f64]],
}

/// Targets that one task sums for.
const TASK: usize = 1 << 12;
/// Targets whose sums are taken again before they are written: they take some hundred bytes each on the way.
const MOST_REPAIRED: usize = 1 << 16;
/// What the sums leave of the tolerance for the rounding of averages, which joins their bound afterwards.
const LEFT_FOR_ROUNDING: f64 = 8.0 * f64::EPSILON;
/// Part of the tolerance that direct sums may use up by arithmetic that is not right to the last digit.
const SHARE_OF_ARITHMETIC: f64 = 1.0 / 64.0;
/// Part of the tolerance that one box may use up when it is left out. Few boxes come near that, so that their
/// sum almost always stays within the tolerance.
const SHARE_OF_A_BOX: f64 = 1.0 / 16.0;
/// The same for rows where it did not.
const SMALL_SHARE: f64 = 1.0 / 1024.0;

impl<D: Copy + Sync> Summation<'_, D> {
    /// Writes what dense blocks give.
    fn read_lattices(&self, sums: &mut Sums) {
        let layout = &self.plan.scene.layout;
        for (group, split) in self.plan.groups.kept() {
            let Some(dense) = &split.dense else { continue };
            // Targets that are too far to read the lattice miss what it would have given them.
            sums.error[layout.targets.groups[*group].clone()].fill(dense.bound.error(0.0));
            match &dense.lattice {
                AnyLattice::Plane(block_grid, grid) => self.read_plane(dense, block_grid, grid, sums),
                AnyLattice::Sphere(atlas) => {
                    atlas.charts.iter().for_each(|chart| self.read_chart(dense, &atlas.grid, chart, sums));
                }
                AnyLattice::Globe(globe) => self.read_globe(dense, globe, sums),
            }
        }
    }

    fn read_plane(&self, dense: &DenseSources, block_grid: &BlockGrid, grid: &Grid, sums: &mut Sums) {
        let [sources, targets] = [&self.plan.scene.layout.sources, &self.plan.scene.layout.targets]
            .map(|cloud| PlanePoints { block_grid, cloud, columns: self.columns });
        let blocks = grid.sums(&sources, &targets, self.columns.len());
        // Targets before a block and those in it, by turns.
        let ends = std::iter::once(0).chain(blocks.iter().map(|block| block.places.end));
        let lengths = ends.zip(&blocks).flat_map(|(end, block)| [block.places.start - end, block.places.len()]);
        let slots = sums.slots(lengths, self.plan).into_iter().skip(1).step_by(2).collect::<Vec<_>>();
        blocks.par_iter().zip(slots).for_each(|(block, mut slot)| {
            let sums = block.values.chunks_exact(self.columns.len());
            for (at, (place, sums)) in block.places.clone().zip(sums).enumerate() {
                self.write_lattice(dense, place, sums, &mut slot, at);
            }
        });
    }

    fn read_chart(&self, dense: &DenseSources, grid: &ChartGrid, chart: &Chart, sums: &mut Sums) {
        let values = chart.sums(grid, self.columns);
        let of_target = |place: usize| chart.of_target(&values, place, self.columns.len());
        self.read_targets(dense, chart.targets(), of_target, sums);
    }

    fn read_globe(&self, dense: &DenseSources, globe: &Globe, sums: &mut Sums) {
        let values = globe.sums(self.columns);
        let of_target = |place: usize| globe.of_target(&values, place, self.columns.len());
        self.read_targets(dense, globe.targets(), of_target, sums);
    }

    /// Writes what is known of each of some consecutive targets.
    fn read_targets<'v>(
        &self,
        dense: &DenseSources,
        targets: Range<usize>,
        of_target: impl Fn(usize) -> &'v [f64] + Sync,
        sums: &mut Sums,
    ) {
        let tasks: Vec<Range<usize>> =
            targets.clone().step_by(TASK).map(|start| start..targets.end.min(start + TASK)).collect();
        let lengths = std::iter::once(targets.start).chain(tasks.iter().map(Range::len));
        let slots = sums.slots(lengths, self.plan).into_iter().skip(1).collect::<Vec<_>>();
        tasks.into_par_iter().zip(slots).for_each(|(places, mut slot)| {
            for (at, place) in places.enumerate() {
                self.write_lattice(dense, place, of_target(place), &mut slot, at);
            }
        });
    }

    fn write_lattice(&self, dense: &DenseSources, place: usize, sums: &[f64], slot: &mut Slot, at: usize) {
        let layout = &self.plan.scene.layout;
        let home = layout.home[place];
        let own = layout.own == Own::LeftOut && home != NOWHERE && dense.holds(home as usize);
        slot.error[at] = dense.bound.error(sums[0]);
        for ((slot, sum), column) in slot.columns.iter_mut().zip(sums).zip(self.columns) {
            // The lattice cannot leave a source out: it is taken off again, with what it may have been wrong by.
            slot[at] = sum - if own { column[home as usize] } else { 0.0 };
        }
    }

    /// Adds direct sums to what is there; gives the targets that miss the tolerance, with their group.
    fn add_direct<const A: usize>(&self, sums: &mut Sums, progress: &dyn Progress) -> Vec<(usize, u32)>
    where
        D: Decay<A>,
    {
        let end = self.plan.scene.layout.targets.len();
        // Small groups share a task.
        let tasks: Vec<Range<usize>> = (0..end).step_by(TASK).map(|start| start..end.min(start + TASK)).collect();
        let slots = sums.slots(tasks.iter().map(Range::len), self.plan);
        let missed: Vec<Vec<(usize, u32)>> = tasks
            .into_par_iter()
            .zip(slots)
            .map(|(targets, slot)| {
                let count = targets.len() as u64;
                let missed = self.add_direct_to::<A>(targets, slot);
                progress.advance(count);
                missed
            })
            .collect();
        missed.concat()
    }

    /// The same for consecutive targets, group by group.
    fn add_direct_to<const A: usize>(&self, targets: Range<usize>, mut slot: Slot) -> Vec<(usize, u32)>
    where
        D: Decay<A>,
    {
        let (mut missed, mut scratch) = (Vec::new(), Scratch::new(self.columns.len()));
        for (group, places) in self.plan.scene.layout.targets.groups_within(targets.clone()) {
            let misses = self.add_direct_in::<A>(group, places, targets.start, &mut slot, &mut scratch);
            missed.extend(misses.into_iter().map(|place| (group, place)));
        }
        missed
    }

    /// The same for consecutive targets of one group; the slot begins at the target `first`.
    fn add_direct_in<const A: usize>(
        &self,
        group: usize,
        targets: Range<usize>,
        first: usize,
        slot: &mut Slot,
        scratch: &mut Scratch,
    ) -> Vec<u32>
    where
        D: Decay<A>,
    {
        let mut made = None;
        let split = self.plan.groups.of(&self.plan.scene, group, &mut made);
        let places: Vec<u32> = (targets.start as u32..targets.end as u32).collect();
        if split.dense.as_ref().is_some_and(|dense| dense.thin.is_empty()) {
            let misses = |place: &u32| !slot.suffices(*place as usize - first, &[0.0, 0.0], self.plan.tolerance);
            return places.into_iter().filter(misses).collect();
        }
        let tree = split.dense.as_ref().map_or(&split.all, |dense| &dense.thin);
        let direct = self.direct(split);
        let stride = self.columns.len() + 1;
        let (mut missed, mut found) = (Vec::new(), Vec::new());
        for team in direct.teams(&places) {
            direct.quick::<A>(tree, team, SHARE_OF_A_BOX, slot.from(first), scratch, &mut found);
            for (place, found) in team.chunks(1).zip(found.chunks_exact_mut(stride)) {
                let at = place[0] as usize - first;
                if !slot.suffices(at, found, self.plan.tolerance) {
                    let mut finer = Vec::new();
                    direct.quick::<A>(tree, place, SMALL_SHARE, slot.from(first), scratch, &mut finer);
                    found.copy_from_slice(&finer);
                    if !slot.suffices(at, found, self.plan.tolerance) {
                        missed.push(place[0]);
                    }
                }
                slot.add(at, found);
            }
        }
        missed
    }

    fn direct<'a>(&'a self, split: &'a GroupPlan) -> DirectSums<'a, D> {
        DirectSums {
            decay: self.decay,
            scene: &self.plan.scene,
            tolerance: self.plan.tolerance,
            weight: split.weight,
            tree: &split.all,
            columns: self.columns,
        }
    }

    /// Sums again what missed the tolerance.
    fn repair<const A: usize>(&self, missed: &[(usize, u32)], sums: &mut Sums)
    where
        D: Decay<A>,
    {
        for missed in missed.chunks(MOST_REPAIRED) {
            let of_group = |rows: &[(usize, u32)]| self.repaired::<A>(rows);
            let repaired: Vec<Vec<TargetSums>> = missed.par_chunk_by(|a, b| a.0 == b.0).map(of_group).collect();
            repaired.iter().flatten().for_each(|target| target.write(sums));
        }
    }

    /// The sums of targets of one group that missed the tolerance.
    fn repaired<const A: usize>(&self, missed: &[(usize, u32)]) -> Vec<TargetSums>
    where
        D: Decay<A>,
    {
        let mut made = None;
        let direct = self.direct(self.plan.groups.of(&self.plan.scene, missed[0].0, &mut made));
        let places: Vec<u32> = missed.iter().map(|row| row.1).collect();
        let sure = |teams: &[&[u32]]| -> Vec<TargetSums> {
            let mut scratch = Scratch::new(self.columns.len());
            teams.iter().flat_map(|team| direct.sure::<A>(team, &mut scratch)).collect()
        };
        direct.teams(&places).par_chunks(4).flat_map_iter(sure).collect()
    }
}

impl TargetSums {
    fn write(&self, sums: &mut Sums) {
        let place = self.place as usize;
        sums.mass[place] = self.sums[0];
        sums.error[place] = self.error;
        sums.exponent[place] = self.exponent;
        for (values, value) in sums.values.iter_mut().zip(&self.sums[1..]) {
            values[place] = *value;
        }
    }
}

/// Where the sums of consecutive targets are.
struct Slot<'a> {
    columns: Vec<&'a mut [f64]>,
    error: &'a mut [f64],
    /// Mass that comes beside theirs.
    beside: f64,
    /// Mass below which sums may have lost something.
    too_small: f64,
}

impl Slot<'_> {
    /// Logarithm of what D is at least, from what is there.
    fn least(&self, at: usize) -> f64 {
        let least = (self.columns[0][at] - self.error[at]).max(0.0) + self.beside;
        if least > self.too_small { log2_below(least) } else { f64::NEG_INFINITY }
    }

    /// The same for targets that are counted from elsewhere.
    fn from(&self, start: usize) -> impl Fn(u32) -> f64 {
        move |place| self.least(place as usize - start)
    }

    /// Whether these sums, with their error last, would keep the tolerance.
    fn suffices(&self, at: usize, found: &[f64], tolerance: f64) -> bool {
        let mass = self.columns[0][at] + found[0] + self.beside;
        mass > self.too_small && self.error[at] + found[found.len() - 1] <= (tolerance - LEFT_FOR_ROUNDING) * mass
    }

    /// Adds sums and their error, which comes last.
    fn add(&mut self, at: usize, found: &[f64]) {
        for (column, sum) in self.columns.iter_mut().zip(found) {
            column[at] += sum;
        }
        self.error[at] += found[found.len() - 1];
    }
}

impl Sums {
    /// Cuts the sums into consecutive pieces.
    fn slots(&mut self, lengths: impl Iterator<Item = usize>, plan: &FastPlan) -> Vec<Slot<'_>> {
        let too_small = too_small(plan.groups.largest_weight());
        let mut columns: Vec<&mut [f64]> =
            std::iter::once(&mut self.mass).chain(&mut self.values).map(Vec::as_mut_slice).collect();
        let mut error = self.error.as_mut_slice();
        lengths
            .map(|length| Slot {
                columns: columns.iter_mut().map(|column| column.split_off_mut(..length).unwrap_or_default()).collect(),
                error: error.split_off_mut(..length).unwrap_or_default(),
                beside: plan.scene.beside,
                too_small,
            })
            .collect()
    }
}
