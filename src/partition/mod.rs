//! More rows than memory holds, cut into tiles that fit: for one machine that keeps them on disk, and for many.
//!
//! A [`Census`] counts rows in cubes of space, in one pass and in any number of places at once. From it a [`Partition`] cuts space into tiles, small where
//! rows are many. Each row to predict has one home tile; tiles within reach of it have it as a guest. What is farther than
//! the reach from all rows of a tile carries so little that its weight alone bounds the error: that joins the certificate, and the promise is
//! the same as with all rows at hand. Where σ is so wide that tiles would have everything in common, a [`Blueprint`] lays out lattices
//! instead, on which [`Moments`] of rows add up to a [`Field`].

mod census;
mod cut;
mod tiles;
mod wide;

pub use self::census::{Census, Role};
pub use self::tiles::{Capacity, Partition, Tile, Visit};
pub use self::wide::{Blueprint, Field, Moments};
