//! The engines by name.

use std::fmt;
use std::str::FromStr;

use crate::error::Error;

/// The engines by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EngineKind {
    /// All pairs, no approximation.
    Exact,
    /// Truncated row-normalised weight matrix from a k-d tree.
    Sparse,
    /// Matrix-free and certified, at near-linear cost for any σ.
    Fast,
    /// The cheapest of the others.
    Auto,
}

impl EngineKind {
    /// All names that can be asked for.
    pub const ALL: [Self; 4] = [Self::Exact, Self::Sparse, Self::Fast, Self::Auto];

    /// This engine, or `otherwise` where the choice was left open.
    pub(crate) fn if_chosen(self, otherwise: Self) -> Self {
        if self == Self::Auto { otherwise } else { self }
    }

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Sparse => "sparse",
            Self::Fast => "fast",
            Self::Auto => "auto",
        }
    }
}

impl fmt::Display for EngineKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for EngineKind {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|kind| kind.name() == text).ok_or_else(|| Error::Parameter {
            name: "engine",
            value: format!("'{text}'"),
            expected: "one of exact, sparse, fast, auto",
        })
    }
}
