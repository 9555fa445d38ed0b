//! The sphere cut into patches: bands between parallels, and bands between meridians.

use std::f64::consts::{FRAC_PI_2, PI, TAU};

use serde::{Deserialize, Serialize};

use super::chebyshev::{Arcs, Chebyshev, MOST_NODES, lebesgue};
use crate::engine::fast::sphere::Cap;
use crate::scene::Cloud;
use crate::space::unit_vector;

/// How the sphere is cut.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Bands {
    /// Height of a band, in radians.
    height: f64,
    /// Patches of each band, from south to north.
    patches: Vec<u32>,
    /// Nodes along each side of a patch.
    pub(crate) nodes: usize,
}

/// Patches are at most this many times as wide as high. Chosen, not measured.
const WIDEST: f64 = 1.5;

/// A patch: its band and its number there, from the date line to the east.
pub(crate) type PatchKey = (u32, u32);

/// Where a place is: its patch, and where in it, from −1 to 1 to the north and to the east.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PatchPosition {
    pub(crate) key: PatchKey,
    pub(crate) within: [f64; 2],
}

impl Bands {
    /// Bands of at most this height, in radians, with the fewest nodes for which interpolation has at most the error `off`.
    pub(crate) fn new(height: f64, arcs: &Arcs, off: f64) -> Option<Self> {
        let count = (PI / height).ceil().max(1.0);
        let height = PI / count;
        let suffices = |nodes: &usize| arcs.interpolation_error(*nodes, height, 1.0) <= share(*nodes, off);
        let nodes = (4..=MOST_NODES).find(suffices)?;
        let southern_edges = (0..count as u32).map(|band| f64::from(band) * height - FRAC_PI_2);
        let cosines = southern_edges.map(|south| largest_cosine(south, height));
        let patches = cosines.map(|cosine| {
            fewest((TAU / height).ceil() as u32, |patches| {
                let width = TAU / f64::from(patches);
                cosine * width <= WIDEST * height && arcs.interpolation_error(nodes, width, cosine) <= share(nodes, off)
            })
        });
        Some(Self { height, patches: patches.collect(), nodes })
    }

    /// The largest angle between two places of one patch.
    pub(crate) fn across(&self) -> f64 {
        2.0 * (0..self.patches.len() as u32).map(|band| self.cap((band, 0)).radius).fold(0.0, f64::max)
    }

    /// Where a place is that has this latitude and longitude, in radians.
    pub(crate) fn spot(&self, [latitude, longitude]: [f64; 2]) -> PatchPosition {
        let (band, north) = number_and_position((latitude + FRAC_PI_2) / self.height, self.patches.len() as u32);
        let patches = self.patches[band as usize];
        let (patch, east) = number_and_position((longitude + PI) / TAU * f64::from(patches), patches);
        PatchPosition { key: (band, patch), within: [north, east] }
    }

    /// The middle of a patch and half of its sides.
    fn middle(&self, (band, patch): PatchKey) -> ([f64; 2], [f64; 2]) {
        let half = [0.5 * self.height, PI / f64::from(self.patches[band as usize])];
        let [latitude, longitude] =
            [(band, half[0]), (patch, half[1])].map(|(k, half)| (2.0 * f64::from(k) + 1.0) * half);
        ([latitude - FRAC_PI_2, longitude - PI], half)
    }

    /// A cap around a patch.
    ///
    /// The haversine of the arc to any place in it is that of half its height and, at most, that of half its width where it is widest.
    pub(crate) fn cap(&self, key: PatchKey) -> Cap {
        let ([latitude, longitude], half) = self.middle(key);
        let widest = largest_cosine(latitude - half[0], self.height);
        let haversine = (0.5 * half[0]).sin().powi(2) + latitude.cos() * widest * (0.5 * half[1]).sin().powi(2);
        let [x, y, z, ..] = unit_vector(latitude.to_degrees(), longitude.to_degrees());
        Cap { centre: [x, y, z], radius: 2.0 * haversine.min(1.0).sqrt().asin() + 1e-14 }
    }

    /// The nodes of a patch, northward and eastward in each.
    pub(crate) fn places(&self, key: PatchKey, chebyshev: &Chebyshev) -> Vec<[f64; 6]> {
        let ([latitude, longitude], half) = self.middle(key);
        let north = chebyshev.nodes.iter().map(|u| (latitude + half[0] * u).to_degrees());
        let east: Vec<f64> = chebyshev.nodes.iter().map(|u| (longitude + half[1] * u).to_degrees()).collect();
        north.flat_map(|north| east.iter().map(move |east| unit_vector(north, *east))).collect()
    }
}

/// The number of the piece, out of some, that a coordinate is in, and where in it, from −1 to 1.
fn number_and_position(along: f64, count: u32) -> (u32, f64) {
    let number = along.floor().clamp(0.0, f64::from(count - 1));
    (number as u32, (2.0 * (along - number) - 1.0).clamp(-1.0, 1.0))
}

/// Latitude and longitude of a place, in radians.
pub(crate) fn angles(cloud: &Cloud, place: usize) -> [f64; 2] {
    let [x, y, z]: [f64; 3] = std::array::from_fn(|k| cloud.axes[k][place]);
    [z.atan2(x.hypot(y)), y.atan2(x)]
}

/// The cosine of the latitude in a band where it is largest.
fn largest_cosine(south: f64, height: f64) -> f64 {
    if south < 0.0 && south + height > 0.0 { 1.0 } else { south.cos().max((south + height).cos()).min(1.0) }
}

/// The fewest patches that suffice, where `many` do: by bisection.
fn fewest(many: u32, do_they: impl Fn(u32) -> bool) -> u32 {
    let (mut fewest, mut many) = (1, many);
    while fewest < many {
        let half = fewest.midpoint(many);
        if do_they(half) {
            many = half;
        } else {
            fewest = half + 1;
        }
    }
    many
}

/// The error that interpolation along one axis may have, if all together may have `off`.
///
/// Along one axis after the other, Λ being the largest sum of absolute cardinal functions: `e + Λe` for one place of a pair, and 1 + Λ² times that for both.
fn share(nodes: usize, off: f64) -> f64 {
    let lebesgue = lebesgue(nodes);
    off / ((1.0 + lebesgue * lebesgue) * (1.0 + lebesgue)) * (1.0 - 1e-9)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spot(bands: &Bands, place: &[f64; 6]) -> PatchPosition {
        let axes = place.iter().map(|x| vec![*x]).collect();
        bands.spot(angles(&Cloud { axes, groups: Vec::new() }, 0))
    }

    fn bands(height: f64, sigma: f64) -> Bands {
        Bands::new(height, &Arcs { sigma, longest: None }, 1e-10).unwrap()
    }

    #[test]
    fn every_place_is_in_the_cap_of_its_patch() {
        let bands = bands(0.3, 0.15);
        for i in 0..2000 {
            let (a, b) = ((f64::from(i) * 0.754_877_666).fract(), (f64::from(i) * 0.569_840_291).fract());
            let place = unit_vector(180.0 * a - 90.0, 360.0 * b - 180.0);
            let Cap { centre, radius } = bands.cap(spot(&bands, &place).key);
            let chord = (0..3).map(|k| (place[k] - centre[k]).powi(2)).sum::<f64>().sqrt();
            assert!(2.0 * (0.5 * chord).asin() <= radius && 2.0 * radius <= bands.across(), "{i}");
        }
    }

    #[test]
    fn nodes_are_where_they_should_be() {
        let bands = bands(0.3, 0.15);
        let chebyshev = Chebyshev::new(bands.nodes);
        for key in [(0, 0), (3, 2), (10, 1)] {
            for (at, place) in bands.places(key, &chebyshev).iter().enumerate() {
                let spot = spot(&bands, place);
                let (north, east) = (chebyshev.nodes[at / bands.nodes], chebyshev.nodes[at % bands.nodes]);
                assert_eq!(spot.key, key);
                assert!((spot.within[0] - north).abs() < 1e-12 && (spot.within[1] - east).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn there_are_fewer_patches_towards_the_poles() {
        let bands = bands(0.1, 0.05);
        let middle = bands.patches.len() / 2;
        assert!(bands.patches[0] * 3 < bands.patches[middle], "{:?}", bands.patches);
        assert!(bands.patches[..=middle].is_sorted());
    }
}
