//! The row-normalised weight matrix W in compressed sparse rows, kept as blocks of rows so that it is built
//! in parallel and never copied into one piece.

use rayon::prelude::*;

use crate::space::compensated;

/// W between target places (rows) and source places (columns): entries are positive, columns ascend within
/// a row, rows sum to one.
///
/// Places are those of the [`Scene`](crate::scene::Scene), in which coincident rows are merged.
#[derive(Debug, Default)]
pub struct Matrix {
    pub(crate) blocks: Vec<RowBlock>,
}

/// Consecutive rows of the matrix.
#[derive(Debug, Default)]
pub(crate) struct RowBlock {
    pub(crate) first: usize,
    /// Where each row ends in the two arrays below.
    pub(crate) ends: Vec<usize>,
    pub(crate) columns: Vec<u32>,
    pub(crate) weights: Vec<f64>,
}

/// Bytes that one entry takes: its column (4) and its weight (8).
pub(crate) const BYTES_PER_NONZERO: u64 = 12;

/// Terms that are added plainly; sums of these are compensated, so that the rounding error does not grow with the row. Chosen, not
/// measured: the bound of rounding counts this many.
pub(crate) const CHUNK: usize = 128;

impl RowBlock {
    pub(crate) fn row(&self, local: usize) -> (&[u32], &[f64]) {
        let start = if local == 0 { 0 } else { self.ends[local - 1] };
        let range = start..self.ends[local];
        (&self.columns[range.clone()], &self.weights[range])
    }

    /// These rows times each vector.
    fn apply(&self, vectors: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let mut products = vec![Vec::with_capacity(self.ends.len()); vectors.len()];
        for local in 0..self.ends.len() {
            let (columns, weights) = self.row(local);
            for (product, vector) in products.iter_mut().zip(vectors) {
                product.push(dot(columns, weights, vector));
            }
        }
        products
    }
}

impl Matrix {
    /// Number of stored entries.
    #[must_use]
    pub fn nonzeros(&self) -> u64 {
        self.blocks.iter().map(|block| block.columns.len() as u64).sum()
    }

    /// Source places and weights of one target place.
    ///
    /// # Panics
    /// If there is no such row.
    #[must_use]
    pub fn row(&self, place: usize) -> (&[u32], &[f64]) {
        let block = self.blocks.partition_point(|block| block.first <= place) - 1;
        self.blocks[block].row(place - self.blocks[block].first)
    }

    /// W times each vector over the source places, all in one pass over the entries.
    #[must_use]
    pub fn apply(&self, vectors: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let parts: Vec<Vec<Vec<f64>>> = self.blocks.par_iter().map(|block| block.apply(vectors)).collect();
        let mut products = vec![Vec::new(); vectors.len()];
        for part in parts {
            products.iter_mut().zip(part).for_each(|(product, part)| product.extend(part));
        }
        products
    }
}

/// The product of one sparse row with a dense vector.
fn dot(columns: &[u32], weights: &[f64], vector: &[f64]) -> f64 {
    let chunks = columns.chunks(CHUNK).zip(weights.chunks(CHUNK));
    compensated(
        chunks.map(|(columns, weights)| columns.iter().zip(weights).map(|(&c, w)| w * vector[c as usize]).sum()),
    )
}
