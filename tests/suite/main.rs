//! One test binary, a file for each theme. Every engine goes through the same suite against `exact`.

mod architecture;
mod certificates;
#[cfg(feature = "cli")]
mod command_line;
mod dependencies;
mod documentation;
mod exactness;
#[cfg(feature = "experiments")]
mod experiments;
mod fuzz;
mod golden;
mod groups;
mod identities;
mod instruction_sets;
mod leave_one_out;
mod matrix;
#[cfg(feature = "baselines")]
mod methods;
mod problem;
mod report;
mod sweep;
mod threads;
mod tiled;
mod tiles;
mod wide;
