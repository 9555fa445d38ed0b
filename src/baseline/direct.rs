//! Cholesky's method for `K + s I`: of a sparse matrix where the kernel is narrow, of a dense one otherwise.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::{self, factor::LltRegularization};
use faer::linalg::solvers::Solve;
use faer::sparse::linalg::solvers::{Llt, SymbolicLlt};
use faer::sparse::{SparseColMat, SymbolicSparseColMat};
use faer::{Mat, Par, Side, Spec};
use rayon::prelude::*;

use super::Solution;
use crate::influence::Influence;

/// Kernel values below this count as 0: all of a row together are less than what rounding does to its diagonal. What they
/// would be multiplied to cannot be held as normal numbers, on which CPUs take a hundred times as long.
const NEGLIGIBLE: f64 = 1e-20;
/// A matrix is sparse if at most one in so many values counts.
const SPARSE: usize = 16;
/// Rows that are looked at to find out.
const SAMPLE: usize = 64;

pub(super) struct Direct<'a> {
    kernel: &'a Influence,
    rows: usize,
    sparse: Option<Sparse>,
}

/// The lower half of K in compressed columns, and the order in which it is factored, whatever s is.
struct Sparse {
    pattern: SymbolicSparseColMat<usize>,
    values: Vec<f64>,
    order: SymbolicLlt<usize>,
}

impl<'a> Direct<'a> {
    /// Looks at the kernel among some rows.
    pub(super) fn new(kernel: &'a Influence, rows: usize) -> Self {
        let step = rows.div_ceil(SAMPLE).max(1);
        let counted = |row: usize| kernel.kernel_of_row(row).iter().filter(|&&value| value > NEGLIGIBLE).count();
        let seen = (0..rows).step_by(step).collect::<Vec<_>>();
        let counts: usize = seen.par_iter().map(|&row| counted(row)).sum();
        let is_sparse = counts * SPARSE <= seen.len() * rows;
        Self { kernel, rows, sparse: if is_sparse { Sparse::new(kernel, rows) } else { None } }
    }

    pub(super) fn is_sparse(&self) -> bool {
        self.sparse.is_some()
    }

    /// The solution for one s; `None` if rounding leaves the matrix not positive.
    pub(super) fn solve(&self, shift: f64, right: &[f64]) -> Solution {
        let right = Mat::from_fn(self.rows, 1, |row, _| right[row]);
        let solution = match &self.sparse {
            Some(sparse) => sparse.factor(shift)?.solve(&right),
            None => self.dense(shift, right)?,
        };
        let values: Vec<f64> = solution.col(0).iter().copied().collect();
        values.iter().all(|value| value.is_finite()).then_some(values)
    }

    /// In place: the matrix is the largest thing there is.
    fn dense(&self, shift: f64, mut right: Mat<f64>) -> Option<Mat<f64>> {
        let mut matrix = Mat::<f64>::zeros(self.rows, self.rows);
        matrix.par_col_iter_mut().enumerate().for_each(|(row, column)| {
            for (entry, value) in column.iter_mut().zip(self.kernel.kernel_of_row(row)) {
                *entry = if value > NEGLIGIBLE { value } else { 0.0 };
            }
        });
        (0..self.rows).for_each(|row| matrix[(row, row)] += shift);
        let parallel = Par::rayon(0);
        let mut memory =
            MemBuffer::new(llt::factor::cholesky_in_place_scratch::<f64>(self.rows, parallel, Spec::default()));
        let (stack, regularization) = (MemStack::new(&mut memory), LltRegularization::default());
        llt::factor::cholesky_in_place(matrix.as_mut(), regularization, parallel, stack, Spec::default()).ok()?;
        llt::solve::solve_in_place(matrix.as_ref(), right.as_mut(), parallel, stack);
        Some(right)
    }
}

impl Sparse {
    fn new(kernel: &Influence, rows: usize) -> Option<Self> {
        let column = |row: usize| -> Vec<(usize, f64)> {
            let values = kernel.kernel_of_row(row).into_iter().enumerate().skip(row);
            values.filter(|(_, value)| *value > NEGLIGIBLE).collect()
        };
        let columns: Vec<Vec<(usize, f64)>> = (0..rows).into_par_iter().map(column).collect();
        let mut starts = vec![0];
        for column in &columns {
            starts.push(starts[starts.len() - 1] + column.len());
        }
        let (places, values): (Vec<usize>, Vec<f64>) = columns.into_iter().flatten().unzip();
        let pattern = SymbolicSparseColMat::new_checked(rows, rows, starts, None, places);
        let order = SymbolicLlt::try_new(pattern.as_ref(), Side::Lower).ok()?;
        Some(Self { pattern, values, order })
    }

    fn factor(&self, shift: f64) -> Option<Llt<usize, f64>> {
        let mut values = self.values.clone();
        // A column begins with its diagonal element.
        let starts = self.pattern.col_ptr();
        starts[..starts.len() - 1].iter().for_each(|&start| values[start] += shift);
        let matrix = SparseColMat::new(self.pattern.clone(), values);
        Llt::try_new_with_symbolic(self.order.clone(), matrix.as_ref(), Side::Lower).ok()
    }
}
