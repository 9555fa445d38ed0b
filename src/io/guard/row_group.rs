//! Passes a row group to the Parquet crate's readers, with memory reserved for reading it.

use parquet::arrow::arrow_reader::RowGroups;
use parquet::basic::Compression;
use parquet::column::page::PageIterator;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};

use super::metadata::name;
use super::pages::OneChunk;
use super::parquet_file::ParquetFile;
use super::survey::Chunk;
use super::{OTHER_CODECS, ours};
use crate::error::Error;
use crate::io::budget::{Budget, Reservation};
use crate::io::shortened;

/// A checked row group: its columns hold as many rows as it claims, and memory for reading them is reserved.
pub(in crate::io) struct Surveyed<'a> {
    file: &'a ParquetFile,
    group: usize,
    /// Rows to read at a time.
    pub(in crate::io) batch: usize,
    room: u64,
    _taken: [Reservation; 2],
}

/// Bytes of a row beside its values while it is read: two levels (4), an offset (8), the converted value (8), and buffers that
/// grow by doubling. Chosen generously, not measured.
const BYTES_PER_ROW: u64 = 64;

impl<'a> Surveyed<'a> {
    /// Checks these columns of a row group, and reserves memory for reading them, at most `most` rows at a time.
    pub(in crate::io) fn new(
        file: &'a ParquetFile,
        group: usize,
        leaves: &[usize],
        most: usize,
        budget: &Budget,
    ) -> Result<Self, ParquetError> {
        let share = budget.share();
        // Below this size a page may decompress to more than it claims without being checked first.
        let room = 2 * share;
        let chunks: Vec<Chunk> = leaves.iter().map(|leaf| chunk(file, group, *leaf, room)).collect::<Result<_, _>>()?;
        let rows = file.parquet().row_group(group).num_rows();
        let (page, mut row) = survey(&chunks, group, rows)?;
        let pages = budget.take(page, || file.reading()).map_err(ours)?;
        for chunk in &chunks {
            row += 2 * chunk.longest_in_dictionary()?;
        }
        // The crate allocates memory for a whole batch, however few rows there are.
        let batch = (share / row.max(1)).clamp(1, (most as u64).min(rows.max(1) as u64));
        let rows = budget.take(batch.saturating_mul(row), || file.reading()).map_err(ours)?;
        Ok(Self { file, group, batch: batch as usize, room, _taken: [pages, rows] })
    }
}

/// Bytes for the current pages, and bytes for each row. Fails unless all columns hold as many rows as the row group claims.
fn survey(chunks: &[Chunk], group: usize, rows: i64) -> Result<(u64, u64), ParquetError> {
    let (mut page, mut row) = (0, 0);
    for chunk in chunks {
        let survey = chunk.survey()?;
        if i64::try_from(survey.values) != Ok(rows) {
            let (column, found) = (name(chunk.metadata), survey.values);
            let problem = format!("row group {group} claims {rows} rows but column {column} holds {found}");
            return Err(ParquetError::General(problem));
        }
        page += survey.page;
        row += BYTES_PER_ROW + 2 * survey.value;
    }
    Ok((page, row))
}

fn chunk(file: &ParquetFile, group: usize, leaf: usize, room: u64) -> Result<Chunk<'_>, ParquetError> {
    let metadata = file.parquet().row_group(group).column(leaf);
    if metadata.compression() == Compression::LZO {
        return Err(ours(Error::Column {
            subject: file.path.as_path().into(),
            column: shortened(&metadata.column_descr().path().string(), 80),
            problem: "is compressed with LZO, which is not supported".to_owned(),
            hint: OTHER_CODECS.to_owned(),
        }));
    }
    if metadata.column_descr().max_rep_level() > 0 {
        return Err(ParquetError::General(format!("column {} has several values in a row", name(metadata))));
    }
    Ok(Chunk { file: &file.reader, metadata, room })
}

/// Refuses a column chunk whose pages do not match its metadata. For columns that are copied: their pages are not decompressed,
/// and their checksums are copied with them.
pub(in crate::io) fn check_pages(file: &ParquetFile, group: usize, leaf: usize) -> Result<(), ParquetError> {
    let metadata = file.parquet().row_group(group).column(leaf);
    let survey = Chunk { file: &file.reader, metadata, room: 0 }.survey()?;
    if i64::try_from(survey.values) == Ok(metadata.num_values()) {
        return Ok(());
    }
    let claims = format!("claims {} values but holds {}", metadata.num_values(), survey.values);
    Err(ParquetError::General(format!("column {} of row group {group} {claims}", name(metadata))))
}

impl RowGroups for Surveyed<'_> {
    fn num_rows(&self) -> usize {
        usize::try_from(self.file.parquet().row_group(self.group).num_rows()).unwrap_or(0)
    }

    fn column_chunks(&self, leaf: usize) -> Result<Box<dyn PageIterator>, ParquetError> {
        let pages = chunk(self.file, self.group, leaf, self.room)?.pages()?;
        Ok(Box::new(OneChunk(Some(pages))))
    }

    fn row_groups(&self) -> Box<dyn Iterator<Item = &RowGroupMetaData> + '_> {
        Box::new(std::iter::once(self.file.parquet().row_group(self.group)))
    }

    fn metadata(&self) -> &ParquetMetaData {
        self.file.parquet()
    }
}
