//! Smooths more rows than memory holds: reads them in parts and counts them, then smooths them tile by tile or by their moments. Results go to disk and
//! from there, in the order of the rows, into the output.

use std::path::PathBuf;

mod groups;
mod spilled;
mod tiles;

use self::groups::Work;
use super::results::Results;
use super::{Job, Scores, StreamedRun};
use crate::engine::Progress;
use crate::error::{Error, bytes};
use crate::io::{Budget, Input, free_space};
use crate::job::inputs::Inputs;
use crate::job::options::OnInvalid;
use crate::job::reader::Reader;
use crate::job::table::Table;
use crate::partition::{Census, Checksums, Partition, Role, SmoothingProblem, SourceRows, TileGroup};
use crate::score::ScoreTally;
use crate::smoother::Smoother;
use crate::span::Span;

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

/// A run whose rows memory does not hold together.
pub(super) struct Streamed<'a> {
    pub(super) job: &'a Job<'a>,
    pub(super) smoother: Smoother,
    pub(super) memory: u64,
    /// Where rows and results go that memory does not hold.
    pub(super) folder: PathBuf,
    /// Columns that are added to the rows.
    pub(super) new_columns: usize,
}

/// What is known of all rows after they were counted.
pub(super) struct Counted {
    census: Census,
    problem: SmoothingProblem,
    pub(super) skipped: usize,
    /// Memory for the keys of groups, which stay while rows are read.
    keys: u64,
}

/// How a run is done.
pub(super) enum Strategy {
    /// In tiles, with rows on disk.
    Tiles(Box<Partition>),
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
        let phase = self.job.caller.phase("count");
        phase.start(self.job.inputs.rows() as u64);
        let mut counted = self.nothing();
        counted.keys = self.read(&Role::ALL, &*phase, |table, _, role| counted.add(table, role))?;
        Ok(counted)
    }

    fn nothing(&self) -> Counted {
        let Job { request, recipe, inputs, .. } = self.job;
        let (sigma, truncation) = (recipe.sigma.sigma(), request.kernel.truncation);
        let cells = (self.memory / MEMORY_PER_CELL).min(Census::MOST_CELLS as u64);
        let problem = SmoothingProblem {
            label_weight: recipe.label_weight,
            tolerance: truncation.tolerance().unwrap_or(Smoother::DEFAULT_TOLERANCE),
            cutoff: truncation.cutoff(),
            ranges: vec![(f64::INFINITY, f64::NEG_INFINITY); inputs.predictions.len()],
            n_effective: request.certificate,
        };
        Counted { census: Census::new(sigma, inputs.metric(sigma), cells as usize), problem, skipped: 0, keys: 0 }
    }

    /// Reads the rows of some roles, part by part: what takes part, and the first row of the part. Gives the bytes that the keys of groups take.
    fn read(
        &self,
        roles: &[Role],
        progress: &dyn Progress,
        mut work: impl FnMut(&Table, usize, Role) -> Result<(), Error>,
    ) -> Result<u64, Error> {
        // One reader for all, so that groups have the same numbers.
        let mut reader = self.job.request.data.reader_of(self.job.inputs, self.job.caller);
        for role in roles {
            self.read_role(*role, &mut reader, progress, |table, first_row| work(table, first_row, *role))?;
        }
        Ok(reader.bytes_of_keys())
    }

    /// Reads all rows of some roles again, which must be those that were counted, and were valid then.
    fn read_again(
        &self,
        counted: &Counted,
        roles: &[Role],
        progress: &dyn Progress,
        mut work: impl FnMut(&Table, &SourceRows, usize, Role) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut seen = Checksums::default();
        self.read(roles, progress, |table, first_row, role| {
            let rows = sources(table);
            seen.add(role, &rows);
            self.blaming_the_file(role, work(table, &rows, first_row, role))
        })?;
        let counted = counted.census.checksums();
        roles.iter().try_for_each(|role| self.blaming_the_file(*role, seen.check_role(*role, &counted)))
    }

    /// The same for the rows of one role. Where invalid rows are an error, the first is kept and the others are counted.
    fn read_role(
        &self,
        role: Role,
        reader: &mut Reader,
        progress: &dyn Progress,
        mut work: impl FnMut(&Table, usize) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let Some(input) = self.input(role) else { return Ok(()) };
        let Inputs { predictions, label, .. } = self.job.inputs;
        let columns: Vec<&str> = match role {
            Role::ToPredict => predictions.iter().map(String::as_str).collect(),
            Role::Labelled => label.iter().map(String::as_str).collect(),
        };
        let mut invalid = None;
        for part in self.parts(input) {
            match reader.read(&part, &columns) {
                Ok(table) => match &mut invalid {
                    Some(Error::InvalidRows { count, .. }) => *count += table.skipped(),
                    _ => work(&table, part.first_row())?,
                },
                Err(error @ Error::InvalidRows { .. }) => {
                    invalid = Some(error);
                    reader.on_invalid = OnInvalid::Skip;
                }
                Err(error) => return Err(error),
            }
            // Groups need their keys as long as rows are read.
            self.check_share("the keys of groups, so far,", reader.bytes_of_keys(), SHARE_OF_KEYS)?;
            progress.advance(part.rows() as u64);
        }
        invalid.map_or(Ok(()), Err)
    }

    /// Checks that something keeps to its part of the memory.
    fn check_share(&self, what: &str, need: u64, share: u64) -> Result<(), Error> {
        let limit = self.memory / share;
        if need > limit {
            return Err(Error::Memory { what: what.to_owned(), need, limit });
        }
        Ok(())
    }

    fn input(&self, role: Role) -> Option<&Input> {
        match role {
            Role::ToPredict => Some(&self.job.inputs.test),
            Role::Labelled => self.job.inputs.train.as_ref().filter(|_| self.job.recipe.label_weight > 0.0),
        }
    }

    fn parts<'a>(&'a self, input: &'a Input) -> impl Iterator<Item = Input> + 'a {
        let bytes = BYTES_IN_A_PART + BYTES_OF_A_PREDICTION * self.job.inputs.predictions.len() as u64;
        let rows = (self.memory / SHARE_OF_A_PART / bytes).clamp(1, MOST_IN_A_PART);
        input.parts(rows as usize, || Budget::new(self.memory / 2))
    }

    /// Chooses how to do it: by moments where that is less work, or tiles would have everything in common.
    pub(super) fn choose(&self, counted: &Counted) -> Result<Strategy, Error> {
        let whole = TileGroup::whole(&counted.census, &counted.problem, self.memory / SHARE_OF_NODES);
        match (whole, self.cut(counted)) {
            (Some(whole), Ok(partition)) if whole.multiplications() > partition.work() => {
                Ok(Strategy::Tiles(Box::new(partition)))
            }
            (Some(whole), _) => Ok(Strategy::Moments(Box::new(whole))),
            (None, partition) => Ok(Strategy::Tiles(Box::new(partition?))),
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
                let each = |pass, work: Work| self.each_in_files(counted, pass, work);
                let node_bytes = self.smooth_group(whole, each, &mut results)?;
                Ok((results, StreamedRun::Moments { node_bytes, spilled_bytes }))
            }
        }
    }

    /// Where results go until they are in order.
    fn results(&self) -> Result<Results, Error> {
        let rows = self.job.inputs.test.rows();
        let tolerance = self.job.request.kernel.truncation.tolerance();
        Results::create(&self.folder, rows, self.new_columns, tolerance, self.memory / SHARE_OF_BUFFERS)
    }

    fn bytes_of_results(&self, counted: &Counted) -> u64 {
        8 * (1 + self.new_columns) as u64 * counted.census.rows().0
    }

    fn check_space(&self, need: u64) -> Result<(), Error> {
        match free_space(&self.folder) {
            Some(free) if free < need => {
                let problem = format!("{} are free, rows on disk need about {}", bytes(free), bytes(need));
                Err(Error::Io {
                    action: "cannot spill to",
                    path: self.folder.clone(),
                    source: std::io::Error::new(std::io::ErrorKind::StorageFull, problem),
                    hint: "name a folder on a larger disk with `spill-dir`, or raise `memory-limit`",
                })
            }
            _ => Ok(()),
        }
    }

    /// Names the file whose rows are not those that were counted.
    fn blaming_the_file<T>(&self, role: Role, done: Result<T, Error>) -> Result<T, Error> {
        let Err(Error::Uncounted { .. } | Error::Changed { .. }) = done else { return done };
        let input = self.input(role).unwrap_or(&self.job.inputs.test);
        Err(Error::File {
            subject: input.name().clone(),
            problem: "has other rows than when they were counted".to_owned(),
            hint: "somebody writes to it: run again once nobody does, or on a copy; nothing was written".to_owned(),
        })
    }

    /// Scores before and after, where the rows to predict have the label.
    pub(super) fn scores(&self, results: &Results) -> Result<Vec<Scores>, Error> {
        let Job { inputs, caller, .. } = self.job;
        let label = inputs.label.as_deref().filter(|label| inputs.test.has(label));
        let Some(label) = label else { return Ok(Vec::new()) };
        let mut scores = Vec::new();
        // One column after the other: what is known of many need not be at hand at once.
        for (k, prediction) in inputs.predictions.iter().enumerate() {
            let [mut before, mut after] = <[ScoreTally; 2]>::default();
            for part in self.parts(&inputs.test) {
                let rows = part.first_row()..part.first_row() + part.rows();
                let columns = match part.numbers(&[label, prediction]) {
                    Ok(columns) => columns,
                    Err(error) => {
                        caller.warn(&format!("no scores: {error}"));
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

impl Counted {
    fn add(&mut self, table: &Table, role: Role) -> Result<(), Error> {
        self.skipped += table.skipped();
        self.census.add(role, &sources(table))?;
        // A label is a source of every column.
        for ((low, high), values) in self.problem.ranges.iter_mut().zip(table.columns.iter().cycle()) {
            let found = Span::of(&[values]);
            (*low, *high) = (low.min(found.low), high.max(found.high));
        }
        Ok(())
    }
}
