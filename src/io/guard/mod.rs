//! Protects the Parquet crate from untrusted files. The crate trusts what files claim: it allocates memory for any count,
//! follows schemas by recursion, and decompresses some streams to their end. Files that would exhaust memory or stack are
//! refused beforehand, because that cannot be caught. Errors and panics are caught here.

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
mod parquet_file;
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
pub(super) use self::parquet_file::ParquetFile;
pub(super) use self::row_group::{Surveyed, check_pages};
use super::budget::Budget;
use super::file::PositionedFile;
use super::{DAMAGED, foreign};
use crate::error::{Error, Subject};

/// The last eight bytes of a file: the length of the footer, and the magic number.
const TAIL: u64 = 8;

/// The hint for unsupported codecs.
const OTHER_CODECS: &str = "write it again with zstd, snappy, gzip, brotli, lz4 or no compression";

/// Runs the Parquet crate on an untrusted file. Its errors and panics become errors of this crate.
pub(super) fn guarded<T>(
    subject: impl Into<Subject>,
    work: impl FnOnce() -> Result<T, ParquetError>,
) -> Result<T, Error> {
    let problem = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(done)) => return Ok(done),
        Ok(Err(ParquetError::External(error))) => match error.downcast::<Error>() {
            Ok(ours) => return Err(*ours),
            Err(other) => foreign(&other.to_string()),
        },
        Ok(Err(error)) => foreign(&error.to_string()),
        Err(_) => "its data are invalid".to_owned(),
    };
    Err(refused(subject, problem, DAMAGED))
}

fn refused(subject: impl Into<Subject>, problem: String, hint: &str) -> Error {
    Error::File { subject: subject.into(), problem, hint: hint.to_owned() }
}

/// Wraps an error of this crate to pass it through the Parquet crate.
pub(super) fn ours(error: Error) -> ParquetError {
    ParquetError::External(Box::new(error))
}

/// Reads and checks the metadata of a file with its page indexes. Its key-value pairs are returned separately.
pub(super) fn load(
    path: &Path,
    file: &PositionedFile,
    budget: &Budget,
) -> Result<(ArrowReaderMetadata, Vec<KeyValue>), Error> {
    let start = footer_start(path, file)?;
    let length = file.len() - TAIL - start;
    let bytes_taken = budget.take(length, || reading_footer(path))?;
    let bytes = guarded(path, || file.get_bytes(start, length as usize))?;
    let parsed_taken = budget.take(footer::check(path, &bytes)?, || reading_footer(path))?;
    let (metadata, pairs) = guarded(path, || {
        let parsed = ParquetMetaDataReader::decode_metadata(&bytes)?;
        drop((bytes, bytes_taken));
        metadata::check(&parsed, start)?;
        let (parsed, pairs) = arrow_schema::separate(path, parsed, budget)?;
        let parsed = page_index::read(path, file, parsed, budget)?;
        Ok((ArrowReaderMetadata::try_new(Arc::new(parsed), ArrowReaderOptions::new())?, pairs))
    })?;
    drop(parsed_taken);
    budget.take(held(&metadata) + size_of_pairs(&pairs), || reading_footer(path))?.keep(u64::MAX);
    Ok((metadata, pairs))
}

fn reading_footer(path: &Path) -> String {
    format!("reading the footer of {}", path.display())
}

/// Bytes of Arrow's view of a column beside its field. Chosen generously, not measured.
const BYTES_PER_FIELD: u64 = 512;

/// Bytes that metadata take for as long as the file is open.
fn held(metadata: &ArrowReaderMetadata) -> u64 {
    let fields = metadata.schema().fields();
    let texts: usize = metadata.schema().metadata().iter().map(|(key, value)| key.len() + value.len()).sum();
    (metadata.metadata().memory_size() + fields.size() + texts) as u64 + BYTES_PER_FIELD * fields.len() as u64
}

/// The position of the footer. Says clearly if the file is not a Parquet file at all, which the crate does not.
fn footer_start(path: &Path, file: &PositionedFile) -> Result<u64, Error> {
    let len = file.len();
    if len < 4 + TAIL || guarded(path, || file.get_bytes(0, 4))?[..3] != *b"PAR" {
        let hint = "convert it to Parquet first, for instance with pandas, polars or DuckDB";
        return Err(refused(path, "is not a Parquet file".to_owned(), hint));
    }
    let tail = guarded(path, || file.get_bytes(len - TAIL, TAIL as usize))?;
    let (length, magic) = tail.split_at(4);
    match magic {
        b"PAR1" => {}
        b"PARE" => return Err(refused(path, "is encrypted".to_owned(), footer::NO_KEYS)),
        _ => return Err(refused(path, "is a Parquet file without its end".to_owned(), DAMAGED)),
    }
    let length = u64::from(u32::from_le_bytes(length.try_into().unwrap_or_default()));
    match (len - TAIL - 4).checked_sub(length) {
        Some(before) => Ok(before + 4),
        None => Err(refused(path, format!("its footer of {length} bytes is longer than the file"), DAMAGED)),
    }
}
