//! geosmooth averages the predictions of any model over space, together with known values nearby, and bounds the
//! numerical error of every row.
//!
//! A model predicted a value for many places. Nearby places should have similar values, and for some of them the truth
//! is known. **Post-estimation smoothing** (Rolf, Jordan and Recht, AISTATS 2020) combines the two without touching the
//! model:
//!
//! ```text
//! smoothed = c · W v + (1 − c) · ŷ        W row-normalised,  W_ij ∝ w_j exp(−d(i,j)² / 2σ²)
//! ```
//!
//! The columns of W are the *sources*: the rows to predict, with their predictions ŷ as values v and weight w = 1, and the
//! labelled rows, with their labels as values and the label weight λ. The rows of W are the *targets*: the rows to predict.
//!
//! ```
//! use geosmooth::{Places, Sigma, Smoother};
//!
//! let homes = Places::lat_lon(vec![41.650, 41.651, 41.652], vec![-83.540, -83.541, -83.539])?;
//! let sales = Places::lat_lon(vec![41.651], vec![-83.540])?;
//!
//! let plan = Smoother::new(Sigma::metres(200.0)?, 0.6)?.plan(&homes, Some(&sales))?;
//! let smoothed = plan.apply(&[&[118.0, 150.0, 122.0]], Some(&[125.0]))?;
//! println!("{:?} ± {:?}", smoothed[0].values, smoothed[0].error_bound);
//! # Ok::<(), geosmooth::Error>(())
//! ```
//!
//! # How data flow
//!
//! From Parquet to Parquet. Boxes are folders or files in `src`.
//!
//! ```text
//!   rows to predict (predictions ŷ)     labelled rows (labels y)          Parquet, GeoParquet, Arrow tables
//!                  │                               │
//!                  └───────────────┬───────────────┘
//!                                  ▼
//!   ┌─ io ─────────────────────────────────────────────────┐
//!   │ check the file, then decode the columns in use       │   Hard: files may be damaged or hostile (io/guard).
//!   └──────────────────────────────┬───────────────────────┘
//!                                  ▼ columns
//!   ┌─ points, space ──────────────────────────────────────┐
//!   │ validate places once; the unit of σ picks the metric │   Simple: checked here, trusted everywhere else.
//!   └──────────────────────────────┬───────────────────────┘
//!                                  ▼ Places
//!   ┌─ scene ──────────────────────────────────────────────┐
//!   │ merge coincident rows, sort along a curve            │   Simple, but fixes the order of every sum.
//!   └──────────────────────────────┬───────────────────────┘
//!                                  ▼ targets, weighted sources
//!   ┌─ engine ─────────────────────────────────────────────┐
//!   │ D = Σ w K,  N = Σ w K v,  and E, the mass in doubt   │   Hard: all speed and all proofs are here.
//!   │ exact │ sparse │ fast: direct sums and lattices      │
//!   └──────────────────────────────┬───────────────────────┘
//!                                  ▼ sums for each target
//!   ┌─ smoother ───────────────────────────────────────────┐
//!   │ c · N/D + (1 − c) · ŷ,  bound c · R · E/D            │   Simple: one line of arithmetic for each row.
//!   └──────────────────────────────┬───────────────────────┘
//!                                  ▼ new columns
//!   ┌─ io ─────────────────────────────────────────────────┐
//!   │ copy the pages of the input, append the new columns, │   Hard: crashes, signals and full disks must
//!   │ sync, rename                                         │   leave either the old file or the new one.
//!   └──────────────────────────────┬───────────────────────┘
//!                                  ▼
//!          rows to predict + <prediction>_smoothed                        Parquet
//! ```
//!
//! K is the Gaussian of a pair, and R the range of the source values.
//!
//! Other rooms stand beside this line. `tune` and `diagnose` go from `scene` to the sums many times. `correct` averages the
//! residuals of labelled rows first. [`partition`] cuts the rows into parts when memory does not hold them. `job`
//! connects the boxes for each subcommand and for Python; `cli` parses, prints and exits.
//!
//! # Rooms
//!
//! A room is a folder or a file directly in `src`. The table lists them from the bottom up: a room imports only from rooms
//! that are listed before it. `tests/suite/architecture.rs` reads this table and the imports in `src`, and fails where they
//! disagree.
//!
//! | room | is responsible for |
//! | --- | --- |
//! | `face` | how each interface spells its options: `label_weight`, `--label-weight`, `label_weight=` |
//! | `error` | what can go wrong, with fields and hints |
//! | `text` | text from files and arguments, made safe to print |
//! | `chance` | seeded random numbers |
//! | `finding` | what a run noticed that its user should know |
//! | `simd` | the instruction set that inner loops run on |
//! | `span` | values in units of their own range, and back |
//! | `space` | σ with its unit, the metric that the unit picks, unit vectors in twice the usual precision |
//! | `points` | [`Places`]: one place for each row, checked once |
//! | `kernel` | the Gaussian on many pairs at once, for each metric |
//! | [`scene`] | targets and weighted sources laid out: coincident rows merged, places sorted along a curve |
//! | [`engine`] | the sums `D` and `N` and the error mass `E` of each target: `exact`, `sparse`, `fast`, `auto` |
//! | `smoother` | [`Smoother`]: post-estimation smoothing on those sums |
//! | `influence` | those sums by row, for one set of sources and any σ; tuning, correction and diagnosis are written on it |
//! | `sums` | [`kernel_sums`] and [`kernel_average`]: the sums as a public function |
//! | `correct` | [`Correction`]: the correct step, which spreads the residuals of labelled rows |
//! | [`partition`] | more rows than memory holds: counting, cutting into tiles, adding up moments |
//! | `score` | R², RMSE, MAE, MAPE and the median absolute error |
//! | [`tune`] | choosing σ, c, the label weight and the correct step on rows whose truth is known |
//! | [`diagnose`] | why smoothing helps or does not |
//! | `baseline` | the methods that the paper compares smoothing with, tuned and scored beside it |
//! | `experiment` | the experiments of the paper |
//! | [`io`] | Parquet and GeoParquet in and out, Arrow tables in |
//! | `parameters` | tuned parameters as a file |
//! | [`report`] | results as text, pictures and pages; formats, never computes |
//! | `job` | what each subcommand does, from inputs to results; the Python package starts here |
//! | `cli` | arguments, terminal, signals, exit codes; the only code that prints or exits |
//! | `allocator` | the allocator of the program, in the binary alone |
//! | `main` | the program |
//!
//! # Where to find
//!
//! | what | file |
//! | --- | --- |
//! | the decision between engines | `src/engine/auto.rs` |
//! | inside `fast`, the decision between direct sums and a lattice, for each block of sources | `src/engine/fast/group.rs`, by the costs in `src/engine/fast/savings.rs` |
//! | inside `fast`, the choice of the lattice: the plane, charts of the sphere, or patches of the whole globe for wide σ | `src/engine/fast/any_lattice.rs` |
//! | the truncated weight matrix | `src/engine/sparse/mod.rs` |
//! | the steps that every lattice implements | `src/engine/fast/lattice/steps.rs` |
//! | the loop that spreads values onto lattice nodes | `src/engine/fast/lattice/taps.rs` |
//! | the proof of the lattice's bound | `src/engine/fast/lattice/window.rs`; its formula is in `src/engine/fast/lattice/bound.rs` |
//! | the proofs for the sphere | `src/engine/fast/sphere/expansion.rs` (charts), `src/engine/fast/globe/chebyshev.rs` (patches) |
//! | the Gaussian itself | `src/kernel.rs` |
//! | the check of a Parquet file before it is decoded | `src/io/guard/mod.rs` |
//! | the symbols of the proofs, and what other authors call them | `docs/glossary.md` |
//! | every test, and what would break it | `tests/README.md` |
//!
//! From `main` to the inner loop it is about 20 functions for `exact`, and nearly 30 for a lattice. By file:
//!
//! ```text
//! main.rs → cli/mod.rs → cli/smooth.rs            parse
//!   → job/smooth/mod.rs → job/smooth/at_once.rs   read, smooth, write
//!   → smoother/mod.rs → engine/auto.rs            plan: lay out the scene, choose the engine
//!   → smoother/plan.rs                            apply: ask the engine for sums, turn them into rows
//!     → engine/exact.rs → engine/tile.rs                        exact
//!     → engine/fast/engine.rs → engine/fast/summation.rs        fast; below, files of engine/fast
//!         → direct/sums.rs → direct/leaves.rs                     direct sums
//!         → laid.rs → lattice/windowed.rs → lattice/taps.rs       a lattice
//!           → kernel.rs                           the Gaussian, sixteen at once
//! ```
//!
//! # Promises
//!
//! - The numerical error of every row, its difference from the same average in exact arithmetic over all sources, is at most
//!   `tolerance · R`; where 64-bit numbers cannot keep that, a warning says so. [`Smoothed::error_bound`] is the bound that was reached, computed from the sums themselves
//!   ([`method`] has the derivation). It says nothing about how far a value is from the truth.
//! - The bits do not depend on the number of threads: every sum has one owner and one order.
//! - Where all sources have one value, it comes back bit for bit, and no value leaves the range of its sources.

#![cfg_attr(
    not(feature = "cli"),
    allow(
        dead_code,
        unused_imports,
        reason = "the command and the experiments use some helpers alone; a full build checks them"
    )
)]

#[cfg(not(unix))]
compile_error!(
    "geosmooth runs on Unix only: it asks the system for inodes, permissions and signals as Linux and macOS have them"
);

#[cfg(feature = "baselines")]
pub mod baseline;
mod chance;
#[cfg(feature = "cli")]
pub mod cli;
mod correct;
pub mod diagnose;
pub mod engine;
mod error;
#[cfg(feature = "experiments")]
pub mod experiment;
mod face;
mod finding;
mod influence;
pub mod io;
pub mod job;
mod kernel;
/// The examples of the guide, so that they are tested.
#[cfg(doctest)]
#[doc = include_str!("../docs/guide.md")]
mod guide {}
#[doc = include_str!("../docs/method.md")]
pub mod method {}
mod parameters;
pub mod partition;
mod points;
pub mod report;
pub mod scene;
mod score;
mod simd;
mod smoother;
mod space;
mod span;
mod sums;
mod text;
pub mod tune;

pub use correct::{Corrected, Correction, LabelledRows};
pub use engine::EngineOptions;
pub use error::{Error, Subject, bytes};
pub use face::Face;
pub use finding::{Finding, Severity};
pub use parameters::{CorrectParameters, Parameters, PlaceColumns};
pub use points::Places;
pub use score::{Measure, Score};
pub use smoother::{
    Smoothed, SmoothedTile, Smoother, SmoothingPlan, TileContents, TileRows, WeightBatch, smooth, smooth_tile,
};
pub use space::{Degrees, EARTH_RADIUS, Metres, Metric, Sigma, great_circle};
pub use sums::{KernelSums, kernel_average, kernel_sums};
