//! Places in the patches that they belong to.

use std::ops::Range;

use rayon::prelude::*;

use super::bands::{Bands, PatchKey, PatchPosition, angles};
use super::mesh::Mesh;
use super::nodes::spread;
use crate::scene::Cloud;
use crate::space::compensated;

/// Places by patches.
pub(crate) struct PatchedPlaces {
    pub(crate) patches: Vec<Patch>,
    /// The places, patch by patch.
    pub(crate) order: Vec<u32>,
    /// Where each is in its patch, in that order.
    pub(crate) within: Vec<[f64; 2]>,
}

/// A patch with places in it.
pub(crate) struct Patch {
    pub(crate) key: PatchKey,
    /// Its places, as they stand in the order.
    places: Range<usize>,
}

/// Places of a patch that one task works on.
const PIECE: usize = 1 << 12;

/// Latitudes and longitudes of consecutive places, in radians.
pub(crate) fn all_angles(cloud: &Cloud, places: &Range<usize>) -> Vec<[f64; 2]> {
    places.clone().into_par_iter().with_min_len(PIECE).map(|place| angles(cloud, place)).collect()
}

impl PatchedPlaces {
    /// Puts consecutive places of a cloud into their patches.
    pub(crate) fn of(mesh: &Mesh, cloud: &Cloud, places: Range<usize>) -> Self {
        Self::new(&mesh.bands, &all_angles(cloud, &places), places.start)
    }

    /// Puts places, given by their latitudes and longitudes, into their patches. They are numbered from the first.
    pub(crate) fn new(bands: &Bands, angles: &[[f64; 2]], first: usize) -> Self {
        let spot = |(place, angles): (usize, &[f64; 2])| (bands.spot(*angles), (first + place) as u32);
        let mut located: Vec<(PatchPosition, u32)> =
            angles.par_iter().enumerate().with_min_len(PIECE).map(spot).collect();
        located.par_sort_unstable_by_key(|(spot, place)| (spot.key, *place));
        let patches = located.chunk_by(|a, b| a.0.key == b.0.key).scan(0, |end, patch| {
            let start = std::mem::replace(end, *end + patch.len());
            Some(Patch { key: patch[0].0.key, places: start..*end })
        });
        let patches = patches.collect();
        let (within, order) = located.into_iter().map(|(spot, place)| (spot.within, place)).unzip();
        Self { patches, order, within }
    }

    /// The patches.
    pub(crate) fn keys(&self) -> Vec<PatchKey> {
        self.patches.iter().map(|patch| patch.key).collect()
    }

    /// The patches in pieces, each the work of a task.
    pub(crate) fn pieces(&self) -> Vec<(usize, Range<usize>)> {
        let cut = |(number, patch): (usize, &Patch)| {
            let end = patch.places.end;
            patch.places.clone().step_by(PIECE).map(move |start| (number, start..end.min(start + PIECE)))
        };
        self.patches.iter().enumerate().flat_map(cut).collect::<Vec<_>>()
    }

    /// What the places give to the nodes of their patches: each column at all nodes of one patch after the other.
    pub(crate) fn spread(&self, mesh: &Mesh, columns: &[&[f64]]) -> Vec<Vec<f64>> {
        let nodes = mesh.nodes_of_a_patch();
        let give = |(patch, places): (usize, Range<usize>)| {
            let amounts: Vec<Vec<f64>> = columns
                .iter()
                .map(|column| self.order[places.clone()].iter().map(|place| column[*place as usize]).collect())
                .collect();
            (patch, spread(&mesh.chebyshev, &self.within[places], &amounts))
        };
        let given: Vec<(usize, Vec<f64>)> = self.pieces().into_par_iter().map(give).collect();
        let mut moments = vec![vec![0.0; self.patches.len() * nodes]; columns.len()];
        for pieces in given.chunk_by(|a, b| a.0 == b.0) {
            for (k, column) in moments.iter_mut().enumerate() {
                for (node, sum) in column[pieces[0].0 * nodes..][..nodes].iter_mut().enumerate() {
                    *sum = compensated(pieces.iter().map(|(_, given)| given[k * nodes + node]));
                }
            }
        }
        moments
    }
}
