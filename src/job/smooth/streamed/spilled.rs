//! Rows of tiles on disk, and back.

use super::{Streamed, columns_of};
use crate::error::Error;
use crate::io::Spill;
use crate::partition::{SourceRows, TileRole};
use crate::points::Places;

/// Rows on disk: for each [`TileRole`] a file with a shelf for each tile.
pub(super) type SpilledTiles = [Spill; 3];

/// Rows of one tile that came back from disk.
pub(super) struct SpilledRows {
    pub(super) numbers: Vec<f64>,
    places: Places,
    columns: Vec<Vec<f64>>,
}

impl SpilledRows {
    pub(super) fn sources(&self) -> SourceRows<'_> {
        SourceRows::new(&self.places, &columns_of(&self.columns))
    }
}

impl Streamed<'_> {
    /// The rows that have a role in a tile.
    pub(super) fn spilled_rows(
        &self,
        spilled: &SpilledTiles,
        tile: usize,
        role: TileRole,
    ) -> Result<SpilledRows, Error> {
        let mut columns = spilled[role as usize].read(tile)?.into_iter();
        let mut next = || columns.next().unwrap_or_default();
        let (numbers, groups) = (next(), next());
        let mut places = match self.index_columns() {
            Some(axes) => Places::index((0..axes).map(|_| next()).collect())?,
            None => Places::lat_lon(next(), next())?,
        };
        if self.job.inputs.places.group.is_some() {
            places = places.with_groups(groups.into_iter().map(|group| group as u32).collect())?;
        }
        Ok(SpilledRows { numbers, places, columns: columns.collect() })
    }
}
