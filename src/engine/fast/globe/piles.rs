//! Sources that come part by part: what they give to the nodes of patches piles up, and targets read what comes of it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::bands::Key;
use super::mesh::Mesh;
use super::nodes::read;
use super::settled::Settled;
use crate::scene::Cloud;
use crate::space::two_sum;

/// A patch of a group.
type Which = (u32, Key);

/// What sources have given so far.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(in crate::engine::fast) struct Piles {
    patches: BTreeMap<Which, Pile>,
}

/// The nodes of a patch, one column after the other.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Pile {
    /// Whether targets are in the patch.
    targets: bool,
    sums: Vec<f64>,
    /// What roundings have taken from each sum: however many parts there are, their number does not matter.
    lost: Vec<f64>,
}

impl Pile {
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

impl Piles {
    /// Adds some sources of a group, with columns of all sources.
    pub(in crate::engine::fast) fn add(
        &mut self,
        mesh: &Mesh,
        group: u32,
        cloud: &Cloud,
        places: Range<usize>,
        columns: &[&[f64]],
        targets: bool,
    ) {
        let (settled, nodes) = (Settled::of(mesh, cloud, places), mesh.nodes_of_a_patch());
        let given = settled.spread(mesh, columns);
        for (number, patch) in settled.patches.iter().enumerate() {
            let nothing = || Pile::nothing(columns.len() * nodes);
            let pile = self.patches.entry((group, patch.key)).or_insert_with(nothing);
            pile.targets |= targets;
            pile.add(given.iter().flat_map(|column| &column[number * nodes..(number + 1) * nodes]));
        }
    }

    /// Adds what others have added up with the same mesh.
    pub(in crate::engine::fast) fn join(&mut self, other: Self) {
        for (which, pile) in other.patches {
            self.patches.entry(which).or_insert_with(|| Pile::nothing(pile.sums.len())).join(&pile);
        }
    }

    /// Bytes that they take.
    pub(in crate::engine::fast) fn bytes(&self) -> u64 {
        self.patches.values().map(|pile| 16 * pile.sums.len() as u64).sum()
    }

    /// What all sources give to the nodes of patches with targets.
    pub(in crate::engine::fast) fn field(self, mesh: &Mesh, columns: usize) -> PatchField {
        let groups: BTreeSet<u32> = self.patches.keys().map(|(group, _)| *group).collect();
        let nodes = mesh.nodes_of_a_patch();
        let mut patches = BTreeMap::new();
        for group in groups {
            let of_group = || self.patches.iter().filter(|((of, _), _)| *of == group);
            let sources: Vec<Key> = of_group().map(|((_, key), _)| *key).collect();
            let targets: Vec<Key> = of_group().filter(|(_, pile)| pile.targets).map(|((_, key), _)| *key).collect();
            let column = |k: usize| {
                let range = k * nodes..(k + 1) * nodes;
                let whole = |pile: &Pile| -> Vec<f64> {
                    pile.sums[range.clone()]
                        .iter()
                        .zip(&pile.lost[range.clone()])
                        .map(|(sum, lost)| sum + lost)
                        .collect()
                };
                of_group().flat_map(|(_, pile)| whole(pile)).collect()
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
pub(in crate::engine::fast) struct PatchField {
    patches: BTreeMap<Which, Vec<f64>>,
}

impl PatchField {
    /// Bytes that it takes.
    pub(in crate::engine::fast) fn bytes(&self) -> u64 {
        self.patches.values().map(|nodes| 8 * nodes.len() as u64).sum()
    }

    /// Tells the sums of some targets of a group, where targets were said to be.
    pub(in crate::engine::fast) fn read(
        &self,
        mesh: &Mesh,
        group: u32,
        cloud: &Cloud,
        places: Range<usize>,
        columns: usize,
        mut tell: impl FnMut(usize, &[f64]),
    ) {
        let settled = Settled::of(mesh, cloud, places);
        let found = |(patch, places): (usize, Range<usize>)| {
            let nodes = self.patches.get(&(group, settled.patches[patch].key))?;
            let mut sums = vec![0.0; places.len() * columns];
            read(&mesh.chebyshev, &settled.within[places.clone()], nodes, &mut sums);
            Some((places, sums))
        };
        let found: Vec<(Range<usize>, Vec<f64>)> = settled.pieces().into_par_iter().filter_map(found).collect();
        for (places, sums) in found {
            let targets = settled.order[places].iter().zip(sums.chunks_exact(columns));
            targets.for_each(|(place, sums)| tell(*place as usize, sums));
        }
    }
}
