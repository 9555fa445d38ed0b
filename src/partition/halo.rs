//! The halo of a tile: how far away sources are looked for, and what those beyond carry at most.

use serde::{Deserialize, Serialize};

use super::census::Census;
use super::problem::SmoothingProblem;
use crate::smoother::SHARE_BEYOND;

/// How far sources are looked for.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Halo {
    /// Weight of all rows.
    weight: f64,
    /// Largest kernel of a row beyond the halo.
    pub(super) least: f64,
}

impl Halo {
    /// So wide that what is beyond uses up no more than its part of the tolerance; or to the cutoff.
    pub(super) fn new(census: &Census, problem: &SmoothingProblem) -> Self {
        let weight = census.checksums().weight(problem.label_weight);
        let least = match problem.cutoff {
            Some(cutoff) => (-0.5 * cutoff * cutoff).exp(),
            None => (SHARE_BEYOND * problem.tolerance / weight.max(1.0)).min(1.0),
        };
        Self { weight, least }
    }

    /// Its radius in σ.
    pub(super) fn radius(&self) -> f64 {
        (-2.0 * self.least.ln()).max(0.0).sqrt()
    }

    /// A bound on what rows beyond the halo carry to a row, from the weight of those within.
    pub(super) fn carried_from_beyond(&self, weight_within: f64) -> f64 {
        // The weights are summed in two orders: a rounding must not make up for what is left out.
        let outside = (self.weight - weight_within).max(0.0) + 1e-12 * self.weight;
        outside * self.least
    }
}
