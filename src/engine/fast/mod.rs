//! The certified fast engine.
mod direct;
mod leaves;
mod tree;

use std::sync::Arc;

use rayon::prelude::*;

use self::direct::{Bench, Direct, TargetSums};
use self::tree::Tree;
use super::{Engine, Plan, Progress, Sums};
use crate::error::Error;
use crate::kernel::{Decay, WithDecay, with_decay};
use crate::scene::Scene;

/// The engine for any σ at near-linear cost.
#[derive(Clone, Copy, Debug)]
pub struct Fast {
    /// Largest error of any row, relative to the range of the values.
    pub tolerance: f64,
}

impl Engine for Fast {
    fn plan(&self, scene: Arc<Scene>, _: &dyn Progress) -> Result<Box<dyn Plan>, Error> {
        let groups = &scene.layout.sources.groups;
        let trees = groups.iter().map(|group| Tree::over(&scene, std::slice::from_ref(group))).collect();
        let weights = (0..groups.len()).map(|group| scene.group_mass(group)).collect();
        Ok(Box::new(FastPlan { scene, tolerance: self.tolerance, trees, weights }))
    }
}

struct FastPlan {
    scene: Arc<Scene>,
    tolerance: f64,
    /// All sources of each group.
    trees: Vec<Tree>,
    /// Their total weight.
    weights: Vec<f64>,
}

impl Plan for FastPlan {
    fn sums(&self, columns: &[Vec<f64>], progress: &dyn Progress) -> Sums {
        with_decay(self.scene.layout.metric, self.scene.scale, AllTargets { plan: self, columns, progress })
    }
}

struct AllTargets<'a> {
    plan: &'a FastPlan,
    columns: &'a [Vec<f64>],
    progress: &'a dyn Progress,
}

/// Targets that one task sums for.
const TASK: usize = 1 << 12;

impl WithDecay for AllTargets<'_> {
    type Output = Sums;

    fn run<D: Decay<A>, const A: usize, const K: usize>(self, decay: D) -> Sums {
        let plan = self.plan;
        let scene = &plan.scene;
        let columns: Vec<&[f64]> = std::iter::once(&scene.mass).chain(self.columns).map(Vec::as_slice).collect();
        let mut sums = Sums::zero(scene.layout.targets.len(), self.columns.len());
        self.progress.start(scene.layout.targets.len() as u64);
        let direct = |group: usize| Direct {
            decay,
            scene,
            tolerance: plan.tolerance,
            weight: plan.weights[group],
            tree: &plan.trees[group],
            columns: &columns,
        };
        let groups = scene.layout.targets.groups.iter().enumerate();
        let tasks: Vec<(usize, std::ops::Range<usize>)> = groups
            .flat_map(|(group, targets)| {
                let end = targets.end;
                targets.clone().step_by(TASK).map(move |start| (group, start..end.min(start + TASK)))
            })
            .collect();
        let mut slots = sums.slots(tasks.iter().map(|(_, targets)| targets.len()));
        let missed: Vec<Vec<(usize, u32)>> = tasks
            .par_iter()
            .zip(&mut slots)
            .map(|((group, targets), slot)| {
                let direct = direct(*group);
                let places: Vec<u32> = (targets.start as u32..targets.end as u32).collect();
                let mut bench = Bench::new(columns.len());
                let mut missed = Vec::new();
                for team in direct.teams(&places) {
                    direct.quick::<A>(direct.tree, team, &mut bench, |sums| {
                        slot.write(sums.place as usize - targets.start, &sums);
                        if !(sums.error <= plan.tolerance * sums.sums[0]) {
                            missed.push((*group, sums.place));
                        }
                    });
                }
                self.progress.advance(targets.len() as u64);
                missed
            })
            .collect();
        let missed = missed.concat();
        let repaired: Vec<Block> = missed
            .chunk_by(|a, b| a.0 == b.0)
            .flat_map(|rows| {
                let direct = direct(rows[0].0);
                let places: Vec<u32> = rows.iter().map(|row| row.1).collect();
                let task = |teams: &[&[u32]]| {
                    let mut bench = Bench::new(columns.len());
                    let mut block = Block { stride: columns.len() + 2, numbers: Vec::new(), places: Vec::new() };
                    for team in teams {
                        direct.sure::<A>(team, &mut bench, |sums| block.push(&sums));
                    }
                    block
                };
                direct.teams(&places).par_chunks(16).map(task).collect::<Vec<_>>()
            })
            .collect();
        repaired.iter().for_each(|block| block.write(&mut sums));
        sums
    }
}

/// Where the sums of consecutive targets go.
struct Slot<'a> {
    columns: Vec<&'a mut [f64]>,
    error: &'a mut [f64],
}

impl Slot<'_> {
    fn write(&mut self, at: usize, sums: &TargetSums) {
        for (column, sum) in self.columns.iter_mut().zip(sums.sums) {
            column[at] = *sum;
        }
        self.error[at] = sums.error;
    }
}

impl Sums {
    /// Cuts the sums into consecutive pieces.
    fn slots(&mut self, lengths: impl Iterator<Item = usize>) -> Vec<Slot<'_>> {
        let mut columns: Vec<&mut [f64]> =
            std::iter::once(&mut self.mass).chain(&mut self.values).map(Vec::as_mut_slice).collect();
        let mut error = self.error.as_mut_slice();
        lengths
            .map(|length| Slot {
                columns: columns.iter_mut().map(|column| column.split_off_mut(..length).unwrap_or_default()).collect(),
                error: error.split_off_mut(..length).unwrap_or_default(),
            })
            .collect()
    }
}

/// The sums of many targets.
struct Block {
    stride: usize,
    numbers: Vec<f64>,
    places: Vec<u32>,
}

impl Block {
    fn push(&mut self, sums: &TargetSums) {
        self.places.push(sums.place);
        self.numbers.extend_from_slice(sums.sums);
        self.numbers.extend([sums.error, sums.exponent]);
    }

    fn write(&self, sums: &mut Sums) {
        for (&place, numbers) in self.places.iter().zip(self.numbers.chunks_exact(self.stride)) {
            let place = place as usize;
            let (columns, rest) = numbers.split_at(self.stride - 2);
            sums.mass[place] = columns[0];
            sums.error[place] = rest[0];
            sums.exponent[place] = rest[1];
            for (values, value) in sums.values.iter_mut().zip(&columns[1..]) {
                values[place] = *value;
            }
        }
    }
}
