//! Sources that come part by part: what they give to the nodes of patches piles up, and targets read what comes of it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::bands::PatchKey;
use super::patches::GlobeLattice;
use super::nodes::read;
use super::places::PatchedPlaces;
use crate::scene::Cloud;
use crate::space::two_sum;

/// A patch of a group.
type PatchId = (u32, PatchKey);

/// What sources have given so far.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct PatchMoments {
    patches: BTreeMap<PatchId, PatchMoment>,
}

/// The nodes of a patch, one column after the other.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct PatchMoment {
    /// Whether targets are in the patch.
    targets: bool,
    sums: Vec<f64>,
    /// What roundings have taken from each sum: however many parts there are, their number does not matter.
    lost: Vec<f64>,
}

impl PatchMoment {
    fn nothing(numbers: usize) -> Self {
        Self { targets: false, sums: vec![0.0; numbers], lost: vec![0.0; numbers] }
    }

    fn add<'a>(&mut self, terms: impl Iterator<Item = &'a f64>) {
        for ((sum, lost), term) in self.sums.iter_mut().zip(&mut self.lost).zip(terms) {
            let total = two_sum(*sum, *term);
            *sum = total.hi;
            *lost += total.lo;
        }
    }

    fn join(&mut self, other: &Self) {
        self.targets |= other.targets;
        self.add(other.sums.iter());
        self.lost.iter_mut().zip(&other.lost).for_each(|(lost, more)| *lost += more);
    }
}

impl PatchMoments {
    /// Adds some sources of a group, with columns of all sources.
    pub(crate) fn add(
        &mut self,
        mesh: &GlobeLattice,
        group: u32,
        cloud: &Cloud,
        places: Range<usize>,
        columns: &[&[f64]],
        targets: bool,
    ) {
        let (patched, nodes) = (PatchedPlaces::of(mesh, cloud, places), mesh.nodes_of_a_patch());
        let given = patched.spread(mesh, columns);
        for (number, patch) in patched.patches.iter().enumerate() {
            let nothing = || PatchMoment::nothing(columns.len() * nodes);
            let moment = self.patches.entry((group, patch.key)).or_insert_with(nothing);
            moment.targets |= targets;
            moment.add(given.iter().flat_map(|column| &column[number * nodes..(number + 1) * nodes]));
        }
    }

    /// Adds what others have added up with the same mesh.
    pub(crate) fn join(&mut self, other: Self) {
        for (which, moment) in other.patches {
            self.patches.entry(which).or_insert_with(|| PatchMoment::nothing(moment.sums.len())).join(&moment);
        }
    }

    /// Bytes that they take.
    pub(crate) fn bytes(&self) -> u64 {
        self.patches.values().map(|moment| 16 * moment.sums.len() as u64).sum()
    }

    /// What all sources give to the nodes of patches with targets.
    pub(crate) fn field(self, mesh: &GlobeLattice, columns: usize) -> PatchField {
        let groups: BTreeSet<u32> = self.patches.keys().map(|(group, _)| *group).collect();
        let nodes = mesh.nodes_of_a_patch();
        let mut patches = BTreeMap::new();
        for group in groups {
            let of_group = || self.patches.iter().filter(|((of, _), _)| *of == group);
            let sources: Vec<PatchKey> = of_group().map(|((_, key), _)| *key).collect();
            let targets: Vec<PatchKey> =
                of_group().filter(|(_, moment)| moment.targets).map(|((_, key), _)| *key).collect();
            let column = |k: usize| {
                let range = k * nodes..(k + 1) * nodes;
                let whole = |moment: &PatchMoment| -> Vec<f64> {
                    moment.sums[range.clone()]
                        .iter()
                        .zip(&moment.lost[range.clone()])
                        .map(|(sum, lost)| sum + lost)
                        .collect()
                };
                of_group().flat_map(|(_, moment)| whole(moment)).collect()
            };
            let moments: Vec<Vec<f64>> = (0..columns).map(column).collect();
            let found = mesh.transfer(&sources, &moments, &targets);
            patches.extend(targets.into_iter().map(|key| (group, key)).zip(found));
        }
        PatchField { patches }
    }
}

/// What all sources give to the nodes that targets read.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct PatchField {
    patches: BTreeMap<PatchId, Vec<f64>>,
}

impl PatchField {
    /// Bytes that it takes.
    pub(crate) fn bytes(&self) -> u64 {
        self.patches.values().map(|nodes| 8 * nodes.len() as u64).sum()
    }

    /// Tells the sums of some targets of a group, where targets were said to be.
    pub(crate) fn read(
        &self,
        mesh: &GlobeLattice,
        group: u32,
        cloud: &Cloud,
        places: Range<usize>,
        columns: usize,
        mut tell: impl FnMut(usize, &[f64]),
    ) {
        let patched = PatchedPlaces::of(mesh, cloud, places);
        let found = |(patch, places): (usize, Range<usize>)| {
            let nodes = self.patches.get(&(group, patched.patches[patch].key))?;
            let mut sums = vec![0.0; places.len() * columns];
            read(&mesh.chebyshev, &patched.within[places.clone()], nodes, &mut sums);
            Some((places, sums))
        };
        let found: Vec<(Range<usize>, Vec<f64>)> = patched.pieces().into_par_iter().filter_map(found).collect();
        for (places, sums) in found {
            let targets = patched.order[places].iter().zip(sums.chunks_exact(columns));
            targets.for_each(|(place, sums)| tell(*place as usize, sums));
        }
    }
}
