//! The bandwidth σ with its unit. The unit that a user writes selects the metric.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::Error;

/// A length on the surface of the Earth.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
pub struct Metres(pub f64);

/// A difference of latitude or longitude, used as a plain number, as in the paper.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
pub struct Degrees(pub f64);

/// The bandwidth σ of the kernel `exp(−d² / 2σ²)`. Its unit selects how distance is measured.
///
/// # Examples
/// ```
/// use geosmooth::Sigma;
///
/// let sigma: Sigma = "2km".parse()?;
/// assert_eq!(sigma, Sigma::metres(2000.0)?);
/// assert_eq!("0.01deg".parse::<Sigma>()?, Sigma::degrees(0.01)?);
/// assert!("-5m".parse::<Sigma>().is_err());
/// # Ok::<(), geosmooth::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Sigma {
    /// Great-circle distance on the sphere of radius [`EARTH_RADIUS`](super::EARTH_RADIUS).
    Sphere(Metres),
    /// Euclidean distance on latitude and longitude, both in degrees.
    LatLon(Degrees),
    /// Euclidean distance on index columns, with σ in their unit.
    Index(f64),
}

/// Smallest and largest σ, in any unit. σ² then lies within 1e±200 and neither overflows nor underflows.
const RANGE: std::ops::RangeInclusive<f64> = 1e-100..=1e100;

const METRES_PER_UNIT: [(&str, f64); 3] = [("km", 1000.0), ("mi", 1609.344), ("m", 1.0)];
const DEGREE_UNITS: [&str; 2] = ["deg", "°"];

impl Sigma {
    /// σ in metres on the sphere.
    ///
    /// # Errors
    /// If σ is not between 1e-100 and 1e100.
    pub fn metres(metres: f64) -> Result<Self, Error> {
        check(metres, &format!("{metres}m")).map(|m| Self::Sphere(Metres(m)))
    }

    /// σ in degrees of latitude and longitude.
    ///
    /// # Errors
    /// If σ is not between 1e-100 and 1e100.
    pub fn degrees(degrees: f64) -> Result<Self, Error> {
        check(degrees, &format!("{degrees}deg")).map(|d| Self::LatLon(Degrees(d)))
    }

    /// σ in the unit of the index columns.
    ///
    /// # Errors
    /// If σ is not between 1e-100 and 1e100.
    pub fn index(sigma: f64) -> Result<Self, Error> {
        check(sigma, &sigma.to_string()).map(Self::Index)
    }

    /// The number without its unit; metres on the sphere.
    #[must_use]
    pub fn value(self) -> f64 {
        match self {
            Self::Sphere(Metres(value)) | Self::LatLon(Degrees(value)) | Self::Index(value) => value,
        }
    }

    /// σ times a factor, in the same unit.
    ///
    /// # Errors
    /// If the new σ is not between 1e-100 and 1e100.
    pub fn scaled(self, factor: f64) -> Result<Self, Error> {
        self.with_value(self.value() * factor)
    }

    /// Another number in the same unit; metres on the sphere.
    pub(crate) fn with_value(self, value: f64) -> Result<Self, Error> {
        match self {
            Self::Sphere(_) => Self::metres(value),
            Self::LatLon(_) => Self::degrees(value),
            Self::Index(_) => Self::index(value),
        }
    }
}

fn check(value: f64, text: &str) -> Result<f64, Error> {
    if RANGE.contains(&value) { Ok(value) } else { Err(Error::Sigma { text: text.to_owned() }) }
}

impl fmt::Display for Sigma {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sphere(Metres(metres)) => write!(f, "{metres}m"),
            Self::LatLon(Degrees(degrees)) => write!(f, "{degrees}deg"),
            Self::Index(value) => write!(f, "{value}"),
        }
    }
}

impl FromStr for Sigma {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let trimmed = text.trim();
        for unit in DEGREE_UNITS {
            if let Some(digits) = trimmed.strip_suffix(unit) {
                return check(number(digits, text)?, text).map(|d| Self::LatLon(Degrees(d)));
            }
        }
        for (unit, metres) in METRES_PER_UNIT {
            if let Some(digits) = trimmed.strip_suffix(unit) {
                return check(number(digits, text)? * metres, text).map(|m| Self::Sphere(Metres(m)));
            }
        }
        check(number(trimmed, text)?, text).map(Self::Index)
    }
}

/// Parses the number in a text such as `500 m`; errors show the whole text.
fn number(digits: &str, text: &str) -> Result<f64, Error> {
    digits.trim().parse().map_err(|_| Error::Sigma { text: text.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_pick_the_metric() {
        for (text, expected) in [
            ("500m", Sigma::Sphere(Metres(500.0))),
            ("0.5km", Sigma::Sphere(Metres(500.0))),
            ("2 mi", Sigma::Sphere(Metres(3218.688))),
            ("0.01deg", Sigma::LatLon(Degrees(0.01))),
            ("0.01°", Sigma::LatLon(Degrees(0.01))),
            ("1e3", Sigma::Index(1000.0)),
            ("1e-9m", Sigma::Sphere(Metres(1e-9))),
            ("1e9m", Sigma::Sphere(Metres(1e9))),
        ] {
            assert_eq!(text.parse::<Sigma>().unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["0m", "-1m", "NaN", "nanm", "infkm", "1e-400m", "5 parsecs", "", "m", "1e300deg", "1.2.3m"] {
            assert!(matches!(text.parse::<Sigma>(), Err(Error::Sigma { .. })), "{text}");
        }
    }
}
