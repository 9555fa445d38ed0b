//! See tests/suite/fuzz/engines.rs.

#![no_main]
#![allow(dead_code, unused_macros, unused_imports, reason = "of the problems of the suite only the random numbers are used")]

#[path = "../../tests/suite/problem.rs"]
mod problem;

#[path = "../../tests/suite/tiled.rs"]
mod tiled;

/// The modules under the names that they have in the suite.
#[path = "../../tests/suite/fuzz"]
mod fuzz {
    mod bytes;
    pub(crate) mod engines;
    mod layout;
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::engines::check(data));
