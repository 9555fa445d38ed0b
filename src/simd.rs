//! The instruction set that inner loops run on: the best that the CPU has, or a lesser one on request.
//!
//! Every inner loop is compiled for each of them; [`arch`] chooses one. The environment variable `GEOSMOOTH_SIMD`
//! asks for `avx2` or `plain` instead of the best, so that tests and benchmarks on one machine cover other machines.
//! Results differ in their last digits, because fused operations round less often; every bound holds on each.

use std::sync::OnceLock;

use pulp::Arch;

/// The name of the environment variable.
const VARIABLE: &str = "GEOSMOOTH_SIMD";

/// The instruction set to run on; the environment is read once.
#[inline]
pub(crate) fn arch() -> Arch {
    static CHOSEN: OnceLock<Arch> = OnceLock::new();
    *CHOSEN.get_or_init(|| at_most(std::env::var(VARIABLE).ok().as_deref()))
}

/// The best instruction set that this CPU has and the request allows.
fn at_most(request: Option<&str>) -> Arch {
    match request {
        Some("plain") => Arch::Scalar,
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        Some("avx2") => pulp::x86::V3::try_new().map_or(Arch::Scalar, Arch::V3),
        _ => Arch::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_used_than_asked_for() {
        assert!(matches!(at_most(Some("plain")), Arch::Scalar));
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        assert!(!matches!(at_most(Some("avx2")), Arch::V4(_)));
        assert_eq!(std::mem::discriminant(&at_most(None)), std::mem::discriminant(&Arch::new()));
    }

    /// The unit tests of kernel and engines, in a process that may use no better instruction set.
    fn run_again(instruction_set: &str) {
        let tests = std::env::current_exe().expect("this test has a file");
        let mut run = std::process::Command::new(tests);
        let run = run.args(["engine::", "kernel::"]).env(VARIABLE, instruction_set).output().expect("it runs");
        let report = String::from_utf8_lossy(&run.stdout);
        assert!(run.status.success(), "with {instruction_set} at most:\n{report}");
        // A filter that fits no test would pass as well.
        for theme in ["engine::fast::tests", "engine::fast::globe::tests", "kernel::tests"] {
            assert!(report.contains(&format!("test {theme}::")), "no {theme} in:\n{report}");
        }
    }

    #[test]
    fn engines_are_certified_without_avx512() {
        run_again("avx2");
    }

    #[test]
    fn engines_are_certified_without_avx2() {
        run_again("plain");
    }
}
