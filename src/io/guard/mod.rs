//! What stands between a file that nobody vouches for and the Parquet crate, which believes what files say of themselves:
//! it makes room for what is claimed, follows schemas by recursion, and unpacks some streams to their end. Everything
//! that could not be caught afterwards, no memory and no stack, is refused before; the rest is caught here.

mod arrow_schema;
mod bloom;
mod delta;
mod footer;
mod format;
mod header;
mod levels;
mod metadata;
mod page_index;
mod pages;
mod row_group;
mod survey;
mod thrift;
mod unpack;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::errors::ParquetError;
use parquet::file::metadata::{KeyValue, ParquetMetaDataReader};
use parquet::file::reader::{ChunkReader, Length};

pub(super) use self::arrow_schema::size as size_of_pairs;
pub(super) use self::bloom::BloomFilters;
pub(super) use self::footer::MOST_ROW_GROUPS;
pub(super) use self::row_group::{Surveyed, check_pages};
use super::budget::Budget;
use super::file::PositionedFile;
use super::{DAMAGED, foreign};
use crate::error::Error;

/// The last eight bytes: the length of the footer, and the magic.
const TAIL: u64 = 8;

/// What to do about codecs that nobody has.
const OTHER_CODECS: &str = "write it again with zstd, snappy, gzip, brotli, lz4 or no compression";

/// Runs the Parquet reader on a file that nobody vouches for: its errors, and its panics, become ours.
pub(super) fn guarded<T>(path: &Path, work: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, Error> {
    let file = |problem: String| Error::File { path: path.to_owned(), problem, hint: DAMAGED.to_owned() };
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(ParquetError::External(error))) => match error.downcast::<Error>() {
            Ok(ours) => Err(*ours),
            Err(other) => Err(file(foreign(&other.to_string()))),
        },
        Ok(Err(error)) => Err(file(foreign(&error.to_string()))),
        Err(_) => Err(file("the data make no sense".to_owned())),
    }
}

/// Our own error on its way through the Parquet crate.
pub(super) fn ours(error: Error) -> ParquetError {
    ParquetError::External(Box::new(error))
}

/// The metadata of a file, with its page indexes, if they make sense; and its pairs of keys and values, which they are without.
pub(super) fn load(
    path: &Path,
    file: &PositionedFile,
    budget: &Budget,
) -> Result<(ArrowReaderMetadata, Vec<KeyValue>), Error> {
    let start = footer_start(path, file)?;
    let length = file.len() - TAIL - start;
    let what = || format!("reading the footer of {}", path.display());
    let bytes_taken = budget.take(length, what)?;
    let bytes = guarded(path, || file.get_bytes(start, length as usize))?;
    let parsed_taken = budget.take(footer::check(path, &bytes)?, what)?;
    let (metadata, pairs) = guarded(path, || {
        let parsed = ParquetMetaDataReader::decode_metadata(&bytes)?;
        drop((bytes, bytes_taken));
        metadata::check(&parsed, start)?;
        let (parsed, pairs) = arrow_schema::separate(path, parsed, budget)?;
        let parsed = page_index::read(path, file, parsed, budget)?;
        Ok((ArrowReaderMetadata::try_new(Arc::new(parsed), ArrowReaderOptions::new())?, pairs))
    })?;
    drop(parsed_taken);
    budget.take(held(&metadata) + size_of_pairs(&pairs), what)?.keep(u64::MAX);
    Ok((metadata, pairs))
}

/// Bytes that Arrow's view of a column takes beside its fields.
const BYTES_PER_FIELD: u64 = 512;

/// Bytes that metadata take as long as the file is open.
fn held(metadata: &ArrowReaderMetadata) -> u64 {
    let fields = metadata.schema().fields();
    (metadata.metadata().memory_size() + fields.size()) as u64 + BYTES_PER_FIELD * fields.len() as u64
}

/// Where the footer begins. What is no Parquet file at all deserves a plainer word than the crate has for it.
fn footer_start(path: &Path, file: &PositionedFile) -> Result<u64, Error> {
    let len = file.len();
    let refuse = |problem: &str, hint: &str| {
        Err(Error::File { path: path.to_owned(), problem: problem.to_owned(), hint: hint.to_owned() })
    };
    let bytes = |start, length| guarded(path, || file.get_bytes(start, length));
    if len < 4 + TAIL || bytes(0, 4)?[..3] != *b"PAR" {
        return refuse("is not a Parquet file", "convert it to Parquet first, with pandas, polars or DuckDB say");
    }
    let tail = bytes(len - TAIL, TAIL as usize)?;
    let (length, magic) = tail.split_at(4);
    match magic {
        b"PAR1" => {}
        b"PARE" => return refuse("is encrypted", footer::NO_KEYS),
        _ => return refuse("is a Parquet file without its end", DAMAGED),
    }
    let length = u64::from(u32::from_le_bytes(length.try_into().unwrap_or_default()));
    match (len - TAIL - 4).checked_sub(length) {
        Some(before) => Ok(before + 4),
        None => refuse(&format!("its footer of {length} bytes is longer than the file"), DAMAGED),
    }
}
