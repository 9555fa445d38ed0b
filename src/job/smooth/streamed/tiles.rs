//! Tile by tile: every row goes to disk once for each tile that needs it, and tiles are smoothed one after the other.

use super::groups::Work;
use super::spilled::{SpilledRows, SpilledTiles};
use super::{Counted, SHARE_OF_BUFFERS, Streamed};
use crate::error::Error;
use crate::io::{CoordinateRequest, Spill};
use crate::job::smooth::StreamedRun;
use crate::job::smooth::results::Results;
use crate::partition::{Capacity, Partition, Role, TileRole};

/// Part of the memory for a tile; the rest is for engines whose needs are known only when they plan, buffers and counts. Chosen; runs under it are in
/// `benches/results/2026-11-18-out-of-core-epyc-avx512.md`.
const SHARE_OF_A_TILE: f64 = 0.5;

impl Streamed<'_> {
    /// Cuts space into tiles that fit.
    pub(super) fn cut(&self, counted: &Counted) -> Result<Partition, Error> {
        let bytes = ((self.memory - counted.keys) as f64 * SHARE_OF_A_TILE) as u64;
        let columns = self.job.inputs.predictions.len();
        let capacity = Capacity::for_smoothing(bytes, counted.census.metric(), columns, self.job.request.certificate);
        Partition::with_tile_groups(&counted.census, &counted.problem, &capacity)
    }

    /// Smooths all tiles.
    pub(super) fn smooth_tiles(
        &self,
        counted: &Counted,
        partition: &Partition,
    ) -> Result<(Results, StreamedRun), Error> {
        let (spilled, spilled_bytes) = self.spill(counted, partition)?;
        let mut results = self.results()?;
        let phase = self.job.caller.phase("smooth");
        phase.start(counted.census.rows().0);
        for tile in 0..partition.tiles_alone() {
            let [home, guests, labelled] = TileRole::ALL.map(|role| self.spilled_rows(&spilled, tile, role));
            let rows = [home?, guests?, labelled?];
            let smoothed = partition.smooth_tile(tile, &self.smoother, &rows.each_ref().map(SpilledRows::sources));
            results.add(&rows[0].numbers, &self.blaming_the_disk(smoothed)?)?;
            phase.advance(rows[0].numbers.len() as u64);
        }
        for group in partition.tile_groups() {
            let each = |pass, work: Work| self.each_in_tiles(&spilled, group, &*phase, pass, work);
            self.smooth_group(group, each, &mut results)?;
        }
        let copies = partition.copies() as f64 / self.job.inputs.rows().max(1) as f64;
        let (tiles, tile_groups) = (partition.tiles().len(), partition.tile_groups().len());
        Ok((results, StreamedRun::Tiles { tiles, tile_groups, copies, spilled_bytes }))
    }

    /// Index columns; none where places are latitudes and longitudes.
    pub(super) fn index_columns(&self) -> Option<usize> {
        match &self.job.inputs.coordinates {
            CoordinateRequest::Index(columns) => Some(columns.len()),
            _ => None,
        }
    }

    /// Writes every row to the tiles that it is in. Gives the bytes that this and the results take.
    fn spill(&self, counted: &Counted, partition: &Partition) -> Result<(SpilledTiles, u64), Error> {
        // The number of the row, its group, where it is, and its values.
        let before_values = 2 + self.index_columns().unwrap_or(2);
        let [to_predict, labelled] = [self.job.inputs.predictions.len(), 1].map(|values| before_values + values);
        let bytes = 8 * partition.copies() * to_predict as u64 + self.bytes_of_results(counted);
        self.check_space(bytes)?;
        let phase = self.job.caller.phase("spill");
        phase.start(self.job.inputs.rows() as u64);
        let buffers = self.memory / SHARE_OF_BUFFERS / 3;
        let [home, guests, labelled] = [to_predict, to_predict, labelled]
            .map(|width| Spill::create(&self.folder, partition.tiles().len(), width, buffers));
        let mut spilled = [home?, guests?, labelled?];
        self.read_again(counted, &Role::ALL, &*phase, |table, _, first_row, role| {
            let mut record = Vec::new();
            for membership in partition.memberships(&table.places, role)? {
                let at = membership.row as usize;
                record.clear();
                record.extend([(first_row + table.row(at)) as f64, f64::from(table.places.group(at))]);
                record.extend(table.places.axes().iter().chain(&table.columns).map(|column| column[at]));
                spilled[membership.role as usize].push(membership.tile as usize, &record)?;
            }
            Ok(())
        })?;
        Ok((spilled, bytes))
    }

    /// What was written was checked against the counts: rows that come back changed were changed by the disk.
    pub(super) fn blaming_the_disk<T>(&self, done: Result<T, Error>) -> Result<T, Error> {
        done.map_err(|error| match error {
            Error::Changed { .. } => Error::Io {
                action: "cannot read back what was spilled to",
                path: self.folder.clone(),
                source: std::io::Error::new(std::io::ErrorKind::InvalidData, error.to_string()),
                hint: "the disk does not give back what was written to it: choose another folder with `spill-dir`",
            },
            error => error,
        })
    }
}
