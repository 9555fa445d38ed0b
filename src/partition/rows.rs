//! Rows as sources: where they are and the values they have, with a hash of each that shows whether it is the same when it is read again.

use std::sync::OnceLock;

use rayon::prelude::*;

use super::cell::ROWS_OF_A_TASK;
use crate::error::Error;
use crate::points::Places;
use crate::smoother::TileRows;

/// Rows of one role: their places, and the values that they have as sources. These are the predictions by column, or the label as the only column.
///
/// The hash of a row covers all that enters a sum, bit for bit: its group, its place and its values.
#[derive(Clone, Debug)]
pub struct SourceRows<'a> {
    pub(super) places: &'a Places,
    pub(super) values: Vec<&'a [f64]>,
    keys: Option<Vec<u64>>,
    /// Known once somebody asked for it.
    sum_of_hashes: OnceLock<u64>,
}

/// Where hashes begin: 2⁶⁴ times the fraction of the golden ratio, the increment of SplitMix64.
const START: u64 = 0x9e37_79b9_7f4a_7c15;

impl<'a> SourceRows<'a> {
    /// Rows at these places, with these values. Their groups are recognised by their numbers.
    #[must_use]
    pub fn new(places: &'a Places, values: &[&'a [f64]]) -> Self {
        Self { places, values: values.to_vec(), keys: None, sum_of_hashes: OnceLock::new() }
    }

    /// The same with a key for the group of each row, for callers whose group numbers differ from one reading to the next.
    ///
    /// # Errors
    /// If there is not one key for each row.
    pub fn with_group_keys(self, keys: Vec<u64>) -> Result<Self, Error> {
        if keys.len() != self.len() {
            return Err(Error::Length { what: "the keys of groups", found: keys.len(), expected: self.len() });
        }
        Ok(Self { keys: Some(keys), sum_of_hashes: OnceLock::new(), ..self })
    }

    /// How many rows there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn in_tile(&self) -> TileRows<'_> {
        TileRows { places: self.places, columns: &self.values }
    }

    /// The groups of the rows, ascending, each once.
    pub(super) fn groups(&self) -> Vec<u32> {
        if !self.places.has_groups() {
            return vec![0];
        }
        let mut groups: Vec<u32> = (0..self.len()).map(|row| self.places.group(row)).collect();
        groups.sort_unstable();
        groups.dedup();
        groups
    }

    /// The hash of one row.
    pub(super) fn hash(&self, row: usize) -> u64 {
        let start = self.group_key(row).map_or(START, |key| mixed(START ^ key));
        let columns = self.places.axes().iter().map(Vec::as_slice).chain(self.values.iter().copied());
        columns.fold(start, |hash, column| mixed(hash ^ column[row].to_bits()))
    }

    fn group_key(&self, row: usize) -> Option<u64> {
        match &self.keys {
            Some(keys) => Some(keys[row]),
            None => self.places.has_groups().then(|| u64::from(self.places.group(row))),
        }
    }

    /// The sum of the hashes of all rows, modulo 2⁶⁴.
    pub(super) fn sum_of_hashes(&self) -> u64 {
        if let Some(sum) = self.sum_of_hashes.get() {
            return *sum;
        }
        let rows = (0..self.len()).into_par_iter().with_min_len(ROWS_OF_A_TASK);
        let sum = rows.map(|row| self.hash(row)).reduce(|| 0, u64::wrapping_add);
        // No closure for `get_or_init`: while it waits for its tasks, its thread may take up others that ask for the same sum.
        *self.sum_of_hashes.get_or_init(|| sum)
    }
}

/// A bijection of 64 bits in which each output bit depends on all input bits: the finaliser of SplitMix64 (Steele, Lea and Flood 2014).
fn mixed(bits: u64) -> u64 {
    let bits = bits.wrapping_add(START);
    let bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}
