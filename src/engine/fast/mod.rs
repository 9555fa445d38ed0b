//! The certified fast engine.
mod crowd;
mod direct;
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
        for (group, targets) in scene.layout.targets.groups.iter().enumerate() {
            let direct = direct(group);
            let places: Vec<u32> = (targets.start as u32..targets.end as u32).collect();
            let tiles = direct.tiles(&places);
            let task = |tiles: &[&[u32]]| {
                let mut bench = Bench::<A>::new(columns.len());
                let mut block = Block { stride: columns.len() + 2, numbers: Vec::new(), places: Vec::new() };
                for tile in tiles {
                    direct.quick(direct.tree, tile, &mut bench, |sums| block.push(&sums));
                    self.progress.advance(tile.len() as u64);
                }
                block
            };
            let blocks: Vec<Block> = tiles.par_chunks(256).map(task).collect();
            blocks.iter().for_each(|block| block.write(&mut sums));
            let missed: Vec<u32> = places.into_iter()
                .filter(|&place| !(sums.error[place as usize] <= plan.tolerance * sums.mass[place as usize]))
                .collect();
            let tiles = direct.tiles(&missed);
            let task = |tiles: &[&[u32]]| {
                let mut bench = Bench::<A>::new(columns.len());
                let mut block = Block { stride: columns.len() + 2, numbers: Vec::new(), places: Vec::new() };
                for tile in tiles {
                    direct.sure(tile, &mut bench, |sums| block.push(&sums));
                }
                block
            };
            let blocks: Vec<Block> = tiles.par_chunks(16).map(task).collect();
            blocks.iter().for_each(|block| block.write(&mut sums));
        }
        sums
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
        self.places.push(sums.place as u32);
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
