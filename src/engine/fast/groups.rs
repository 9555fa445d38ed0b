//! The groups of a scene. Plans of large groups are kept. Plans of small ones are made whenever they are summed, so that a
//! million groups of one row take no more memory than one group of a million rows.

use rayon::prelude::*;

use super::direct::{BOXES, LEAF};
use super::group::GroupPlan;
use crate::scene::Scene;

/// Most places of a small group: its tree is a single node, made in about the time of one of its sums.
const SMALL: usize = LEAF * BOXES;

/// The groups of a scene, ready for sums.
pub(super) struct Groups {
    /// Large groups by their numbers, ascending.
    large: Vec<(usize, GroupPlan)>,
    largest_weight: f64,
}

impl Groups {
    pub(super) fn new(scene: &Scene, tolerance: f64) -> Self {
        let all = 0..scene.layout.sources.groups.len();
        let split = |group| (group, GroupPlan::new(scene, group, tolerance));
        Self {
            large: all.clone().into_par_iter().filter(|group| !is_small(scene, *group)).map(split).collect(),
            largest_weight: all.map(|group| scene.group_mass(group)).fold(0.0, f64::max),
        }
    }

    /// The plans that are kept, with the numbers of their groups.
    pub(super) fn kept(&self) -> &[(usize, GroupPlan)] {
        &self.large
    }

    /// The plan of a group; that of a small one is made here.
    pub(super) fn of<'a>(&'a self, scene: &Scene, group: usize, made: &'a mut Option<GroupPlan>) -> &'a GroupPlan {
        match self.large.binary_search_by_key(&group, |(large, _)| *large) {
            Ok(at) => &self.large[at].1,
            Err(_) => made.insert(GroupPlan::direct(scene, group)),
        }
    }

    /// Total weight of the sources of the group that has most.
    pub(super) fn largest_weight(&self) -> f64 {
        self.largest_weight
    }
}

fn is_small(scene: &Scene, group: usize) -> bool {
    let (sources, targets) = (&scene.layout.sources.groups[group], &scene.layout.targets.groups[group]);
    sources.len().max(targets.len()) <= SMALL
}
