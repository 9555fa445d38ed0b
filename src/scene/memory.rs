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
}

impl RowCounts {
    /// Bytes to lay the rows out: the coordinates of each and its place along the curve; the axes, home and row of targets; the axes,
    /// rows and mass of sources. Where no rows coincide this is what is there while places are written.
    pub(crate) fn bytes(&self) -> u64 {
        let axes = 8 * self.axes;
        let parts = [(self.all, axes + 16), (self.targets, axes + 12), (self.sources, axes + 16)];
        parts.into_iter().map(|(rows, bytes)| rows.saturating_mul(bytes)).fold(0, u64::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimate_follows_the_counts() {
        let rows = |targets, sources, all, axes| RowCounts { targets, sources, all, axes }.bytes();
        assert_eq!(rows(0, 0, 0, 6), 0);
        assert_eq!(rows(1000, 1000, 1000, 6), 188_000);
        assert_eq!(rows(1000, 3000, 3000, 2), 3000 * 32 + 1000 * 28 + 3000 * 32);
        assert_eq!(rows(u64::MAX, u64::MAX, u64::MAX, 3), u64::MAX);
    }
}
