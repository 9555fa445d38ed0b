//! Which patches there are, and what nodes give to nodes.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::bands::{Bands, Key};
use super::chebyshev::{Arcs, Chebyshev, lebesgue};
use super::nodes::CHUNK;
use super::settled::{Patch, Settled};
use crate::engine::tile::{RUN, Tile};
use crate::kernel::{DECAY_ROUNDINGS, KERNEL_ROUNDINGS, LANES, Sphere};
use crate::scene::Cloud;

/// Heights of bands that are tried, in σ and in radians.
const IN_SIGMA: [f64; 5] = [1.0, 2.0, 3.0, 4.0, 6.0];
const IN_RADIANS: [f64; 3] = [0.1, 0.2, 0.4];
/// Bands higher than this have so long arcs between their nodes that there is nothing to gain.
const HIGHEST: f64 = 1.2;
/// Two places of a patch are at most so many heights apart.
const ACROSS: f64 = 2.0;
/// Most patches: with more of them direct sums over nodes are not cheap.
const MOST_PATCHES: usize = 1 << 10;
/// Part of all weight that a row has around it, if it is to be certified: few rows have less when σ is this wide.
const COMMON: f64 = 1e-4;
/// Part of the tolerance that interpolation may use up for such a row, and as much again for patches that are too far to count.
const SHARE: f64 = 1.0 / 4.0;
/// Part of the tolerance that all errors may use up for a row with all weight around it.
const MOST_OFF: f64 = 1.0 / 16.0;
/// How far the angles of a place and of a node may put them from where they are, in radians: some roundings of angles up to 2π.
const PLACE_OFF: f64 = 4e-15;
const NODE_OFF: f64 = 2e-15;
/// Multiplications between places and nodes that take as long as one pair of a direct sum.
const MULTIPLICATIONS_PER_PAIR: f64 = 24.0;

/// A sphere in patches, for one σ.
pub(super) struct Mesh {
    pub(super) bands: Bands,
    pub(super) chebyshev: Chebyshev,
    sigma: f64,
    /// Patches farther apart than this carry nothing to each other.
    reach: f64,
    /// Error of a pair of weight one.
    pub(super) off: f64,
}

impl Mesh {
    /// With bands so high at most; interpolation, and what is out of reach, may each be off by this.
    fn new(height: f64, arcs: &Arcs, off: f64) -> Option<Self> {
        let bands = Bands::new(height, arcs, off)?;
        let chebyshev = Chebyshev::new(bands.nodes);
        let mesh = Self { bands, chebyshev, sigma: arcs.sigma, reach: arcs.sigma * (-2.0 * off.ln()).sqrt(), off: 0.0 };
        let off = 2.0 * off + mesh.others(arcs);
        (mesh.bands.across() <= ACROSS * height).then_some(Self { off, ..mesh })
    }

    /// Errors besides: of images, roundings, and places that are not quite where they are.
    fn others(&self, arcs: &Arcs) -> f64 {
        let side = self.bands.nodes as f64;
        // What is wrong at the nodes comes to a pair of places through four sums of cardinal functions.
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

    pub(super) fn nodes_of_a_patch(&self) -> usize {
        self.bands.nodes * self.bands.nodes
    }

    /// For each of some patches those others that are within reach.
    fn near(&self, patches: &[Key], others: &[Key]) -> Vec<Vec<u32>> {
        let caps = |keys: &[Key]| -> Vec<([f64; 3], f64)> { keys.iter().map(|key| self.bands.cap(*key)).collect() };
        let others = caps(others);
        let of = |(centre, radius): ([f64; 3], f64)| {
            let is_near = |(_, (other, more)): &(u32, &([f64; 3], f64))| {
                let squared: f64 = (0..3).map(|k| (centre[k] - other[k]).powi(2)).sum();
                // The chord is no longer than the arc.
                squared.sqrt() <= self.reach + radius + more
            };
            (0..).zip(&others).filter(is_near).map(|(number, _)| number).collect()
        };
        caps(patches).into_par_iter().map(of).collect()
    }

    /// All nodes of some patches.
    fn nodes(&self, settled: &Settled) -> Cloud {
        let of = |patch: &Patch| self.bands.places(patch.key, &self.chebyshev);
        let places: Vec<[f64; 6]> = settled.patches.iter().flat_map(of).collect();
        let axis = |k: usize| places.iter().map(|place| place[k]).collect();
        Cloud { axes: (0..6).map(axis).collect(), groups: vec![0..places.len()] }
    }

    /// What columns at the nodes of sources give to the nodes of targets: for each patch, one column after the other.
    pub(super) fn transfer(
        &self,
        sources: &Settled,
        moments: &[Vec<f64>],
        targets: &Settled,
        columns: usize,
    ) -> Vec<Vec<f64>> {
        let keys = |settled: &Settled| -> Vec<Key> { settled.patches.iter().map(|patch| patch.key).collect() };
        let near = self.near(&keys(targets), &keys(sources));
        let (from, to, nodes) = (self.nodes(sources), self.nodes(targets), self.nodes_of_a_patch());
        let moments: Vec<&[f64]> = moments.iter().map(Vec::as_slice).collect();
        let decay = Sphere { scale: 0.5 * std::f64::consts::LOG2_E / (self.sigma * self.sigma) };
        let tile = |(patch, start): (usize, usize)| {
            let first = patch * nodes + start;
            let places: Vec<u32> = (first..first + LANES.min(nodes - start)).map(|node| node as u32).collect();
            let runs = near[patch].iter().flat_map(|source| {
                let (start, end) = (*source as usize * nodes, (*source as usize + 1) * nodes);
                (start..end).step_by(RUN).map(move |start| start..end.min(start + RUN))
            });
            Tile::between(decay, &to, &from, 3, &places).sum(runs, &moments)
        };
        let tiles: Vec<(usize, usize)> =
            (0..near.len()).flat_map(|patch| (0..nodes).step_by(LANES).map(move |start| (patch, start))).collect();
        let sums: Vec<_> = tiles.par_iter().map(|which| tile(*which)).collect();
        let mut field = vec![vec![0.0; columns * nodes]; near.len()];
        for ((patch, start), sums) in tiles.into_iter().zip(sums) {
            for (out, sums) in field[patch].chunks_exact_mut(nodes).zip(sums) {
                out[start..].iter_mut().zip(sums).for_each(|(out, sum)| *out = sum);
            }
        }
        field
    }
}

/// About how many places there are where, to tell what patches would cost.
pub(super) struct Survey {
    /// Sources and targets in squares of [`SQUARE`], by their numbers to the north and to the east.
    squares: BTreeMap<[i32; 2], [u32; 2]>,
    longest: f64,
}

/// Side of a square in radians, by the angles.
const SQUARE: f64 = 0.02;

impl Survey {
    pub(super) fn of(sources: &[[f64; 2]], targets: &[[f64; 2]], longest: f64) -> Self {
        let mut squares: BTreeMap<[i32; 2], [u32; 2]> = BTreeMap::new();
        for (role, places) in [sources, targets].into_iter().enumerate() {
            let square = |angles: &[f64; 2]| angles.map(|angle| (angle / SQUARE).floor() as i32);
            // Neighbours come one after the other, along the curve that they are sorted by.
            for run in places.chunk_by(|a, b| square(a) == square(b)) {
                squares.entry(square(&run[0])).or_default()[role] += run.len() as u32;
            }
        }
        Self { squares, longest }
    }

    /// The cheapest mesh, if it is cheaper than direct sums.
    pub(super) fn cheapest(&self, sigma: f64, tolerance: f64) -> Option<Mesh> {
        self.meshes(sigma, tolerance)
            .filter_map(|mesh| self.saved(&mesh).map(|saved| (saved, mesh)))
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .filter(|(saved, _)| *saved > 0.0)
            .map(|(_, mesh)| mesh)
    }

    /// All meshes by which rows would be certified.
    pub(super) fn meshes(&self, sigma: f64, tolerance: f64) -> impl Iterator<Item = Mesh> {
        let heights = IN_SIGMA.map(|height| height * sigma).into_iter().chain(IN_RADIANS);
        let meshes = heights.filter(|height| *height <= HIGHEST).flat_map(move |height| {
            let short = self.longest + 2.0 * ACROSS * height;
            [None, Some(short)]
                .into_iter()
                .filter_map(move |longest| Mesh::new(height, &Arcs { sigma, longest }, SHARE * COMMON * tolerance))
        });
        meshes.filter(move |mesh| mesh.off <= MOST_OFF * tolerance)
    }

    /// Multiplications that a mesh saves next to direct sums; none if it has too many patches.
    fn saved(&self, mesh: &Mesh) -> Option<f64> {
        let mut patches: BTreeMap<Key, [f64; 2]> = BTreeMap::new();
        for (square, counts) in &self.squares {
            let middle = square.map(|number| (f64::from(number) + 0.5) * SQUARE);
            let patch = patches.entry(mesh.bands.spot(middle).key).or_default();
            (0..2).for_each(|role| patch[role] += f64::from(counts[role]));
        }
        let (keys, counts): (Vec<Key>, Vec<[f64; 2]>) = patches.into_iter().unzip();
        if keys.len() > MOST_PATCHES {
            return None;
        }
        let nodes = mesh.nodes_of_a_patch() as f64;
        let pairs = |(target, near): (&[f64; 2], Vec<u32>)| {
            let saved = |source: u32| counts[source as usize][0] * target[1] - nodes * nodes;
            near.into_iter().map(saved).sum::<f64>()
        };
        let saved: f64 = counts.iter().zip(mesh.near(&keys, &keys)).map(pairs).sum();
        let places: f64 = counts.iter().flatten().sum();
        Some(MULTIPLICATIONS_PER_PAIR * saved - 2.0 * nodes * places)
    }
}
