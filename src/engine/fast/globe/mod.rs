//! The lattice of the globe, for σ so wide that no chart of the sphere is accurate enough: patches of the sphere, and the kernel interpolated
//! between Chebyshev nodes of each.
//!
//! Sources go to the nodes of their patches, nodes to nodes by direct sums, nodes to targets: `K(x, y) ≈ Σ L(x) K(node, node) L(y)`. The number
//! of nodes does not depend on the rows; it falls as σ grows.
//!
//! In: places of the sphere, or counts of them. Out: [`GlobeLattice`], which implements [`Lattice`](super::lattice::Lattice). Bound: one error for all pairs
//! ([`chebyshev`] has the proof), so that a row is certified if it has a fair part of all weight around it. Almost all have by then; others are
//! summed again.
//!
//! Order of files: [`chebyshev`], [`bands`], [`nodes`], [`patches`], [`globe_lattice`]; [`squares`] for the choice.

mod bands;
mod chebyshev;
mod globe_lattice;
mod nodes;
mod patches;
mod squares;
#[cfg(test)]
mod tests;

pub(crate) use self::patches::GlobeLattice;
pub(crate) use self::squares::least_mass;
