//! The instruction set that inner loops run on: the best that the CPU has, or a lesser one on request.
//!
//! Every inner loop is compiled for each of them; [`arch`] is where one is chosen. The environment variable `GEOSMOOTH_SIMD`
//! asks for `avx2` or `plain` instead of the best, so that tests and benchmarks see on one machine what other machines
//! would do. Results differ in their last digits, as sums are rounded elsewhere; every bound holds on each.

use std::sync::OnceLock;

use pulp::Arch;

/// The name of the environment variable.
const VARIABLE: &str = "GEOSMOOTH_SIMD";

/// The instruction set to run on; the environment is looked at once.
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
}
