//! Kernel values themselves, for code that factors a kernel matrix instead of summing over it.

use std::ops::Range;

use pulp::{Simd, WithSimd};

use crate::kernel::{Decay, LANES, Lanes, VANISHED, WithDecay, exp2_minus, with_decay};
use crate::scene::{Cloud, Scene};
use crate::simd::arch;

/// The kernel between a target place and each source place, without weights; 0 in other groups.
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
        let Self { decay, one, sources, start, values } = self;
        for (block, values) in values.chunks_mut(LANES).enumerate() {
            let first = start + block * LANES;
            // Spare lanes repeat the last place.
            let place = |lane: usize| first + lane.min(values.len() - 1);
            let many: [Lanes; A] = std::array::from_fn(|k| std::array::from_fn(|lane| sources.axes[k][place(lane)]));
            let decays: Lanes = decay.lanes::<S, LANES>(&many, &one);
            let kernel: Lanes =
                std::array::from_fn(|lane| if decays[lane] < VANISHED { exp2_minus::<S>(decays[lane]) } else { 0.0 });
            values.copy_from_slice(&kernel[..values.len()]);
        }
    }
}
