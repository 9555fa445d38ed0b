//! Capacity: how many rows fit in memory together.

use crate::error::Error;
use crate::space::Metric;

/// How many rows a tile may have.
#[derive(Clone, Copy, Debug)]
pub struct Capacity {
    /// Memory for one tile.
    pub bytes: u64,
    /// Bytes for each row that it smooths, in addition to those for being a source.
    pub per_target: u64,
    /// Bytes for each row that it sums over.
    pub per_source: u64,
}

/// Bytes of the fast engine for each source and each target. Not measured by itself: `tests/interop/test_streamed.py` holds whole runs to their limit.
const ENGINE: u64 = 76;

/// A cell may be cut with others if all rows in reach of it take this part of the memory at most: then a tile is some four by four cells. With less room, most rows of
/// a tile are guests. Chosen, not measured.
const ROOM: u64 = 4;

impl Capacity {
    /// For tiles that are [smoothed](super::Partition::smooth_tile) within so many bytes: with so many columns of predictions, and effective
    /// sources too if asked for.
    #[must_use]
    pub fn for_smoothing(bytes: u64, metric: Metric, columns: usize, n_effective: bool) -> Self {
        let (axes, columns, plans) = (metric.axes() as u64, columns as u64, 1 + u64::from(n_effective));
        // Rows are there twice: as they come in, and as a scene lays them out.
        let per_source = 2 * (8 * axes + 16) + plans * ENGINE + 8 * (4 + columns);
        let per_target = 8 * axes + 12 + plans * (ENGINE + 32) + 64 * (1 + columns);
        Self { bytes, per_target, per_source }
    }

    fn need(&self, targets: u64, sources: u64) -> u64 {
        targets.saturating_mul(self.per_target).saturating_add(sources.saturating_mul(self.per_source))
    }

    pub(super) fn holds(&self, targets: u64, sources: u64) -> bool {
        self.need(targets, sources) <= self.bytes
    }

    /// In how many parts the targets fit beside all sources.
    pub(super) fn parts(&self, targets: u64, sources: u64) -> Result<u64, Error> {
        match self.bytes.checked_sub(self.need(0, sources)) {
            Some(left) if left >= self.per_target => Ok(targets.div_ceil(left / self.per_target).max(1)),
            _ => Err(self.too_small(sources)),
        }
    }

    /// Whether several times the sources of a tile would fit, so that there is room for cells beside its own.
    pub(super) fn has_room_beside(&self, sources: u64) -> bool {
        self.need(0, sources) <= self.bytes / ROOM
    }

    /// In how many parts both targets and sources fit beside lattices, which take [half](Self::for_lattices).
    pub(super) fn parts_beside_lattices(&self, targets: u64, sources: u64) -> u64 {
        self.need(targets, sources).div_ceil(self.for_lattices().max(1)).max(1)
    }

    /// Bytes for lattices beside rows: half of the memory. Chosen, not measured.
    pub(super) fn for_lattices(&self) -> u64 {
        self.bytes / 2
    }

    pub(super) fn too_small(&self, sources: u64) -> Error {
        let what = "a tile with all rows that reach it".to_owned();
        Error::Memory { what, need: self.need(1, sources), limit: self.bytes }
    }
}
