//! Reads and checks page indexes. They are not used for reading, but copied to the output.

use std::path::Path;

use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader};
use parquet::file::page_index::offset_index::PageLocation;
use parquet::file::reader::ChunkReader;

use super::format::OFFSET_INDEX;
use super::metadata::name;
use super::ours;
use super::thrift::Thrift;
use crate::io::budget::Budget;
use crate::io::file::PositionedFile;

/// Memory of page indexes in bytes for each byte in the file. The crate allocates 24 bytes for each claimed page location, of
/// which each takes at least one byte in the file. Measured: 8 with one page for each of 200,000 columns (2026-11-18).
const BYTES_PER_INDEX_BYTE: u64 = 24;

/// The metadata with the page indexes, if there are any.
pub(super) fn read(
    path: &Path,
    file: &PositionedFile,
    metadata: ParquetMetaData,
    budget: &Budget,
) -> Result<ParquetMetaData, ParquetError> {
    let taken = budget.take(need(&metadata), || format!("reading the page index of {}", path.display()));
    let _taken = taken.map_err(ours)?;
    check_counts(file, &metadata)?;
    let mut reader =
        ParquetMetaDataReader::new_with_metadata(metadata).with_page_index_policy(PageIndexPolicy::Optional);
    reader.read_page_indexes(file)?;
    let metadata = reader.finish()?;
    check(&metadata)?;
    Ok(metadata)
}

/// Bytes from the first index to the last, and the memory of all parsed ones. The crate reads everything between the first and
/// the last, even if the file scatters them, and parses a shared index once for each column.
fn need(metadata: &ParquetMetaData) -> u64 {
    let indexes = chunks(metadata).flat_map(|(_, chunk)| {
        [
            chunk.column_index_offset().zip(chunk.column_index_length()),
            chunk.offset_index_offset().zip(chunk.offset_index_length()),
        ]
    });
    let (mut first, mut last, mut parsed) = (i64::MAX, 0, 0_u64);
    for (start, length) in indexes.flatten() {
        first = first.min(start);
        last = last.max(start.saturating_add(i64::from(length)));
        parsed = parsed.saturating_add(u64::try_from(length).unwrap_or(0).saturating_mul(BYTES_PER_INDEX_BYTE));
    }
    u64::try_from(last.saturating_sub(first)).unwrap_or(0).saturating_add(parsed)
}

/// All columns of all row groups, each with the number of its row group.
fn chunks(metadata: &ParquetMetaData) -> impl Iterator<Item = (usize, &ColumnChunkMetaData)> {
    let groups = metadata.row_groups().iter().enumerate();
    groups.flat_map(|(number, group)| group.columns().iter().map(move |chunk| (number, chunk)))
}

/// Refuses lists that claim more pages than they hold: the crate allocates memory for the claimed number.
fn check_counts(file: &PositionedFile, metadata: &ParquetMetaData) -> Result<(), ParquetError> {
    for (number, chunk) in chunks(metadata) {
        let place = chunk.offset_index_offset().zip(chunk.offset_index_length());
        let Some((start, length)) = place.and_then(|(start, length)| start.try_into().ok().zip(length.try_into().ok()))
        else {
            continue;
        };
        let bytes = file.get_bytes(start, length)?;
        if Thrift::new(&bytes).structure(OFFSET_INDEX, &mut ()).is_err() {
            return Err(nonsense(number, chunk));
        }
    }
    Ok(())
}

/// Refuses indexes that point outside their column.
fn check(metadata: &ParquetMetaData) -> Result<(), ParquetError> {
    let groups = metadata.row_groups().iter().zip(metadata.offset_index().into_iter().flatten());
    for (number, (group, columns)) in groups.enumerate() {
        for (chunk, index) in group.columns().iter().zip(columns) {
            if !points_inside(chunk, &index.page_locations, group.num_rows()) {
                return Err(nonsense(number, chunk));
            }
        }
    }
    Ok(())
}

fn nonsense(group: usize, chunk: &ColumnChunkMetaData) -> ParquetError {
    let column = name(chunk);
    ParquetError::General(format!("column {column} of row group {group} has an invalid page index"))
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
