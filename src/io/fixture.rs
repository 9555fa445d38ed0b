//! Files for the tests of this module: many types of columns, laid out in few rows to a page.

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

/// How a file is laid out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub(super) rows_in_group: usize,
    pub(super) rows_in_page: usize,
    pub(super) version: WriterVersion,
    pub(super) has_dictionary: bool,
}

/// Writes one file up to each of these rows, and opens the folder.
pub(super) fn input(folder: &TemporaryFolder, ends: &[usize], layout: Layout) -> Input {
    for (at, end) in ends.iter().enumerate() {
        let start = if at == 0 { 0 } else { ends[at - 1] };
        write(&folder.path().join(format!("{at}.parquet")), start..*end, layout);
    }
    Input::open(folder.path(), &Budget::unlimited()).unwrap()
}

fn write(path: &Path, rows: Range<usize>, layout: Layout) {
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

/// Values that only a row of this number has; every seventh is null where nulls may be.
pub(super) fn batch(rows: Range<usize>) -> RecordBatch {
    let number = |row: usize| (row as f64).sin();
    let is_there = |row: &usize| row % 7 != 3;
    let some = |row: usize| Some(row).filter(is_there);
    let doubles = |shift: usize| Float64Array::from_iter_values(rows.clone().map(|row| number(row + shift)));
    let integers: Int32Array = rows.clone().map(|row| some(row).map(|row| row as i32 % 5)).collect();
    let names: Vec<Option<String>> =
        rows.clone().map(|row| some(row).map(|row| format!("{}", row * row % 11))).collect();
    let kinds: DictionaryArray<Int32Type> = names.iter().map(Option::as_deref).collect();
    let points: BinaryArray =
        rows.clone().map(|row| some(row).map(|row| wkb_point(number(row), number(row + 1)))).collect();
    let axes = Fields::from(["x", "y"].map(|name| Field::new(name, DataType::Float64, false)).to_vec());
    let structs = StructArray::new(axes, vec![Arc::new(doubles(2)), Arc::new(doubles(3))], None);
    let columns: [(&str, ArrayRef); 7] = [
        ("lat", Arc::new(doubles(0))),
        ("lon", Arc::new(rows.clone().map(|row| some(row).map(number)).collect::<Float64Array>())),
        ("integer", Arc::new(integers)),
        ("name", Arc::new(StringArray::from(names))),
        ("kind", Arc::new(kinds)),
        ("wkb", Arc::new(points)),
        ("point", Arc::new(structs)),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, values)| (name, values, true))).unwrap()
}

fn wkb_point(x: f64, y: f64) -> Vec<u8> {
    [&[1, 1, 0, 0, 0][..], &x.to_le_bytes(), &y.to_le_bytes()].concat()
}
