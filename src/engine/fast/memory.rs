//! How much memory sums take besides the scene: counted from the blocks of the lattices before their nodes exist.

use super::group::Groups;
use super::sphere::BYTES_OF_PLACE;
use crate::error::Error;
use crate::scene::RowCounts;
use crate::space::Metric;

/// Bytes of the trees for each source: a box of 56 bytes and a range of 8 for sixteen sources, boxes around those, and all once more for
/// sources in thin blocks.
const TREES: u64 = 10;
/// Bytes of a target besides its sums: tasks, and rows that are summed again. Estimated, not measured.
const AT_TARGET: u64 = 16;
/// Times that a source is on a chart: charts overlap (1.1 to 1.3 at 2M + 2M rows, σ = 500 m to 20 km, 2026-11-18).
const USUAL_CHARTS: f64 = 1.2;

/// Bytes that sums over this many rows usually take besides the scene, before their places are known.
pub(in crate::engine) fn usual_need(rows: &RowCounts, metric: Metric) -> u64 {
    let charts = if metric == Metric::Sphere { (rows.targets + rows.sources) * BYTES_OF_PLACE } else { 0 };
    rows.sources * TREES + rows.targets * AT_TARGET + (USUAL_CHARTS * charts as f64) as u64
}

/// What sums need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MemoryNeed {
    /// For any number of columns.
    pub(super) fixed: u64,
    /// For each column that is summed at once, the mass being one.
    pub(super) column: u64,
}

impl MemoryNeed {
    /// Groups are worked on one after the other, so that the largest lattice counts; laid places stay.
    pub(super) fn of(groups: &Groups, sources: usize, targets: usize) -> Self {
        let dense = groups.large.iter().filter_map(|(_, split)| split.dense.as_ref());
        let mut need = Self { fixed: sources as u64 * TREES + targets as u64 * AT_TARGET, column: 0 };
        for dense in dense {
            need.fixed += dense.laid.bytes_kept();
            need.column = need.column.max(dense.laid.bytes_of_column());
        }
        need
    }

    /// Columns of values that can be summed at once.
    pub(super) fn columns(&self, limit: u64) -> Result<usize, Error> {
        let left = limit.saturating_sub(self.fixed);
        let columns = left.checked_div(self.column).unwrap_or(if left > 0 { u64::MAX } else { 0 });
        if columns < 2 {
            let need = self.fixed + 2 * self.column;
            return Err(Error::Memory { what: "the fast engine".to_owned(), need, limit });
        }
        Ok(usize::try_from(columns - 1).unwrap_or(usize::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_columns_as_fit_beside_the_mass() {
        let need = MemoryNeed { fixed: 100, column: 10 };
        assert_eq!(need.columns(120).unwrap(), 1);
        assert_eq!(need.columns(159).unwrap(), 4);
        let Err(Error::Memory { need: 120, limit: 119, .. }) = need.columns(119) else { panic!("must not fit") };
        assert!(need.columns(50).is_err());
        assert!(MemoryNeed { fixed: 100, column: 0 }.columns(u64::MAX).unwrap() > 1_000_000);
        assert!(MemoryNeed { fixed: 100, column: 0 }.columns(100).is_err());
    }
}
