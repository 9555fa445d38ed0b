//! The sums of all targets: from lattices where sources are dense, directly where they are thin, and again for targets that miss the
//! tolerance.

use std::ops::Range;

use rayon::prelude::*;

use super::direct::{DirectSums, Scratch, TargetSums, log2_below};
use super::group::{DenseSources, GroupPlan, Groups};
use super::laid::LaidSheet;
use crate::engine::pieces::pieces;
use crate::engine::plan::{Progress, Sums};
use crate::engine::rounding::too_small;
use crate::kernel::Decay;
use crate::scene::{NOWHERE, Own, Scene};

/// One summation over a scene.
pub(super) struct Summation<'a, D, const A: usize> {
    pub(super) scene: &'a Scene,
    pub(super) groups: &'a Groups,
    pub(super) tolerance: f64,
    pub(super) decay: D,
    /// Mass first, then the values.
    pub(super) columns: &'a [&'a [f64]],
}

/// Targets of one task. Chosen, not measured.
const TASK: usize = 1 << 12;
/// Targets that are summed again before any is written: they take some hundred bytes each until then. Chosen, not measured.
const MOST_REPAIRED: usize = 1 << 16;
/// Part of the tolerance that direct sums may use up by cheaper arithmetic of arcs. Chosen, not
/// measured.
pub(super) const SHARE_OF_ARITHMETIC: f64 = 1.0 / 64.0;
/// Part of the tolerance that one box may use up when it is left out. Few boxes come near that, so that their
/// sum almost always stays within the tolerance. Chosen, not measured.
const SHARE_OF_A_BOX: f64 = 1.0 / 16.0;
/// The same for rows where it did not. Chosen, not measured.
const SMALL_SHARE: f64 = 1.0 / 1024.0;
/// What the sums leave of the tolerance for the rounding of averages, which joins their bound afterwards: two roundings for each of
/// shift, division, product and sum.
const LEFT_FOR_ROUNDING: f64 = 8.0 * f64::EPSILON;

impl<D: Decay<A>, const A: usize> Summation<'_, D, A> {
    /// Slots for tasks over consecutive targets.
    fn slots<'s>(&self, sums: &'s mut Sums, targets: &Range<usize>) -> Vec<Slot<'s>> {
        sums.slots(pieces(targets, TASK), self.scene.beside, too_small(self.groups.largest_weight))
    }

    /// Writes the sums over dense blocks.
    pub(super) fn read_lattices(&self, sums: &mut Sums) {
        let layout = &*self.scene.layout;
        for (group, split) in &self.groups.large {
            let Some(dense) = &split.dense else { continue };
            // Targets that no sheet owns have the error of a mass of zero.
            sums.error[layout.targets.groups[*group].clone()].fill(dense.bound.error(0.0));
            for sheet in &dense.laid.sheets {
                let values = sheet.sums(&*dense.laid.lattice, layout, self.columns);
                self.read_sheet(dense, sheet, &values, sums);
            }
        }
    }

    /// Writes the sums of the targets of a sheet, `values` in the order in which they are laid.
    fn read_sheet(&self, dense: &DenseSources, sheet: &LaidSheet, values: &[f64], sums: &mut Sums) {
        let layout = &self.scene.layout;
        self.slots(sums, &sheet.owns).into_par_iter().for_each(|mut slot| {
            for (at, place) in slot.targets.clone().enumerate() {
                let found = sheet.of_target(values, place, self.columns.len());
                let home = layout.home[place];
                let own = layout.own == Own::LeftOut && home != NOWHERE && dense.holds(home as usize);
                slot.error[at] = dense.bound.error(found[0]);
                for ((slot, sum), column) in slot.columns.iter_mut().zip(found).zip(self.columns) {
                    // The lattice cannot leave a source out: it is subtracted again; its error is within the bound.
                    slot[at] = sum - if own { column[home as usize] } else { 0.0 };
                }
            }
        });
    }

    /// Adds direct sums to those of lattices; gives the targets that miss the tolerance, with their group.
    pub(super) fn add_direct(&self, sums: &mut Sums, progress: &dyn Progress) -> Vec<(usize, u32)> {
        let targets = &self.scene.layout.targets;
        // Small groups share a task.
        let tasks = self.slots(sums, &(0..targets.len())).into_par_iter().map(|mut slot| {
            let (mut missed, mut scratch) = (Vec::new(), Scratch::new(self.columns.len()));
            for (group, places) in targets.groups_within(slot.targets.clone()) {
                let misses = self.add_direct_in(group, places, &mut slot, &mut scratch);
                missed.extend(misses.into_iter().map(|place| (group, place)));
            }
            progress.advance(slot.targets.len() as u64);
            missed
        });
        tasks.collect::<Vec<_>>().concat()
    }

    /// The same for consecutive targets of one group, within a slot.
    fn add_direct_in(&self, group: usize, targets: Range<usize>, slot: &mut Slot, scratch: &mut Scratch) -> Vec<u32> {
        let mut made = None;
        let split = self.groups.of(self.scene, group, &mut made);
        let places: Vec<u32> = (targets.start as u32..targets.end as u32).collect();
        if split.dense.as_ref().is_some_and(|dense| dense.thin.is_empty()) {
            return places.into_iter().filter(|place| !slot.suffices(*place, &[0.0, 0.0], self.tolerance)).collect();
        }
        let tree = split.dense.as_ref().map_or(&split.all, |dense| &dense.thin);
        let direct = self.direct(split);
        let stride = self.columns.len() + 1;
        let (mut missed, mut found) = (Vec::new(), Vec::new());
        for team in direct.teams(&places) {
            direct.quick(tree, team, SHARE_OF_A_BOX, |target| slot.least(target), scratch, &mut found);
            for (target, found) in team.chunks(1).zip(found.chunks_exact_mut(stride)) {
                if !slot.suffices(target[0], found, self.tolerance) {
                    let mut finer = Vec::new();
                    direct.quick(tree, target, SMALL_SHARE, |target| slot.least(target), scratch, &mut finer);
                    found.copy_from_slice(&finer);
                    if !slot.suffices(target[0], found, self.tolerance) {
                        missed.push(target[0]);
                    }
                }
                slot.add(target[0], found);
            }
        }
        missed
    }

    fn direct<'a>(&'a self, split: &'a GroupPlan) -> DirectSums<'a, D, A> {
        DirectSums {
            decay: self.decay,
            scene: self.scene,
            tolerance: self.tolerance,
            weight: split.weight,
            tree: &split.all,
            columns: self.columns,
        }
    }

    /// Sums again the targets that missed the tolerance.
    pub(super) fn repair(&self, missed: &[(usize, u32)], sums: &mut Sums) {
        for missed in missed.chunks(MOST_REPAIRED) {
            let groups = missed.par_chunk_by(|a, b| a.0 == b.0);
            let repaired: Vec<Vec<TargetSums>> = groups.map(|rows| self.repaired(rows)).collect();
            for TargetSums { place, sums: found, error, exponent } in repaired.into_iter().flatten() {
                sums.write(place as usize, found.into_iter(), error, exponent);
            }
        }
    }

    /// The sums of targets of one group that missed the tolerance.
    fn repaired(&self, missed: &[(usize, u32)]) -> Vec<TargetSums> {
        let mut made = None;
        let direct = self.direct(self.groups.of(self.scene, missed[0].0, &mut made));
        let places: Vec<u32> = missed.iter().map(|row| row.1).collect();
        let teams = direct.teams(&places);
        let scratch = || Scratch::new(self.columns.len());
        teams.par_iter().map_init(scratch, |scratch, team| direct.sure(team, scratch)).flatten_iter().collect()
    }
}

/// Where the sums of consecutive targets are.
struct Slot<'a> {
    targets: Range<usize>,
    columns: Vec<&'a mut [f64]>,
    error: &'a mut [f64],
    /// Mass besides the sums: that of the own prediction.
    beside: f64,
    /// Mass below which sums may have lost something.
    too_small: f64,
}

impl Slot<'_> {
    /// Logarithm of a lower bound of the D of a target, from the sums so far.
    fn least(&self, target: u32) -> f64 {
        let at = self.position(target);
        let least = (self.columns[0][at] - self.error[at]).max(0.0) + self.beside;
        if least > self.too_small { log2_below(least) } else { f64::NEG_INFINITY }
    }

    /// Whether these sums of a target, with their error last, would keep the tolerance.
    fn suffices(&self, target: u32, found: &[f64], tolerance: f64) -> bool {
        let at = self.position(target);
        let mass = self.columns[0][at] + found[0] + self.beside;
        mass > self.too_small && self.error[at] + found[found.len() - 1] <= (tolerance - LEFT_FOR_ROUNDING) * mass
    }

    /// Adds sums of a target and their error, which comes last.
    fn add(&mut self, target: u32, found: &[f64]) {
        let at = self.position(target);
        for (column, sum) in self.columns.iter_mut().zip(found) {
            column[at] += sum;
        }
        self.error[at] += found[found.len() - 1];
    }

    fn position(&self, target: u32) -> usize {
        target as usize - self.targets.start
    }
}

impl Sums {
    /// The slots of adjacent ranges of targets.
    fn slots(&mut self, targets: impl Iterator<Item = Range<usize>>, beside: f64, too_small: f64) -> Vec<Slot<'_>> {
        let columns = std::iter::once(&mut self.mass).chain(&mut self.values).chain([&mut self.error]);
        let mut rest: Vec<&mut [f64]> = columns.map(Vec::as_mut_slice).collect();
        let (mut slots, mut taken) = (Vec::new(), 0);
        for targets in targets {
            split_off(&mut rest, targets.start - taken);
            taken = targets.end;
            let mut columns = split_off(&mut rest, targets.len());
            let error = columns.pop().unwrap_or_default();
            slots.push(Slot { targets, columns, error, beside, too_small });
        }
        slots
    }
}

/// Splits off the first numbers of each column.
fn split_off<'a>(columns: &mut [&'a mut [f64]], count: usize) -> Vec<&'a mut [f64]> {
    columns.iter_mut().map(|column| column.split_off_mut(..count).unwrap_or_default()).collect()
}
