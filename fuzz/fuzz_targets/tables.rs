//! See tests/suite/fuzz/tables.rs.

#![no_main]
#![allow(dead_code, reason = "numbers are drawn by other targets")]

/// The modules under the names that they have in the suite.
#[path = "../../tests/suite/fuzz"]
mod fuzz {
    mod bytes;
    pub(crate) mod tables;
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::tables::check(data));
