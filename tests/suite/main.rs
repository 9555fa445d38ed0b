//! One test binary, a file for each theme. Every engine goes through the same suite against `exact`.

mod certificates;
mod command_line;
mod exactness;
mod golden;
mod identities;
mod leave_one_out;
mod matrix;
mod problem;
mod sweep;
mod threads;
