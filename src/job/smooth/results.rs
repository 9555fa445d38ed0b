//! Smoothed rows on disk: they come tile by tile and leave in the order of the rows.

use std::ops::Range;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use crate::error::Error;
use crate::finding::Finding;
use crate::io::Spill;
use crate::report::{number, share};
use crate::smoother::{Smoothed, SmoothedTile};

/// Rows that are taken from disk at a time: 8 MiB of one column, be there few columns or many. Chosen, not measured.
const SHELF: usize = 1 << 18;

/// The new columns of all rows, in their order: smoothed values, then, if wanted, bounds and effective sources. For every
/// so many rows there is a shelf of their numbers and one of each column.
pub(super) struct Results {
    spill: Spill,
    rows: usize,
    columns: usize,
    pub(super) bounds: Bounds,
    /// The column that was looked at last, by its shelf.
    open: Mutex<Option<(usize, Column)>>,
}

/// Rows of a new column, with none where a row was skipped.
type Column = Vec<Option<f64>>;

/// Bounds of all values so far, relative to the range.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) largest: f64,
    sum: f64,
    count: usize,
    /// None where the kernel is cut by hand.
    tolerance: Option<f64>,
    /// Values whose bound is above the tolerance.
    missed: usize,
    /// Whether 64-bit numbers of that size are farther apart than the tolerance allows.
    are_coarse: bool,
}

impl Bounds {
    pub(super) fn new(tolerance: Option<f64>) -> Self {
        Self { largest: 0.0, sum: 0.0, count: 0, tolerance, missed: 0, are_coarse: false }
    }

    pub(super) fn mean(self) -> f64 {
        self.sum / self.count.max(1) as f64
    }

    pub(super) fn add(&mut self, column: &Smoothed) {
        let tolerance = self.tolerance.unwrap_or(f64::INFINITY);
        for bound in column.relative_bounds() {
            self.largest = self.largest.max(bound);
            self.sum += bound;
            self.count += 1;
            self.missed += usize::from(bound > tolerance);
        }
        let size = column.values.iter().flatten().fold(0.0, |most: f64, value| most.max(value.abs()));
        self.are_coarse |= f64::EPSILON * size > tolerance * column.range;
    }

    /// What the user should know of values that miss the tolerance.
    pub(super) fn finding(self) -> Option<Finding> {
        let tolerance = self.tolerance.filter(|_| self.missed > 0)?;
        let way_out = if self.are_coarse {
            "they differ by less than 64-bit numbers of their size can tell apart: subtract a constant from predictions and labels first"
        } else {
            "such rows lie extremely far from others, or values hardly differ: look for stray places, see the bounds with `certificate`, or raise `tolerance`"
        };
        let (missed, count) = (number(self.missed), number(self.count));
        let message = format!(
            "{missed} of {count} smoothed values may be off by more than the tolerance {tolerance:e}, by {} of the range at most; {way_out}",
            share(self.largest)
        );
        Some(Finding::warning("tolerance", message))
    }
}

impl Results {
    /// For so many rows and new columns, whose bounds are to keep a tolerance, with so many bytes for buffers.
    pub(super) fn create(
        folder: &Path,
        rows: usize,
        columns: usize,
        tolerance: Option<f64>,
        buffers: u64,
    ) -> Result<Self, Error> {
        let spill = Spill::create(folder, rows.div_ceil(SHELF) * (1 + columns), 1, buffers)?;
        Ok(Self { spill, rows, columns, bounds: Bounds::new(tolerance), open: Mutex::new(None) })
    }

    /// Adds the rows of a tile, by their numbers.
    pub(super) fn add(&mut self, rows: &[f64], tile: &SmoothedTile) -> Result<(), Error> {
        tile.columns.iter().for_each(|column| self.bounds.add(column));
        let bounds = tile.columns.iter().filter(|_| tile.n_effective.is_some()).map(|column| &column.error_bound);
        for (at, row) in rows.iter().enumerate() {
            let values = tile.columns.iter().map(|column| column.values[at].unwrap_or(f64::NAN));
            let more = bounds.clone().chain(&tile.n_effective).map(|column| column[at]);
            let first = self.numbers(*row as usize / SHELF);
            for (shelf, number) in std::iter::once(*row).chain(values).chain(more).enumerate() {
                self.spill.push(first + shelf, &[number])?;
            }
        }
        Ok(())
    }

    /// The shelf with the numbers of some rows; their columns are on the next ones.
    fn numbers(&self, rows: usize) -> usize {
        rows * (1 + self.columns)
    }

    /// The values of one new column at consecutive rows; none where a row was skipped.
    pub(super) fn values(&self, column: usize, rows: Range<usize>) -> Result<Column, Error> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let mut values = Vec::with_capacity(rows.len());
        let mut next = rows.start;
        while next < rows.end {
            let first = next - next % SHELF;
            let shelf = self.numbers(first / SHELF) + 1 + column;
            if open.as_ref().is_none_or(|(at, _)| *at != shelf) {
                // Not beside the one before.
                *open = None;
                *open = Some((shelf, self.column(first, column)?));
            }
            let end = rows.end.min(first + SHELF);
            let known = open.iter().flat_map(|(_, column)| &column[next - first..end - first]);
            values.extend(known);
            next = end;
        }
        Ok(values)
    }

    /// A column of the shelf that begins with this row.
    fn column(&self, first: usize, column: usize) -> Result<Column, Error> {
        let numbers = self.numbers(first / SHELF);
        let [rows, values] = [numbers, numbers + 1 + column].map(|shelf| self.spill.read(shelf));
        let (rows, values) = (rows?.remove(0), values?.remove(0));
        let mut all = vec![None; SHELF.min(self.rows - first)];
        rows.iter().zip(values).for_each(|(row, value)| all[*row as usize - first] = Some(value));
        Ok(all)
    }
}
