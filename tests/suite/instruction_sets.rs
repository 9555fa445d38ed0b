//! Every theme that computes sums runs again for each lesser instruction set, each time in a process that may use no better one.
//!
//! The unit tests of the engines, among them those of the sphere, do the same in `src/simd.rs`.

use std::process::Command;

/// The themes that compute sums. The others (command line, reports, methods, experiments) call the same engines.
const THEMES: [&str; 11] = [
    "certificates::",
    "exactness::",
    "golden::",
    "groups::",
    "identities::",
    "leave_one_out::",
    "matrix::",
    "sweep::",
    "threads::",
    "tiles::",
    "wide::",
];

fn run_again(instruction_set: &str) {
    let tests = std::env::current_exe().expect("this test has a file");
    let run = Command::new(tests).args(THEMES).env("GEOSMOOTH_SIMD", instruction_set).output().expect("it runs");
    let report = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "with {instruction_set} at most:\n{report}");
    // A filter that fits no test would pass as well.
    assert!(THEMES.iter().all(|theme| report.contains(&format!("test {theme}"))), "{report}");
}

#[test]
fn sums_are_certified_without_avx512() {
    run_again("avx2");
}

#[test]
fn sums_are_certified_without_avx2() {
    run_again("plain");
}
