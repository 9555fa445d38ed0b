//! The page indexes. We do not read by them, but copy them to the output, where others would.

use std::path::Path;

use parquet::errors::ParquetError;
use parquet::file::metadata::{
    ColumnChunkMetaData, PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData,
};
use parquet::file::page_index::offset_index::PageLocation;

use super::metadata::name;
use super::ours;
use crate::io::budget::Budget;
use crate::io::file::PositionedFile;

/// Bytes that page indexes may take in memory for each byte in the file: a limit of no letters takes one there and 16 here.
/// Measured: 8 with a page for each of 200 000 columns (2026-11-18).
const BYTES_PER_INDEX_BYTE: u64 = 16;

/// The metadata with the page indexes, if there are any.
pub(super) fn read(
    path: &Path,
    file: &PositionedFile,
    metadata: ParquetMetaData,
    budget: &Budget,
) -> Result<ParquetMetaData, ParquetError> {
    let what = || format!("reading the page index of {}", path.display());
    let need = span(&metadata).saturating_mul(1 + BYTES_PER_INDEX_BYTE);
    let taken = budget.take(need, what).map_err(ours)?;
    let mut reader =
        ParquetMetaDataReader::new_with_metadata(metadata).with_page_index_policy(PageIndexPolicy::Optional);
    reader.read_page_indexes(file)?;
    let metadata = reader.finish()?;
    check(&metadata)?;
    taken.keep(need);
    Ok(metadata)
}

/// Bytes from the first index to the last. They stand together; where a file scatters them, the crate reads what is between.
fn span(metadata: &ParquetMetaData) -> u64 {
    let chunks = metadata.row_groups().iter().flat_map(RowGroupMetaData::columns);
    let indexes = chunks.flat_map(|chunk| {
        [
            chunk.column_index_offset().zip(chunk.column_index_length()),
            chunk.offset_index_offset().zip(chunk.offset_index_length()),
        ]
    });
    let ends = indexes.flatten().map(|(start, length)| (start, start.saturating_add(i64::from(length))));
    let (first, last) = ends.fold((i64::MAX, 0), |(first, last), (start, end)| (first.min(start), last.max(end)));
    u64::try_from(last.saturating_sub(first)).unwrap_or(0)
}

/// Refuses indexes that point outside their column.
fn check(metadata: &ParquetMetaData) -> Result<(), ParquetError> {
    let groups = metadata.row_groups().iter().zip(metadata.offset_index().into_iter().flatten());
    for (number, (group, columns)) in groups.enumerate() {
        for (chunk, index) in group.columns().iter().zip(columns) {
            if !points_inside(chunk, &index.page_locations, group.num_rows()) {
                let problem = "has a page index that makes no sense";
                return Err(ParquetError::General(format!("column {} of row group {number} {problem}", name(chunk))));
            }
        }
    }
    Ok(())
}

fn points_inside(chunk: &ColumnChunkMetaData, pages: &[PageLocation], rows: i64) -> bool {
    let (start, length) = chunk.byte_range();
    let mut next = (start as i64, 0);
    pages.iter().all(|page| {
        let here = (page.offset, page.first_row_index);
        let follows = here.0 >= next.0 && here.1 >= next.1 && here.1 <= rows && page.compressed_page_size >= 0;
        next = (here.0.saturating_add(i64::from(page.compressed_page_size)), here.1);
        follows && next.0 as u64 <= start + length
    })
}
