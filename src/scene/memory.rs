//! How much memory a scene takes, from counts alone: known before anything is laid out.

/// What the estimate is made from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowCounts {
    /// Rows to sum at.
    pub(crate) targets: u64,
    /// Rows to sum over, those among the targets included.
    pub(crate) sources: u64,
    /// Rows in all, each once.
    pub(crate) all: u64,
    /// Numbers that a place has.
    pub(crate) axes: u64,
    /// Groups, at most.
    pub(crate) groups: u64,
}

/// Bytes of a group: two ranges of places, and what was found when it ended, while vectors of both grow.
const A_GROUP: u64 = 96;

impl RowCounts {
    /// Bytes that stay: the axes, home and row of targets; the axes, rows and mass of sources; where groups are.
    pub(crate) fn kept(&self) -> u64 {
        let axes = 8 * self.axes;
        sum([(self.targets, axes + 12), (self.sources, axes + 16), (self.groups, A_GROUP)])
    }

    /// Bytes beside those while rows are laid out: the coordinates of each, and its place along the curve.
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
        let rows = |targets, sources, all, axes, groups| RowCounts { targets, sources, all, axes, groups };
        assert_eq!((rows(0, 0, 0, 6, 0).kept(), rows(0, 0, 0, 6, 0).meanwhile()), (0, 0));
        let some = rows(1000, 3000, 3000, 2, 10);
        assert_eq!((some.kept(), some.meanwhile()), (1000 * 28 + 3000 * 32 + 960, 3000 * 32));
        let most = rows(u64::MAX, u64::MAX, u64::MAX, 3, u64::MAX);
        assert_eq!((most.kept(), most.meanwhile()), (u64::MAX, u64::MAX));
    }
}
