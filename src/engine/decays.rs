//! Decays between many places and one.

use pulp::{Simd, WithSimd};

use crate::kernel::{Decay, LANES, Lanes};
use crate::simd::arch;

/// Finds the decays between some places, sixteen at a time, and one place.
pub(super) fn find_decays<D: Decay<A>, const A: usize>(
    decay: D,
    one: &[f64; A],
    many: &[[Lanes; A]],
    out: &mut [Lanes],
) {
    arch().dispatch(Decays { decay, one, many, out });
}

struct Decays<'a, D, const A: usize> {
    decay: D,
    one: &'a [f64; A],
    many: &'a [[Lanes; A]],
    out: &'a mut [Lanes],
}

impl<D: Decay<A>, const A: usize> WithSimd for Decays<'_, D, A> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for (many, decays) in self.many.iter().zip(self.out) {
            *decays = self.decay.lanes::<S, LANES>(many, self.one);
        }
    }
}
