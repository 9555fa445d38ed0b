//! More rows than memory holds: counted, then cut into tiles that fit, or added up at the nodes of lattices. For one machine that keeps rows on disk, and for
//! many machines.
//!
//! A [`Census`] counts rows in cubes of space, in one pass; the censuses of parts can be joined. From it a [`Partition`] cuts space into tiles, small where
//! rows are many. Each row to predict has one home tile, and is a guest of the tiles within reach of it. What is beyond the halo of a tile carries so
//! little that its weight alone bounds the error. That bound joins the certificate, and the promise is the same as with all rows at hand.
//!
//! Where more rows are within reach of one place than memory holds, tiles form a [`TileGroup`]. Its rows are added up to [`GroupMoments`], which become a
//! [`GroupField`], off which the results are read. Where σ is so wide that tiles would have everything in common, one group holds all rows.
//!
//! Rows are read more than once, and the bounds hold only if they are the same each time. The census adds up hashes of [`SourceRows`], so that it knows the
//! [`Checksums`] of each tile and of each tile group. Smoothing compares them with those of the rows that it gets.

mod assignment;
mod capacity;
mod cell;
mod cells;
mod census;
mod checksum;
mod cut;
mod halo;
mod moments;
mod planner;
mod problem;
mod role;
mod rows;
mod tile_group;
mod tiles;

#[cfg(test)]
mod tests;

pub use self::assignment::Membership;
pub use self::capacity::Capacity;
pub use self::census::Census;
pub use self::checksum::{Checksum, Checksums};
pub use self::moments::{GroupField, GroupMoments};
pub use self::problem::SmoothingProblem;
pub use self::role::{Role, TileRole};
pub use self::rows::SourceRows;
pub use self::tile_group::TileGroup;
pub use self::tiles::{Partition, Tile};
