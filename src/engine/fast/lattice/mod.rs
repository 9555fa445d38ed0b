//! Sums by a lattice: points → nodes, nodes → nodes axis by axis, nodes → points, each with a Gaussian of its own.
//!
//! In: sources and targets in blocks of the lattice; columns with the mass first. Out: the sums at each target.
//! Bound: `E ≤ ρ D + η √(W D) + a W`, W being the weight on the lattice ([`window`] has the proof, [`bound`] the formula).
//!
//! [`steps`] has the trait [`Lattice`] that the plane, the sphere and the globe implement; [`windowed`] implements its steps for the first two.
//!
//! Order of files: [`window`]; [`blocks`], [`counted`], [`bound`], [`accuracy`]; [`steps`]; [`around`], [`taps`], [`convolution`];
//! [`windowed`].

mod accuracy;
mod around;
mod blocks;
mod bound;
mod convolution;
mod counted;
mod steps;
mod taps;
mod window;
mod windowed;

pub(crate) use self::accuracy::Accuracy;
pub(crate) use self::blocks::{BlockGrid, BlockKey, BlockRun, Route, ascending, cube, positions};
pub(crate) use self::bound::Bound;
pub(crate) use self::convolution::{GaussianPart, Terms};
pub(crate) use self::counted::{CountedCube, CountedRows, LatticeCost, MOST_PARTS};
pub(crate) use self::steps::{LaidPlaces, LastBlocks, Lattice, NodeBlocks, Points, Sheets, add_compensated};
pub(crate) use self::taps::{LoadPoints, PointLanes, Taps};
pub(crate) use self::window::{Load, POINTS_PER_VOLUME, Window, WindowDemand};
pub(crate) use self::windowed::Windowed;
