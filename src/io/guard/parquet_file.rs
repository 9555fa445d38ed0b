//! An open Parquet file, its metadata checked.

use std::path::PathBuf;

use parquet::arrow::arrow_reader::ArrowReaderMetadata;
use parquet::errors::ParquetError;
use parquet::file::metadata::{KeyValue, ParquetMetaData};

use super::{guarded, load};
use crate::error::Error;
use crate::io::budget::Budget;
use crate::io::file::PositionedFile;

/// A file whose footer was checked.
#[derive(Debug)]
pub(in crate::io) struct ParquetFile {
    pub(in crate::io) path: PathBuf,
    pub(in crate::io) reader: PositionedFile,
    pub(in crate::io) metadata: ArrowReaderMetadata,
    /// Its key-value pairs, which are removed from `metadata` since they may be long. The pair of the Arrow schema has no value.
    pub(in crate::io) pairs: Vec<KeyValue>,
}

impl ParquetFile {
    pub(in crate::io) fn open(path: PathBuf, budget: &Budget) -> Result<Self, Error> {
        let reader = PositionedFile::open(&path)?;
        let (metadata, pairs) = load(&path, &reader, budget).map_err(|error| reader.blame(&path, error))?;
        Ok(Self { path, reader, metadata, pairs })
    }

    /// Runs work on the file. Errors and panics of the Parquet crate, and failures of the disk, become errors of this crate.
    pub(in crate::io) fn guarded<T>(&self, work: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, Error> {
        guarded(self.path.as_path(), work).map_err(|error| self.reader.blame(&self.path, error))
    }

    /// The purpose of a memory reservation, for messages.
    pub(in crate::io) fn reading(&self) -> String {
        format!("reading {}", self.path.display())
    }

    pub(in crate::io) fn parquet(&self) -> &ParquetMetaData {
        self.metadata.metadata()
    }
}
