//! Tile by tile: every row goes to disk once for each tile that needs it, and tiles are smoothed one after the other.

use super::{Counted, SHARE_OF_BUFFERS, StreamedRun, Streamed};
use crate::error::Error;
use crate::io::{CoordinateRequest, Spill};
use crate::job::options::Accuracy;
use crate::job::smooth::results::Results;
use crate::partition::{Capacity, Checksums, Partition, Role, RowHashes};
use crate::points::Places;
use crate::smoother::{SmoothedTile, TileContents, TileRows, smooth_tile};

/// Part of the memory for a tile; the rest is for engines whose needs are known only when they plan, buffers and counts.
const SHARE_OF_A_TILE: f64 = 0.5;

/// Rows on disk, a shelf for each tile.
pub(super) struct Shelves {
    pub(super) home: Spill,
    pub(super) guests: Spill,
    pub(super) labelled: Spill,
}

impl Streamed<'_> {
    /// Cuts space into tiles that fit.
    pub(super) fn cut(&self, counted: &Counted) -> Result<Partition, Error> {
        let sigma = self.recipe.sigma.sigma();
        let bytes = ((self.memory - counted.keys) as f64 * SHARE_OF_A_TILE) as u64;
        let columns = self.inputs.predictions.len();
        let capacity = Capacity::for_smoothing(bytes, counted.census.metric(), columns, self.args.certificate);
        let weight = self.recipe.label_weight;
        let accuracy = self.args.kernel.accuracy;
        let tolerance = match accuracy {
            Accuracy::Cutoff(cutoff) => {
                return Partition::with_cutoff(&counted.census, sigma, weight, cutoff, &capacity);
            }
            Accuracy::Tolerance(tolerance) => tolerance,
        };
        let ranges = &counted.ranges;
        Partition::with_tile_groups(&counted.census, sigma, weight, tolerance, &capacity, ranges, self.args.certificate)
    }

    /// Smooths all tiles.
    pub(super) fn smooth_tiles(&self, counted: &Counted, partition: &Partition) -> Result<(Results, StreamedRun), Error> {
        let rows = partition.copies();
        let record = (2 + self.axes() + self.inputs.predictions.len()) as u64;
        let spilled_bytes = 8 * rows * record + self.bytes_of_results(counted);
        self.check_space(spilled_bytes)?;
        let shelves = self.shelve(counted, partition)?;
        let mut results = self.results()?;
        let phase = self.caller.phase("smooth");
        phase.start(counted.census.rows().0);
        let (tiles, crowds) = (partition.tiles().len(), partition.tile_groups());
        let alone = crowds.first().map_or(tiles, |crowd| crowd.tiles().start as usize);
        for tile in 0..alone {
            let (rows, smoothed) = self.smooth_tile(&shelves, tile, counted, partition)?;
            results.add(&rows, &smoothed)?;
            phase.advance(rows.len() as u64);
        }
        crowds.iter().try_for_each(|crowd| self.smooth_crowd(&shelves, crowd, &mut results, &*phase))?;
        let copies = rows as f64 / self.inputs.rows().max(1) as f64;
        Ok((results, StreamedRun::Tiles { tiles, crowds: crowds.len(), copies, spilled_bytes }))
    }

    /// Columns that hold a place.
    fn axes(&self) -> usize {
        self.index_columns().unwrap_or(2)
    }

    /// Index columns; none where places are latitudes and longitudes.
    fn index_columns(&self) -> Option<usize> {
        match &self.inputs.coordinates {
            CoordinateRequest::Index(columns) => Some(columns.len()),
            _ => None,
        }
    }

    /// Puts every row on the shelves of the tiles that it is in.
    fn shelve(&self, counted: &Counted, partition: &Partition) -> Result<Shelves, Error> {
        let phase = self.caller.phase("spill");
        phase.start(self.inputs.rows() as u64);
        let (folder, axes, columns) = (self.spill_folder(), self.axes(), self.inputs.predictions.len());
        let buffers = self.memory / SHARE_OF_BUFFERS / 3;
        let create = |width| Spill::create(&folder, partition.tiles().len(), width, buffers);
        // The number of the row, its group, where it is, and its values.
        let mut shelves = Shelves {
            home: create(2 + axes + columns)?,
            guests: create(2 + axes + columns)?,
            labelled: create(2 + axes + 1)?,
        };
        self.each_row(counted, &*phase, &[Role::ToPredict, Role::Labelled], |table, first_row, role| {
            let mut record = Vec::new();
            for visit in partition.memberships(&table.places, role)? {
                let at = visit.row as usize;
                record.clear();
                record.extend([(first_row + table.row(at)) as f64, f64::from(table.places.group(at))]);
                record.extend(table.places.axes().iter().chain(&table.columns).map(|column| column[at]));
                let shelf = match (role, visit.at_home) {
                    (Role::Labelled, _) => &mut shelves.labelled,
                    (Role::ToPredict, true) => &mut shelves.home,
                    (Role::ToPredict, false) => &mut shelves.guests,
                };
                shelf.push(visit.tile as usize, &record)?;
            }
            Ok(())
        })?;
        Ok(shelves)
    }

    fn smooth_tile(
        &self,
        shelves: &Shelves,
        tile: usize,
        counted: &Counted,
        partition: &Partition,
    ) -> Result<(Vec<f64>, SmoothedTile), Error> {
        let taken = |spill: &Spill| self.take(spill.read(tile)?);
        let (home, guests, labelled) = (taken(&shelves.home)?, taken(&shelves.guests)?, taken(&shelves.labelled)?);
        let mut rows = Checksums::default();
        home.note(Role::ToPredict, &mut rows);
        guests.note(Role::ToPredict, &mut rows);
        labelled.note(Role::Labelled, &mut rows);
        self.told_as_disk(partition.check(tile, &rows))?;
        let columns = [&home, &guests, &labelled].map(Taken::columns);
        let weight =
            (home.places.len() + guests.places.len()) as f64 + self.recipe.label_weight * labelled.places.len() as f64;
        let contents = TileContents {
            home: TileRows { places: &home.places, columns: &columns[0] },
            guests: TileRows { places: &guests.places, columns: &columns[1] },
            labelled: Some(TileRows { places: &labelled.places, columns: &columns[2] }),
            ranges: &counted.ranges,
            beyond: partition.beyond(weight),
        };
        let smoothed = smooth_tile(&self.smoother, &contents, self.args.certificate, &())?;
        Ok((home.rows, smoothed))
    }

    /// What was read was sound when it was put on the shelves: if it is not what comes back, the disk is to blame.
    pub(super) fn told_as_disk(&self, checked: Result<(), Error>) -> Result<(), Error> {
        checked.map_err(|changed| Error::Io {
            action: "cannot read back what was spilled to",
            path: self.spill_folder(),
            source: std::io::Error::new(std::io::ErrorKind::InvalidData, changed.to_string()),
            hint: "the disk does not give back what was written to it: choose another folder with `spill-dir`",
        })
    }

    /// The rows of a shelf.
    pub(super) fn take(&self, records: Vec<Vec<f64>>) -> Result<Taken, Error> {
        let mut numbers = records.into_iter();
        let (rows, groups) = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
        let mut places = if let Some(columns) = self.index_columns() {
            Places::index(numbers.by_ref().take(columns).collect())?
        } else {
            let (latitude, longitude) = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
            Places::lat_lon(latitude, longitude)?
        };
        if self.inputs.places.group.is_some() {
            places = places.with_groups(groups.into_iter().map(|group| group as u32).collect())?;
        }
        Ok(Taken { rows, places, columns: numbers.collect() })
    }
}

/// Rows that were taken from a shelf.
pub(super) struct Taken {
    pub(super) rows: Vec<f64>,
    pub(super) places: Places,
    columns: Vec<Vec<f64>>,
}

impl Taken {
    pub(super) fn columns(&self) -> Vec<&[f64]> {
        self.columns.iter().map(Vec::as_slice).collect()
    }

    /// Notes what came back from disk, to be compared with what was counted.
    pub(super) fn note(&self, role: Role, rows: &mut Checksums) {
        rows.add(role, &RowHashes::of(&self.places, &self.columns()));
    }
}
