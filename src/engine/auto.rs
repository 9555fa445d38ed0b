//! The engines by name, and the automatic choice: a pure function of counts, so that equal requests always take the same engine.

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

/// What the choice depends on.
#[derive(Clone, Copy, Debug)]
pub struct Counts {
    /// Distinct target places.
    pub targets: u64,
    /// Distinct source places.
    pub sources: u64,
    /// Whether the kernel is to be cut at a fixed number of σ, which only the sparse engine does.
    pub cutoff: bool,
}

/// An engine and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The engine.
    pub engine: EngineKind,
    /// One phrase for people.
    pub reason: &'static str,
}

/// Pairs of `exact` in the time that `fast` takes for one place, plan and sums, at its quickest
/// (`benches/results/2026-11-16-epyc-avx2.md`: 0.163 s for 912k places against 0.544 s for 800M pairs).
const PAIRS_PER_PLACE: u128 = 260;

/// Picks the cheapest engine that does what was asked.
#[must_use]
pub fn choose(counts: &Counts) -> Choice {
    let (targets, sources) = (u128::from(counts.targets), u128::from(counts.sources));
    if counts.cutoff {
        Choice { engine: EngineKind::Sparse, reason: "a cutoff makes a sparse matrix" }
    } else if targets * sources <= (targets + sources) * PAIRS_PER_PLACE {
        Choice { engine: EngineKind::Exact, reason: "few enough places for all pairs" }
    } else {
        Choice { engine: EngineKind::Fast, reason: "too many pairs for all of them" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(targets: u64, sources: u64, cutoff: bool) -> EngineKind {
        choose(&Counts { targets, sources, cutoff }).engine
    }

    #[test]
    fn the_choice_follows_the_counts() {
        assert_eq!(chosen(100, 200, false), EngineKind::Exact);
        assert_eq!(chosen(0, 0, false), EngineKind::Exact);
        assert_eq!(chosen(1, u64::MAX, false), EngineKind::Exact);
        assert_eq!(chosen(10_000, 20_000, false), EngineKind::Fast);
        assert_eq!(chosen(u64::MAX, u64::MAX, false), EngineKind::Fast);
        assert_eq!(chosen(100, 200, true), EngineKind::Sparse);
    }
}
