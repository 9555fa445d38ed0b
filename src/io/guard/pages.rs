//! Passes the pages of a column to the Parquet crate's decoders. Each is checked before and after it is decompressed.

use std::io::BufReader;
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, Encoding, Type};
use parquet::column::page::{Page, PageIterator, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::serialized_reader::SerializedPageReader;
use parquet::schema::types::ColumnDescriptor;

use super::header::{FIRST_LOOK, Header, Headers, PageKind};
use super::{delta, levels, unpack};
use crate::io::file::{Cursor, PositionedFile};

/// The pages of one column chunk, in order. Page indexes are not trusted and not used.
pub(super) struct CheckedPages {
    file: PositionedFile,
    headers: Headers,
    /// The header of the next page, if it was read ahead.
    ahead: Option<Header>,
    pages: SerializedPageReader<SmallReads>,
    codec: Compression,
    /// The highest definition level, which means that there is a value. Columns with repeated values were refused before.
    highest: u16,
    /// Bytes of a value, if all values have the same width.
    width: Option<u64>,
    room: u64,
}

impl CheckedPages {
    pub(super) fn new(
        file: &PositionedFile,
        metadata: &ColumnChunkMetaData,
        headers: Headers,
        room: u64,
    ) -> Result<Self> {
        let column = metadata.column_descr();
        Ok(Self {
            file: file.clone(),
            headers,
            ahead: None,
            pages: SerializedPageReader::new(Arc::new(SmallReads(file.clone())), metadata, 0, None)?,
            codec: metadata.compression(),
            highest: column.max_def_level().unsigned_abs(),
            width: width(column),
            room,
        })
    }

    /// Reads the header of the next page ahead.
    fn peek(&mut self) -> Result<Option<Header>> {
        while self.ahead.is_none() {
            self.ahead = self.headers.next()?;
            match &self.ahead {
                // Index pages are not used.
                Some(Header { kind: PageKind::Index, .. }) => self.skip_next_page()?,
                Some(_) => {}
                None => break,
            }
        }
        Ok(self.ahead)
    }

    /// Checks that a page does not decompress to more than it claims: the crate would not stop at that size.
    fn check_packed(&self, header: &Header) -> Result<()> {
        if !header.is_packed || unpack::most(self.codec, header.packed) <= self.room.max(header.unpacked) {
            return Ok(());
        }
        let length = (header.packed - header.levels) as usize;
        let packed = self.file.get_bytes(header.start + header.levels, length)?;
        unpack::check(self.codec, &packed, header.unpacked - header.levels)
    }

    fn check_unpacked(&self, page: &Page) -> Result<()> {
        let problem = match page.encoding() {
            Encoding::DELTA_LENGTH_BYTE_ARRAY if !self.has_sound_lengths(page, 1) => "the lengths of texts are invalid",
            Encoding::DELTA_BYTE_ARRAY if !self.has_sound_lengths(page, 2) => "the lengths of texts are invalid",
            Encoding::BYTE_STREAM_SPLIT if self.holds_others(page) => {
                "a page of split bytes holds more or fewer values than it claims"
            }
            _ => return Ok(()),
        };
        Err(ParquetError::General(problem.to_owned()))
    }

    /// Whether the delta-encoded lengths of a page, in this many streams, are no more than its values.
    fn has_sound_lengths(&self, page: &Page, streams: usize) -> bool {
        let split = self.split(page);
        split.is_some_and(|(_, values)| delta::is_sound(&values, streams, u64::from(page.num_values())))
    }

    /// Whether a page of split bytes holds another number of values than it claims. Such a page has the first bytes of all
    /// values, then the second bytes, and so on: with another number the crate would combine bytes of different values.
    fn holds_others(&self, page: &Page) -> bool {
        let Some(width) = self.width else { return false };
        let held = self.split(page).and_then(|(levels, values)| {
            let claimed = u64::from(page.num_values());
            let present =
                if self.highest == 0 { Some(claimed) } else { levels::present(&levels, self.highest, claimed) };
            Some(present?.checked_mul(width)? == values.len() as u64)
        });
        held != Some(true)
    }

    /// The definition levels of a data page, and the values after them.
    fn split(&self, page: &Page) -> Option<(Bytes, Bytes)> {
        let bytes = page.buffer();
        let (start, end) = match page {
            Page::DataPageV2 { def_levels_byte_len, rep_levels_byte_len, .. } => {
                let start = *rep_levels_byte_len as usize;
                (start, start.checked_add(*def_levels_byte_len as usize)?)
            }
            Page::DataPage { def_level_encoding: Encoding::RLE, .. } if self.highest > 0 => {
                let length = bytes.first_chunk::<4>()?;
                (4, 4_usize.checked_add(u32::from_le_bytes(*length) as usize)?)
            }
            // The deprecated bit-packed encoding of levels, found in old files only.
            Page::DataPage { .. } if self.highest > 0 => return None,
            _ => (0, 0),
        };
        (start <= end && end <= bytes.len()).then(|| (bytes.slice(start..end), bytes.slice(end..)))
    }
}

/// Bytes of a value, if all values have the same width and their bytes may be split.
fn width(column: &ColumnDescriptor) -> Option<u64> {
    match column.physical_type() {
        Type::INT32 | Type::FLOAT => Some(4),
        Type::INT64 | Type::DOUBLE => Some(8),
        Type::FIXED_LEN_BYTE_ARRAY => u64::try_from(column.type_length()).ok(),
        Type::BOOLEAN | Type::INT96 | Type::BYTE_ARRAY => None,
    }
}

impl Iterator for CheckedPages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for CheckedPages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let Some(header) = self.peek()? else { return Ok(None) };
        self.check_packed(&header)?;
        self.ahead = None;
        let page = self.pages.get_next_page()?;
        page.as_ref().map_or(Ok(()), |page| self.check_unpacked(page))?;
        Ok(page)
    }

    /// From our own headers: the crate does not handle index pages here, and would trust the number of rows that a page may
    /// claim. Without that number it uses the number of values, which is the same since a row has one value.
    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        Ok(self.peek()?.map(|header| PageMetadata {
            num_rows: None,
            num_levels: Some(header.values as usize),
            is_dict: header.kind == PageKind::Dictionary,
        }))
    }

    /// Skips a page without decompressing it.
    fn skip_next_page(&mut self) -> Result<()> {
        if self.ahead.take().is_none() {
            self.headers.next()?;
        }
        self.pages.skip_next_page()
    }
}

/// A file with a small read buffer: the crate uses buffered reads for page headers only.
struct SmallReads(PositionedFile);

impl Length for SmallReads {
    fn len(&self) -> u64 {
        self.0.len()
    }
}

impl ChunkReader for SmallReads {
    type T = BufReader<Cursor>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        Ok(BufReader::with_capacity(FIRST_LOOK as usize, self.0.cursor(start)?))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        self.0.get_bytes(start, length)
    }
}

/// The pages of a column in one row group; one row group is read at a time.
pub(super) struct OneChunk(pub(super) Option<CheckedPages>);

impl Iterator for OneChunk {
    type Item = Result<Box<dyn PageReader>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.take().map(|pages| Ok(Box::new(pages) as Box<dyn PageReader>))
    }
}

impl PageIterator for OneChunk {}
