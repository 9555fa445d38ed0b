//! The memory budget of reading: each allocation that depends on a file is reserved here first.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::Error;

/// The memory that the inputs of a run may take together. Clones share one count.
#[derive(Clone, Debug)]
pub struct Budget {
    limit: u64,
    taken: Arc<AtomicU64>,
}

impl Budget {
    /// A budget of this many bytes.
    #[must_use]
    pub fn new(limit: u64) -> Self {
        Self { limit, taken: Arc::default() }
    }

    /// No limit: for files that the program wrote itself.
    #[must_use]
    pub fn unlimited() -> Self {
        Self::new(u64::MAX)
    }

    /// Bytes reserved so far.
    pub(crate) fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    /// Bytes that are not reserved.
    pub(super) fn left(&self) -> u64 {
        self.limit.saturating_sub(self.taken())
    }

    /// Bytes that each thread may use for temporary data. Half of what is left is kept for results.
    pub(super) fn share(&self) -> u64 {
        self.left() / (2 * rayon::current_num_threads() as u64)
    }

    /// Reserves bytes until the reservation is dropped. `what` names the purpose in the error.
    pub(super) fn take(&self, bytes: u64, what: impl FnOnce() -> String) -> Result<Reservation, Error> {
        let before = self.taken.fetch_add(bytes, Ordering::Relaxed);
        let taken = Reservation { budget: self.clone(), bytes };
        match before.checked_add(bytes) {
            Some(need) if need <= self.limit => Ok(taken),
            need => Err(Error::Memory { what: what(), need: need.unwrap_or(u64::MAX), limit: self.limit }),
        }
    }
}

/// A reserved part of a budget, released when it is dropped.
#[derive(Debug)]
pub(super) struct Reservation {
    budget: Budget,
    bytes: u64,
}

impl Reservation {
    /// Reserves more bytes.
    pub(super) fn grow(&mut self, bytes: u64, what: impl FnOnce() -> String) -> Result<(), Error> {
        let more = self.budget.take(bytes, what)?;
        self.bytes += more.bytes;
        more.keep(bytes);
        Ok(())
    }

    /// Bytes reserved.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Keeps this many bytes reserved for good, for data that outlive the reservation.
    pub(super) fn keep(mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_sub(bytes);
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.taken.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropped_reservations_are_released_and_kept_ones_are_not() {
        let budget = Budget::new(100);
        let first = budget.take(60, String::new).unwrap();
        let refused = budget.clone().take(41, String::new).unwrap_err();
        assert!(matches!(refused, Error::Memory { need: 101, limit: 100, .. }), "{refused}");
        drop(first);
        let mut second = budget.take(20, String::new).unwrap();
        second.grow(40, String::new).unwrap();
        second.keep(50);
        assert_eq!(budget.left(), 50);
        assert!(budget.take(u64::MAX, String::new).is_err());
        assert_eq!(budget.left(), 50);
    }
}
