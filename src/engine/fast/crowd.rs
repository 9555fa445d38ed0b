//! The sources around some targets, packed so that sixteen of them meet one target at a time.

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};

use super::super::matrix::sum;
use crate::kernel::{Decay, LANES, Lanes, exp2_minus};
use crate::scene::Cloud;

/// Sources and the columns to sum over them. Reused from tile to tile.
pub(super) struct Crowd<const A: usize> {
    axes: [Vec<f64>; A],
    columns: Vec<Vec<f64>>,
    /// What was packed, in ascending order.
    runs: Vec<Range<usize>>,
    kernel: Vec<Lanes>,
    len: usize,
}

/// Additions in one lane before a partial sum goes to the total, so that roundings do not pile up.
const CHUNKS: usize = 64;

impl<const A: usize> Crowd<A> {
    pub(super) fn new(columns: usize) -> Self {
        let axes = std::array::from_fn(|_| Vec::new());
        Self { axes, columns: vec![Vec::new(); columns], runs: Vec::new(), kernel: Vec::new(), len: 0 }
    }

    pub(super) fn clear(&mut self) {
        self.axes.iter_mut().chain(&mut self.columns).for_each(Vec::clear);
        self.runs.clear();
        self.len = 0;
    }

    /// Adds sources that come after those already there.
    pub(super) fn push(&mut self, cloud: &Cloud, columns: &[&[f64]], places: Range<usize>) {
        for (axis, all) in self.axes.iter_mut().zip(&cloud.axes) {
            axis.extend_from_slice(&all[places.clone()]);
        }
        for (column, all) in self.columns.iter_mut().zip(columns) {
            column.extend_from_slice(&all[places.clone()]);
        }
        self.len += places.len();
        match self.runs.last_mut() {
            Some(last) if last.end == places.start => last.end = places.end,
            _ => self.runs.push(places),
        }
    }

    /// Fills the last lanes with sources that carry nothing.
    pub(super) fn close(&mut self) {
        let whole = self.len.next_multiple_of(LANES);
        for axis in &mut self.axes {
            let last = axis.last().copied().unwrap_or(0.0);
            axis.resize(whole, last);
        }
        self.columns.iter_mut().for_each(|column| column.resize(whole, 0.0));
        self.kernel.resize(whole / LANES, [0.0; LANES]);
    }

    /// `Σ K x` for each column; `left_out` is a source that does not count.
    pub(super) fn sums<D: Decay<A>>(&mut self, decay: D, one: &[f64; A], shift: f64, left_out: u32, out: &mut [f64]) {
        let axes: [&[Lanes]; A] = self.axes.each_ref().map(|axis| axis.as_chunks().0);
        Arch::new().dispatch(Kernel { decay, one, shift, axes, out: &mut self.kernel });
        if let Some(at) = self.position(left_out as usize) {
            self.kernel.as_flattened_mut()[at] = 0.0;
        }
        for (column, out) in self.columns.iter().zip(out) {
            *out = Arch::new().dispatch(Dot { kernel: &self.kernel, column: column.as_chunks().0 });
        }
    }

    /// Additions in the longest chain of [`sums`](Self::sums).
    pub(super) fn terms(&self) -> usize {
        CHUNKS + LANES + self.len / (CHUNKS * LANES)
    }

    fn position(&self, place: usize) -> Option<usize> {
        let mut before = 0;
        for run in &self.runs {
            if run.contains(&place) {
                return Some(before + place - run.start);
            }
            before += run.len();
        }
        None
    }
}

/// The kernel between one target and all sources.
struct Kernel<'a, D, const A: usize> {
    decay: D,
    one: &'a [f64; A],
    shift: f64,
    axes: [&'a [Lanes]; A],
    out: &'a mut [Lanes],
}

impl<D: Decay<A>, const A: usize> WithSimd for Kernel<'_, D, A> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for (at, kernel) in self.out.iter_mut().enumerate() {
            let many = std::array::from_fn(|k| self.axes[k][at]);
            let decay = self.decay.lanes::<S>(&many, self.one);
            for lane in 0..LANES {
                kernel[lane] = exp2_minus::<S>(decay[lane] - self.shift);
            }
        }
    }
}

/// The kernel times one column.
struct Dot<'a> {
    kernel: &'a [Lanes],
    column: &'a [Lanes],
}

impl WithSimd for Dot<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> f64 {
        let mut total = [0.0; LANES];
        for (kernel, column) in self.kernel.chunks(CHUNKS).zip(self.column.chunks(CHUNKS)) {
            let mut partial = [0.0; LANES];
            for (k, x) in kernel.iter().zip(column) {
                for lane in 0..LANES {
                    partial[lane] =
                        if S::IS_SCALAR { k[lane] * x[lane] + partial[lane] } else { k[lane].mul_add(x[lane], partial[lane]) };
                }
            }
            for lane in 0..LANES {
                total[lane] += partial[lane];
            }
        }
        sum(&total)
    }
}
