//! Blocks of lattice nodes: which of them are needed, and the convolution from block to block.

use std::collections::{HashMap, HashSet};

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use super::window::Window;

/// A block by its number along each axis; unused axes come first and are zero.
pub(super) type Key = [i32; 3];

/// Values at the nodes of some blocks: one column after another within a block.
pub(super) struct Blocks {
    pub(super) keys: Vec<Key>,
    at: HashMap<Key, usize>,
    pub(super) values: Vec<Vec<f64>>,
}

impl Blocks {
    pub(super) fn new(keys: Vec<Key>, values: Vec<Vec<f64>>) -> Self {
        let at = keys.iter().enumerate().map(|(at, key)| (*key, at)).collect();
        Self { keys, at, values }
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
    pub(super) fn new(window: &Window, touched: &[Key], read: &[Key]) -> Self {
        let axes: Vec<usize> = (3 - window.dimensions..3).collect();
        let reach = window.blocks_reached() as i32;
        let read: HashSet<Key> = read.iter().copied().collect();
        // Whether a block can still come to one that is read, by steps along these axes.
        let leads_on = |key: &Key, axes: &[usize]| {
            let mut ends = vec![*key];
            for &axis in axes {
                ends = ends.iter().flat_map(|end| line(*end, axis, reach)).collect();
            }
            ends.iter().any(|end| read.contains(end))
        };
        let mut stages = vec![sorted(touched.iter().copied().filter(|key| leads_on(key, &axes)))];
        for (pass, &axis) in axes.iter().enumerate() {
            let spread: Vec<Key> =
                sorted(stages[pass].iter().flat_map(|key| line(*key, axis, reach)));
            stages.push(spread.into_par_iter().filter(|key| leads_on(key, &axes[pass + 1..])).collect());
        }
        Self { stages }
    }
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

pub(super) fn sorted(keys: impl Iterator<Item = Key>) -> Vec<Key> {
    let mut keys: Vec<Key> = keys.collect();
    keys.sort_unstable();
    keys.dedup();
    keys
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
        let keys = route.stages[pass + 1].clone();
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
