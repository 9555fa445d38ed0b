//! Blocks of lattice nodes: which of them are needed, and the convolution from block to block.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use super::window::Window;

/// A block by its number along each axis; unused axes come first and are zero.
pub(super) type Key = [i32; 3];

/// Values at the nodes of some blocks: one column after another within a block.
pub(super) struct Blocks {
    at: HashMap<Key, usize>,
    pub(super) values: Vec<Vec<f64>>,
}

impl Blocks {
    pub(super) fn new(keys: &[Key], values: Vec<Vec<f64>>) -> Self {
        let at = keys.iter().enumerate().map(|(at, key)| (*key, at)).collect();
        Self { at, values }
    }

    pub(super) fn get(&self, key: &Key) -> Option<&[f64]> {
        self.at.get(key).map(|&at| self.values[at].as_slice())
    }
}

/// The steps from the nodes that sources touch to those that targets read.
pub(super) struct Route {
    /// Blocks before the first pass, after it, and so on.
    pub(super) stages: Vec<Vec<Key>>,
}

impl Route {
    /// From the blocks of sources to those of targets; both ascend.
    pub(super) fn new(window: &Window, sources: &[Key], targets: &[Key]) -> Self {
        let axes = 3 - window.dimensions..3;
        let (touched, reach) = (window.blocks_touched() as i32 - 1, window.blocks_reached() as i32);
        let all_axes = |keys: &[Key], steps: RangeInclusive<i32>| {
            axes.clone().fold(keys.to_vec(), |keys, axis| widen(&keys, axis, steps.clone()))
        };
        // Before each pass, the blocks from which those that are read can still be reached.
        let mut leading = vec![all_axes(targets, 0..=touched)];
        for axis in axes.clone().rev() {
            leading.push(widen(&leading[leading.len() - 1], axis, -reach..=reach));
        }
        let mut stages = vec![common(&all_axes(sources, 0..=touched), &leading[window.dimensions])];
        for (pass, axis) in axes.enumerate() {
            let reached = widen(&stages[pass], axis, -reach..=reach);
            stages.push(common(&reached, &leading[window.dimensions - 1 - pass]));
        }
        Self { stages }
    }
}

/// Blocks whose points may read what sources in these blocks spread.
pub(super) fn readers(window: &Window, sources: &[Key]) -> Vec<Key> {
    let steps = (window.blocks_touched() - 1 + window.blocks_reached()) as i32;
    (3 - window.dimensions..3).fold(sources.to_vec(), |keys, axis| widen(&keys, axis, -steps..=steps))
}

/// All blocks so many steps along one axis from those given.
fn widen(keys: &[Key], axis: usize, steps: RangeInclusive<i32>) -> Vec<Key> {
    let step = |key: &Key, step: i32| std::array::from_fn(|k| key[k] + if k == axis { step } else { 0 });
    let mut all: Vec<Key> = keys.iter().flat_map(|key| steps.clone().map(move |by| step(key, by))).collect();
    all.par_sort_unstable();
    all.dedup();
    all
}

/// What two ascending lists have in common.
fn common(a: &[Key], b: &[Key]) -> Vec<Key> {
    let mut rest = b.iter().peekable();
    let both = |key: &&Key| {
        while rest.next_if(|other| other < key).is_some() {}
        rest.peek() == Some(key)
    };
    a.iter().filter(both).copied().collect()
}

/// The blocks up to `reach` to either side along an axis.
fn line(key: Key, axis: usize, reach: i32) -> impl Iterator<Item = Key> {
    (-reach..=reach).map(move |step| {
        let mut other = key;
        other[axis] += step;
        other
    })
}

/// All blocks from a corner on, so many along each axis.
pub(super) fn cube(corner: Key, dimensions: usize, side: usize) -> impl Iterator<Item = Key> {
    let extent = move |axis: usize| if axis < 3 - dimensions { 1 } else { side as i32 };
    (0..extent(0)).flat_map(move |a| {
        (0..extent(1)).flat_map(move |b| {
            (0..extent(2)).map(move |c| [corner[0] + a, corner[1] + b, corner[2] + c])
        })
    })
}

/// Convolves with the middle Gaussian of one variance, axis after axis.
pub(super) fn convolve(window: &Window, variance: f64, route: &Route, from: &Blocks, columns: usize) -> Blocks {
    let reach = window.blocks_reached() as i32;
    let matrices: Vec<Vec<f64>> = (-reach..=reach).map(|step| matrix(window, variance, step)).collect();
    let mut done: Option<Blocks> = None;
    for (pass, axis) in (3 - window.dimensions..3).enumerate() {
        let before = done.as_ref().unwrap_or(from);
        let block = |key: &Key| {
            let mut out = vec![0.0; columns * window.nodes.pow(window.dimensions as u32)];
            for (source, matrix) in line(*key, axis, reach).zip(&matrices) {
                if let Some(values) = before.get(&source) {
                    let inner = window.nodes.pow(2 - axis as u32);
                    Arch::new().dispatch(Apply { nodes: window.nodes, inner, matrix, values, out: &mut out });
                }
            }
            out
        };
        let keys = &route.stages[pass + 1];
        let values = keys.par_iter().map(block).collect();
        done = Some(Blocks::new(keys, values));
    }
    done.expect("there is at least one axis")
}

/// The middle Gaussian from the nodes of the block `step` blocks on, by rows, to those of a block.
fn matrix(window: &Window, variance: f64, step: i32) -> Vec<f64> {
    let nodes = window.nodes as i64;
    let apart = |from: i64, to: i64| to - from - i64::from(step) * nodes;
    (0..nodes).flat_map(|from| (0..nodes).map(move |to| window.middle(variance, apart(from, to)))).collect()
}

/// Multiplies one axis of a block by a matrix.
struct Apply<'a> {
    nodes: usize,
    /// Numbers between two nodes that are neighbours along the axis.
    inner: usize,
    matrix: &'a [f64],
    values: &'a [f64],
    out: &'a mut [f64],
}

impl WithSimd for Apply<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { nodes, inner, matrix, values, out } = self;
        for (values, out) in values.chunks_exact(nodes * inner).zip(out.chunks_exact_mut(nodes * inner)) {
            for (from, row) in matrix.chunks_exact(nodes).enumerate() {
                if inner == 1 {
                    add_multiple::<S>(out, values[from], row);
                    continue;
                }
                let values = &values[from * inner..(from + 1) * inner];
                for (out, &factor) in out.chunks_exact_mut(inner).zip(row) {
                    add_multiple::<S>(out, factor, values);
                }
            }
        }
    }
}

#[inline(always)]
fn add_multiple<S: Simd>(out: &mut [f64], factor: f64, values: &[f64]) {
    for (out, &value) in out.as_chunks_mut::<4>().0.iter_mut().zip(values.as_chunks::<4>().0) {
        for lane in 0..4 {
            out[lane] = if S::IS_SCALAR { factor * value[lane] + out[lane] } else { factor.mul_add(value[lane], out[lane]) };
        }
    }
}
