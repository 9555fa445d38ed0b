//! What the caller asks of an engine, and the one place that turns a name into an engine.

use std::sync::Arc;

use super::auto::{Choice, Counts, EngineKind, choose};
use super::exact::Exact;
use super::fast::{Fast, usual_need};
use super::plan::{Engine, Plan, Progress};
use super::sparse::{Sparse, Truncation};
use crate::error::{Error, plain};
use crate::scene::{RowCounts, Scene};
use crate::space::Metric;

/// Which engine, how accurate, within how much memory.
#[derive(Clone, Copy, Debug)]
pub struct EngineOptions {
    /// The engine, or the choice among them.
    pub engine: EngineKind,
    truncation: Truncation,
    memory_limit: Option<u64>,
}

impl Default for EngineOptions {
    /// The cheapest engine at [`DEFAULT_TOLERANCE`](Self::DEFAULT_TOLERANCE), without a limit on memory.
    fn default() -> Self {
        Self {
            engine: EngineKind::Auto,
            truncation: Truncation::Tolerance(Self::DEFAULT_TOLERANCE),
            memory_limit: None,
        }
    }
}

impl EngineOptions {
    /// The tolerance unless another is asked for: a millionth of the range of the values.
    pub const DEFAULT_TOLERANCE: f64 = 1e-6;

    /// The smallest tolerance that any engine takes: what rounding leaves room for in 64-bit numbers, with a margin of five.
    pub const SMALLEST_TOLERANCE: f64 = 1e-12;

    /// Another engine.
    #[must_use]
    pub fn engine(mut self, engine: EngineKind) -> Self {
        self.engine = engine;
        self
    }

    /// Largest error of any row, relative to the range of the values.
    ///
    /// # Errors
    /// If it is above 1 or below what 64-bit numbers can keep.
    pub fn tolerance(mut self, tolerance: f64) -> Result<Self, Error> {
        if !(Self::SMALLEST_TOLERANCE..=1.0).contains(&tolerance) {
            let expected = "between 1e-12, what 64-bit numbers can keep, and 1";
            return Err(Error::Parameter { name: "tolerance", value: plain(tolerance), expected });
        }
        self.truncation = Truncation::Tolerance(tolerance);
        Ok(self)
    }

    /// Cuts the kernel at a fixed number of σ instead of by tolerance; the certificate reports the error.
    ///
    /// # Errors
    /// If it is not positive, or so large that the kernel vanishes before it.
    pub fn cutoff(mut self, sigmas: f64) -> Result<Self, Error> {
        if !(sigmas > 0.0 && sigmas <= 37.0) {
            return Err(Error::Parameter {
                name: "cutoff",
                value: plain(sigmas),
                expected: "positive and at most 37 sigma, where the kernel vanishes",
            });
        }
        self.truncation = Truncation::Cutoff(sigmas);
        Ok(self)
    }

    /// Bytes that an engine may take: for a weight matrix, for lattices, for sums.
    #[must_use]
    pub fn memory_limit(mut self, bytes: u64) -> Self {
        self.memory_limit = Some(bytes);
        self
    }

    /// Bytes that an engine may take; `u64::MAX` without a limit.
    pub(crate) fn memory(&self) -> u64 {
        self.memory_limit.unwrap_or(u64::MAX)
    }

    /// The same options with the memory that is left besides bytes that stay for the whole run. Bytes that are freed before the plan must
    /// fit, too.
    pub(crate) fn beside(self, stays: u64, before: u64, what: impl FnOnce() -> String) -> Result<Self, Error> {
        let (need, limit) = (stays.saturating_add(before), self.memory());
        if need > limit {
            return Err(Error::Memory { what: what(), need, limit });
        }
        Ok(match self.memory_limit {
            Some(limit) => self.memory_limit(limit - stays),
            None => self,
        })
    }

    /// The same for each of several plans.
    pub(crate) fn shared_by(mut self, plans: u64) -> Self {
        self.memory_limit = self.memory_limit.map(|limit| limit / plans);
        self
    }

    /// Bytes that a plan over this many rows usually takes, before their places are known.
    pub(crate) fn usual_need(&self, rows: &RowCounts, metric: Metric) -> u64 {
        match self.engine {
            EngineKind::Fast | EngineKind::Auto => usual_need(rows, metric),
            EngineKind::Exact | EngineKind::Sparse => 0,
        }
    }

    /// The tolerance; the default one where the kernel is cut at a fixed number of σ.
    pub(crate) fn accuracy(&self) -> f64 {
        match self.truncation {
            Truncation::Tolerance(tolerance) => tolerance,
            Truncation::Cutoff(_) => Self::DEFAULT_TOLERANCE,
        }
    }

    /// Whether the kernel is cut at a fixed number of σ.
    pub(crate) fn has_cutoff(&self) -> bool {
        matches!(self.truncation, Truncation::Cutoff(_))
    }

    /// The same with the tolerance times `share`, within what 64-bit numbers allow; a cutoff stays as it is.
    pub(crate) fn with_share(self, share: f64) -> Self {
        self.with_tolerance(|tolerance| (tolerance * share).clamp(Self::SMALLEST_TOLERANCE, 1.0))
    }

    /// The same with a tolerance of at least this; a cutoff stays as it is.
    pub(crate) fn with_tolerance_of_at_least(self, least: f64) -> Self {
        self.with_tolerance(|tolerance| tolerance.max(least))
    }

    /// The same with at least this accuracy, by all pairs where no approximation can keep it; a cutoff stays as it is.
    pub(crate) fn as_accurate_as(mut self, needed: f64) -> Self {
        if needed < Self::SMALLEST_TOLERANCE && !self.has_cutoff() {
            self.engine = EngineKind::Exact;
        }
        self.with_tolerance(|tolerance| tolerance.min(needed).max(Self::SMALLEST_TOLERANCE))
    }

    fn with_tolerance(mut self, change: impl FnOnce(f64) -> f64) -> Self {
        if let Truncation::Tolerance(tolerance) = &mut self.truncation {
            *tolerance = change(*tolerance);
        }
        self
    }

    /// The same with this engine where the choice was automatic.
    pub(crate) fn prefer(mut self, engine: EngineKind) -> Self {
        self.engine = self.engine.if_chosen(engine);
        self
    }

    /// Plans for a scene; gives the engine that was chosen, too.
    pub(crate) fn plan(&self, scene: Arc<Scene>, progress: &dyn Progress) -> Result<(Choice, Box<dyn Plan>), Error> {
        let choice = match self.engine {
            EngineKind::Auto => choose(&Counts {
                targets: scene.target_places() as u64,
                sources: scene.source_places() as u64,
                cutoff: self.has_cutoff(),
            }),
            engine => Choice { engine, reason: "as asked" },
        };
        let plan = match choice.engine {
            EngineKind::Exact => Exact { memory_limit: self.memory_limit }.plan(scene, progress),
            EngineKind::Sparse => {
                Sparse { truncation: self.truncation, memory_limit: self.memory_limit }.plan(scene, progress)
            }
            EngineKind::Fast | EngineKind::Auto => self.fast()?.plan(scene, progress),
        };
        Ok((choice, plan?))
    }

    fn fast(&self) -> Result<Fast, Error> {
        match self.truncation {
            Truncation::Tolerance(tolerance) => Ok(Fast { tolerance, memory_limit: self.memory_limit }),
            Truncation::Cutoff(_) => Err(Error::Contradiction {
                message: "the fast engine keeps a tolerance; it has no cutoff".to_owned(),
                hint: "leave `cutoff` out, or use `engine sparse`".to_owned(),
            }),
        }
    }
}
