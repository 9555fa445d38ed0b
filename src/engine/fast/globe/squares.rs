//! The cheapest patches, from counts of places in squares of latitude and longitude; and a lower bound of the mass around every target, from
//! counts in cubes.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::bands::{PatchKey, angles};
use super::chebyshev::Arcs;
use super::patches::{ACROSS, GlobeLattice};
use crate::engine::bounds::squared_distance;
use crate::engine::fast::lattice::{CountedRows, LatticeCost};
use crate::engine::fast::savings::MULTIPLICATIONS_PER_PAIR;
use crate::engine::fast::sphere::{KnownPlaces, angle, centre, centres, half_diagonal};
use crate::scene::Cloud;

/// Heights of bands that are tried, in σ and in radians. Chosen, not measured.
const IN_SIGMA: [f64; 5] = [1.0, 2.0, 3.0, 4.0, 6.0];
const IN_RADIANS: [f64; 3] = [0.1, 0.2, 0.4];
/// Lower bands would be too many; higher ones have so long arcs between their nodes that nothing is gained. Chosen, not measured.
const HEIGHTS: RangeInclusive<f64> = 0.02..=1.2;
/// Most patches: with more, direct sums over nodes are not cheap. Chosen, not measured.
const MOST_PATCHES: usize = 1 << 10;
/// Part of the tolerance that interpolation may use up, and as much again for patches out of reach. Chosen, not measured.
const SHARE: f64 = 1.0 / 4.0;
/// Part of the tolerance that all errors may use up for a row with all weight around it. Chosen, not measured.
const MOST_OFF: f64 = 1.0 / 16.0;
/// The same where rows have no more than the least mass around them. Chosen, not measured.
const MOST_FOR_ALL: f64 = 7.0 / 8.0;
/// Part of all weight that a row must have around it to be certified: few rows have less when σ is this wide. Chosen, not measured.
const COMMON: f64 = 1e-4;
/// Places that are counted exactly; of more only a sample. Counting all of 304k + 304k places took 5 % of the CPU time of a run at
/// σ = 3000 km (2026-11-19).
const SAMPLE: usize = 1 << 14;
/// Side of the squares in which places are counted, in radians. Chosen, not measured.
const SQUARE: f64 = 0.02;
/// Rows are in more patches than the centres of their cubes are, but in fewer than twice as many. Estimated, not measured.
const MORE_PATCHES: u64 = 2;

/// Most cubes between all of which distances are computed: 17 million. Chosen, not measured.
const MOST_CUBES: usize = 1 << 12;

/// Numbers of sources and targets by the squares that they are in, to the north and to the east.
type Squares = BTreeMap<[i32; 2], [f64; 2]>;

/// Counts of sources and targets.
pub(super) struct SquareCounts {
    squares: Squares,
    /// No arc is longer.
    longest: f64,
}

/// What a mesh costs, in multiplications.
struct MeshCost {
    /// Between nodes, for each column.
    nodes: f64,
    /// Between places and nodes, for each column.
    places: f64,
    /// What direct sums would cost.
    direct: f64,
    patches: usize,
}

impl SquareCounts {
    /// Of a sample of sources and of targets.
    pub(super) fn of(roles: [&KnownPlaces; 2]) -> Self {
        let mut squares = BTreeMap::new();
        for (role, known) in roles.into_iter().enumerate() {
            let every = (known.places.len() / SAMPLE).max(1);
            for place in known.places.clone().step_by(every) {
                counts_at(&mut squares, known.cloud, place)[role] += every as f64;
            }
        }
        let [source, target] = roles.map(KnownPlaces::cap);
        let apart = angle(squared_distance(&source.centre, &target.centre));
        Self { squares, longest: apart + source.radius + target.radius }
    }

    /// Of rows that are counted in cubes: by the centres of these, and by their weights.
    fn of_cubes(counted: &CountedRows) -> Self {
        let cloud = centres(counted.cubes.iter().map(|cube| cube.at), counted.side);
        let mut squares = BTreeMap::new();
        for (place, cube) in counted.cubes.iter().enumerate() {
            let counts = counts_at(&mut squares, &cloud, place);
            *counts = [counts[0] + cube.weight, counts[1] + if cube.targets { cube.weight } else { 0.0 }];
        }
        Self { squares, longest: 2.0 * KnownPlaces::in_cubes(&cloud, counted.side).cap().radius }
    }

    /// All meshes by which rows would be certified.
    pub(super) fn meshes(&self, sigma: f64, tolerance: f64) -> impl Iterator<Item = GlobeLattice> {
        let meshes = self.within(sigma, SHARE * COMMON * tolerance);
        meshes.filter(move |mesh| mesh.off <= MOST_OFF * tolerance)
    }

    /// All meshes whose interpolation is off by no more than this.
    fn within(&self, sigma: f64, off: f64) -> impl Iterator<Item = GlobeLattice> {
        let heights = IN_SIGMA.map(|height| height * sigma).into_iter().chain(IN_RADIANS);
        let longest = self.longest;
        heights.filter(|height| HEIGHTS.contains(height)).flat_map(move |height| {
            let short = longest + 2.0 * ACROSS * height;
            [None, Some(short)]
                .into_iter()
                .filter_map(move |longest| GlobeLattice::new(height, &Arcs { sigma, longest }, off))
        })
    }

    /// What a mesh costs; none if it has too many patches.
    fn cost(&self, mesh: &GlobeLattice) -> Option<MeshCost> {
        let mut patches: BTreeMap<PatchKey, [f64; 2]> = BTreeMap::new();
        for (square, counts) in &self.squares {
            let middle = square.map(|number| (f64::from(number) + 0.5) * SQUARE);
            let patch = patches.entry(mesh.bands.spot(middle).key).or_default();
            (0..2).for_each(|role| patch[role] += counts[role]);
        }
        let (keys, counts): (Vec<PatchKey>, Vec<[f64; 2]>) = patches.into_iter().unzip();
        if keys.len() > MOST_PATCHES {
            return None;
        }
        let near = mesh.near(&keys, &keys);
        let nodes = mesh.nodes_of_a_patch() as f64;
        let sources_near = |near: &Vec<u32>| near.iter().map(|source| counts[*source as usize][0]).sum::<f64>();
        let pairs: f64 = counts.iter().zip(&near).map(|(target, near)| target[1] * sources_near(near)).sum();
        Some(MeshCost {
            nodes: MULTIPLICATIONS_PER_PAIR * nodes * nodes * near.iter().map(Vec::len).sum::<usize>() as f64,
            places: nodes * counts.iter().flatten().sum::<f64>(),
            direct: MULTIPLICATIONS_PER_PAIR * pairs,
            patches: keys.len(),
        })
    }
}

/// The counts of the square that a place is in.
fn counts_at<'a>(squares: &'a mut Squares, cloud: &Cloud, place: usize) -> &'a mut [f64; 2] {
    squares.entry(angles(cloud, place).map(|angle| (angle / SQUARE).floor() as i32)).or_default()
}

impl GlobeLattice {
    /// The cheapest one for these sources and targets, if it is cheaper than direct sums.
    pub(crate) fn design(sources: &KnownPlaces, targets: &KnownPlaces, sigma: f64, tolerance: f64) -> Option<Self> {
        let squares = SquareCounts::of([sources, targets]);
        let meshes = squares.meshes(sigma, tolerance);
        let costs = meshes.filter_map(|mesh| Some((squares.cost(&mesh)?, mesh)));
        // For the mass and one column of values.
        let saved = costs.map(|(cost, mesh)| (cost.direct - cost.nodes - 2.0 * cost.places, mesh));
        let best = saved.max_by(|a, b| a.0.total_cmp(&b.0))?;
        (best.0 > 0.0).then_some(best.1)
    }

    /// The cheapest one by which every row with at least this mass around it is certified.
    pub(crate) fn for_all(counted: &CountedRows, least: f64) -> Option<Self> {
        let room = counted.tolerance * least / counted.weight;
        let squares = SquareCounts::of_cubes(counted);
        let meshes = squares.within(counted.sigma, SHARE * room).filter(|mesh| mesh.off <= MOST_FOR_ALL * room);
        let costs = meshes.filter_map(|mesh| {
            let cost = squares.cost(&mesh)?;
            Some((cost.nodes + counted.rows as f64 * mesh.nodes_of_a_patch() as f64, mesh))
        });
        costs.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, mesh)| mesh)
    }

    /// What it takes for rows in these cubes.
    pub(super) fn cost_of_counted(&self, counted: &CountedRows) -> Option<LatticeCost> {
        let MeshCost { nodes, patches, .. } = SquareCounts::of_cubes(counted).cost(self)?;
        let row = self.nodes_of_a_patch();
        // Sums and their rounding errors, the columns at all nodes, and the nodes that targets read.
        Some(LatticeCost { bytes: 4 * 8 * MORE_PATCHES * (patches * row) as u64, row: row as f64, nodes })
    }
}

/// A lower bound of the mass around every target, by the cubes that rows are counted in.
pub(crate) fn least_mass(counted: &CountedRows) -> f64 {
    // Rows of other groups are not around it, but every row is a source of weight one itself.
    if counted.groups > 1 {
        return 1.0;
    }
    let (cubes, side) = coarse(counted);
    let sources: Vec<([f64; 3], f64)> = cubes.iter().map(|(cube, (_, weight))| (centre(cube, side), *weight)).collect();
    let targets = cubes.iter().filter(|(_, (targets, _))| *targets).map(|(cube, _)| centre(cube, side));
    let masses = targets.map(|target| least_mass_at(&target, &sources, 2.0 * half_diagonal(side), counted.sigma));
    // A little less, for roundings of the sums themselves.
    (1.0 - 1e-9) * masses.fold(f64::INFINITY, f64::min).max(1.0)
}

/// The same for targets around a centre, with the weights around others: two places are farther apart by `off` at most.
fn least_mass_at(target: &[f64; 3], sources: &[([f64; 3], f64)], off: f64, sigma: f64) -> f64 {
    sources.iter().map(|(source, weight)| weight * least_kernel(target, source, off, sigma)).sum()
}

/// The kernel between two places that are farther apart by `off` than these.
fn least_kernel(one: &[f64; 3], other: &[f64; 3], off: f64, sigma: f64) -> f64 {
    let arc = 2.0 * (0.5 * (squared_distance(one, other).sqrt() + off)).min(1.0).asin();
    (-0.5 * (arc / sigma).powi(2)).exp()
}

/// Counts in cubes that are few enough: whether there are targets, and the weight; and the side of the cubes.
fn coarse(counted: &CountedRows) -> (BTreeMap<[i64; 3], (bool, f64)>, f64) {
    let mut ratio = 1;
    loop {
        let mut cubes: BTreeMap<[i64; 3], (bool, f64)> = BTreeMap::new();
        for cube in counted.cubes {
            let (targets, weight) = cubes.entry(cube.at.map(|number| number.div_euclid(ratio))).or_default();
            (*targets, *weight) = (*targets || cube.targets, *weight + cube.weight);
        }
        if cubes.len() <= MOST_CUBES {
            return (cubes, counted.side * ratio as f64);
        }
        ratio *= 2;
    }
}
