//! Memory that reading may take, counted while it is taken.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::Error;

/// Memory that the inputs of a run may take together. Clones share one count.
#[derive(Clone, Debug)]
pub struct Budget {
    limit: u64,
    taken: Arc<AtomicU64>,
}

impl Budget {
    /// So many bytes.
    #[must_use]
    pub fn new(limit: u64) -> Self {
        Self { limit, taken: Arc::default() }
    }

    /// Whatever the files ask for: for files that one wrote oneself.
    #[must_use]
    pub fn unlimited() -> Self {
        Self::new(u64::MAX)
    }

    /// Bytes taken so far.
    pub(crate) fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    /// Bytes that nobody took yet.
    pub(super) fn left(&self) -> u64 {
        self.limit.saturating_sub(self.taken())
    }

    /// Bytes that one of the threads may take for what it is working on: half of what is left is for what stays.
    pub(super) fn share(&self) -> u64 {
        self.left() / (2 * rayon::current_num_threads() as u64)
    }

    /// Takes bytes until what is returned is dropped.
    pub(super) fn take(&self, bytes: u64, what: impl FnOnce() -> String) -> Result<Taken, Error> {
        let before = self.taken.fetch_add(bytes, Ordering::Relaxed);
        let taken = Taken { budget: self.clone(), bytes };
        match before.checked_add(bytes) {
            Some(need) if need <= self.limit => Ok(taken),
            need => Err(Error::Memory { what: what(), need: need.unwrap_or(u64::MAX), limit: self.limit }),
        }
    }
}

/// A part of a budget, given back when it is dropped.
#[derive(Debug)]
pub(super) struct Taken {
    budget: Budget,
    bytes: u64,
}

impl Taken {
    /// Takes more of the same.
    pub(super) fn grow(&mut self, bytes: u64, what: impl FnOnce() -> String) -> Result<(), Error> {
        let more = self.budget.take(bytes, what)?;
        self.bytes += more.bytes;
        more.keep(bytes);
        Ok(())
    }

    /// Bytes taken so far.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Leaves so many bytes taken for good: what they are for lives on.
    pub(super) fn keep(mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_sub(bytes);
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.budget.taken.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_dropped_comes_back_and_what_is_kept_does_not() {
        let budget = Budget::new(100);
        let what = || "it".to_owned();
        let first = budget.take(60, what).unwrap();
        let refused = budget.clone().take(41, what).unwrap_err();
        assert!(matches!(refused, Error::Memory { need: 101, limit: 100, .. }), "{refused}");
        drop(first);
        let mut second = budget.take(20, what).unwrap();
        second.grow(40, what).unwrap();
        second.keep(50);
        assert_eq!(budget.left(), 50);
        assert!(budget.take(u64::MAX, what).is_err());
        assert_eq!(budget.left(), 50);
    }
}
