//! Blocks of lattice nodes: which of them are needed, and the convolution from block to block.

use std::collections::HashMap;
use std::ops::{Range, RangeInclusive};

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use super::window::Window;

/// A block by its number along each axis; unused axes come first and are zero.
pub(super) type Key = [i64; 3];

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
        let (touched, reach) = (window.blocks_touched() as i64 - 1, window.blocks_reached() as i64);
        let all_axes = |keys: &[Key], steps: RangeInclusive<i64>| {
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
    let steps = (window.blocks_touched() - 1 + window.blocks_reached()) as i64;
    (3 - window.dimensions..3).fold(sources.to_vec(), |keys, axis| widen(&keys, axis, -steps..=steps))
}

/// All blocks so many steps along one axis from those given.
fn widen(keys: &[Key], axis: usize, steps: RangeInclusive<i64>) -> Vec<Key> {
    let step = |key: &Key, step: i64| std::array::from_fn(|k| key[k] + if k == axis { step } else { 0 });
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
fn line(key: Key, axis: usize, reach: i64) -> impl Iterator<Item = Key> {
    (-reach..=reach).map(move |step| {
        let mut other = key;
        other[axis] += step;
        other
    })
}

/// All blocks from a corner on, so many along each axis.
pub(super) fn cube(corner: Key, dimensions: usize, side: usize) -> impl Iterator<Item = Key> {
    let extent = move |axis: usize| if axis < 3 - dimensions { 1 } else { side as i64 };
    (0..extent(0)).flat_map(move |a| {
        (0..extent(1)).flat_map(move |b| (0..extent(2)).map(move |c| [corner[0] + a, corner[1] + b, corner[2] + c]))
    })
}

/// Convolves with the middle Gaussian of one variance, axis after axis.
pub(super) fn convolve(window: &Window, variance: f64, route: &Route, from: &Blocks, columns: usize) -> Blocks {
    let reach = window.blocks_reached() as i64;
    let matrices: Vec<Matrix> = (-reach..=reach).map(|step| Matrix::new(window, variance, step)).collect();
    let mut done: Option<Blocks> = None;
    for (pass, axis) in (3 - window.dimensions..3).enumerate() {
        let before = done.as_ref().unwrap_or(from);
        let block = |key: &Key| {
            let mut out = vec![0.0; columns * window.nodes.pow(window.dimensions as u32)];
            for (source, matrix) in line(*key, axis, reach).zip(&matrices) {
                if let Some(values) = before.get(&source) {
                    let inner = window.nodes.pow(2 - axis as u32);
                    Arch::new().dispatch(Apply { inner, matrix, values, out: &mut out });
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

/// The middle Gaussian from the nodes of one block to those of another.
struct Matrix {
    nodes: usize,
    /// Nodes of the first block that reach the other at all.
    rows: Range<usize>,
    /// By rows, all of them.
    entries: Vec<f64>,
}

impl Matrix {
    /// From the block `step` blocks on.
    fn new(window: &Window, variance: f64, step: i64) -> Self {
        let n = window.nodes as i64;
        let entry = |from: i64, to: i64| window.middle(variance, to - from - step * n);
        let entries: Vec<f64> = (0..n).flat_map(|from| (0..n).map(move |to| entry(from, to))).collect();
        let reaches = |row: &usize| entries[row * window.nodes..(row + 1) * window.nodes].iter().any(|x| *x > 0.0);
        let start = (0..window.nodes).find(reaches).unwrap_or(window.nodes);
        let end = (start..window.nodes).rfind(reaches).map_or(start, |last| last + 1);
        Self { nodes: window.nodes, rows: start..end, entries }
    }
}

/// Multiplies one axis of a block by a matrix.
struct Apply<'a> {
    /// Numbers between two nodes that are neighbours along the axis.
    inner: usize,
    matrix: &'a Matrix,
    values: &'a [f64],
    out: &'a mut [f64],
}

impl WithSimd for Apply<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        match self.matrix.nodes {
            8 => self.run::<S, 8>(),
            12 => self.run::<S, 12>(),
            _ => self.run::<S, 16>(),
        }
    }
}

impl Apply<'_> {
    #[inline(always)]
    fn run<S: Simd, const N: usize>(self) {
        let (values, out) = (self.values.as_chunks::<N>().0, self.out.as_chunks_mut::<N>().0);
        let matrix = self.matrix.entries.as_chunks::<N>().0;
        let rows = self.matrix.rows.clone();
        if self.inner == 1 {
            for (values, out) in values.iter().zip(out) {
                let mut sum = *out;
                for from in rows.clone() {
                    add_multiple::<S, N>(&mut sum, values[from], &matrix[from]);
                }
                *out = sum;
            }
            return;
        }
        let inner = self.inner / N;
        for (values, out) in values.chunks_exact(N * inner).zip(out.chunks_exact_mut(N * inner)) {
            for (at, out) in out.iter_mut().enumerate() {
                let (to, rest) = (at / inner, at % inner);
                let mut sum = *out;
                for from in rows.clone() {
                    add_multiple::<S, N>(&mut sum, matrix[from][to], &values[from * inner + rest]);
                }
                *out = sum;
            }
        }
    }
}

#[inline(always)]
pub(super) fn add_multiple<S: Simd, const N: usize>(out: &mut [f64; N], factor: f64, values: &[f64; N]) {
    for i in 0..N {
        out[i] = if S::IS_SCALAR { factor * values[i] + out[i] } else { factor.mul_add(values[i], out[i]) };
    }
}
