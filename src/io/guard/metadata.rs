//! Checks the metadata that the Parquet crate parsed against the file: positions, sizes and numbers of rows.

use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};

use crate::io::shortened;

/// Refuses metadata that contradict themselves, or the file, whose data end at byte `end`.
pub(super) fn check(metadata: &ParquetMetaData, end: u64) -> Result<(), ParquetError> {
    let mut rows = 0_i64;
    let mut used = 0_u64;
    for (number, group) in metadata.row_groups().iter().enumerate() {
        if group.num_rows() < 0 {
            return Err(damaged(format!("row group {number} claims {} rows", group.num_rows())));
        }
        rows = rows.saturating_add(group.num_rows());
        for chunk in group.columns() {
            check_chunk(chunk, group.num_rows(), end)
                .map_err(|problem| damaged(format!("column {} of row group {number} {problem}", name(chunk))))?;
            used = used.saturating_add(chunk.byte_range().1);
        }
    }
    // Row groups that share pages would take many times the size of the file when unpacked or copied.
    if used > end {
        return Err(damaged("its columns overlap".to_owned()));
    }
    let claimed = metadata.file_metadata().num_rows();
    if rows != claimed {
        return Err(damaged(format!("claims {claimed} rows, its row groups {rows}")));
    }
    Ok(())
}

fn check_chunk(chunk: &ColumnChunkMetaData, rows: i64, end: u64) -> Result<(), String> {
    let start = chunk.dictionary_page_offset().unwrap_or(chunk.data_page_offset());
    let range = u64::try_from(start).ok().zip(u64::try_from(chunk.compressed_size()).ok());
    if range.is_none_or(|(start, length)| start.checked_add(length).is_none_or(|chunk_end| chunk_end > end)) {
        return Err(format!("lies outside the file: {} bytes at {start}", chunk.compressed_size()));
    }
    let is_flat = chunk.column_descr().max_rep_level() == 0;
    if chunk.num_values() < 0 || (is_flat && chunk.num_values() != rows) {
        return Err(format!("claims {} values for {rows} rows", chunk.num_values()));
    }
    Ok(())
}

/// The name of a column, for messages.
pub(super) fn name(chunk: &ColumnChunkMetaData) -> String {
    format!("'{}'", shortened(&chunk.column_descr().path().string(), 80))
}

fn damaged(problem: String) -> ParquetError {
    ParquetError::General(problem)
}
