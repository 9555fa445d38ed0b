//! See tests/suite/fuzz/parameters.rs.

#![no_main]

#[path = "../../tests/suite/fuzz/parameters.rs"]
mod parameters;

libfuzzer_sys::fuzz_target!(|data: &[u8]| parameters::check(data));
