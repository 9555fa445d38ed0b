//! Places and distances: σ with its unit, the metric that the unit selects, and the coordinates that the kernel
//! computes with.

mod sigma;
mod twofold;

pub use sigma::{Degrees, Metres, Sigma};
pub(crate) use twofold::{Twofold, compensated, two_product, two_sum};

use geo::{Distance, Haversine, Point};
use pulp::{Simd, WithSimd};
use serde::{Deserialize, Serialize};

use twofold::ANGLES;

/// Radius of the sphere in metres: the mean radius of GRS 80, the same as in `geo`'s `Haversine`.
pub const EARTH_RADIUS: f64 = 6_371_008.8;

/// How the distance between two places is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Metric {
    /// Euclidean distance on this many axes (latitude and longitude in degrees, or index columns).
    Plane(usize),
    /// Great-circle distance; places are unit vectors in double-double precision.
    Sphere,
}

impl Metric {
    /// Numbers that store a place: its coordinates, or a unit vector and its low-order part.
    #[must_use]
    pub fn axes(self) -> usize {
        match self {
            Self::Plane(axes) => axes,
            Self::Sphere => 6,
        }
    }

    /// Axes that span the space; they come first. Trees and boxes use only these.
    #[must_use]
    pub fn dimensions(self) -> usize {
        self.axes().min(3)
    }

    /// The factor s in `−log₂ K = s · d²`, with d in the unit of the axes (radians on the sphere).
    #[must_use]
    pub fn decay_scale(self, sigma: Sigma) -> f64 {
        let sigma = match self {
            Self::Plane(_) => sigma.value(),
            Self::Sphere => sigma.value() / EARTH_RADIUS,
        };
        std::f64::consts::LOG2_E / (2.0 * sigma * sigma)
    }
}

/// A place on the sphere as a unit vector: three high parts, then three low parts.
///
/// On the Earth, 16 digits of a unit vector resolve about a nanometre: too coarse for the difference of two close places.
/// With the low parts the difference is correct to its last digit. Poles and the date line need no special case.
pub(crate) fn unit_vector(latitude: f64, longitude: f64) -> [f64; 6] {
    vector(twofold::sin_cos_degrees(latitude), twofold::sin_cos_degrees(longitude))
}

#[inline(always)]
fn vector((sin_lat, cos_lat): (Twofold, Twofold), (sin_lon, cos_lon): (Twofold, Twofold)) -> [f64; 6] {
    let (x, y) = (cos_lat * cos_lon, cos_lat * sin_lon);
    // Adding zero turns −0 into +0, so that one place has one bit pattern.
    [x.hi + 0.0, y.hi + 0.0, sin_lat.hi + 0.0, x.lo + 0.0, y.lo + 0.0, sin_lat.lo + 0.0]
}

/// [`unit_vector`] of many places, with the same bits.
pub(crate) struct UnitVectors<'a, const A: usize> {
    pub(crate) latitudes: &'a [f64],
    pub(crate) longitudes: &'a [f64],
    pub(crate) out: &'a mut [[f64; A]],
}

impl<const A: usize> WithSimd for UnitVectors<'_, A> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let places = self.latitudes.chunks(ANGLES).zip(self.longitudes.chunks(ANGLES));
        for (out, (latitudes, longitudes)) in self.out.chunks_mut(ANGLES).zip(places) {
            let (latitudes, longitudes) = (padded(latitudes), padded(longitudes));
            let (sin_lat, cos_lat) = twofold::sines_and_cosines(&latitudes);
            let (sin_lon, cos_lon) = twofold::sines_and_cosines(&longitudes);
            for (at, out) in out.iter_mut().enumerate() {
                // No closures here: they would be compiled for the baseline instruction set, where a fused multiply-add is a call.
                let vector = vector((sin_lat.get(at), cos_lat.get(at)), (sin_lon.get(at), cos_lon.get(at)));
                out.copy_from_slice(&vector[..A]);
            }
        }
    }
}

#[inline(always)]
fn padded(few: &[f64]) -> [f64; ANGLES] {
    let mut angles = [0.0; ANGLES];
    angles[..few.len()].copy_from_slice(few);
    angles
}

/// Great-circle distance between two places given as (latitude, longitude) in degrees.
///
/// # Units
/// Degrees in, [`Metres`] out.
///
/// # Examples
/// ```
/// use geosmooth::{Metres, great_circle};
///
/// let Metres(across_the_date_line) = great_circle((0.0, 179.9), (0.0, -179.9));
/// assert!((across_the_date_line - 22_239.0).abs() < 1.0);
/// ```
#[must_use]
pub fn great_circle(from: (f64, f64), to: (f64, f64)) -> Metres {
    Metres(Haversine.distance(point(from), point(to)))
}

/// `geo` puts x, the longitude, first.
fn point((latitude, longitude): (f64, f64)) -> Point {
    Point::new(longitude, latitude)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_radius_is_that_of_geo() {
        assert_eq!(EARTH_RADIUS, Haversine.radius());
    }

    #[test]
    fn one_place_has_one_vector() {
        assert_eq!(unit_vector(90.0, 0.0), unit_vector(90.0, 123.4));
        assert_eq!(unit_vector(-90.0, -7.0), unit_vector(-90.0, 260.0));
        assert_eq!(unit_vector(12.0, -180.0), unit_vector(12.0, 180.0));
        assert_eq!(unit_vector(12.0, -170.0), unit_vector(12.0, 190.0));
        assert_eq!(unit_vector(-0.0, 0.0), unit_vector(0.0, -0.0));
    }

    #[test]
    fn neighbours_differ_by_the_right_amount() {
        // A nanodegree of latitude is 1.7e-11 radians; a unit vector in plain f64 would keep five digits of it.
        let (a, b) = (unit_vector(41.65, -83.6), unit_vector(41.65 + 1e-9, -83.6));
        let chord = (0..3).map(|k| ((b[k] - a[k]) + (b[k + 3] - a[k + 3])).powi(2)).sum::<f64>().sqrt();
        let step = ((41.65 + 1e-9) - 41.65_f64).to_radians();
        assert!((chord / step - 1.0).abs() < 1e-14, "{chord} {step}");
    }
}
