//! Computes the memory that reading a column chunk takes, from its page headers, before any page is decompressed.

use parquet::basic::Type;
use parquet::column::page::Page;
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;

use super::header::{Header, Headers, PageKind};
use super::pages::CheckedPages;
use super::unpack;
use crate::error::bytes;
use crate::io::file::PositionedFile;

/// The encoding of texts that share prefixes with the text before: a short page may hold many long texts.
const DELTA_BYTE_ARRAY: i64 = 7;
/// The encodings of indices into the dictionary.
const DICTIONARY: [i64; 2] = [2, 8];

/// The memory that reading a column chunk takes.
#[derive(Debug, Default)]
pub(super) struct Survey {
    /// Values in all pages, including nulls.
    pub(super) values: u64,
    /// Bytes for the current page and the dictionary.
    pub(super) page: u64,
    /// The largest value in bytes.
    pub(super) value: u64,
}

/// A column chunk.
pub(super) struct Chunk<'a> {
    pub(super) file: &'a PositionedFile,
    pub(super) metadata: &'a ColumnChunkMetaData,
    /// The size in bytes up to which a page may decompress without being checked first.
    pub(super) room: u64,
}

impl Chunk<'_> {
    /// Reads all page headers.
    pub(super) fn survey(&self) -> Result<Survey, ParquetError> {
        let mut survey = Survey { value: self.width(), ..Survey::default() };
        let (mut headers, mut dictionary, mut is_first) = (self.headers(), 0, true);
        while let Some(header) = headers.next()? {
            self.check(&header)?;
            let page = header.packed + 2 * header.unpacked + unpack::window(self.metadata.compression());
            match header.kind {
                PageKind::Index => continue,
                PageKind::Dictionary => {
                    self.check_dictionary(&header, is_first)?;
                    dictionary = page + 16 * header.values;
                }
                PageKind::Data | PageKind::DataV2 => {
                    survey.values += header.values;
                    survey.value = survey.value.max(self.largest_value(&header));
                    // The lengths of all texts of a page are decoded at once, two of four bytes for each text.
                    survey.page = survey.page.max(page + 8 * header.values);
                }
            }
            is_first = false;
        }
        survey.page += dictionary;
        Ok(survey)
    }

    /// The longest text in the dictionary, since every value may be that text; 0 without a dictionary.
    pub(super) fn longest_in_dictionary(&self) -> Result<u64, ParquetError> {
        let first = self.headers().next()?;
        if self.metadata.column_type() != Type::BYTE_ARRAY || first.is_none_or(|page| page.kind != PageKind::Dictionary)
        {
            return Ok(0);
        }
        match self.pages()?.next().transpose()? {
            Some(Page::DictionaryPage { buf, .. }) => Ok(longest(&buf)),
            _ => Ok(0),
        }
    }

    pub(super) fn pages(&self) -> Result<CheckedPages, ParquetError> {
        CheckedPages::new(self.file, self.metadata, self.headers(), self.room)
    }

    fn headers(&self) -> Headers {
        let (start, length) = self.metadata.byte_range();
        Headers::new(self.file.clone(), start, length)
    }

    fn check(&self, header: &Header) -> Result<(), ParquetError> {
        let most = unpack::most(self.metadata.compression(), header.packed - header.levels);
        if header.unpacked - header.levels <= most {
            return Ok(());
        }
        let (packed, unpacked) = (bytes(header.packed), bytes(header.unpacked));
        Err(ParquetError::General(format!("a page of {packed} claims to unpack to {unpacked}")))
    }

    fn check_dictionary(&self, header: &Header, is_first: bool) -> Result<(), ParquetError> {
        // The length of a text takes four bytes.
        let smallest = self.width().clamp(1, 4);
        if is_first && header.values.saturating_mul(smallest) <= header.unpacked {
            return Ok(());
        }
        Err(ParquetError::General("a dictionary page is invalid".to_owned()))
    }

    /// Bytes of a value; 4 for text of any length.
    fn width(&self) -> u64 {
        match self.metadata.column_type() {
            Type::BOOLEAN => 1,
            Type::INT32 | Type::FLOAT | Type::BYTE_ARRAY => 4,
            Type::INT64 | Type::DOUBLE => 8,
            Type::INT96 => 12,
            Type::FIXED_LEN_BYTE_ARRAY => u64::try_from(self.metadata.column_descr().type_length()).unwrap_or(0),
        }
    }

    /// An upper bound on the bytes of a value in a page, without those in the dictionary.
    fn largest_value(&self, header: &Header) -> u64 {
        match header.encoding {
            _ if self.metadata.column_type() != Type::BYTE_ARRAY => 0,
            DELTA_BYTE_ARRAY => header.unpacked,
            encoding if DICTIONARY.contains(&encoding) => 0,
            _ => header.unpacked / header.values.max(1),
        }
    }
}

/// The length of the longest text in a list, in which each text follows its length.
fn longest(mut texts: &[u8]) -> u64 {
    let mut longest = 0;
    while let Some((length, rest)) = texts.split_first_chunk::<4>() {
        let length = u32::from_le_bytes(*length);
        longest = longest.max(length);
        texts = rest.get(length as usize..).unwrap_or_default();
    }
    u64::from(longest)
}
