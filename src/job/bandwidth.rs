//! σ as the user wrote it: `0.12km` comes back as `0.12km`, not as `120m`.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use crate::error::Error;
use crate::space::Sigma;

/// A bandwidth, and how it was written.
///
/// # Examples
/// ```
/// use geosmooth::Sigma;
/// use geosmooth::job::Bandwidth;
///
/// let sigma: Bandwidth = "0.12km".parse()?;
/// assert_eq!((sigma.sigma(), sigma.to_string()), (Sigma::metres(120.0)?, "0.12km".to_owned()));
/// # Ok::<(), geosmooth::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Bandwidth {
    text: String,
    sigma: Sigma,
}

impl Bandwidth {
    /// What it means.
    #[must_use]
    pub fn sigma(&self) -> Sigma {
        self.sigma
    }
}

impl FromStr for Bandwidth {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Ok(Self { sigma: text.parse()?, text: text.to_owned() })
    }
}

impl From<Sigma> for Bandwidth {
    fn from(sigma: Sigma) -> Self {
        Self { text: sigma.to_string(), sigma }
    }
}

impl fmt::Display for Bandwidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Serialize for Bandwidth {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

/// Refuses several σ of which some measure distance in another way than the first.
///
/// # Errors
/// If there are such.
pub fn check_kinds(sigmas: &[Bandwidth]) -> Result<(), Error> {
    crate::tune::check_kinds(&sigmas.iter().map(Bandwidth::sigma).collect::<Vec<_>>())
}
