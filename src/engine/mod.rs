//! Engines compute the sums that everything else is written on: for each target place
//! `D = Σ w K` and, for each value column, `N = Σ w K v`, with a bound `E ≥ Σ w |e|` on the error mass of
//! the kernel `K + e` that they used.
//!
//! Numerator and denominator share one perturbed kernel, so the computed sums certify the ratio:
//!
//! ```text
//! m̃ − m = Σ_j w_j (v_j − m) e_j / D̃      so      |m̃ − m| ≤ R · E / D̃,   R = max v − min v
//! ```
//!
//! In: a [`Scene`](crate::scene::Scene) and columns of `w·v`. Out: [`Sums`]. Bound: [`Sums::error`].
//!
//! Order of files: `plan` (the traits [`Engine`] and [`Plan`], and [`Sums`]), `auto` (names and the automatic choice); shared arithmetic in
//! `bounds`, `decays`, `pieces`, `rounding`, `tile`; the engines `exact`, `sparse` and `fast`, which do not import each other; `options`, the one place that turns
//! a name into an engine; `rows`, from sums of places to sums of rows.

mod auto;
mod bounds;
mod decays;
mod exact;
mod fast;
mod matrix;
mod options;
mod pieces;
mod plan;
mod rounding;
mod rows;
mod sparse;
mod tile;

pub use self::auto::{Choice, Counts, EngineKind, choose};
pub(crate) use self::decays::kernel_values;
pub use self::exact::Exact;
pub use self::fast::Fast;
pub(crate) use self::fast::{CountedCube, CountedRows, LatticePlan, MOST_PARTS, NodeField, NodeMoments};
pub use self::matrix::Matrix;
pub use self::options::EngineOptions;
pub use self::plan::{Engine, Plan, Progress, Sums};
pub(crate) use self::rows::RowSums;
pub use self::sparse::{Sparse, Truncation};
