//! Smooths more rows than memory holds: reads them in parts and counts them, then smooths them tile by tile or by their moments. Results go to disk and
//! from there, in the order of the rows, into the output.

use std::path::PathBuf;

use serde::Serialize;

mod groups;
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
use crate::partition::{Census, Checksums, Partition, Role, SmoothingProblem, SourceRows, TileGroup};
use crate::points::Places;
use crate::report::number;
use crate::score::ScoreTally;
use crate::smoother::Smoother;

/// Below this nothing is tried: buffers and counts alone take as much.
pub(super) const LEAST_MEMORY: u64 = 64 << 20;

// How memory is shared out was chosen, not measured piece by piece. `tests/interop/test_streamed.py` holds runs to the limit, and
// `benches/results/2026-11-18-memory-epyc-avx512.md` has their peaks.

/// Part of the memory for rows while they are read.
const SHARE_OF_A_PART: u64 = 8;
/// Part of the memory for what is about to go to disk.
const SHARE_OF_BUFFERS: u64 = 16;
/// Part of the memory that the keys of groups may take.
const SHARE_OF_KEYS: u64 = 3;
/// Part of the memory for nodes of lattices. The rest is for rows while they are read.
const SHARE_OF_NODES: u64 = 2;
/// Bytes of a row while it is read, spilled or smoothed: a few columns, some of them twice.
const BYTES_IN_A_PART: u64 = 240;
/// Bytes of it for each prediction.
const BYTES_OF_A_PREDICTION: u64 = 16;
/// Memory for each cell that rows are counted in. Planning from them takes some five hundred bytes for each, beside all else.
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
        /// Number of tiles.
        tiles: usize,
        /// Groups of tiles that were smoothed by their moments.
        tile_groups: usize,
        /// Rows in all tiles, guests among them, relative to the rows that there are.
        copies: f64,
        /// Bytes on disk.
        spilled_bytes: u64,
    },
    /// By the moments of all rows, in two passes.
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
            Self::Tiles { tiles, tile_groups, copies, spilled_bytes } => {
                let by_moments = match tile_groups {
                    0 => String::new(),
                    1 => ", a tile group by its moments".to_owned(),
                    _ => format!(", {} tile groups by their moments", number(tile_groups)),
                };
                format!(
                    "{} in {} tiles, {copies:.2} copies of each row{by_moments}",
                    bytes(spilled_bytes),
                    number(tiles)
                )
            }
            Self::Moments { node_bytes, spilled_bytes } => {
                format!("{} of results; nodes took {}", bytes(spilled_bytes), bytes(node_bytes))
            }
        }
    }
}

/// How a run is done.
pub(super) enum Strategy {
    /// In tiles, with rows on disk.
    Tiles(Partition),
    /// As one tile group of all rows, which stay in the input files.
    Moments(Box<TileGroup>),
}

impl Strategy {
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
        for role in Role::ALL {
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
    pub(super) fn choose(&self, counted: &Counted) -> Result<Strategy, Error> {
        let whole = TileGroup::whole(&counted.census, &self.problem(counted), self.memory / SHARE_OF_NODES);
        match (whole, self.cut(counted)) {
            (Some(whole), Ok(partition)) if whole.multiplications() > partition.work() => {
                Ok(Strategy::Tiles(partition))
            }
            (Some(whole), _) => Ok(Strategy::Moments(Box::new(whole))),
            (None, partition) => partition.map(Strategy::Tiles),
        }
    }

    fn problem(&self, counted: &Counted) -> SmoothingProblem {
        let truncation = self.args.kernel.truncation;
        SmoothingProblem {
            label_weight: self.recipe.label_weight,
            tolerance: truncation.tolerance().unwrap_or(Smoother::DEFAULT_TOLERANCE),
            cutoff: truncation.cutoff(),
            ranges: counted.ranges.clone(),
            n_effective: self.args.certificate,
        }
    }

    /// Smooths all rows.
    pub(super) fn smooth(&self, counted: &Counted, strategy: &Strategy) -> Result<(Results, StreamedRun), Error> {
        match strategy {
            Strategy::Tiles(partition) => self.smooth_tiles(counted, partition),
            Strategy::Moments(whole) => {
                let spilled_bytes = self.bytes_of_results(counted);
                self.check_space(spilled_bytes)?;
                let mut results = self.results()?;
                let node_bytes =
                    self.smooth_group(whole, |pass, work| self.each_in_files(counted, pass, work), &mut results)?;
                Ok((results, StreamedRun::Moments { node_bytes, spilled_bytes }))
            }
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
                seen.add(*role, &sources(table));
                self.told_as_file(*role, work(table, first, *role))
            };
            self.each_part(*role, &mut reader, &mut invalid, progress, work)?;
            // The file was written to meanwhile.
            invalid.take().map_or(Ok(()), Err)?;
            self.told_as_file(*role, seen.check_role(*role, &counted.census.checksums()))?;
        }
        Ok(())
    }

    /// Where results go until they are in order.
    fn results(&self) -> Result<Results, Error> {
        let rows = self.inputs.test.rows();
        let tolerance = self.args.kernel.truncation.tolerance();
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

    /// Names the file whose rows are not those that were counted.
    fn told_as_file<T>(&self, role: Role, done: Result<T, Error>) -> Result<T, Error> {
        let Err(Error::Uncounted { .. } | Error::Changed { .. }) = done else { return done };
        let input = self.input(role).unwrap_or(&self.inputs.test);
        Err(Error::File {
            subject: input.name().clone(),
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
            let [mut before, mut after] = <[ScoreTally; 2]>::default();
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

/// The rows of a table as sources.
fn sources(table: &Table) -> SourceRows<'_> {
    SourceRows::new(&table.places, &columns_of(&table.columns))
}

fn columns_of(columns: &[Vec<f64>]) -> Vec<&[f64]> {
    columns.iter().map(Vec::as_slice).collect()
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
        self.census.add(role, &sources(table))?;
        let found: Vec<(f64, f64)> = table.columns.iter().map(|column| range(column)).collect();
        for (k, (low, high)) in self.ranges.iter_mut().enumerate() {
            // Labels are sources of every column.
            let (lowest, highest) = found[if role == Role::Labelled { 0 } else { k }];
            (*low, *high) = (low.min(lowest), high.max(highest));
        }
        Ok(())
    }
}

/// The lowest and the highest of some values.
fn range(values: &[f64]) -> (f64, f64) {
    values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (x.min(low), x.max(high)))
}
