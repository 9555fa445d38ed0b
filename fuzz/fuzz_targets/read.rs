//! See tests/suite/fuzz/read.rs.

#![no_main]

#[path = "../../tests/suite/fuzz/read.rs"]
mod read;

libfuzzer_sys::fuzz_target!(|data: &[u8]| read::check(data));
