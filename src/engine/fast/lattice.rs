//! Blocks of lattice nodes: which of them are needed, and the convolution from block to block.

use std::collections::HashMap;
use std::ops::{Range, RangeInclusive};

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use super::window::Window;
use crate::simd::arch;

/// A block by its number along each axis; unused axes come first and are zero.
pub(super) type Key = [i64; 3];

/// The steps from the nodes that sources touch to those that targets read.
pub(super) struct Route {
    /// Blocks before the first pass, after it, and so on; each ascends.
    pub(super) stages: Vec<Vec<Key>>,
    /// For each pass and each block after it, the blocks before it along the axis, or [`NOWHERE`].
    links: Vec<Vec<u32>>,
}

/// Stands for "no such block".
const NOWHERE: u32 = u32::MAX;

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
        let links = |(pass, axis): (usize, usize)| {
            let before = positions(&stages[pass]);
            let of_block =
                |key: &Key| line(*key, axis, reach).map(|key| before.get(&key).map_or(NOWHERE, |at| *at as u32));
            stages[pass + 1].iter().flat_map(of_block).collect()
        };
        let links = (3 - window.dimensions..3).enumerate().map(links).collect();
        Self { stages, links }
    }

    /// Blocks after one pass and another.
    pub(super) fn passed(&self) -> f64 {
        self.stages[1..].iter().map(|stage| stage.len() as f64).sum()
    }

    /// Blocks after all passes.
    pub(super) fn last(&self) -> &[Key] {
        self.stages.last().map_or(&[], Vec::as_slice)
    }
}

/// Where each block is in a list.
pub(super) fn positions(keys: &[Key]) -> HashMap<Key, usize> {
    keys.iter().enumerate().map(|(at, key)| (*key, at)).collect()
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

/// Convolutions with middle Gaussians, axis after axis, of so many columns at a time.
pub(super) struct Convolution<'a> {
    window: &'a Window,
    route: &'a Route,
    columns: usize,
    /// What comes out of each pass: memory that one convolution after another works in.
    passes: Vec<Vec<f64>>,
}

impl<'a> Convolution<'a> {
    pub(super) fn new(window: &'a Window, route: &'a Route, columns: usize) -> Self {
        Self { window, route, columns, passes: vec![Vec::new(); window.dimensions] }
    }

    /// Numbers in one block.
    fn numbers(&self) -> usize {
        self.columns * self.window.nodes_per_block()
    }

    /// Convolves some columns of the first blocks, which have `stride` numbers each, with the Gaussian of one variance.
    pub(super) fn run(&mut self, variance: f64, from: &[f64], stride: usize, first_column: usize) -> &[f64] {
        let matrices = Matrix::all(self.window, variance);
        let mut passes = std::mem::take(&mut self.passes);
        for pass in 0..passes.len() {
            let (before, after) = passes.split_at_mut(pass);
            let before = match before.last() {
                Some(before) => Before { values: before, stride: self.numbers(), start: 0 },
                None => Before { values: from, stride, start: first_column * self.window.nodes_per_block() },
            };
            self.pass(pass, &matrices, before, &mut after[0]);
        }
        self.passes = passes;
        self.passes.last().map_or(&[], Vec::as_slice)
    }

    /// Convolves all columns of the first blocks. What is no longer needed is freed on the way: the next step then works
    /// in memory that is already there.
    pub(super) fn once(self, variance: f64, mut values: Vec<f64>) -> Vec<f64> {
        let matrices = Matrix::all(self.window, variance);
        for pass in 0..self.window.dimensions {
            let mut after = Vec::new();
            self.pass(pass, &matrices, Before { values: &values, stride: self.numbers(), start: 0 }, &mut after);
            values = after;
        }
        values
    }

    fn pass(&self, pass: usize, matrices: &[Matrix], before: Before, after: &mut Vec<f64>) {
        let numbers = self.numbers();
        let axis = 3 - self.window.dimensions + pass;
        let inner = self.window.nodes.pow(2 - axis as u32);
        after.resize(self.route.stages[pass + 1].len() * numbers, 0.0);
        let links = self.route.links[pass].par_chunks_exact(matrices.len());
        let blocks = after.par_chunks_exact_mut(numbers).zip(links).with_min_len(BLOCKS_AT_ONCE);
        blocks.for_each(|(out, links)| {
            out.fill(0.0);
            for (source, matrix) in links.iter().zip(matrices).filter(|(source, _)| **source != NOWHERE) {
                let values = &before.values[*source as usize * before.stride + before.start..][..numbers];
                arch().dispatch(Apply { inner, matrix, values, out });
            }
        });
    }
}

/// What a pass works on: numbers from one block to the next, and where the columns start in a block.
#[derive(Clone, Copy)]
struct Before<'a> {
    values: &'a [f64],
    stride: usize,
    start: usize,
}

/// Blocks that a task takes at least.
const BLOCKS_AT_ONCE: usize = 16;

/// The middle Gaussian from the nodes of one block to those of another.
struct Matrix {
    nodes: usize,
    /// Nodes of the first block that reach the other at all.
    rows: Range<usize>,
    /// By rows, all of them.
    entries: Vec<f64>,
}

impl Matrix {
    /// From all blocks that reach a block.
    fn all(window: &Window, variance: f64) -> Vec<Self> {
        let reach = window.blocks_reached() as i64;
        (-reach..=reach).map(|step| Self::new(window, variance, step)).collect()
    }

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

/// Rows of nodes that are worked on together: what is loaded for one serves the others. Four would not fit into the registers of AVX2.
const TOGETHER: usize = 2;

impl Apply<'_> {
    #[inline(always)]
    fn run<S: Simd, const N: usize>(self) {
        let (values, out) = (self.values.as_chunks::<N>().0, self.out.as_chunks_mut::<N>().0);
        if self.inner == 1 {
            let (values, last_value) = values.as_chunks::<TOGETHER>();
            let (out, last_out) = out.as_chunks_mut::<TOGETHER>();
            self.matrix.along_rows::<S, N, TOGETHER>(values, out);
            self.matrix.along_rows::<S, N, 1>(last_value.as_chunks().0, last_out.as_chunks_mut().0);
            return;
        }
        let inner = self.inner / N;
        for (values, out) in values.chunks_exact(N * inner).zip(out.chunks_exact_mut(N * inner)) {
            self.matrix.across_rows::<S, N>(inner, values, out);
        }
    }
}

impl Matrix {
    /// Multiplies rows, some at a time.
    #[inline(always)]
    fn along_rows<S: Simd, const N: usize, const ROWS: usize>(
        &self,
        values: &[[[f64; N]; ROWS]],
        out: &mut [[[f64; N]; ROWS]],
    ) {
        let matrix = self.entries.as_chunks::<N>().0;
        for (values, out) in values.iter().zip(out) {
            let mut sums = *out;
            for from in self.rows.clone() {
                for row in 0..ROWS {
                    add_multiple::<S, N>(&mut sums[row], values[row][from], &matrix[from]);
                }
            }
            *out = sums;
        }
    }

    /// Multiplies what is between rows: each node of the axis has `inner` of them.
    #[inline(always)]
    fn across_rows<S: Simd, const N: usize>(&self, inner: usize, values: &[[f64; N]], out: &mut [[f64; N]]) {
        let matrix = self.entries.as_chunks::<N>().0;
        for to in (0..N).step_by(TOGETHER) {
            for rest in 0..inner {
                let mut sums = [[0.0; N]; TOGETHER];
                for k in 0..TOGETHER {
                    sums[k] = out[(to + k) * inner + rest];
                }
                for from in self.rows.clone() {
                    for k in 0..TOGETHER {
                        add_multiple::<S, N>(&mut sums[k], matrix[from][to + k], &values[from * inner + rest]);
                    }
                }
                for k in 0..TOGETHER {
                    out[(to + k) * inner + rest] = sums[k];
                }
            }
        }
    }
}

#[inline(always)]
fn add_multiple<S: Simd, const N: usize>(out: &mut [f64; N], factor: f64, values: &[f64; N]) {
    for i in 0..N {
        out[i] = if S::IS_SCALAR { factor * values[i] + out[i] } else { factor.mul_add(values[i], out[i]) };
    }
}
