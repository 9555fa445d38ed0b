//! Copies the columns of the input and adds the new ones, row group by row group.

use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema};
use parquet::arrow::{ARROW_SCHEMA_META_KEY, encode_arrow_schema};
use parquet::basic::{Repetition, Type as PhysicalType};
use parquet::bloom_filter::Sbbf;
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::DoubleType;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, KeyValue};
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::file::page_index::offset_index::OffsetIndexMetaData;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};

use super::{Values, base_properties, next_column, primitive};
use crate::io::budget::{Budget, Reservation};
use crate::io::guard::ParquetFile;
use crate::io::guard::{BloomFilters, check_pages, ours, size_of_pairs};
use crate::io::input::Input;

/// Rows to request at a time. The Parquet writer checks every 1024 rows whether a page is full, counted from the start of
/// each call: with a multiple of 1024, pages are the same as if all rows were written at once.
pub(super) const MOST_ROWS: usize = 1 << 16;

/// The schema of the input, followed by the new columns.
pub(super) fn schema_with(file: &ParquetFile, names: &[&str]) -> Result<TypePtr, ParquetError> {
    let root = file.parquet().file_metadata().schema();
    let mut fields = root.get_fields().to_vec();
    for name in names {
        fields.push(primitive(name, PhysicalType::DOUBLE, Repetition::OPTIONAL)?);
    }
    Ok(Arc::new(Type::group_type_builder(root.name()).with_fields(fields).build()?))
}

/// Whether every column chunk of every file has a page index; the writer can only keep all of them or none.
pub(super) fn has_page_index(input: &Input) -> bool {
    input.files().iter().all(|file| {
        let index = file.parquet().offset_index();
        (0..file.parquet().num_row_groups()).all(|group| {
            let columns = file.parquet().row_group(group).num_columns();
            index.and_then(|index| index.get(group)).is_some_and(|row| row.len() == columns)
        })
    })
}

/// The properties of the writer. Key-value metadata are copied; the Arrow schema among them, if there is one, is extended by
/// the new columns.
pub(super) fn properties(input: &Input, first: &ParquetFile, names: &[&str]) -> WriterProperties {
    let pairs = first.pairs.iter().map(|pair| match pair.key.as_str() {
        ARROW_SCHEMA_META_KEY => KeyValue::new(pair.key.clone(), extended_schema(input, names)),
        _ => pair.clone(),
    });
    let (statistics, no_index) =
        if has_page_index(input) { (EnabledStatistics::Page, false) } else { (EnabledStatistics::Chunk, true) };
    base_properties()
        .set_key_value_metadata((!first.pairs.is_empty()).then(|| pairs.collect()))
        .set_statistics_enabled(statistics)
        .set_offset_index_disabled(no_index)
        .build()
}

/// The Arrow schema of the input with the new columns, as it is embedded in the file.
fn extended_schema(input: &Input, names: &[&str]) -> String {
    let mut fields: Vec<_> = input.schema().fields().iter().cloned().collect();
    fields.extend(names.iter().map(|name| Arc::new(Field::new(*name, DataType::Float64, true))));
    encode_arrow_schema(&Schema::new_with_metadata(fields, input.schema().metadata().clone()))
}

/// Bytes of the page index and the statistics of a new column chunk. Chosen generously, not measured.
const BYTES_PER_NEW_CHUNK: usize = 512;

/// Bytes that the writer holds until it is closed: metadata and page indexes of every column of every row group, the
/// key-value pairs twice, and the Arrow schema six times (twice as text, and while it is encoded).
pub(super) fn held_to_copy(input: &Input, groups: usize, columns: usize) -> u64 {
    let indexes = size_of::<(Option<Sbbf>, Option<ColumnIndexMetaData>, Option<OffsetIndexMetaData>)>();
    let chunk = size_of::<ColumnChunkMetaData>();
    let copied: usize = input.files().iter().map(|file| held_to_copy_file(file, indexes)).sum();
    let added = groups * columns * (chunk + indexes + BYTES_PER_NEW_CHUNK);
    (copied + added) as u64 + input.files().first().map_or(0, held_for_texts)
}

fn held_to_copy_file(file: &ParquetFile, indexes: usize) -> usize {
    let metadata = file.parquet();
    let chunks = metadata.num_row_groups() * metadata.file_metadata().schema_descr().num_columns();
    metadata.memory_size() + chunks * indexes
}

fn held_for_texts(first: &ParquetFile) -> u64 {
    let schema = first.parquet().file_metadata().key_value_metadata().into_iter().flatten();
    2 * size_of_pairs(&first.pairs) + 6 * size_of_pairs(schema)
}

/// The new columns of the output.
pub(super) struct Added<'a> {
    /// Whether page indexes are kept.
    pub(super) indexed: bool,
    /// Number of new columns.
    pub(super) columns: usize,
    pub(super) values: &'a Values<'a>,
    /// Memory for what is copied.
    pub(super) budget: &'a Budget,
}

impl Added<'_> {
    /// Copies all row groups of a file, whose first row is `start`, and adds the new columns to each. Returns the row after the
    /// last.
    pub(super) fn copy_file<W: Write + Send>(
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

    /// Encodes the next new column of a row group, some rows at a time.
    fn add_column<W: Write + Send>(
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

/// Copies the columns of a row group. Returns the memory of the Bloom filters among them.
fn copy_columns<W: Write + Send>(
    file: &ParquetFile,
    group: usize,
    indexed: bool,
    filters: &mut BloomFilters,
    out: &mut SerializedRowGroupWriter<'_, W>,
) -> Result<Vec<Reservation>, ParquetError> {
    let metadata = file.parquet();
    let row_group = metadata.row_group(group);
    let mut held = Vec::new();
    for (at, chunk) in row_group.columns().iter().enumerate() {
        check_pages(file, group, at)?;
        let (bloom_filter, reserved) = filters.read(chunk).unzip();
        held.extend(reserved);
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
