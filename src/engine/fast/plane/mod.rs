//! The lattice of the plane, or of space with one or three axes: its blocks lie in the space that places are in.
//!
//! In: places sorted along a curve. Out: [`PlaneLattice`], which implements [`Lattice`](super::lattice::Lattice) through windows.
//! Bound: sampling and truncation of one window ([`Bound::of_window`](super::lattice::Bound::of_window)).
//!
//! Order of files: [`windows`], then [`plane_lattice`].

mod plane_lattice;
mod windows;

pub(crate) use self::plane_lattice::PlaneLattice;
