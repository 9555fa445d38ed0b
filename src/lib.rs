//! geosmooth makes the predictions of any model better by smoothing them over space, with a proven error on
//! every row.
//!
//! A model predicted a value for many places; nearby places should have similar values, and near some of them
//! the truth is already known. **Post-estimation smoothing** (Rolf, Jordan and Recht 2020) turns those
//! predictions into better ones without touching the model:
//!
//! ```text
//! smoothed = c · W ŷ + (1 − c) · ŷ        W row-normalised,  W_ij ∝ w_j exp(−d(i,j)² / 2σ²)
//! ```
//!
//! The columns of W are the rows to predict, with their predictions ŷ and weight 1, and the labelled rows, with their
//! labels and the label weight λ.
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
//! # How it is built
//!
//! Imports point one way, from the top of this list to its end:
//!
//! | module | is responsible for |
//! | --- | --- |
//! | `face`, `error` | how options are spelled for each face of the program; what can go wrong, with fields and hints |
//! | `text` | text from files and arguments, made fit to be printed |
//! | `space` | σ with its unit, the metric that the unit picks, unit vectors of twice the usual precision |
//! | `simd` | the instruction set that inner loops run on |
//! | `points` | [`Places`]: rows with a place each, checked once |
//! | [`scene`] | targets and weighted sources laid out: coincident rows merged, places along a curve |
//! | `kernel` | the Gaussian on many pairs at once, for each metric |
//! | [`engine`] | the sums `D`, `N` and the error mass `E` at each target: `exact`, `sparse`, `fast`, `auto` |
//! | `influence` | those sums at each row for one set of sources and any σ: what tuning, correcting and diagnosis are written on |
//! | `sums` | [`kernel_sums`] and [`kernel_average`]: the same for programs of one's own |
//! | `smoother` | [`Smoother`]: post-estimation smoothing on those sums |
//! | `correct` | [`Correction`]: spreading the errors at labelled rows first |
//! | [`tune`], [`diagnose`] | choosing parameters on rows whose truth is known; why smoothing helps or not |
//! | `baseline` | the methods that the paper compares smoothing with, tuned and scored beside it |
//! | [`partition`] | more rows than memory holds: counted, then cut into tiles that are smoothed one by one, or added up to moments |
//! | `finding` | what a run noticed that its user should know |
//! | `score` | R², RMSE, MAE, MAPE and the median absolute error |
//! | `experiment` | the experiments of the paper |
//! | [`io`] | Parquet and GeoParquet in and out, Arrow tables in |
//! | [`report`] | results to text, pictures and pages |
//! | [`job`] | what the subcommands do, for any program: typed requests in, typed results out |
//! | `cli` | the subcommands: parses arguments, prints results, exits; the only code that does |
//!
//! The main job is four hops long: `cli::smooth` reads, [`Smoother::plan`] lays out the scene and lets an engine plan,
//! [`SmoothingPlan::apply`] asks it for sums, and the innermost loops are `kernel::exp2_minus` over lanes.
//!
//! # Promises
//!
//! - `|out − exact| ≤ tolerance · R` on every row, R the range of the source values; [`Smoothed::error_bound`] is what was
//!   actually proven, from the computed sums ([`method`] has the derivation).
//! - The same bits for any number of threads: every sum has one owner and one order.
//! - A constant column comes back bit for bit, and no value leaves the range of its sources.

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
pub use error::{Error, bytes};
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
