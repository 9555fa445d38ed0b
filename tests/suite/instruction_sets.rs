//! The same promises where the CPU has less: the suites that compare engines with the truth run again, each time in a
//! process that may use only a lesser instruction set.

use std::process::Command;

/// Themes that hold every engine to `exact`, and `exact` to the truth.
const SUITES: [&str; 5] = ["exactness::", "golden::", "certificates::", "identities::", "threads::"];

fn run_again(instruction_set: &str) {
    let tests = std::env::current_exe().expect("this test has a file");
    let run = Command::new(tests).args(SUITES).env("GEOSMOOTH_SIMD", instruction_set).output().expect("it runs");
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "with {instruction_set} at most:\n{said}");
    // A filter that fits no test would pass as well.
    assert!(SUITES.iter().all(|suite| said.contains(&format!("test {suite}"))), "{said}");
}

#[test]
fn everything_holds_without_avx512() {
    run_again("avx2");
}

#[test]
fn everything_holds_without_avx2() {
    run_again("plain");
}
