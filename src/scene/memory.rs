//! Estimates the memory that a scene takes, from row counts alone, before anything is laid out.

/// The counts that the estimate needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowCounts {
    /// Target rows.
    pub(crate) targets: u64,
    /// Source rows, including those that are targets, too.
    pub(crate) sources: u64,
    /// All rows, each counted once.
    pub(crate) all: u64,
    /// Numbers that store a place.
    pub(crate) axes: u64,
    /// The largest possible number of groups.
    pub(crate) groups: u64,
}

/// Bytes of a group: two ranges of places (32) and the counts at its end (16), times two while vectors grow.
const BYTES_PER_GROUP: u64 = 96;

impl RowCounts {
    /// Bytes of the finished scene: axes, home and row of targets; axes, rows and mass of sources; ranges of groups.
    pub(crate) fn kept(&self) -> u64 {
        let axes = 8 * self.axes;
        sum([(self.targets, axes + 12), (self.sources, axes + 16), (self.groups, BYTES_PER_GROUP)])
    }

    /// Additional bytes while rows are laid out: the coordinates of each row, and its position along the curve (twice, since
    /// the sort needs a second buffer).
    pub(crate) fn meanwhile(&self) -> u64 {
        sum([(self.all, 8 * self.axes + 16)])
    }
}

fn sum<const N: usize>(parts: [(u64, u64); N]) -> u64 {
    parts.into_iter().map(|(count, bytes)| count.saturating_mul(bytes)).fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimate_follows_the_counts() {
        let most = u64::MAX;
        for ([targets, sources, all, axes, groups], bytes) in [
            ([0, 0, 0, 6, 0], (0, 0)),
            ([1000, 3000, 3000, 2, 10], (1000 * 28 + 3000 * 32 + 960, 3000 * 32)),
            ([most, most, most, 3, most], (most, most)),
        ] {
            let rows = RowCounts { targets, sources, all, axes, groups };
            assert_eq!((rows.kept(), rows.meanwhile()), bytes, "{rows:?}");
        }
    }
}
