//! More rows than memory holds: they are read in parts and counted, then smoothed tile by tile or by what they add up to. What comes out goes to disk and
//! from there, in the order of the rows, into the output.

use std::path::PathBuf;

use serde::Serialize;

mod crowds;
mod moments;
mod tiles;

use super::results::Results;
use super::{Scores, Smooth};
use crate::engine::Progress;
use crate::error::{Error, bytes};
use crate::io::{Budget, Input, Spill, free_space};
use crate::job::caller::Caller;
use crate::job::inputs::Inputs;
use crate::job::options::OnInvalid;
use crate::job::reader::Reader;
use crate::job::recipe::Recipe;
use crate::job::table::Table;
use crate::partition::{Blueprint, Census, Checksums, Partition, Role, RowHashes};
use crate::points::Places;
use crate::report::number;
use crate::score::Tally;
use crate::smoother::Smoother;

/// Below this there is no point: buffers and counts alone take as much.
pub(super) const LEAST_MEMORY: u64 = 64 << 20;

/// Part of the memory for rows while they are read, and for what is about to go to disk.
const SHARE_OF_A_PART: u64 = 8;
const SHARE_OF_BUFFERS: u64 = 16;
/// Part of the memory that the keys of groups may take.
const SHARE_OF_KEYS: u64 = 3;
/// Bytes of a row while it is read, laid on shelves or given back: a few columns, some of them twice; and for each prediction.
const BYTES_IN_A_PART: u64 = 240;
const BYTES_OF_A_PREDICTION: u64 = 16;
/// Memory for each cell that rows are counted in: what is worked out from them takes some five hundred bytes for each, beside all else.
const MEMORY_PER_CELL: u64 = 1 << 11;
/// Rows that are read at a time, whatever the memory.
const MOST_IN_A_PART: u64 = 1 << 20;

/// A run that does not fit.
pub(super) struct Streamed<'a> {
    pub(super) args: &'a Smooth,
    pub(super) recipe: &'a Recipe,
    pub(super) inputs: &'a Inputs,
    pub(super) smoother: Smoother,
    pub(super) c: f64,
    pub(super) memory: u64,
    pub(super) caller: &'a Caller<'a>,
}

/// What is known of all rows after they were counted.
pub(super) struct Counted {
    census: Census,
    /// Lowest and highest value of each column, labels among them.
    ranges: Vec<(f64, f64)>,
    pub(super) skipped: usize,
    /// Memory for the keys of groups, which stay while rows are read.
    keys: u64,
}

/// How a streamed run went.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(tag = "by", rename_all = "lowercase")]
pub enum StreamedRun {
    /// Tile by tile.
    Tiles {
        /// How many tiles.
        tiles: usize,
        /// Sets of tiles that were smoothed by their moments.
        crowds: usize,
        /// Rows in all tiles, guests among them, relative to the rows that there are.
        copies: f64,
        /// Bytes on disk.
        spilled_bytes: u64,
    },
    /// In two passes.
    Moments {
        /// Bytes of the nodes between the passes.
        node_bytes: u64,
        /// Bytes on disk.
        spilled_bytes: u64,
    },
}

impl StreamedRun {
    pub(super) fn for_people(self) -> String {
        match self {
            Self::Tiles { tiles, crowds, copies, spilled_bytes } => {
                let crowded = match crowds {
                    0 => String::new(),
                    1 => ", a crowd by its moments".to_owned(),
                    _ => format!(", {} crowds by their moments", number(crowds)),
                };
                format!("{} in {} tiles, {copies:.2} copies of each row{crowded}", bytes(spilled_bytes), number(tiles))
            }
            Self::Moments { node_bytes, spilled_bytes } => {
                format!("{} of results; nodes took {}", bytes(spilled_bytes), bytes(node_bytes))
            }
        }
    }
}

/// How a run is done.
pub(super) enum Way {
    Tiles(Partition),
    Moments(Box<Blueprint>),
}

impl Way {
    /// Why this engine, in a phrase.
    pub(super) fn reason(&self) -> &'static str {
        match self {
            Self::Tiles(_) => "more rows than memory holds, tile by tile",
            Self::Moments(_) => "more rows than memory holds, by their moments",
        }
    }
}

impl Streamed<'_> {
    /// Counts all rows.
    pub(super) fn count(&self) -> Result<Counted, Error> {
        let phase = self.caller.phase("count");
        phase.start(self.inputs.rows() as u64);
        let mut counted: Option<Counted> = None;
        let mut invalid: Option<Error> = None;
        // One reader for both, so that groups have the same numbers.
        let mut reader = self.args.data.reader_of(self.inputs, self.caller);
        for role in [Role::ToPredict, Role::Labelled] {
            self.each_part(role, &mut reader, &mut invalid, &*phase, |table, _| {
                let counted = match &mut counted {
                    Some(counted) => counted,
                    none => none.insert(self.nothing(&table.places)?),
                };
                counted.add(table, role)
            })?;
        }
        let keys = reader.bytes_of_keys();
        match (invalid, counted) {
            (Some(error), _) => Err(error),
            (None, Some(counted)) => Ok(Counted { keys, ..counted }),
            // Without a single row there is nothing that would not fit.
            (None, None) => Err(self.too_small()),
        }
    }

    fn nothing(&self, places: &Places) -> Result<Counted, Error> {
        let sigma = self.recipe.sigma.sigma();
        let cells = (self.memory / MEMORY_PER_CELL).min(Census::MOST_CELLS as u64);
        let census = Census::new(sigma, places.metric(sigma)?, cells as usize);
        let ranges = vec![(f64::INFINITY, f64::NEG_INFINITY); self.inputs.predictions.len()];
        Ok(Counted { census, ranges, skipped: 0, keys: 0 })
    }

    fn too_small(&self) -> Error {
        Error::Memory { what: "smoothing in tiles".to_owned(), need: LEAST_MEMORY, limit: self.memory }
    }

    /// Reads the rows of one role, part by part: what takes part, and the first row of the part. Where invalid rows are an error, the first
    /// is kept and the others are counted.
    fn each_part(
        &self,
        role: Role,
        reader: &mut Reader,
        invalid: &mut Option<Error>,
        progress: &dyn Progress,
        mut work: impl FnMut(&Table, usize) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let Some(input) = self.input(role) else { return Ok(()) };
        let label: Vec<String> = self.inputs.label.iter().cloned().collect();
        let columns = if role == Role::ToPredict { &self.inputs.predictions } else { &label };
        let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
        for part in self.parts(input) {
            match reader.read(&part, &columns) {
                Ok(table) if invalid.is_none() => work(&table, part.first_row())?,
                Ok(table) => count_more(invalid, table.skipped()),
                Err(error @ Error::InvalidRows { .. }) => {
                    *invalid = Some(error);
                    reader.on_invalid = OnInvalid::Skip;
                }
                Err(error) => return Err(error),
            }
            self.check_keys(reader)?;
            progress.advance(part.rows() as u64);
        }
        Ok(())
    }

    /// Groups need their keys as long as rows are read.
    fn check_keys(&self, reader: &Reader) -> Result<(), Error> {
        let (need, limit) = (reader.bytes_of_keys(), self.memory / SHARE_OF_KEYS);
        if need > limit {
            return Err(Error::Memory { what: "the keys of groups, so far,".to_owned(), need, limit });
        }
        Ok(())
    }

    fn input(&self, role: Role) -> Option<&Input> {
        match role {
            Role::ToPredict => Some(&self.inputs.test),
            Role::Labelled => self.inputs.train.as_ref().filter(|_| self.recipe.label_weight > 0.0),
        }
    }

    fn parts<'a>(&'a self, input: &'a Input) -> impl Iterator<Item = Input> + 'a {
        let bytes = BYTES_IN_A_PART + BYTES_OF_A_PREDICTION * self.inputs.predictions.len() as u64;
        let rows = (self.memory / SHARE_OF_A_PART / bytes).clamp(1, MOST_IN_A_PART);
        input.parts(rows as usize, || Budget::new(self.memory / 2))
    }

    /// Chooses how to do it: by moments where that is less work, or tiles would have everything in common.
    pub(super) fn choose(&self, counted: &Counted) -> Result<Way, Error> {
        match (self.blueprint(counted)?, self.cut(counted)) {
            (Some(blueprint), Ok(partition)) if blueprint.multiplications() > partition.work() => {
                Ok(Way::Tiles(partition))
            }
            (Some(blueprint), _) => Ok(Way::Moments(Box::new(blueprint))),
            (None, partition) => partition.map(Way::Tiles),
        }
    }

    /// Smooths all rows.
    pub(super) fn smooth(&self, counted: &Counted, way: &Way) -> Result<(Results, StreamedRun), Error> {
        match way {
            Way::Tiles(partition) => self.smooth_tiles(counted, partition),
            Way::Moments(blueprint) => self.smooth_by_moments(counted, blueprint),
        }
    }

    /// Reads all rows of some roles again, which must be those that were counted, and were valid then.
    fn each_row(
        &self,
        counted: &Counted,
        progress: &dyn Progress,
        roles: &[Role],
        mut work: impl FnMut(&Table, usize, Role) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let (mut reader, mut invalid) = (self.args.data.reader_of(self.inputs, self.caller), None);
        for role in roles {
            let mut seen = Checksums::default();
            let work = |table: &Table, first: usize| {
                seen.add(*role, &hashes(table));
                self.told_as_file(*role, work(table, first, *role))
            };
            self.each_part(*role, &mut reader, &mut invalid, progress, work)?;
            // Somebody writes to the file.
            invalid.take().map_or(Ok(()), Err)?;
            self.told_as_file(*role, seen.check_role(*role, &counted.census.checksums()))?;
        }
        Ok(())
    }

    /// Where results go until they are in order.
    fn results(&self) -> Result<Results, Error> {
        let rows = self.inputs.test.rows();
        let tolerance = self.args.kernel.accuracy.tolerance();
        Results::create(&self.spill_folder(), rows, self.new_columns(), tolerance, self.memory / SHARE_OF_BUFFERS)
    }

    /// Smoothed values and, if wanted, bounds and effective sources.
    fn new_columns(&self) -> usize {
        let columns = self.inputs.predictions.len();
        if self.args.certificate { 2 * columns + 1 } else { columns }
    }

    fn bytes_of_results(&self, counted: &Counted) -> u64 {
        8 * (1 + self.new_columns()) as u64 * counted.census.rows().0
    }

    fn spill_folder(&self) -> PathBuf {
        self.args.spill_dir.clone().unwrap_or_else(std::env::temp_dir)
    }

    /// Finds out before the work whether something can be spilled there.
    pub(super) fn check_folder(&self) -> Result<(), Error> {
        Spill::create(&self.spill_folder(), 0, 1, 0).map(drop)
    }

    fn check_space(&self, need: u64) -> Result<(), Error> {
        let folder = self.spill_folder();
        match free_space(&folder) {
            Some(free) if free < need => {
                let problem = format!("{} are free, rows on disk need about {}", bytes(free), bytes(need));
                Err(Error::Io {
                    action: "cannot spill to",
                    path: folder,
                    source: std::io::Error::new(std::io::ErrorKind::StorageFull, problem),
                    hint: "name a folder on a larger disk with `spill-dir`, or raise `memory-limit`",
                })
            }
            _ => Ok(()),
        }
    }

    /// Says of which file rows are not those that were counted, though the system tells of no change.
    fn told_as_file<T>(&self, role: Role, done: Result<T, Error>) -> Result<T, Error> {
        let Err(Error::Uncounted { .. } | Error::Changed { .. }) = done else { return done };
        let input = self.input(role).unwrap_or(&self.inputs.test);
        Err(Error::File {
            path: input.path().to_owned(),
            problem: "has other rows than when they were counted".to_owned(),
            hint: "somebody writes to it: run again once nobody does, or on a copy; nothing was written".to_owned(),
        })
    }

    /// Scores before and after, where the rows to predict have the label.
    pub(super) fn scores(&self, results: &Results) -> Result<Vec<Scores>, Error> {
        let label = self.inputs.label.as_deref().filter(|label| self.inputs.test.has(label));
        let Some(label) = label else { return Ok(Vec::new()) };
        let mut scores = Vec::new();
        // One column after the other: what is known of many need not be at hand at once.
        for (k, prediction) in self.inputs.predictions.iter().enumerate() {
            let [mut before, mut after] = <[Tally; 2]>::default();
            for part in self.parts(&self.inputs.test) {
                let rows = part.first_row()..part.first_row() + part.rows();
                let columns = match part.numbers(&[label, prediction]) {
                    Ok(columns) => columns,
                    Err(error) => {
                        self.caller.warn(&format!("no scores: {error}"));
                        return Ok(Vec::new());
                    }
                };
                let known = columns[0].values.iter().zip(&columns[1].values).zip(results.values(k, rows)?);
                for ((label, value), smoothed) in known.filter(|((label, _), _)| label.is_finite()) {
                    if let Some(smoothed) = smoothed {
                        before.add(*value, *label);
                        after.add(smoothed, *label);
                    }
                }
            }
            let both = before.score().zip(after.score());
            scores.extend(both.map(|(before, after)| Scores { prediction: prediction.clone(), before, after }));
        }
        Ok(scores)
    }
}

/// What rows are checked by.
fn hashes(table: &Table) -> RowHashes<'_> {
    let columns: Vec<&[f64]> = table.columns.iter().map(Vec::as_slice).collect();
    RowHashes::of(&table.places, &columns)
}

/// Adds so many rows to those that an error counts.
fn count_more(invalid: &mut Option<Error>, rows: usize) {
    if let Some(Error::InvalidRows { count, .. }) = invalid {
        *count += rows;
    }
}

impl Counted {
    fn add(&mut self, table: &Table, role: Role) -> Result<(), Error> {
        self.skipped += table.skipped();
        self.census.add_hashed(&table.places, role, &hashes(table))?;
        let range = |column: &Vec<f64>| {
            column.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (x.min(low), x.max(high)))
        };
        let found: Vec<(f64, f64)> = table.columns.iter().map(range).collect();
        for (k, (low, high)) in self.ranges.iter_mut().enumerate() {
            // Labels are sources of every column.
            let (lowest, highest) = found[if role == Role::Labelled { 0 } else { k }];
            (*low, *high) = (low.min(lowest), high.max(highest));
        }
        Ok(())
    }
}
