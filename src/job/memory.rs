//! What rows, values and outputs take of the memory limit, and what is left for engines.

use super::machine;
use super::options::RunOptions;
use crate::error::Error;
use crate::io::Budget;

/// Bytes that a row takes from file to file apart from what smoothers and engines count themselves: its place, group and label,
/// one of them twice while it is read.
const BYTES_PER_ROW: u64 = 40;
/// Bytes of a prediction, and of its smoothed value and bound.
const BYTES_PER_VALUE: u64 = 32;
/// Bytes of a value in a new column of the output.
const BYTES_PER_NEW_VALUE: u64 = 16;
/// Bytes for each row where it is laid out more than once, or without a smoother that counts.
const BYTES_LAID_OUT: u64 = 300;

impl RunOptions {
    /// The memory that reading may take.
    pub(crate) fn budget(&self) -> Budget {
        Budget::new(self.memory())
    }

    /// The memory to stay within.
    pub(crate) fn memory(&self) -> u64 {
        machine::memory_limit(self.memory_limit)
    }

    /// What is left of the memory limit for smoothers, which count what they take, once rows, values and new columns have theirs.
    pub(crate) fn memory_for_smoothers(&self, rows: usize, values: usize, new_values: usize) -> Result<u64, Error> {
        let parts = [(rows, BYTES_PER_ROW), (values, BYTES_PER_VALUE), (new_values, BYTES_PER_NEW_VALUE)];
        self.memory_left(rows, parts.into_iter().map(|(count, bytes)| count as u64 * bytes).sum())
    }

    /// What is left of the memory limit for engines once the rows are there and laid out.
    pub(crate) fn memory_for_engines(&self, rows: usize, predictions: usize) -> Result<u64, Error> {
        let values = predictions as u64 * (BYTES_PER_VALUE + BYTES_PER_NEW_VALUE);
        self.memory_left(rows, (rows as u64).saturating_mul(BYTES_LAID_OUT + BYTES_PER_ROW + values))
    }

    fn memory_left(&self, rows: usize, need: u64) -> Result<u64, Error> {
        let limit = self.memory();
        if need > limit {
            return Err(Error::Memory { what: format!("smoothing {rows} rows"), need, limit });
        }
        Ok(limit - need)
    }
}
