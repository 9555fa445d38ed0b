//! Engines compute the sums that everything else is written on: for each target place
//! `D = Σ w K` and, for each value column, `N = Σ w K v`, with a bound `E ≥ Σ w |e|` on the error mass of
//! whatever kernel `K + e` they used.
//!
//! Since numerator and denominator share one perturbed kernel, the ratio is certified by what was computed:
//!
//! ```text
//! m̃ − m = Σ_j w_j (v_j − m) e_j / D̃      so      |m̃ − m| ≤ R · E / D̃,   R = max v − min v
//! ```
//!
//! Engines do not know each other; [`EngineKind`] is where a name becomes one of them.

mod auto;
mod bounds;
mod exact;
mod fast;
mod matrix;
mod options;
mod rounding;
mod rows;
mod sparse;
mod tile;
mod values;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

pub use auto::{Choice, Counts, choose};
pub use exact::Exact;
pub use fast::Fast;
pub(crate) use fast::{CountedCube, CountedRows, LatticePlan, MOST_PARTS, NodeField, NodeMoments};
pub use matrix::Matrix;
pub use options::EngineOptions;
pub(crate) use rows::RowSums;
pub use sparse::{Sparse, Truncation};
pub(crate) use values::kernel_values;

use crate::error::Error;
use crate::scene::Scene;

/// The sums of one kernel at each target place.
///
/// A row so far from every source that its sums would underflow is scaled: the true sums are those here
/// times `2^exponent`. Ratios need not care.
#[derive(Clone, Debug, Default)]
pub struct Sums {
    /// `D`: the kernel mass, 0 where there is no source at all.
    pub mass: Vec<f64>,
    /// `N` for each value column.
    pub values: Vec<Vec<f64>>,
    /// `E`: a bound on the mass of the kernel's error, truncation and rounding together.
    pub error: Vec<f64>,
    /// Whole power of two that all of the above carry; 0 for almost every place.
    pub exponent: Vec<f64>,
}

impl Sums {
    /// Nothing at so many places, with so many columns.
    fn zero(places: usize, columns: usize) -> Self {
        let zeros = || vec![0.0; places];
        Self { mass: zeros(), values: vec![zeros(); columns], error: zeros(), exponent: zeros() }
    }
}

/// A way to compute [`Sums`].
pub trait Engine: Send + Sync {
    /// Prepares for sums over this scene with any values.
    ///
    /// # Errors
    /// If the plan would not fit in memory.
    fn plan(&self, scene: Arc<Scene>, progress: &dyn Progress) -> Result<Box<dyn Plan>, Error>;
}

/// A scene that an engine is ready to sum over.
pub trait Plan: Send + Sync {
    /// The sums for columns of `w·v` at the source places, as [`Scene::gather`] makes them.
    fn sums(&self, columns: &[Vec<f64>], progress: &dyn Progress) -> Sums;

    /// The row-normalised weight matrix, if the engine keeps one.
    fn matrix(&self) -> Option<&Matrix> {
        None
    }
}

/// Hears how far long work has come. `()` does not care.
///
/// Whoever wants the work to stop may unwind out of either method, by `std::panic::resume_unwind`: nothing outlives the call
/// that half of the work could spoil.
pub trait Progress: Sync {
    /// Work of `total` steps begins.
    fn start(&self, total: u64);
    /// So many more steps are done.
    fn advance(&self, steps: u64);
}

impl Progress for () {
    fn start(&self, _: u64) {}
    fn advance(&self, _: u64) {}
}

/// The engines by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EngineKind {
    /// All pairs, no approximation.
    Exact,
    /// Truncated row-normalised weight matrix from a k-d tree.
    Sparse,
    /// Matrix-free and certified, at near-linear cost for any σ.
    Fast,
    /// Whichever of the others is cheapest.
    Auto,
}

impl EngineKind {
    /// All names that can be asked for.
    pub const ALL: [Self; 4] = [Self::Exact, Self::Sparse, Self::Fast, Self::Auto];

    /// This engine, or another where the choice was left open.
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
