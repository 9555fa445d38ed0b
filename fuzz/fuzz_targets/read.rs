//! See tests/suite/fuzz/read.rs.

#![no_main]

#[path = "../../tests/suite/fuzz/read.rs"]
mod read;

use std::panic::set_hook;

// The fuzzer's hook ends the process at any panic. Those of the Parquet crate are caught on purpose; what nobody catches still
// ends it, and `make test` says what it was once the input is in the corpus.
libfuzzer_sys::fuzz_target!(init: set_hook(Box::new(|_| ())), |data: &[u8]| read::check(data));
