//! Parquet files for the tests of this module: columns of many types, with few rows in each page.

use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryArray, DictionaryArray, Float64Array, Int32Array, RecordBatch, StringArray, StructArray,
};
use arrow::datatypes::{DataType, Field, Fields, Int32Type};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::{WriterProperties, WriterVersion};

use super::{Budget, Input, TemporaryFolder};

/// The layout of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct FileLayout {
    pub(super) rows_in_group: usize,
    pub(super) rows_in_page: usize,
    pub(super) version: WriterVersion,
    pub(super) has_dictionary: bool,
}

/// Writes one file for each of `ends`, from the end of the file before to this row, and opens the folder.
pub(super) fn input(folder: &TemporaryFolder, ends: &[usize], layout: FileLayout) -> Input {
    for (at, end) in ends.iter().enumerate() {
        let start = if at == 0 { 0 } else { ends[at - 1] };
        write(&folder.path().join(format!("{at}.parquet")), start..*end, layout);
    }
    Input::open(folder.path(), &Budget::unlimited()).unwrap()
}

fn write(path: &Path, rows: Range<usize>, layout: FileLayout) {
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(layout.rows_in_group))
        .set_data_page_row_count_limit(layout.rows_in_page)
        .set_write_batch_size(layout.rows_in_page)
        .set_writer_version(layout.version)
        .set_dictionary_enabled(layout.has_dictionary)
        .build();
    let batch = batch(rows);
    let mut writer = ArrowWriter::try_new(File::create(path).unwrap(), batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

/// Columns of values that depend on the row number; in most of them every seventh value is null.
pub(super) fn batch(rows: Range<usize>) -> RecordBatch {
    let present: Vec<Option<usize>> = rows.clone().map(|row| Some(row).filter(|row| row % 7 != 3)).collect();
    let integers: Int32Array = present.iter().map(|row| row.map(|row| row as i32 % 5)).collect();
    let names: Vec<Option<String>> = present.iter().map(|row| row.map(|row| format!("{}", row * row % 11))).collect();
    let kinds: DictionaryArray<Int32Type> = names.iter().map(Option::as_deref).collect();
    let points: BinaryArray =
        present.iter().map(|row| row.map(|row| wkb_point(number(row), number(row + 1)))).collect();
    let axes = Fields::from(["x", "y"].map(|name| Field::new(name, DataType::Float64, false)).to_vec());
    let structs = StructArray::new(axes, vec![Arc::new(doubles(&rows, 2)), Arc::new(doubles(&rows, 3))], None);
    let columns: [(&str, ArrayRef); 7] = [
        ("lat", Arc::new(doubles(&rows, 0))),
        ("lon", Arc::new(present.iter().map(|row| row.map(number)).collect::<Float64Array>())),
        ("integer", Arc::new(integers)),
        ("name", Arc::new(StringArray::from(names))),
        ("kind", Arc::new(kinds)),
        ("wkb", Arc::new(points)),
        ("point", Arc::new(structs)),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, values)| (name, values, true))).unwrap()
}

fn number(row: usize) -> f64 {
    (row as f64).sin()
}

fn doubles(rows: &Range<usize>, shift: usize) -> Float64Array {
    Float64Array::from_iter_values(rows.clone().map(|row| number(row + shift)))
}

fn wkb_point(x: f64, y: f64) -> Vec<u8> {
    [&[1, 1, 0, 0, 0][..], &x.to_le_bytes(), &y.to_le_bytes()].concat()
}
