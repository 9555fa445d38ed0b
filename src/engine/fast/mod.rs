//! The certified fast engine: any σ at near-linear cost, every row within the tolerance.
//!
//! Space is cut into blocks a few σ wide. Sources in blocks where there are few are summed directly, by a tree of boxes
//! that leaves out boxes that contribute too little ([`direct`]). Sources in blocks where there are many go through a lattice
//! ([`lattice`]): the Gaussian is three Gaussians one after the other, `K = g ∗ G ∗ g`, the first from points to lattice
//! nodes, the second from nodes to nodes, axis by axis, the third from nodes to points. All terms are positive, so errors
//! are relative except for truncation, and that is a multiple of √K ([`window`](lattice) has the proof). With ρ and η for the two
//! and W for the weight on the lattice, Cauchy and Schwarz give
//!
//! ```text
//! E ≤ ρ D + η √(W D) + (what direct sums left out) + rounding
//! ```
//!
//! for every row. On the sphere lattices lie in charts ([`sphere`]); for wider σ there are patches with nodes of their own ([`globe`]). Rows
//! that miss the tolerance by this bound are summed again, directly, over all sources within the radius that surely keeps it.
//!
//! In: a scene and columns of `w·v`, or counts of streamed rows and then the rows. Out: sums with that bound.
//!
//! Order of files: [`direct`]; [`lattice`], the trait, and [`plane`], [`sphere`], [`globe`], its three implementations; [`any_lattice`], the one
//! place that chooses among them. In memory: [`savings`], [`laid`], [`group`], [`summation`], [`engine`].
//! Streamed: [`moments`].

mod any_lattice;
mod direct;
mod engine;
mod globe;
mod group;
mod laid;
mod lattice;
mod moments;
mod plane;
mod savings;
mod sphere;
mod summation;
#[cfg(test)]
mod tests;

pub(crate) use self::any_lattice::LatticePlan;
pub use self::engine::Fast;
pub(in crate::engine) use self::engine::usual_need;
pub(crate) use self::lattice::{CountedCube, CountedRows, MOST_PARTS};
pub(crate) use self::moments::{NodeField, NodeMoments};
