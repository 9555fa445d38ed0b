//! The inner loops between places and the nodes of their patch.

use pulp::{Simd, WithSimd};

use super::chebyshev::{Chebyshev, MOST_NODES};
use crate::kernel::fma;
use crate::space::two_sum;

/// Places that are added plainly; sums of these are compensated, so that the rounding error does not grow with the number of places.
/// Chosen, not measured; the bound counts it.
pub(crate) const CHUNK: usize = 32;

/// Sums at the nodes of a patch over places at these positions with these amounts, for each column.
pub(super) struct SpreadToPatch<'a> {
    pub(super) chebyshev: &'a Chebyshev,
    pub(super) within: [&'a [f64]; 2],
    pub(super) amounts: &'a [Vec<f64>],
}

impl WithSimd for SpreadToPatch<'_> {
    type Output = Vec<f64>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Vec<f64> {
        let side = self.chebyshev.nodes.len();
        let mut totals = vec![0.0; self.amounts.len() * side * side];
        let (mut lost, mut part) = (totals.clone(), totals.clone());
        let (mut north, mut east) = ([0.0; MOST_NODES], [0.0; MOST_NODES]);
        for start in (0..self.within[0].len()).step_by(CHUNK) {
            part.fill(0.0);
            for place in start..self.within[0].len().min(start + CHUNK) {
                self.chebyshev.cardinals(self.within[0][place], &mut north);
                self.chebyshev.cardinals(self.within[1][place], &mut east);
                for (amounts, nodes) in self.amounts.iter().zip(part.chunks_exact_mut(side * side)) {
                    for (row, north) in nodes.chunks_exact_mut(side).zip(&north) {
                        let amount = amounts[place] * north;
                        for (node, east) in row.iter_mut().zip(&east) {
                            *node = fma::<S>(amount, *east, *node);
                        }
                    }
                }
            }
            for ((total, lost), part) in totals.iter_mut().zip(&mut lost).zip(&part) {
                let sum = two_sum(*total, *part);
                *total = sum.hi;
                *lost += sum.lo;
            }
        }
        for (total, lost) in totals.iter_mut().zip(lost) {
            *total += lost;
        }
        totals
    }
}

/// Interpolates the nodes of a patch, column by column, at these positions.
pub(super) struct ReadFromPatch<'a> {
    pub(super) chebyshev: &'a Chebyshev,
    pub(super) within: [&'a [f64]; 2],
    pub(super) nodes: &'a [f64],
    pub(super) out: &'a mut [f64],
}

impl WithSimd for ReadFromPatch<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let side = self.chebyshev.nodes.len();
        let columns = self.out.len() / self.within[0].len();
        let (mut north, mut east) = ([0.0; MOST_NODES], [0.0; MOST_NODES]);
        let places = self.within[0].iter().zip(self.within[1]);
        for ((to_north, to_east), out) in places.zip(self.out.chunks_exact_mut(columns)) {
            self.chebyshev.cardinals(*to_north, &mut north);
            self.chebyshev.cardinals(*to_east, &mut east);
            for (nodes, out) in self.nodes.chunks_exact(side * side).zip(out) {
                let mut along = [0.0; MOST_NODES];
                for (row, north) in nodes.chunks_exact(side).zip(&north) {
                    for (sum, node) in along.iter_mut().zip(row) {
                        *sum = fma::<S>(*north, *node, *sum);
                    }
                }
                let mut total = 0.0;
                for (sum, east) in along[..side].iter().zip(&east) {
                    total = fma::<S>(*sum, *east, total);
                }
                *out = total;
            }
        }
    }
}
