//! The automatic choice: a pure function of counts, so that the same request always takes the same way.

use super::EngineKind;
use super::matrix::BYTES_PER_NONZERO;

/// What the choice is made from.
#[derive(Clone, Copy, Debug)]
pub struct Counts {
    /// Distinct target places.
    pub targets: u64,
    /// Distinct source places.
    pub sources: u64,
    /// Entries that the sparse matrix would have.
    pub nonzeros: u64,
    /// Bytes that it may take.
    pub memory_limit: u64,
}

/// An engine and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The engine.
    pub engine: EngineKind,
    /// One phrase for people.
    pub reason: &'static str,
}

/// Time of one matrix entry, planned and applied, in evaluated pairs of `exact`
/// (`benches/results/2026-11-16-epyc-avx2.md`: 4.57 s for 214M entries against 0.675 s for 800M pairs).
const PAIRS_PER_NONZERO: u64 = 25;

/// Picks the cheaper engine that fits.
#[must_use]
pub fn choose(counts: &Counts) -> Choice {
    let pairs = counts.targets.saturating_mul(counts.sources);
    if counts.nonzeros.saturating_mul(BYTES_PER_NONZERO) > counts.memory_limit {
        Choice { engine: EngineKind::Exact, reason: "the sparse matrix would not fit in memory" }
    } else if counts.nonzeros.saturating_mul(PAIRS_PER_NONZERO) > pairs {
        Choice { engine: EngineKind::Exact, reason: "most pairs matter at this sigma" }
    } else {
        Choice { engine: EngineKind::Sparse, reason: "few neighbours matter at this sigma" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_choice_follows_the_counts() {
        let few = Counts { targets: 1000, sources: 2000, nonzeros: 10_000, memory_limit: 1 << 30 };
        assert_eq!(choose(&few).engine, EngineKind::Sparse);
        assert_eq!(choose(&Counts { nonzeros: 1_900_000, ..few }).engine, EngineKind::Exact);
        let tight = choose(&Counts { memory_limit: 1000, ..few });
        assert_eq!((tight.engine, tight.reason), (EngineKind::Exact, "the sparse matrix would not fit in memory"));
        assert_eq!(choose(&Counts { targets: u64::MAX, sources: u64::MAX, ..few }).engine, EngineKind::Sparse);
    }
}
