//! The middle Gaussians from nodes to nodes: one, or several with weights between sets of columns; a pass for each axis, block after block.

use std::ops::Range;

use pulp::{Simd, WithSimd};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::blocks::Route;
use super::window::{Load, Window};
use crate::kernel::fma;
use crate::scene::NOWHERE;
use crate::simd::arch;

/// Gaussians of some variances, each with a weight between every two sets of columns.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Terms {
    /// Sets of columns at either end.
    pub(crate) sets: usize,
    pub(crate) parts: Vec<GaussianPart>,
}

/// One Gaussian of the lattice.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct GaussianPart {
    pub(crate) variance: f64,
    /// The weight from set i of the sources to set j of the targets, j fastest.
    pub(crate) weights: Vec<f64>,
}

impl Terms {
    /// The Gaussian of variance one itself.
    pub(crate) fn gaussian() -> Self {
        Self { sets: 1, parts: vec![GaussianPart { variance: 1.0, weights: vec![1.0] }] }
    }

    /// The variance of the Gaussian, if it is a single one with weight one.
    pub(crate) fn single(&self) -> Option<f64> {
        match self.parts.as_slice() {
            [part] if part.weights == [1.0] => Some(part.variance),
            _ => None,
        }
    }

    pub(crate) fn load(&self) -> Load {
        Load { point: self.sets as f64, node: (self.sets * self.parts.len()) as f64 }
    }

    /// Total size of the weights for |α| and |β| up to `scale_offset`, all sets taken positive.
    pub(crate) fn size(&self, scale_offset: f64) -> f64 {
        let size = |(at, x): (usize, &f64)| x.abs() * scale_offset.powi((at / self.sets + at % self.sets) as i32);
        self.parts.iter().flat_map(|part| part.weights.iter().enumerate()).map(size).sum()
    }

    /// Smallest and largest variance.
    pub(crate) fn variances(&self) -> (f64, f64) {
        let variances = self.parts.iter().map(|part| part.variance);
        (variances.clone().fold(f64::INFINITY, f64::min), variances.fold(0.0, f64::max))
    }
}

/// Least number of blocks of a task. Chosen, not measured.
const BLOCKS_AT_ONCE: usize = 16;

/// Nodes → nodes with the Gaussians of some terms: block after block, set by set, all columns.
pub(super) fn convolve(window: &Window, terms: &Terms, route: &Route, spread: Vec<f64>, columns: usize) -> Vec<f64> {
    let (sets, numbers) = (terms.sets, columns * window.nodes_per_block());
    let convolution = Convolution { window, route, numbers };
    if let Some(variance) = terms.single() {
        return convolution.once(variance, spread);
    }
    let mut total = vec![0.0; route.last().len() * sets * numbers];
    // Memory that is reused from convolution to convolution.
    let mut passes = vec![Vec::new(); window.dimensions];
    for part in &terms.parts {
        let matrices = MiddleMatrix::all(window, part.variance);
        for (set, weights) in part.weights.chunks_exact(sets).enumerate() {
            convolution.run(&matrices, &spread, (sets * numbers, set * numbers), &mut passes);
            let found = passes[window.dimensions - 1].par_chunks_exact(numbers);
            let blocks = total.par_chunks_exact_mut(sets * numbers).zip(found);
            blocks.with_min_len(BLOCKS_AT_ONCE).for_each(|(total, found)| {
                for (total, weight) in total.chunks_exact_mut(numbers).zip(weights) {
                    total.iter_mut().zip(found).for_each(|(total, value)| *total += weight * value);
                }
            });
        }
    }
    total
}

/// Bytes of nodes before, between and after the passes, for each column.
pub(super) fn bytes_of_nodes(window: &Window, terms: &Terms, route: &Route) -> u64 {
    let blocks: Vec<u64> = route.stages.iter().map(|stage| stage.len() as u64).collect();
    let (sets, last) = (terms.sets as u64, blocks.len() - 1);
    let at_once = if terms.single().is_some() {
        // Nodes are freed after the pass that read them.
        blocks.windows(2).map(|pair| pair[0] + pair[1]).max().unwrap_or(0)
    } else {
        sets * (blocks[0] + blocks[last]) + blocks[1..].iter().sum::<u64>()
    };
    8 * at_once * window.nodes_per_block() as u64
}

/// Convolutions with middle Gaussians, axis after axis, of some columns at a time.
struct Convolution<'a> {
    window: &'a Window,
    route: &'a Route,
    /// Numbers of these columns in one block.
    numbers: usize,
}

impl Convolution<'_> {
    /// Convolves some columns of the first blocks, given by how many numbers these have and where the columns start; writes the results of
    /// each pass.
    fn run(&self, matrices: &[MiddleMatrix], from: &[f64], within: (usize, usize), passes: &mut [Vec<f64>]) {
        self.pass(0, matrices, from, within, &mut passes[0]);
        for pass in 1..passes.len() {
            let (before, after) = passes.split_at_mut(pass);
            self.pass(pass, matrices, &before[pass - 1], (self.numbers, 0), &mut after[0]);
        }
    }

    /// Convolves all columns of the first blocks. Each pass frees what it has read, so that the next one reuses the memory.
    fn once(&self, variance: f64, mut values: Vec<f64>) -> Vec<f64> {
        let matrices = MiddleMatrix::all(self.window, variance);
        for pass in 0..self.window.dimensions {
            let mut after = Vec::new();
            self.pass(pass, &matrices, &values, (self.numbers, 0), &mut after);
            values = after;
        }
        values
    }

    fn pass(
        &self,
        pass: usize,
        matrices: &[MiddleMatrix],
        before: &[f64],
        within: (usize, usize),
        after: &mut Vec<f64>,
    ) {
        let (numbers, (stride, start)) = (self.numbers, within);
        let axis = 3 - self.window.dimensions + pass;
        let inner = self.window.nodes.pow(2 - axis as u32);
        after.resize(self.route.stages[pass + 1].len() * numbers, 0.0);
        let links = self.route.links[pass].par_chunks_exact(matrices.len());
        let blocks = after.par_chunks_exact_mut(numbers).zip(links).with_min_len(BLOCKS_AT_ONCE);
        blocks.for_each(|(out, links)| {
            out.fill(0.0);
            for (source, matrix) in links.iter().zip(matrices).filter(|(source, _)| **source != NOWHERE) {
                let values = &before[*source as usize * stride + start..][..numbers];
                arch().dispatch(MatrixPass { inner, matrix, values, out });
            }
        });
    }
}

/// The middle Gaussian from the nodes of one block to those of another.
struct MiddleMatrix {
    nodes: usize,
    /// Nodes of the first block that reach any node of the other.
    rows: Range<usize>,
    /// By rows, all of them.
    entries: Vec<f64>,
}

impl MiddleMatrix {
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
        let rows = (0..window.nodes).zip(entries.chunks_exact(window.nodes));
        let mut reaching = rows.filter(|(_, row)| row.iter().any(|entry| *entry > 0.0)).map(|(row, _)| row);
        let rows = reaching.next().map_or(0..0, |first| first..reaching.next_back().unwrap_or(first) + 1);
        Self { nodes: window.nodes, rows, entries }
    }
}

/// Multiplies one axis of a block by a matrix.
struct MatrixPass<'a> {
    /// Numbers between two nodes that are neighbours along the axis.
    inner: usize,
    matrix: &'a MiddleMatrix,
    values: &'a [f64],
    out: &'a mut [f64],
}

impl WithSimd for MatrixPass<'_> {
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

/// Rows of nodes that are multiplied together, so that each entry of the matrix is loaded once for all. Four would not fit into the
/// registers of AVX2. Chosen, not measured.
const TOGETHER: usize = 2;

impl MatrixPass<'_> {
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

impl MiddleMatrix {
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

    /// Multiplies across rows: each node of the axis has `inner` pieces of rows.
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
        out[i] = fma::<S>(factor, values[i], out[i]);
    }
}
