//! Group keys: each distinct key gets a small number, the same in all inputs of a run.

use std::hash::{BuildHasher, RandomState};

use arrow::array::{Array, AsArray};
use hashbrown::HashTable;

use super::budget::Reservation;
use super::input::{Input, type_name};
use super::key::as_keys;
use crate::error::Error;

/// The group of each row.
#[derive(Clone, Debug)]
pub struct GroupColumn {
    /// A small number for each row, equal for equal keys.
    pub ids: Vec<u32>,
    /// The first row whose key is null.
    pub first_null: Option<usize>,
}

/// The distinct group keys of several inputs, numbered in the order in which they occur. A million keys of ten letters take
/// some 30 MB.
#[derive(Debug, Default)]
pub struct Groups {
    /// All keys, one after the other. Blocks never grow: while one long text grows, there are two of it, and keys of 100 letters took
    /// 158 MiB under a limit of 100 (issue 15).
    blocks: Vec<String>,
    /// The end of each key.
    ends: Vec<KeyEnd>,
    numbers: HashTable<u32>,
    hasher: RandomState,
}

/// Where a key ends: the number of its block, and the position there.
#[derive(Clone, Copy, Debug)]
struct KeyEnd {
    block: u32,
    at: u32,
}

/// Bytes of a block of keys. Chosen, not measured.
const BLOCK: usize = 1 << 20;

impl Input {
    /// Reads a column of group keys.
    ///
    /// # Errors
    /// If the column does not exist or cannot be written as text, or the file is damaged.
    pub fn groups(&self, name: &str, groups: &mut Groups) -> Result<GroupColumn, Error> {
        let (root, field) = self.column(name)?;
        if field.data_type().is_nested() {
            let problem = format!("is {}, not a group", type_name(field.data_type()));
            return Err(self.wrong_column(name, &problem, "choose a column of text or numbers"));
        }
        let read = self.arrays(&[root], &[], |array| Ok(as_keys(array)?))?;
        let arrays = &read.arrays[0];
        let rows: usize = arrays.iter().map(Array::len).sum();
        self.budget.take(4 * rows as u64, || self.reading())?.keep(u64::MAX);
        // Every row may have a different key.
        let reserved = self.budget.take(read.taken.iter().map(Reservation::bytes).sum(), || self.reading())?;
        let before = groups.bytes();
        let mut ids = Vec::with_capacity(rows);
        let mut first_null = None;
        for array in arrays {
            for key in array.as_string::<i32>() {
                if key.is_none() {
                    first_null.get_or_insert(ids.len());
                }
                ids.push(groups.number(key.unwrap_or_default()));
            }
        }
        reserved.keep(groups.bytes() - before);
        Ok(GroupColumn { ids, first_null })
    }
}

impl Groups {
    /// All keys, in the order of their numbers.
    pub(crate) fn keys(&self) -> Vec<&str> {
        (0..self.ends.len()).map(|number| self.key(number)).collect()
    }

    /// The number of a key, if it has one.
    pub(crate) fn find(&self, key: &str) -> Option<u32> {
        self.numbers.find(self.hasher.hash_one(key), |number| self.key(*number as usize) == key).copied()
    }

    /// Memory that the keys take.
    pub(crate) fn bytes(&self) -> u64 {
        let text: usize = self.blocks.iter().map(String::capacity).sum();
        (text + self.ends.capacity() * size_of::<KeyEnd>() + self.numbers.allocation_size()) as u64
    }

    fn key(&self, number: usize) -> &str {
        let end = self.ends[number];
        let before = number.checked_sub(1).map(|before| self.ends[before]).filter(|before| before.block == end.block);
        &self.blocks[end.block as usize][before.map_or(0, |before| before.at as usize)..end.at as usize]
    }

    /// Stores the text of the next key.
    fn push(&mut self, key: &str) {
        match self.blocks.last_mut() {
            Some(block) if block.capacity() - block.len() >= key.len() => block.push_str(key),
            _ => {
                let mut block = String::with_capacity(key.len().max(self.bytes_of_next_block()));
                block.push_str(key);
                self.blocks.push(block);
            }
        }
        let at = self.blocks.last().map_or(0, String::len) as u32;
        self.ends.push(KeyEnd { block: (self.blocks.len() - 1) as u32, at });
    }

    /// As many bytes as there are already, so that few keys take little.
    fn bytes_of_next_block(&self) -> usize {
        self.blocks.iter().map(String::len).sum::<usize>().clamp(64, BLOCK)
    }

    /// The number of a key; a new key gets the next number.
    fn number(&mut self, key: &str) -> u32 {
        if let Some(number) = self.find(key) {
            return number;
        }
        let number = self.ends.len() as u32;
        self.push(key);
        // Taken out while the table hashes the keys, which it must look up here.
        let mut numbers = std::mem::take(&mut self.numbers);
        numbers.insert_unique(self.hash(number), number, |number| self.hash(*number));
        self.numbers = numbers;
        number
    }

    fn hash(&self, number: u32) -> u64 {
        self.hasher.hash_one(self.key(number as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_keys_have_one_number_and_few_bytes() {
        let mut groups = Groups::default();
        let key = |i: u32| if i == 0 { String::new() } else { format!("market-{i}") };
        for i in (0..100_000).chain((0..100_000).rev()) {
            assert_eq!(groups.number(&key(i)), i);
        }
        assert_eq!((groups.find("market-77"), groups.find("market")), (Some(77), None));
        assert_eq!((groups.keys().len(), groups.keys()[99_999]), (100_000, "market-99999"));
        assert!((20..60).contains(&(groups.bytes() / 100_000)), "{}", groups.bytes());
    }

    /// Issue 15, point 4.
    #[test]
    fn long_keys_take_hardly_more_than_their_text() {
        let mut groups = Groups::default();
        let key = |i: usize| format!("{i:0width$}", width = 6 + i % 500);
        let longest = "x".repeat(3 * BLOCK);
        for i in 0..30_000 {
            assert_eq!(groups.number(&key(i)), i as u32);
        }
        assert_eq!(
            [groups.number(&longest), groups.number("a"), groups.number(&key(29_999))],
            [30_000, 30_001, 29_999]
        );
        assert!(groups.keys().iter().take(30_000).enumerate().all(|(i, found)| *found == key(i)));
        assert_eq!(groups.keys()[30_000..], [longest.as_str(), "a"]);
        let text: usize = groups.keys().iter().map(|key| key.len()).sum();
        assert!(groups.bytes() < (text + 3 * BLOCK) as u64, "{} for {text}", groups.bytes());
    }
}
