//! The output: every column of the input as it stands, plus new ones; whole or not at all.
//!
//! Columns that pass through are not decoded: their compressed pages are copied byte for byte with their statistics and
//! indexes. Only the new columns are encoded, and the footer written anew.

use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Write as _};
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use arrow::datatypes::{DataType, Field, Schema};
use parquet::arrow::{ARROW_SCHEMA_META_KEY, encode_arrow_schema};
use parquet::basic::{Compression, Encoding, Repetition, Type as PhysicalType, ZstdLevel};
use parquet::bloom_filter::Sbbf;
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::{DataType as ParquetType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, KeyValue};
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::file::page_index::offset_index::OffsetIndexMetaData;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};

use super::budget::{Budget, Taken};
use super::guard::{BloomFilters, MOST_ROW_GROUPS, check_pages, guarded, ours, size_of_pairs};
use super::input::{Input, ParquetFile};
use super::temporary::TemporaryFile;
use crate::error::Error;

/// A column to add: one value for each row of the input, some perhaps missing.
#[derive(Clone, Debug)]
pub struct NewColumn {
    /// Its name.
    pub name: String,
    /// Its values.
    pub values: Vec<Option<f64>>,
}

/// Gives the values of a new column, by its position among them, at some rows of the input. It is asked column by column
/// in each row group, and there in the order of the rows.
pub(crate) type Values<'a> = dyn Fn(usize, Range<usize>) -> Result<Vec<Option<f64>>, Error> + 'a;

/// Rows to ask for at a time. The writer looks whether a page is full every 1024 rows from where it is asked to write: a
/// multiple of that gives the same pages as all rows at once.
const MOST_ROWS: usize = 1 << 16;

/// A destination that was checked before the work began. The data go to a temporary file beside it, which is [`Complete`] once all are
/// on disk, and takes its name when it is told to.
#[derive(Debug)]
pub struct Output {
    destination: PathBuf,
    temporary: TemporaryFile,
    overwrite: bool,
    /// Memory for copying rows, where it was asked for beforehand.
    copying: Option<Taken>,
}

impl Output {
    /// Checks that the destination can be written, and that it is none of the inputs, given by their paths.
    ///
    /// # Errors
    /// If it exists and may not be overwritten, is an input, or its folder is missing or read-only.
    pub fn create(destination: &Path, overwrite: bool, inputs: &[PathBuf]) -> Result<Self, Error> {
        let problem = |problem: &str, hint: &str| Error::File {
            path: destination.to_owned(),
            problem: problem.to_owned(),
            hint: hint.to_owned(),
        };
        let failed = |source, hint| Error::Io { action: "cannot write to", path: destination.to_owned(), source, hint };
        if destination.as_os_str().as_encoded_bytes().ends_with(b"/") || destination.file_name().is_none() {
            return Err(problem("is a folder", "choose a file name for the output"));
        }
        let folder = destination.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = fs::canonicalize(folder).map_err(|source| failed(source, "its folder must exist"))?;
        let mut resolved = folder.join(destination.file_name().unwrap_or_default());
        match fs::symlink_metadata(&resolved) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error, "choose another name or folder")),
            Ok(found) => {
                if found.is_symlink() {
                    resolved = fs::canonicalize(&resolved)
                        .map_err(|source| failed(source, "it is a link to nowhere: remove it first"))?;
                }
                let existing = fs::metadata(&resolved).map_err(|source| failed(source, "choose another name"))?;
                let same = |path: &PathBuf| {
                    fs::metadata(path).is_ok_and(|input| (input.dev(), input.ino()) == (existing.dev(), existing.ino()))
                };
                if inputs.iter().any(same) {
                    return Err(problem("is both input and output", "write to another file"));
                }
                if !existing.is_file() {
                    return Err(problem("exists and is not a regular file", "choose a file name for the output"));
                }
                if !overwrite {
                    return Err(problem("exists already", "choose another name, or allow it with `overwrite true`"));
                }
            }
        }
        let temporary = TemporaryFile::beside(&resolved).map_err(|error| {
            let hint = "its folder must be writable, the disk not full, and no limit on files reached (ulimit -n)";
            failed(error, hint)
        })?;
        Ok(Self { destination: resolved, temporary, overwrite, copying: None })
    }

    /// Bytes that copying rows will take, as far as it was asked for.
    pub(crate) fn held(&self) -> u64 {
        self.copying.as_ref().map_or(0, Taken::bytes)
    }

    /// Where the result will be, links resolved.
    #[must_use]
    pub fn destination(&self) -> &Path {
        &self.destination
    }

    /// Makes sure before the work that an input can be written with so many new columns, and takes the memory for it.
    ///
    /// # Errors
    /// If the input is more than one file can hold, or the memory limit does not leave what the writer holds.
    pub(crate) fn for_rows_of(mut self, input: &Input, columns: usize) -> Result<Self, Error> {
        let groups = input.files().iter().map(|file| file.parquet().num_row_groups()).sum();
        if groups > MOST_ROW_GROUPS {
            let files = input.files().len();
            return Err(Error::File {
                path: input.path().to_owned(),
                problem: format!(
                    "has {groups} row groups in {files} files, more than the {MOST_ROW_GROUPS} of one output"
                ),
                hint: "write the files again with larger row groups: those of the output are the same".to_owned(),
            });
        }
        let what = || format!("copying {} row groups of {}", groups, input.path().display());
        self.copying = Some(input.budget.take(held_to_copy(input, groups, columns), what)?);
        Ok(self)
    }

    /// Writes the input with the new columns.
    ///
    /// # Errors
    /// If the disk or the input fails, or the input is a table in memory; nothing is left behind then.
    ///
    /// # Panics
    /// If a new column does not have one value for each row.
    pub fn write(self, input: &Input, columns: &[NewColumn]) -> Result<Complete, Error> {
        let rows = input.rows();
        assert!(columns.iter().all(|column| column.values.len() == rows), "one value for each row");
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        self.write_from(input, &names, &|column, rows| Ok(columns[column].values[rows].to_vec()))
    }

    /// Writes the whole input with new columns whose values are asked for as they are written, a few at a time.
    ///
    /// # Errors
    /// If the disk or the input fails, the input is a table in memory, or the values do not come; nothing is left behind
    /// then.
    pub(crate) fn write_from(self, input: &Input, names: &[&str], values: &Values) -> Result<Complete, Error> {
        let first = input.files().first().ok_or_else(|| input.no_file())?;
        let witness = Witness::new(self.temporary.as_file());
        self.copy(input, first, names, values, &witness).map_err(|error| self.blame(error, &witness))?;
        input.check_unchanged()?;
        self.finish()
    }

    /// Every file with its rows of the new columns.
    fn copy(
        &self,
        input: &Input,
        first: &ParquetFile,
        names: &[&str],
        values: &Values,
        witness: &Witness,
    ) -> Result<(), Error> {
        let mut writer = first.guarded(|| {
            let file = BufWriter::with_capacity(1 << 20, witness);
            let properties = Arc::new(properties(input, first, names));
            SerializedFileWriter::new(file, schema_with(first, names)?, properties)
        })?;
        let indexed = has_page_index(input);
        let added = Added { indexed, columns: names.len(), values, budget: &input.budget };
        let mut start = 0;
        for file in input.files() {
            start = file.guarded(|| added.copy_file(file, start, &mut writer))?;
        }
        guarded(&self.destination, || writer.close()).map(drop)
    }

    /// Writes a sparse matrix as rows, columns and weights, in batches.
    ///
    /// # Errors
    /// If the disk fails; nothing is left behind then.
    pub fn write_triplets(
        self,
        batches: impl Iterator<Item = (Vec<i64>, Vec<i64>, Vec<f64>)>,
    ) -> Result<Complete, Error> {
        let witness = Witness::new(self.temporary.as_file());
        let written = guarded(&self.destination, || {
            let integer = |name: &str| primitive(name, PhysicalType::INT64, Repetition::REQUIRED);
            let fields = vec![
                integer("row")?,
                integer("column")?,
                primitive("weight", PhysicalType::DOUBLE, Repetition::REQUIRED)?,
            ];
            let schema = Arc::new(Type::group_type_builder("schema").with_fields(fields).build()?);
            let properties = base_properties().set_column_encoding("row".into(), Encoding::DELTA_BINARY_PACKED);
            let properties = properties.set_column_encoding("column".into(), Encoding::DELTA_BINARY_PACKED).build();
            let file = BufWriter::with_capacity(1 << 20, &witness);
            let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties))?;
            for (rows, columns, weights) in batches {
                let mut group = writer.next_row_group()?;
                add_plain::<Int64Type, _>(&rows, &mut group)?;
                add_plain::<Int64Type, _>(&columns, &mut group)?;
                add_plain::<DoubleType, _>(&weights, &mut group)?;
                group.close()?;
            }
            writer.close()
        });
        written.map_err(|error| self.blame(error, &witness))?;
        self.finish()
    }

    /// Writes bytes as they are.
    ///
    /// # Errors
    /// If the disk fails; nothing is left behind then.
    pub fn write_bytes(self, bytes: &[u8]) -> Result<Complete, Error> {
        self.temporary.as_file().write_all(bytes).map_err(|source| self.failed(source))?;
        self.finish()
    }

    /// A failure while copying may come from either end: the witness knows which.
    fn blame(&self, error: Error, witness: &Witness) -> Error {
        witness.failure().map_or(error, |source| self.failed(source))
    }

    fn failed(&self, source: io::Error) -> Error {
        failed(&self.destination, source)
    }

    fn finish(self) -> Result<Complete, Error> {
        self.temporary.as_file().sync_all().map_err(|source| self.failed(source))?;
        Ok(Complete(self))
    }
}

/// An output that is complete and on disk, and lacks but its name. Dropped without one it goes away.
#[derive(Debug)]
#[must_use]
pub struct Complete(Output);

impl Complete {
    /// Takes its name.
    ///
    /// # Errors
    /// As [`Complete::name_all`].
    pub fn name(self) -> Result<(), Error> {
        Self::name_all(vec![self])
    }

    /// Outputs that belong together take their names, one right after the other, once all of them are complete. Each has the permissions of
    /// the file that it replaces, or those of any new file.
    ///
    /// # Errors
    /// If a file that may not be overwritten appeared meanwhile, before any has its name; or if the disk fails.
    pub fn name_all(outputs: Vec<Self>) -> Result<(), Error> {
        let destinations: Vec<PathBuf> = outputs.iter().map(|Self(output)| output.destination.clone()).collect();
        let files = outputs.into_iter().zip(&destinations);
        let files =
            files.map(|(Self(output), destination)| (output.temporary, destination.as_path(), output.overwrite));
        let named = TemporaryFile::persist_all(files.collect());
        let named = named.map_err(|(at, source)| failed(&destinations[at], source))?;
        let folder_of = |destination: &PathBuf| destination.parent().map(Path::to_owned);
        let mut synced = None;
        for (destination, file) in destinations.iter().zip(&named) {
            let folder = folder_of(destination);
            if synced != folder {
                sync_names(folder.as_deref().unwrap_or(Path::new(".")), file).map_err(|source| Error::Io {
                    action: "cannot make the disk keep",
                    path: destination.clone(),
                    source,
                    hint: "the file is complete and has its name, but may lose it if the power fails: is the disk sound?",
                })?;
                synced = folder;
            }
        }
        Ok(())
    }
}

/// Makes the disk keep the names in a folder.
fn sync_names(folder: &Path, file: &File) -> io::Result<()> {
    // A folder that may be written to but not listed cannot be opened, and some file systems sync none.
    File::open(folder).and_then(|folder| folder.sync_all()).or_else(|_| sync_disk(file))
}

/// Makes the disk of a file keep everything.
#[cfg(target_os = "linux")]
fn sync_disk(file: &File) -> io::Result<()> {
    Ok(rustix::fs::syncfs(file)?)
}

/// The names are left to the system where it has no such call.
#[cfg(not(target_os = "linux"))]
fn sync_disk(_: &File) -> io::Result<()> {
    Ok(())
}

fn failed(destination: &Path, source: io::Error) -> Error {
    let hint = way_out(source.kind());
    Error::Io { action: "cannot write", path: destination.to_owned(), source, hint }
}

/// What to do where a disk refuses what is written.
pub(super) fn way_out(refusal: ErrorKind) -> &'static str {
    match refusal {
        ErrorKind::StorageFull => "the disk is full: make room, or choose another folder",
        ErrorKind::QuotaExceeded => "your share of the disk is used up: make room, or choose another folder",
        ErrorKind::FileTooLarge => "there is a limit on the size of files: see ulimit -f, or choose another disk",
        ErrorKind::AlreadyExists => {
            "another run may have written it meanwhile: choose another name, or allow it with `overwrite true`"
        }
        _ => "is the disk still there, and its folder writable?",
    }
}

/// A file that remembers how writing to it failed.
struct Witness<'a> {
    file: &'a File,
    failure: Mutex<Option<io::Error>>,
}

impl<'a> Witness<'a> {
    fn new(file: &'a File) -> Self {
        Self { file, failure: Mutex::new(None) }
    }

    fn failure(&self) -> Option<io::Error> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// What others are told is a copy: an error cannot be in two places.
    fn remember(&self, error: io::Error) -> io::Error {
        let copy = error.kind().into();
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        copy
    }
}

impl io::Write for &Witness<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        { self.file }.write(bytes).map_err(|error| match error.kind() {
            ErrorKind::Interrupted => error,
            _ => self.remember(error),
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        { self.file }.flush()
    }
}

fn primitive(name: &str, physical: PhysicalType, repetition: Repetition) -> Result<TypePtr, ParquetError> {
    Ok(Arc::new(Type::primitive_type_builder(name, physical).with_repetition(repetition).build()?))
}

/// The schema of the input with the new columns after it.
fn schema_with(file: &ParquetFile, names: &[&str]) -> Result<TypePtr, ParquetError> {
    let root = file.parquet().file_metadata().schema();
    let mut fields = root.get_fields().to_vec();
    for name in names {
        fields.push(primitive(name, PhysicalType::DOUBLE, Repetition::OPTIONAL)?);
    }
    Ok(Arc::new(Type::group_type_builder(root.name()).with_fields(fields).build()?))
}

fn base_properties() -> parquet::file::properties::WriterPropertiesBuilder {
    WriterProperties::builder()
        .set_created_by(concat!("geosmooth ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_writer_version(WriterVersion::PARQUET_1_0)
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_dictionary_enabled(false)
}

/// Whether every column chunk of every file has a page index; the writer can only keep all of them or none.
fn has_page_index(input: &Input) -> bool {
    input.files().iter().all(|file| {
        let index = file.parquet().offset_index();
        let complete = |group: usize| {
            index
                .and_then(|index| index.get(group))
                .is_some_and(|row| row.len() == file.parquet().row_group(group).num_columns())
        };
        (0..file.parquet().num_row_groups()).all(complete)
    })
}

/// Key-value metadata pass through; the Arrow schema among them, if there is one, learns of the new columns.
fn properties(input: &Input, first: &ParquetFile, names: &[&str]) -> WriterProperties {
    let extended = || {
        let mut fields: Vec<_> = input.schema().fields().iter().cloned().collect();
        fields.extend(names.iter().map(|name| Arc::new(Field::new(*name, DataType::Float64, true))));
        encode_arrow_schema(&Schema::new_with_metadata(fields, input.schema().metadata().clone()))
    };
    let known = |pair: KeyValue| match pair.key.as_str() {
        ARROW_SCHEMA_META_KEY => KeyValue::new(pair.key, extended()),
        _ => pair,
    };
    let (statistics, no_index) =
        if has_page_index(input) { (EnabledStatistics::Page, false) } else { (EnabledStatistics::Chunk, true) };
    base_properties()
        .set_key_value_metadata((!first.pairs.is_empty()).then(|| first.pairs.iter().cloned().map(known).collect()))
        .set_statistics_enabled(statistics)
        .set_offset_index_disabled(no_index)
        .build()
}

/// Bytes of an index of the pages of a new column, and of its statistics.
const BYTES_PER_NEW_CHUNK: usize = 512;

/// Bytes that the writer holds until it is closed: metadata and page indexes of every column of every row group, the pairs of
/// keys and values twice, and the Arrow schema twice and while it is made.
fn held_to_copy(input: &Input, groups: usize, columns: usize) -> u64 {
    let indexes = size_of::<(Option<Sbbf>, Option<ColumnIndexMetaData>, Option<OffsetIndexMetaData>)>();
    let chunk = size_of::<ColumnChunkMetaData>();
    let one = |file: &ParquetFile| {
        let metadata = file.parquet();
        let columns_there = metadata.num_row_groups() * metadata.file_metadata().schema_descr().num_columns();
        metadata.memory_size() + columns_there * indexes
    };
    let there: usize = input.files().iter().map(one).sum();
    let added = groups * columns * (chunk + indexes + BYTES_PER_NEW_CHUNK);
    let texts = |first: &ParquetFile| {
        let schema = first.parquet().file_metadata().key_value_metadata().into_iter().flatten();
        2 * size_of_pairs(&first.pairs) + 6 * size_of_pairs(schema)
    };
    (there + added) as u64 + input.files().first().map_or(0, texts)
}

/// What the output has beside the columns of the input.
struct Added<'a> {
    /// Whether page indexes are kept.
    indexed: bool,
    /// How many columns are new.
    columns: usize,
    values: &'a Values<'a>,
    /// Memory for what is copied.
    budget: &'a Budget,
}

impl Added<'_> {
    /// Copies all row groups of a file and adds the new columns to each; gives the row after the last.
    fn copy_file<W: std::io::Write + Send>(
        &self,
        file: &ParquetFile,
        mut start: usize,
        writer: &mut SerializedFileWriter<W>,
    ) -> Result<usize, ParquetError> {
        let mut filters = BloomFilters::new(&file.reader, self.budget);
        for group in 0..file.parquet().num_row_groups() {
            let mut out = writer.next_row_group()?;
            // The writer holds the filters until the row group is closed.
            let _filters = copy_columns(file, group, self.indexed, &mut filters, &mut out)?;
            let end = start + usize::try_from(file.parquet().row_group(group).num_rows()).unwrap_or(0);
            for column in 0..self.columns {
                self.add_column(column, start..end, &mut out)?;
            }
            out.close()?;
            start = end;
        }
        Ok(start)
    }

    /// Encodes the next column of a row group, as its values come.
    fn add_column<W: std::io::Write + Send>(
        &self,
        column: usize,
        rows: Range<usize>,
        out: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<(), ParquetError> {
        let mut writer = next_column(out)?;
        for start in rows.clone().step_by(MOST_ROWS) {
            let asked = start..rows.end.min(start + MOST_ROWS);
            let values = (self.values)(column, asked.clone()).map_err(ours)?;
            assert_eq!(values.len(), asked.len(), "one value for each row");
            let present: Vec<f64> = values.iter().copied().flatten().collect();
            let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
            writer.typed::<DoubleType>().write_batch(&present, Some(&levels), None)?;
        }
        writer.close()
    }
}

/// Copies the columns of a row group; gives the memory of the filters among them.
fn copy_columns<W: std::io::Write + Send>(
    file: &ParquetFile,
    group: usize,
    indexed: bool,
    filters: &mut BloomFilters,
    out: &mut SerializedRowGroupWriter<'_, W>,
) -> Result<Vec<Taken>, ParquetError> {
    let metadata = file.parquet();
    let row_group = metadata.row_group(group);
    let mut held = Vec::new();
    for (at, chunk) in row_group.columns().iter().enumerate() {
        check_pages(file, group, at)?;
        let (bloom_filter, taken) = filters.read(chunk).unzip();
        held.extend(taken);
        let copied = ColumnCloseResult {
            bytes_written: u64::try_from(chunk.compressed_size()).unwrap_or(0),
            rows_written: u64::try_from(row_group.num_rows()).unwrap_or(0),
            metadata: chunk.clone(),
            bloom_filter,
            column_index: metadata
                .column_index()
                .filter(|_| indexed)
                .and_then(|index| index.get(group)?.get(at))
                .cloned(),
            offset_index: metadata
                .offset_index()
                .filter(|_| indexed)
                .and_then(|index| index.get(group)?.get(at))
                .cloned(),
        };
        out.append_column(&file.reader, copied)?;
    }
    Ok(held)
}

/// Encodes the next column of a row group, of which no value is missing.
fn add_plain<T: ParquetType, W: std::io::Write + Send>(
    values: &[T::T],
    out: &mut SerializedRowGroupWriter<'_, W>,
) -> Result<(), ParquetError> {
    let mut column = next_column(out)?;
    column.typed::<T>().write_batch(values, None, None)?;
    column.close()
}

fn next_column<'a, W: std::io::Write + Send>(
    out: &'a mut SerializedRowGroupWriter<'_, W>,
) -> Result<SerializedColumnWriter<'a>, ParquetError> {
    out.next_column()?.ok_or_else(|| ParquetError::General("a column too many".to_owned()))
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::io::fixture::{self, Layout};
    use crate::io::{Budget, TemporaryFolder};

    const ROWS: usize = 2 * MOST_ROWS + 1001;

    /// Two files of long row groups, and a folder for the output.
    fn input() -> (Input, [TemporaryFolder; 2]) {
        let folders = [TemporaryFolder::new().unwrap(), TemporaryFolder::new().unwrap()];
        let layout = Layout {
            rows_in_group: MOST_ROWS + 777,
            rows_in_page: 20_000,
            version: WriterVersion::PARQUET_1_0,
            has_dictionary: true,
        };
        (fixture::input(&folders[0], &[100, ROWS], layout), folders)
    }

    fn paths(input: &Input) -> Vec<PathBuf> {
        input.paths().map(Path::to_owned).collect()
    }

    fn value(column: usize, row: usize) -> Option<f64> {
        (row % 5 != column).then(|| (row as f64).sqrt())
    }

    #[test]
    fn values_are_asked_for_in_order_and_few_at_a_time() {
        let (input, folders) = input();
        let path = folders[1].path().join("out.parquet");
        let asked = RefCell::new([0; 2]);
        let values = |column: usize, rows: Range<usize>| {
            let next = &mut asked.borrow_mut()[column];
            assert!(rows.start == *next && !rows.is_empty() && rows.len() <= MOST_ROWS, "{rows:?}");
            *next = rows.end;
            Ok(rows.map(|row| value(column, row)).collect())
        };
        let output = Output::create(&path, false, &paths(&input)).unwrap();
        output.write_from(&input, &["a", "b"], &values).unwrap().name().unwrap();
        assert_eq!(asked.into_inner(), [ROWS; 2]);
        let written = Input::open(&path, &Budget::unlimited()).unwrap();
        for (column, read) in written.numbers(&["a", "b"]).unwrap().iter().enumerate() {
            let is_same =
                |(row, found): (usize, &f64)| value(column, row).unwrap_or(f64::NAN).to_bits() == found.to_bits();
            assert!(read.values.len() == ROWS && read.values.iter().enumerate().all(is_same), "{}", read.name);
        }
    }

    #[test]
    fn an_error_of_the_values_comes_out_as_it_is_and_leaves_nothing() {
        let (input, folders) = input();
        let output = Output::create(&folders[1].path().join("out.parquet"), false, &paths(&input)).unwrap();
        let lost = |column: usize, rows: Range<usize>| match rows.start {
            0 => Ok(rows.map(|row| value(column, row)).collect()),
            row => Err(Error::Value { what: "prediction", value: f64::NAN, row }),
        };
        let error = output.write_from(&input, &["a"], &lost).unwrap_err();
        assert!(matches!(error, Error::Value { what: "prediction", row: 100, .. }), "{error}");
        assert_eq!(fs::read_dir(folders[1].path()).unwrap().count(), 0);
    }
}
