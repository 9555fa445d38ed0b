//! Decays and kernel values between many places and one.

use std::ops::Range;

use pulp::{Simd, WithSimd};

use crate::kernel::{Decay, LANES, Lanes, WithDecay, exp2_minus, with_decay};
use crate::scene::{Cloud, Scene};
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

/// The kernel between a target place and each source place, without weights; 0 in other groups. For code that factors a kernel
/// matrix instead of summing over it.
pub(crate) fn kernel_values(scene: &Scene, target: usize) -> Vec<f64> {
    let groups = &scene.layout.targets.groups;
    let group = groups.iter().position(|group| group.contains(&target));
    let sources = group.map_or(0..0, |group| scene.layout.sources.groups[group].clone());
    with_decay(scene.layout.metric, scene.scale, OneTarget { scene, target, sources })
}

struct OneTarget<'a> {
    scene: &'a Scene,
    target: usize,
    sources: Range<usize>,
}

impl WithDecay for OneTarget<'_> {
    type Output = Vec<f64>;

    fn run<D: Decay<A>, const A: usize, const K: usize>(self, decay: D) -> Vec<f64> {
        let layout = &self.scene.layout;
        let mut values = vec![0.0; layout.sources.len()];
        let one = layout.targets.place::<A>(self.target);
        let (start, values_here) = (self.sources.start, &mut values[self.sources]);
        arch().dispatch(Fill { decay, one, sources: &layout.sources, start, values: values_here });
        values
    }
}

struct Fill<'a, D, const A: usize> {
    decay: D,
    one: [f64; A],
    sources: &'a Cloud,
    start: usize,
    values: &'a mut [f64],
}

impl<D: Decay<A>, const A: usize> WithSimd for Fill<'_, D, A> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let starts = (self.start..).step_by(LANES);
        for (first, values) in starts.zip(self.values.chunks_mut(LANES)) {
            let last = first + values.len() - 1;
            // Spare lanes repeat the last place.
            let many =
                std::array::from_fn(|k| std::array::from_fn(|lane| self.sources.axes[k][last.min(first + lane)]));
            let mut kernel: Lanes = self.decay.lanes::<S, LANES>(&many, &self.one);
            for kernel in &mut kernel {
                *kernel = exp2_minus::<S>(*kernel);
            }
            values.copy_from_slice(&kernel[..values.len()]);
        }
    }
}
