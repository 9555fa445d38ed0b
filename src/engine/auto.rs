//! The automatic choice: a pure function of counts, so that equal requests always take the same engine.

use super::kind::EngineKind;

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

    #[test]
    fn the_choice_follows_the_counts() {
        let chosen = |targets, sources, cutoff| choose(&Counts { targets, sources, cutoff }).engine;
        assert_eq!(chosen(100, 200, false), EngineKind::Exact);
        assert_eq!(chosen(0, 0, false), EngineKind::Exact);
        assert_eq!(chosen(1, u64::MAX, false), EngineKind::Exact);
        assert_eq!(chosen(10_000, 20_000, false), EngineKind::Fast);
        assert_eq!(chosen(u64::MAX, u64::MAX, false), EngineKind::Fast);
        assert_eq!(chosen(100, 200, true), EngineKind::Sparse);
    }
}
