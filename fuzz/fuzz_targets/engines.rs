//! See tests/suite/fuzz/engines.rs.

#![no_main]
#![allow(dead_code, reason = "of the problems of the suite only the random numbers are used")]

#[path = "../../tests/suite/problem.rs"]
mod problem;

/// The modules under the names that they have in the suite.
mod fuzz {
    #[path = "../../../tests/suite/fuzz/bytes.rs"]
    mod bytes;
    #[path = "../../../tests/suite/fuzz/engines.rs"]
    pub(crate) mod engines;
    #[path = "../../../tests/suite/fuzz/layout.rs"]
    mod layout;
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::engines::check(data));
