//! Sums by a lattice: points → nodes, nodes → nodes axis by axis, nodes → points, each with a Gaussian of its own.
//!
//! In: sources and targets in blocks of the lattice; columns with the mass first. Out: the sums at each target.
//! Bound: `E ≤ ρ D + η √(W D) + a W`, W being the weight on the lattice ([`window`] has the proof, [`bound`] the formula).
//!
//! From the bottom up: [`window`] ← [`blocks`] ← [`taps`], [`convolution`] ← [`transfer`] ← [`plane`].

mod accuracy;
mod blocks;
mod bound;
mod convolution;
mod counted;
mod plane;
mod taps;
mod terms;
mod transfer;
mod window;

pub(crate) use self::accuracy::Accuracy;
pub(crate) use self::blocks::{BlockKey, BlockRun, Route, ascending, cube, positions};
pub(crate) use self::bound::Bound;
pub(crate) use self::counted::{CountedCube, CountedRows, LatticeCost, MOST_PARTS};
pub(crate) use self::plane::{BlockGrid, PlanePoints};
pub(crate) use self::taps::{LoadPoints, PointLanes, Taps};
pub(crate) use self::terms::{GaussianPart, Terms};
pub(crate) use self::transfer::{BlockSums, Grid, Reads, Spreads, Transfer, cut};
pub(crate) use self::window::{Load, POINTS_PER_VOLUME, Window, WindowDemand};
