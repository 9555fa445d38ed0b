//! Lattices on the sphere: charts, in each of which the lattice of the plane works.
//!
//! In: places of the sphere, or counts of them. Out: charts, the places on each, and their sums.
//! Bound: that of the lattice, and what the kernel loses in a chart: [`expansion`] has the proof for arcs in charts,
//! [`mixture`] for arcs by chords.
//!
//! From the bottom up: [`cap`] ← [`chart`]; [`error_norm`] ← [`mixture`] ← [`expansion`] ← [`design`] ← [`atlas`] ← [`counted`].

mod atlas;
mod cap;
mod chart;
mod counted;
mod design;
mod error_norm;
mod expansion;
mod mixture;

pub(crate) use self::atlas::{Atlas, AtlasDraft, Chart, ChartPoints};
pub(crate) use self::cap::{Cap, angle};
pub(crate) use self::chart::ChartGrid;
pub(crate) use self::counted::{CountedAtlas, CubeCluster, centres, half_diagonal};
pub(crate) use self::design::ChartDemand;
