//! The patches of the sphere for one σ: their nodes, and the sums from nodes to nodes.

use std::ops::Range;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::bands::{Bands, PatchKey};
use super::chebyshev::{Arcs, Chebyshev, lebesgue};
use super::nodes::CHUNK;
use crate::engine::bounds::squared_distance;
use crate::engine::fast::sphere::Cap;
use crate::engine::pieces::pieces;
use crate::engine::tile::{RUN, TargetTile};
use crate::kernel::{DECAY_ROUNDINGS, KERNEL_ROUNDINGS, LANES, Lanes, Sphere};
use crate::scene::Cloud;

/// Two places of a patch are at most this many heights apart: bands that are cut worse are refused. Chosen, not measured.
pub(crate) const ACROSS: f64 = 2.0;
/// Errors of the angles of a place and of a node, in radians: a few roundings of angles up to 2π, each half of 9e-16.
const PLACE_OFF: f64 = 4e-15;
const NODE_OFF: f64 = 2e-15;

/// The sphere in patches, for one σ.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct GlobeLattice {
    pub(crate) bands: Bands,
    pub(crate) chebyshev: Chebyshev,
    sigma: f64,
    /// Patches farther apart than this contribute nothing to each other.
    reach: f64,
    /// Error of a pair of weight one.
    pub(crate) off: f64,
}

impl GlobeLattice {
    /// With bands of at most this height; interpolation and truncation may each have the error `off`.
    pub(crate) fn new(height: f64, arcs: &Arcs, off: f64) -> Option<Self> {
        let bands = Bands::new(height, arcs, off)?;
        let chebyshev = Chebyshev::new(bands.nodes);
        let mesh = Self { bands, chebyshev, sigma: arcs.sigma, reach: arcs.sigma * (-2.0 * off.ln()).sqrt(), off: 0.0 };
        let off = 2.0 * off + mesh.others(arcs);
        (mesh.bands.across() <= ACROSS * height).then_some(Self { off, ..mesh })
    }

    /// Other errors: of images, of rounding, and of angles.
    fn others(&self, arcs: &Arcs) -> f64 {
        let side = self.bands.nodes as f64;
        // Errors at the nodes reach a pair of places through four sums of cardinal functions.
        let through = lebesgue(self.bands.nodes).powi(4);
        let roundings = 4.0 * Chebyshev::roundings(self.bands.nodes)
            + (CHUNK + RUN) as f64
            + 2.0 * side
            + KERNEL_ROUNDINGS
            // K log₂(1/K) is at most 0.54.
            + 0.54 * DECAY_ROUNDINGS
            + 16.0;
        // The steepest slope of a Gaussian.
        let slope = (-0.5_f64).exp() / self.sigma;
        (1.0 + through) * arcs.beside()
            + through * (roundings * 0.5 * f64::EPSILON + 2.0 * NODE_OFF * slope)
            + 2.0 * PLACE_OFF * slope
    }

    pub(crate) fn nodes_of_a_patch(&self) -> usize {
        self.bands.nodes * self.bands.nodes
    }

    /// For each of some patches those others that are within reach.
    pub(crate) fn near(&self, patches: &[PatchKey], others: &[PatchKey]) -> Vec<Vec<u32>> {
        let others: Vec<Cap> = others.iter().map(|key| self.bands.cap(*key)).collect();
        patches.par_iter().map(|key| self.near_cap(&self.bands.cap(*key), &others)).collect()
    }

    /// The numbers of those caps that are within reach of one. The chord is no longer than the arc.
    fn near_cap(&self, cap: &Cap, others: &[Cap]) -> Vec<u32> {
        let chord = |other: &Cap| squared_distance(&cap.centre, &other.centre).sqrt();
        let near = (0..).zip(others).filter(|(_, other)| chord(other) <= self.reach + cap.radius + other.radius);
        near.map(|(number, _)| number).collect()
    }

    /// All nodes of some patches.
    fn nodes(&self, patches: &[PatchKey]) -> Cloud {
        let places: Vec<[f64; 6]> =
            patches.iter().flat_map(|patch| self.bands.places(*patch, &self.chebyshev)).collect();
        let axis = |k: usize| places.iter().map(|place| place[k]).collect();
        Cloud { axes: (0..6).map(axis).collect(), groups: Vec::new() }
    }

    /// Sums at the nodes of target patches over columns at all nodes of source patches: for each patch one column after the other.
    pub(super) fn transfer(&self, sources: &[PatchKey], moments: &[Vec<f64>], targets: &[PatchKey]) -> Vec<f64> {
        let near = self.near(targets, sources);
        let (from, to, nodes) = (self.nodes(sources), self.nodes(targets), self.nodes_of_a_patch());
        let moments: Vec<&[f64]> = moments.iter().map(Vec::as_slice).collect();
        let decay = Sphere { scale: 0.5 * std::f64::consts::LOG2_E / (self.sigma * self.sigma) };
        let tiles: Vec<(usize, Range<usize>)> =
            (0..near.len()).flat_map(|patch| pieces(&(0..nodes), LANES).map(move |tile| (patch, tile))).collect();
        let sums: Vec<Vec<Lanes>> = tiles
            .par_iter()
            .map(|(patch, tile)| {
                let places: Vec<u32> = tile.clone().map(|node| (patch * nodes + node) as u32).collect();
                let starts = near[*patch].iter().map(|source| *source as usize * nodes);
                let runs = starts.flat_map(|start| pieces(&(start..start + nodes), RUN));
                TargetTile::between(decay, &to, &from, 3, &places).sum(runs, &moments)
            })
            .collect();
        let mut field = vec![0.0; near.len() * moments.len() * nodes];
        for ((patch, tile), sums) in tiles.into_iter().zip(sums) {
            let patch = &mut field[patch * moments.len() * nodes..];
            for (out, sums) in patch.chunks_exact_mut(nodes).zip(sums) {
                out[tile.clone()].copy_from_slice(&sums[..tile.len()]);
            }
        }
        field
    }
}
