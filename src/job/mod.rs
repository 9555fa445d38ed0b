//! What the program does, whoever asks: smooth, tune, compare, diagnose, methods and weights, from files or tables in memory.

pub mod call;
pub(crate) mod caller;
pub(crate) mod compare;
mod control_group;
pub(crate) mod data;
pub(crate) mod diagnose;
mod lists;
mod machine;
pub(crate) mod methods;
pub(crate) mod options;
pub(crate) mod pages;
mod recipe;
pub(crate) mod smooth;
pub(crate) mod table;
pub(crate) mod tune;
mod weights;
