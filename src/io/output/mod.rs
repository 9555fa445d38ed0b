//! Writes the output: every column of the input unchanged, plus new columns. The file is complete or not there at all.
//!
//! Columns of the input are not decoded: their compressed pages are copied byte for byte with their statistics and indexes.
//! Only the new columns are encoded, and the footer is written anew.

mod complete;
mod copy;
mod destination;
mod witness;

use std::io::{self, BufWriter, Write as _};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::{Compression, Encoding, Repetition, Type as PhysicalType, ZstdLevel};
use parquet::data_type::{DataType as ParquetType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder, WriterVersion};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};

pub use self::complete::Complete;
use self::copy::{Added, has_page_index, held_to_copy, properties, schema_with};
pub(super) use self::witness::way_out;
use self::witness::{Witness, failed};
use super::budget::Reservation;
use super::guard::ParquetFile;
use super::guard::{MOST_ROW_GROUPS, guarded};
use super::input::Input;
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

/// Returns the values of a new column, given by its position, at some rows of the input. The writer calls it column by column
/// in each row group, and there in the order of the rows.
pub(crate) type Values<'a> = dyn Fn(usize, Range<usize>) -> Result<Vec<Option<f64>>, Error> + 'a;

/// Bytes that are collected before they are written to the file. Chosen, not measured.
const BUFFER: usize = 1 << 20;

/// A destination, checked before the work begins. Data go to a temporary file beside it. Once all are on disk, the output is
/// [`Complete`] and can be given its final name.
#[derive(Debug)]
pub struct Output {
    destination: PathBuf,
    temporary: TemporaryFile,
    overwrite: bool,
    /// Memory for copying columns, if it was reserved.
    copying: Option<Reservation>,
}

impl Output {
    /// Checks that the destination can be written and is none of the inputs, which are given by their paths.
    ///
    /// # Errors
    /// If it exists and may not be overwritten, is an input, or its folder is missing or read-only.
    pub fn create(destination: &Path, overwrite: bool, inputs: &[PathBuf]) -> Result<Self, Error> {
        let resolved = destination::resolve(destination, overwrite, inputs)?;
        let temporary = TemporaryFile::beside(&resolved).map_err(|error| {
            let hint = "its folder must be writable, the disk not full, and no limit on files reached (ulimit -n)";
            destination::cannot_write(destination, error, hint)
        })?;
        Ok(Self { destination: resolved, temporary, overwrite, copying: None })
    }

    /// Bytes reserved for copying columns.
    pub(crate) fn held(&self) -> u64 {
        self.copying.as_ref().map_or(0, Reservation::bytes)
    }

    /// The path of the result, with links resolved.
    #[must_use]
    pub fn destination(&self) -> &Path {
        &self.destination
    }

    /// Checks, before the work begins, that an input can be written with this many new columns, and reserves the memory.
    ///
    /// # Errors
    /// If the input has more row groups than one file can hold, or the memory limit leaves too little for the writer.
    pub(crate) fn for_rows_of(mut self, input: &Input, columns: usize) -> Result<Self, Error> {
        let groups = input.files().iter().map(|file| file.parquet().num_row_groups()).sum();
        if groups > MOST_ROW_GROUPS {
            let files = input.files().len();
            return Err(Error::File {
                subject: input.name().clone(),
                problem: format!(
                    "has {groups} row groups in {files} files, more than the {MOST_ROW_GROUPS} of one output"
                ),
                hint: "write the files again with larger row groups: those of the output are the same".to_owned(),
            });
        }
        let need = held_to_copy(input, groups, columns);
        self.copying = Some(input.budget.take(need, || format!("copying {groups} row groups of {}", input.name()))?);
        Ok(self)
    }

    /// Writes the input with the new columns.
    ///
    /// # Errors
    /// If the disk or the input fails, or the input is a table in memory. No file is left behind then.
    ///
    /// # Panics
    /// If a new column does not have one value for each row.
    pub fn write(self, input: &Input, columns: &[NewColumn]) -> Result<Complete, Error> {
        let rows = input.rows();
        assert!(columns.iter().all(|column| column.values.len() == rows), "one value for each row");
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        self.write_from(input, &names, &|column, rows| Ok(columns[column].values[rows].to_vec()))
    }

    /// Writes the whole input with new columns. Their values are requested while writing, a few rows at a time.
    ///
    /// # Errors
    /// If the disk or the input fails, the input is a table in memory, or `values` returns an error. No file is left behind
    /// then.
    pub(crate) fn write_from(self, input: &Input, names: &[&str], values: &Values) -> Result<Complete, Error> {
        let first = input.files().first().ok_or_else(|| input.no_file())?;
        let witness = Witness::new(self.temporary.as_file());
        self.copy(input, first, names, values, &witness).map_err(|error| self.blame(error, &witness))?;
        input.check_unchanged()?;
        self.finish()
    }

    /// Copies every file with its rows of the new columns.
    fn copy(
        &self,
        input: &Input,
        first: &ParquetFile,
        names: &[&str],
        values: &Values,
        witness: &Witness,
    ) -> Result<(), Error> {
        let mut writer = first.guarded(|| {
            let file = BufWriter::with_capacity(BUFFER, witness);
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
    /// If the disk fails. No file is left behind then.
    pub fn write_triplets(
        self,
        batches: impl Iterator<Item = (Vec<i64>, Vec<i64>, Vec<f64>)>,
    ) -> Result<Complete, Error> {
        let witness = Witness::new(self.temporary.as_file());
        let written = guarded(&self.destination, || write_triplets_to(&witness, batches));
        written.map_err(|error| self.blame(error, &witness))?;
        self.finish()
    }

    /// Writes bytes unchanged.
    ///
    /// # Errors
    /// If the disk fails. No file is left behind then.
    pub fn write_bytes(self, bytes: &[u8]) -> Result<Complete, Error> {
        self.temporary.as_file().write_all(bytes).map_err(|source| failed(&self.destination, source))?;
        self.finish()
    }

    /// The error of the output if writing failed, otherwise the given one.
    fn blame(&self, error: Error, witness: &Witness) -> Error {
        witness.failure().map_or(error, |source| failed(&self.destination, source))
    }

    fn finish(self) -> Result<Complete, Error> {
        self.temporary.as_file().sync_all().map_err(|source| failed(&self.destination, source))?;
        Ok(Complete(self))
    }
}

fn write_triplets_to(
    file: impl io::Write + Send,
    batches: impl Iterator<Item = (Vec<i64>, Vec<i64>, Vec<f64>)>,
) -> Result<(), ParquetError> {
    let fields = vec![
        primitive("row", PhysicalType::INT64, Repetition::REQUIRED)?,
        primitive("column", PhysicalType::INT64, Repetition::REQUIRED)?,
        primitive("weight", PhysicalType::DOUBLE, Repetition::REQUIRED)?,
    ];
    let schema = Arc::new(Type::group_type_builder("schema").with_fields(fields).build()?);
    let properties = base_properties()
        .set_column_encoding("row".into(), Encoding::DELTA_BINARY_PACKED)
        .set_column_encoding("column".into(), Encoding::DELTA_BINARY_PACKED)
        .build();
    let file = BufWriter::with_capacity(BUFFER, file);
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties))?;
    for (rows, columns, weights) in batches {
        let mut group = writer.next_row_group()?;
        add_plain::<Int64Type, _>(&rows, &mut group)?;
        add_plain::<Int64Type, _>(&columns, &mut group)?;
        add_plain::<DoubleType, _>(&weights, &mut group)?;
        group.close()?;
    }
    writer.close().map(drop)
}

fn primitive(name: &str, physical: PhysicalType, repetition: Repetition) -> Result<TypePtr, ParquetError> {
    Ok(Arc::new(Type::primitive_type_builder(name, physical).with_repetition(repetition).build()?))
}

fn base_properties() -> WriterPropertiesBuilder {
    WriterProperties::builder()
        .set_created_by(concat!("geosmooth ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_writer_version(WriterVersion::PARQUET_1_0)
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_dictionary_enabled(false)
}

/// Encodes the next column of a row group, which has no missing values.
fn add_plain<T: ParquetType, W: io::Write + Send>(
    values: &[T::T],
    out: &mut SerializedRowGroupWriter<'_, W>,
) -> Result<(), ParquetError> {
    let mut column = next_column(out)?;
    column.typed::<T>().write_batch(values, None, None)?;
    column.close()
}

fn next_column<'a, W: io::Write + Send>(
    out: &'a mut SerializedRowGroupWriter<'_, W>,
) -> Result<SerializedColumnWriter<'a>, ParquetError> {
    out.next_column()?.ok_or_else(|| ParquetError::General("the schema has too few columns".to_owned()))
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::fs;

    use super::copy::MOST_ROWS;
    use super::*;
    use crate::io::fixture::{self, FileLayout};
    use crate::io::{Budget, TemporaryFolder};

    const ROWS: usize = 2 * MOST_ROWS + 1001;

    /// Two files of long row groups, and a folder for the output.
    fn input() -> (Input, [TemporaryFolder; 2]) {
        let folders = [TemporaryFolder::new().unwrap(), TemporaryFolder::new().unwrap()];
        let layout = FileLayout {
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
    fn values_are_requested_in_order_and_a_few_rows_at_a_time() {
        let (input, folders) = input();
        let path = folders[1].path().join("out.parquet");
        let asked = RefCell::new([0; 2]);
        let output = Output::create(&path, false, &paths(&input)).unwrap();
        let complete = output.write_from(&input, &["a", "b"], &|column, rows| {
            let next = &mut asked.borrow_mut()[column];
            assert!(rows.start == *next && !rows.is_empty() && rows.len() <= MOST_ROWS, "{rows:?}");
            *next = rows.end;
            Ok(rows.map(|row| value(column, row)).collect())
        });
        complete.unwrap().name().unwrap();
        assert_eq!(asked.into_inner(), [ROWS; 2]);
        let written = Input::open(&path, &Budget::unlimited()).unwrap();
        for (column, read) in written.numbers(&["a", "b"]).unwrap().iter().enumerate() {
            let is_same =
                |(row, found): (usize, &f64)| value(column, row).unwrap_or(f64::NAN).to_bits() == found.to_bits();
            assert!(read.values.len() == ROWS && read.values.iter().enumerate().all(is_same), "{}", read.name);
        }
    }

    #[test]
    fn an_error_of_the_values_is_returned_and_no_file_is_left() {
        let (input, folders) = input();
        let output = Output::create(&folders[1].path().join("out.parquet"), false, &paths(&input)).unwrap();
        let result = output.write_from(&input, &["a"], &|column, rows| match rows.start {
            0 => Ok(rows.map(|row| value(column, row)).collect()),
            row => Err(Error::Value { what: "prediction", value: f64::NAN, row }),
        });
        let error = result.unwrap_err();
        assert!(matches!(error, Error::Value { what: "prediction", row: 100, .. }), "{error}");
        assert_eq!(fs::read_dir(folders[1].path()).unwrap().count(), 0);
    }
}
