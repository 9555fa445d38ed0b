//! How much memory sums take beyond the scene: counted from the blocks of the lattices before their nodes are there.

use super::split::{Lattice, Split};
use crate::error::Error;

/// Bytes of the trees for each source: a box of 56 bytes for eight, boxes around those, and both once more for what is thin.
const TREES: u64 = 20;
/// Bytes of a place on a chart: where it is, which it is, and as much again while it is sorted.
const ON_CHART: u64 = 56;
/// Bytes of a place in a patch: where it is, which it is, and the same once more while it is sorted.
const ON_GLOBE: u64 = 72;
/// Bytes of a target beside its sums: tasks, and rows that are summed again.
const AT_TARGET: u64 = 16;

/// What sums need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Need {
    /// However many columns there are.
    pub(super) fixed: u64,
    /// For each column at once, the mass being one.
    pub(super) column: u64,
}

impl Need {
    /// Lattices are worked on one after the other, so that the largest counts; charts stay.
    pub(super) fn of(groups: &[Split], sources: usize, targets: usize) -> Self {
        let lattices = groups.iter().filter_map(|split| split.thick.as_ref()).map(|thick| &thick.lattice);
        let mut need = Self { fixed: sources as u64 * TREES + targets as u64 * AT_TARGET, column: 0 };
        for lattice in lattices {
            match lattice {
                Lattice::Plane(_, grid) => need.column = need.column.max(grid.bytes()),
                Lattice::Sphere(atlas) => {
                    for chart in &atlas.charts {
                        need.fixed += chart.places() as u64 * ON_CHART;
                        need.column = need.column.max(chart.bytes());
                    }
                }
                Lattice::Globe(globe) => {
                    need.fixed += globe.places() as u64 * ON_GLOBE;
                    need.column = need.column.max(globe.bytes());
                }
            }
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
        let need = Need { fixed: 100, column: 10 };
        assert_eq!(need.columns(120).unwrap(), 1);
        assert_eq!(need.columns(159).unwrap(), 4);
        let Err(Error::Memory { need: 120, limit: 119, .. }) = need.columns(119) else { panic!("must not fit") };
        assert!(need.columns(50).is_err());
        assert!(Need { fixed: 100, column: 0 }.columns(u64::MAX).unwrap() > 1_000_000);
        assert!(Need { fixed: 100, column: 0 }.columns(100).is_err());
    }
}
