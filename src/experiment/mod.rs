//! The experiments of the paper, each in one module and with a fixed seed. They only compute; `job` writes tables, plots
//! and pages.

mod choice;
pub mod extrapolation;
mod homes;
pub mod housing;
mod model;
pub mod pose;
pub mod simulation;
pub mod sizes;
mod statistics;

pub use choice::{Chosen, Way};
pub use homes::Homes;
pub use model::Model;
pub use statistics::{Summary, paired_t_test};
