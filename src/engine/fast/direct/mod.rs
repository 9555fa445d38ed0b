//! Direct sums over the sources near a target, for blocks where sources are thin and for rows that miss the tolerance.
//!
//! In: the sources of a group, or some of them, in a tree of boxes; targets, neighbours after neighbours; columns with the mass first.
//! Out: for each target its sums, and the error mass of what was left out and of rounding.
//! Bound: a box of weight w at decay x contributes at most `w·2^−x`; this is added up for all boxes that are left out ([`boxes`]).
//!
//! Order of files: [`boxes`], [`leaves`], [`tree`], [`sums`].

mod boxes;
mod leaves;
mod sums;
mod tree;

pub(crate) use self::boxes::{BOXES, log2_below};
pub(crate) use self::leaves::LEAF;
pub(crate) use self::sums::{DirectSums, Scratch, TargetSums};
pub(crate) use self::tree::Tree;
