//! More rows than memory holds, cut into tiles that fit: for one machine that keeps them on disk, and for many.
//!
//! A [`Census`] counts rows in cubes of space, in one pass and in any number of places at once. From it a [`Partition`] cuts space into tiles, small where
//! rows are many. Each row to predict has one home tile; tiles within reach of it have it as a guest. What is farther than
//! the reach from all rows of a tile carries so little that its weight alone bounds the error: that joins the certificate, and the promise is
//! the same as with all rows at hand. Where more rows are within reach of one place than memory holds, tiles form a [`TileGroup`] and share what their rows
//! add up to. Where σ is so wide that tiles would have everything in common, a [`Blueprint`] lays out lattices for all rows
//! instead, on which [`Moments`] of rows add up to a [`Field`].
//!
//! Rows are read more than once, and all of this holds only if they are the same each time. A census that is given their [hashes](RowHashes) knows the
//! [`Checksums`] of each tile and tile group, and of all rows: whoever smooths compares them with those of the rows that it has.

mod assignment;
mod capacity;
mod cells;
mod census;
mod checksum;
mod cut;
mod moments;
mod tile_group;
mod tiles;

pub use self::assignment::Membership;
pub use self::capacity::Capacity;
pub use self::census::{Census, Role};
pub use self::checksum::{Checksum, Checksums, RowHashes};
pub use self::moments::{Blueprint, Field, Moments};
pub use self::tile_group::TileGroup;
pub use self::tiles::{Partition, Tile};
