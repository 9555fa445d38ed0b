//! A file that several threads read at once, each at its own place.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};

use crate::error::Error;

/// Reads by position, so that no thread moves another's. No read goes beyond the length that the file had
/// when it was opened, and no buffer is larger than what is there: numbers in a file are not trusted.
#[derive(Clone, Debug)]
pub(super) struct PositionedFile {
    file: Arc<File>,
    len: u64,
    /// When it was last written to, in seconds and nanoseconds.
    written: (i64, i64),
}

impl PositionedFile {
    pub(super) fn open(path: &Path) -> std::result::Result<Self, Error> {
        let failed = |source| Error::Io {
            action: "cannot read",
            path: path.to_owned(),
            source,
            hint: "check the path and its permissions",
        };
        let kind = std::fs::metadata(path).map_err(failed)?;
        if !kind.is_file() {
            // Opening a pipe would wait for a writer for ever.
            return Err(Error::File {
                path: path.to_owned(),
                problem: "is not a regular file".to_owned(),
                hint: "copy the data into a file first: files are read by position".to_owned(),
            });
        }
        let file = File::open(path).map_err(failed)?;
        let opened = file.metadata().map_err(failed)?;
        Ok(Self { file: Arc::new(file), len: opened.len(), written: (opened.mtime(), opened.mtime_nsec()) })
    }

    /// Whether nobody has written to the file since it was opened, as far as the system tells.
    pub(super) fn is_unchanged(&self) -> bool {
        let same = |now: std::fs::Metadata| now.len() == self.len && (now.mtime(), now.mtime_nsec()) == self.written;
        self.file.metadata().is_ok_and(same)
    }

    /// A reader from a place on.
    pub(super) fn cursor(&self, start: u64) -> Result<Cursor> {
        self.check(start, 0)?;
        Ok(Cursor { file: self.clone(), at: start })
    }

    fn check(&self, start: u64, length: u64) -> Result<()> {
        match start.checked_add(length) {
            Some(end) if end <= self.len => Ok(()),
            _ => Err(ParquetError::EOF(format!(
                "{length} bytes at {start} lie beyond the end of the file at {}",
                self.len
            ))),
        }
    }
}

impl Length for PositionedFile {
    fn len(&self) -> u64 {
        self.len
    }
}

impl ChunkReader for PositionedFile {
    type T = BufReader<Cursor>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        Ok(BufReader::with_capacity(1 << 16, self.cursor(start)?))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        self.check(start, length as u64)?;
        let mut buffer = vec![0; length];
        self.file.read_exact_at(&mut buffer, start)?;
        Ok(buffer.into())
    }
}

/// A reader with a position of its own.
pub(super) struct Cursor {
    file: PositionedFile,
    at: u64,
}

impl Read for Cursor {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.file.len.saturating_sub(self.at).min(buffer.len() as u64) as usize;
        let count = self.file.file.read_at(&mut buffer[..left], self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

/// Text files that people or we wrote are far smaller than this.
const MOST_TEXT: u64 = 1 << 20;

/// The text of a small file.
pub(crate) fn read_small_text(path: &Path) -> std::result::Result<String, Error> {
    let wrong = |problem: &str| Error::File {
        path: path.to_owned(),
        problem: problem.to_owned(),
        hint: "is it the right file?".to_owned(),
    };
    let file = PositionedFile::open(path)?;
    if file.len > MOST_TEXT {
        return Err(wrong("is too large for a file of parameters"));
    }
    let bytes = file.get_bytes(0, file.len as usize).map_err(|error| wrong(&error.to_string()))?;
    String::from_utf8(bytes.to_vec()).map_err(|_| wrong("is not text"))
}
