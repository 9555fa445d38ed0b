//! Collects all rows of a problem and sorts them by group and along the curve.

use std::ops::Range;

use rayon::prelude::*;

use super::curve::Curve;
use super::radix::sort_by_bits;
use super::{Layout, NOWHERE, Own};
use crate::error::Error;
use crate::points::Places;
use crate::space::Metric;

/// All rows of a problem: the targets first, then the parts of the sources that are not the targets again.
pub(super) struct AllRows<'a> {
    blocks: Vec<Block<'a>>,
    /// Weight and number of rows of each part of the sources.
    pub(super) parts: Vec<(f64, usize)>,
    pub(super) targets: usize,
    len: usize,
}

/// Rows of one [`Places`].
struct Block<'a> {
    places: &'a Places,
    /// Their first row among all rows.
    start: usize,
    /// Their first row among the source rows, once for each part of the sources that they make up.
    as_sources: Vec<usize>,
}

impl<'a> Block<'a> {
    fn new(places: &'a Places, start: usize) -> Self {
        Self { places, start, as_sources: Vec::new() }
    }
}

impl<'a> AllRows<'a> {
    pub(super) fn new(targets: &'a Places, sources: &[(&'a Places, f64)]) -> Result<Self, Error> {
        let blocks = vec![Block::new(targets, 0)];
        let mut rows = Self { blocks, parts: Vec::new(), targets: targets.len(), len: targets.len() };
        let mut source_rows = 0;
        for (places, weight) in sources {
            let at = if std::ptr::eq(*places, targets) {
                0
            } else {
                rows.blocks.push(Block::new(places, rows.len));
                rows.len += places.len();
                rows.blocks.len() - 1
            };
            rows.blocks[at].as_sources.push(source_rows);
            source_rows += places.len();
            rows.parts.push((*weight, places.len()));
        }
        let most = rows.len.max(source_rows);
        if most >= NOWHERE as usize {
            return Err(Error::Parameter {
                name: "number of rows",
                value: most.to_string(),
                expected: "below 4294967295",
            });
        }
        Ok(rows)
    }

    #[inline]
    fn locate(&self, row: usize) -> (&Block<'a>, usize) {
        // An empty block has the same start as the next block; the last block with that start is the right one.
        let block = &self.blocks[self.blocks.partition_point(|block| block.start <= row) - 1];
        (block, row - block.start)
    }

    /// The numbers of a row among the source rows, which are numbered through all parts.
    #[inline]
    pub(super) fn as_sources(&self, row: usize) -> impl Iterator<Item = u32> {
        let (block, local) = self.locate(row);
        block.as_sources.iter().map(move |first| (first + local) as u32)
    }

    fn group(&self, row: usize) -> u32 {
        let (block, local) = self.locate(row);
        block.places.group(local)
    }

    /// Merges all rows into places, along the given curve or one around them all.
    pub(super) fn layout(&self, metric: Metric, own: Own, curve: Option<Curve>) -> Layout {
        match metric.axes() {
            1 => self.sorted::<1>(metric, curve).layout(metric, own),
            2 => self.sorted::<2>(metric, curve).layout(metric, own),
            3 => self.sorted::<3>(metric, curve).layout(metric, own),
            _ => self.sorted::<6>(metric, curve).layout(metric, own),
        }
    }

    /// Sorts all rows by group, then along the curve.
    fn sorted<const A: usize>(&self, metric: Metric, curve: Option<Curve>) -> Sorted<'_, A> {
        let mut coordinates = vec![[0.0; A]; self.len];
        for block in &self.blocks {
            let rows = &mut coordinates[block.start..block.start + block.places.len()];
            let pieces = rows.par_chunks_mut(PIECE).enumerate();
            pieces.for_each(|(piece, rows)| block.places.coordinates(piece * PIECE, metric, rows));
        }
        let curve = curve.unwrap_or_else(|| Curve::around(&coordinates, metric.dimensions()));
        let row_bits = usize::BITS - self.len.leading_zeros();
        let cell_bits = CELL_BITS.min(curve.key_bits()).min(u64::BITS - row_bits);
        let cell = |place: &[f64; A]| curve.key(place) >> (curve.key_bits() - cell_bits);
        let entry = |(row, place): (usize, &[f64; A])| cell(place) << row_bits | row as u64;
        let mut order: Vec<u64> = coordinates.par_iter().enumerate().map(entry).collect();
        sort_by_bits(&mut order, cell_bits, |entry| entry >> row_bits);
        let has_groups = self.blocks.iter().any(|block| block.places.has_groups());
        if has_groups {
            let row = |entry: u64| (entry & ((1 << row_bits) - 1)) as usize;
            sort_by_bits(&mut order, u32::BITS, |entry| u64::from(self.group(row(entry))));
        }
        Sorted { rows: self, curve, order, row_bits, has_groups, coordinates }
    }
}

/// Bits of the curve that the radix sort uses, in three passes. The few rows that share a cell are sorted by comparison.
const CELL_BITS: u32 = 33;

/// Rows along the curve. An entry packs the number of a row and the cell of the curve that holds it.
pub(super) struct Sorted<'a, const A: usize> {
    pub(super) rows: &'a AllRows<'a>,
    pub(super) curve: Curve,
    pub(super) order: Vec<u64>,
    row_bits: u32,
    has_groups: bool,
    /// The coordinates of each row.
    pub(super) coordinates: Vec<[f64; A]>,
}

/// Rows that one task takes. Chosen, not measured.
const PIECE: usize = 1 << 13;

impl<const A: usize> Sorted<'_, A> {
    #[inline]
    pub(super) fn row(&self, entry: u64) -> usize {
        (entry & ((1 << self.row_bits) - 1)) as usize
    }

    #[inline]
    pub(super) fn cell(&self, entry: u64) -> u64 {
        entry >> self.row_bits
    }

    fn group(&self, entry: u64) -> u32 {
        if self.has_groups { self.rows.group(self.row(entry)) } else { 0 }
    }

    /// What entries are sorted by.
    fn sort_key(&self, entry: u64) -> (u32, u64) {
        (self.group(entry), self.cell(entry))
    }

    /// Cuts the entries into pieces. No cell of a group is cut; small groups share a piece.
    pub(super) fn pieces(&self) -> Vec<Range<usize>> {
        let mut pieces = Vec::new();
        let mut start = 0;
        while start < self.order.len() {
            let last = self.sort_key(self.order[(start + PIECE).min(self.order.len()) - 1]);
            let end = start + self.order[start..].partition_point(|&entry| self.sort_key(entry) <= last);
            pieces.push(start..end);
            start = end;
        }
        pieces
    }

    /// The groups in a piece, each with its entries there.
    pub(super) fn groups_in(&self, piece: Range<usize>) -> impl Iterator<Item = (u32, Range<usize>)> {
        let mut start = piece.start;
        std::iter::from_fn(move || {
            let group = self.group(*self.order[..piece.end].get(start)?);
            let entries = start..self.end_of_group(group, start..piece.end);
            start = entries.end;
            Some((group, entries))
        })
    }

    /// The end of the first group of some entries: exponential search, then binary search.
    fn end_of_group(&self, group: u32, entries: Range<usize>) -> usize {
        if !self.has_groups {
            return entries.end;
        }
        let (mut step, length) = (1, entries.len());
        while step < length && self.group(self.order[entries.start + step]) == group {
            step *= 2;
        }
        let first = entries.start + step / 2;
        let within = &self.order[first..entries.start + step.min(length)];
        first + within.partition_point(|&entry| self.group(entry) == group)
    }
}
