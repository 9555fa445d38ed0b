//! Lattices on the sphere: charts, in each of which the lattice of the plane works.
//!
//! In: places of the sphere, or counts of them. Out: [`SphereLattice`], which implements [`Lattice`](super::lattice::Lattice) through windows.
//! Bound: that of the lattice, and what the kernel loses in a chart: [`expansion`] has the proof for arcs in charts,
//! [`mixture`] for arcs by chords. [`design`] adds them up.
//!
//! Order of files: [`error_norm`], [`mixture`], [`polynomial`], [`expansion`]; [`known`]; [`chart`], [`places`], [`windows`];
//! [`design`]; [`sphere_lattice`].

mod chart;
mod design;
mod error_norm;
mod expansion;
mod known;
mod mixture;
mod places;
mod polynomial;
mod sphere_lattice;
mod windows;

pub(crate) use self::design::ChartDemand;
pub(crate) use self::known::{Cap, KnownPlaces, angle, centre, centres, half_diagonal, sorted_centres};
pub(crate) use self::sphere_lattice::{BYTES_OF_PLACE, ChartProblem, SphereLattice};
