//! Direct sums over the sources that matter: quick ones that may leave out too much, and sure ones that keep the tolerance.
//!
//! Neighbouring targets share one walk through the tree, which finds the leaves that may matter to any of them. Each
//! target then checks the box of each leaf.

use super::boxes::{Omission, log2_below};
use super::leaves::{DirectTarget, LeafPass, LeafSums, NearLeaves};
use super::tree::Tree;
use crate::engine::bounds::Bounds;
use crate::kernel::Decay;
use crate::scene::{NOWHERE, Own, Scene};
use crate::simd::arch;

/// Most targets that share a walk. Chosen, not measured.
const TEAM: usize = 64;
/// A team is at most this many reaches across; between 4 and 16 the time hardly changes (304k + 304k rows, σ = 0.001° to 0.1°,
/// 2026-11-16).
const TEAM_PER_REACH: f64 = 8.0;
/// A team with few sources among its targets may be wider, by the factor [`SPARSE`]: its targets need all of them anyway. Chosen, not
/// measured.
const SOURCES_AMONG_TEAM: usize = 4 * TEAM;
const SPARSE: f64 = 8.0;
/// Sums that may be below two to this power of all weight are computed relative to the nearest source. A little above the 2^−900 at which
/// sums count as too small.
const LOG_TOO_SMALL: f64 = -890.0;
/// By how much the decay to a box may be above that to a place in it: both are sums of three squares, rounded.
const ROUNDINGS_OF_A_BOX: f64 = 8.0 * f64::EPSILON;

/// What direct sums over one group need.
pub(crate) struct DirectSums<'a, D, const A: usize> {
    pub(crate) decay: D,
    pub(crate) scene: &'a Scene,
    pub(crate) tolerance: f64,
    /// Total weight of the sources.
    pub(crate) weight: f64,
    /// All sources.
    pub(crate) tree: &'a Tree,
    /// Mass first, then the columns of values.
    pub(crate) columns: &'a [&'a [f64]],
}

/// The sums of one target: D and N in one array, E, and the power of two that scales them.
pub(crate) struct TargetSums {
    pub(crate) place: u32,
    pub(crate) sums: Vec<f64>,
    pub(crate) error: f64,
    pub(crate) exponent: f64,
}

/// What is known of a target before its sums: the decay to a near source, and the logarithm of a lower bound of D.
#[derive(Clone, Copy)]
struct MassFloor {
    decay: f64,
    log_mass: f64,
}

impl MassFloor {
    /// What is subtracted from every decay of sums that may be below this power of two: a whole number.
    fn shift(&self, too_small: f64) -> f64 {
        if self.log_mass < too_small { self.decay.floor() } else { 0.0 }
    }
}

/// Memory that is reused from team to team.
pub(crate) struct Scratch {
    near: NearLeaves,
    floors: Vec<MassFloor>,
    sums: LeafSums,
}

impl Scratch {
    pub(crate) fn new(columns: usize) -> Self {
        Self { near: NearLeaves::default(), floors: Vec::new(), sums: LeafSums::new(columns) }
    }
}

impl<D: Decay<A>, const A: usize> DirectSums<'_, D, A> {
    /// Cuts targets into teams of neighbours.
    pub(crate) fn teams<'p>(&self, places: &'p [u32]) -> Vec<&'p [u32]> {
        let typical = (self.weight.max(1.0) / self.tolerance).log2();
        let across = TEAM_PER_REACH * self.decay.squared_reach(typical).sqrt();
        let (mut teams, mut rest) = (Vec::new(), places);
        while let Some(&first) = rest.first() {
            let near = rest.iter().take(TEAM).take_while(|place| self.are_near(first, **place, across));
            let (team, others) = rest.split_at(near.count().max(1));
            teams.push(team);
            rest = others;
        }
        teams
    }

    /// Whether two targets may be of one team.
    fn are_near(&self, first: u32, other: u32, across: f64) -> bool {
        let layout = &self.scene.layout;
        let axes = layout.targets.axes[..layout.metric.dimensions()].iter();
        let apart = axes.map(|axis| (axis[other as usize] - axis[first as usize]).abs()).fold(0.0, f64::max);
        let [first, last] = [first, other].map(|place| layout.home[place as usize]);
        let have_homes = first != NOWHERE && last != NOWHERE;
        // Farther apart if few sources lie between the two along the curve, as far as their homes show.
        let across = if have_homes && (last - first) as usize <= SOURCES_AMONG_TEAM { SPARSE * across } else { across };
        apart <= across
    }

    /// Sums over a tree without the boxes that contribute little next to the lower bound of D: for each target its sums and their error. The
    /// caller checks whether that error is small enough.
    ///
    /// `share` is the part of the tolerance that one box may use up when it is left out; `known` gives the logarithm
    /// of another lower bound of the D of a target.
    pub(crate) fn quick(
        &self,
        tree: &Tree,
        team: &[u32],
        share: f64,
        known: impl Fn(u32) -> f64,
        scratch: &mut Scratch,
        found: &mut Vec<f64>,
    ) {
        self.find_floors(team, known, scratch);
        let least = scratch.floors.iter().map(|floor| floor.log_mass).fold(f64::INFINITY, f64::min);
        let share = (self.tolerance * share).log2();
        let omission = Omission { little: least + share, farthest: f64::INFINITY };
        let left_out = self.sum_near(tree, team, omission, |floor| (floor.log_mass + share, 0.0), scratch, found);
        for sums in found.chunks_exact_mut(self.columns.len() + 1) {
            sums[self.columns.len()] += left_out;
        }
    }

    /// Sums over all sources that surely keep the tolerance.
    pub(crate) fn sure(&self, team: &[u32], scratch: &mut Scratch) -> Vec<TargetSums> {
        self.find_floors(team, |_| f64::NEG_INFINITY, scratch);
        // One more than needed, so that what is left out uses up at most half of the tolerance.
        let beyond = self.weight.log2() - self.tolerance.log2() + 1.0;
        // The nearest source always counts, even where decays are so large that rounding hides small differences.
        let reach = |floor: &MassFloor| (beyond - floor.log_mass).max(floor.decay * (1.0 + ROUNDINGS_OF_A_BOX));
        let farthest = scratch.floors.iter().map(reach).fold(0.0, f64::max);
        let omission = Omission { little: f64::NEG_INFINITY, farthest };
        let (mut sums, mut found) = (Vec::with_capacity(team.len()), Vec::new());
        let too_small = LOG_TOO_SMALL + self.weight.max(1.0).log2();
        let little_and_shift = |floor: &MassFloor| (f64::NEG_INFINITY, floor.shift(too_small));
        self.sum_near(self.tree, team, omission, little_and_shift, scratch, &mut found);
        let found = found.chunks_exact(self.columns.len() + 1);
        for ((&place, floor), found) in team.iter().zip(&scratch.floors).zip(found) {
            let shift = floor.shift(too_small);
            // A target without any source has no error.
            let has_sources = floor.log_mass < f64::INFINITY;
            let missing = if has_sources { self.weight * (shift - farthest).exp2() } else { 0.0 };
            let (found, error) = found.split_at(self.columns.len());
            sums.push(TargetSums { place, sums: found.to_vec(), error: missing + error[0], exponent: -shift });
        }
        sums
    }

    /// Sums over the leaves of a tree that `omission` does not leave out: for each target its sums, and the error of leaves that were left
    /// out for it and of rounding. Gives a bound of what was left out for all. `little_and_shift` is that of a [`DirectTarget`].
    fn sum_near(
        &self,
        tree: &Tree,
        team: &[u32],
        omission: Omission,
        little_and_shift: impl Fn(&MassFloor) -> (f64, f64),
        scratch: &mut Scratch,
        found: &mut Vec<f64>,
    ) -> f64 {
        let layout = &self.scene.layout;
        let places = team.iter().map(|&place| place as usize);
        let bounds = Bounds::around(&layout.targets, layout.metric.dimensions(), &places);
        scratch.near.clear();
        let left_out = tree.walk(self.decay, &bounds, omission, &mut scratch.near);
        let targets =
            team.iter().zip(&scratch.floors).map(|(&place, floor)| self.target(place, little_and_shift(floor)));
        let targets: Vec<DirectTarget<A>> = targets.collect();
        found.clear();
        arch().dispatch(LeafPass {
            decay: self.decay,
            sources: &layout.sources,
            columns: self.columns,
            log_weight: log2_below(self.weight) + 1.0,
            near: &scratch.near,
            targets: &targets,
            memory: &mut scratch.sums,
            found,
        });
        left_out
    }

    fn target(&self, place: u32, (little, shift): (f64, f64)) -> DirectTarget<A> {
        let coordinates = self.scene.layout.targets.place(place as usize);
        DirectTarget { place: coordinates, left_out: self.left_out(place), little, shift }
    }

    fn left_out(&self, place: u32) -> u32 {
        match self.scene.layout.own {
            Own::Counts => NOWHERE,
            Own::LeftOut => self.scene.layout.home[place as usize],
        }
    }

    fn find_floors(&self, team: &[u32], known: impl Fn(u32) -> f64, scratch: &mut Scratch) {
        scratch.floors.clear();
        scratch.floors.extend(team.iter().map(|&place| self.floor(place, known(place))));
    }

    /// From the source at the place of the target, or else from what is known, or else from the nearest source. Without any source the sum
    /// is zero and every box may be left out.
    fn floor(&self, place: u32, known: f64) -> MassFloor {
        let layout = &self.scene.layout;
        let home = layout.home[place as usize];
        if home != NOWHERE && layout.own == Own::Counts {
            let home = self.contribution(0.0, home as usize);
            return MassFloor { log_mass: home.log_mass.max(known), ..home };
        }
        if known > f64::NEG_INFINITY {
            return MassFloor { decay: 0.0, log_mass: known };
        }
        let target: [f64; A] = layout.targets.place(place as usize);
        self.tree
            .nearest(self.decay, &layout.sources, &target, self.left_out(place))
            .map_or(MassFloor { decay: 0.0, log_mass: f64::INFINITY }, |(decay, source)| {
                self.contribution(decay, source)
            })
    }

    /// What one source gives alone.
    fn contribution(&self, decay: f64, source: usize) -> MassFloor {
        MassFloor { decay, log_mass: log2_below(self.scene.mass[source]) - decay }
    }
}
