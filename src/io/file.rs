//! A file that several threads read at the same time, by position.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use bytes::Bytes;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};

use crate::error::Error;

/// Reads by position, so that threads share no cursor. Reads end at the length that the file had when it was opened, and no
/// buffer is larger than that: numbers in a file are not trusted.
#[derive(Clone, Debug)]
pub(super) struct PositionedFile {
    file: Arc<File>,
    len: u64,
    /// The time of the last modification, in seconds and nanoseconds.
    written: (i64, i64),
    /// The number of the first system error of a read, or 0. The Parquet crate passes on only the text of an error.
    failure: Arc<AtomicI32>,
}

impl PositionedFile {
    pub(super) fn open(path: &Path) -> std::result::Result<Self, Error> {
        // Checked first: opening a pipe would wait for a writer.
        if !std::fs::metadata(path).map_err(|source| cannot_read(path, source))?.is_file() {
            return Err(Error::File {
                subject: path.into(),
                problem: "is not a regular file".to_owned(),
                hint: "copy the data into a file first: files are read by position".to_owned(),
            });
        }
        Self::of(File::open(path)).map_err(|source| cannot_read(path, source))
    }

    fn of(opened: io::Result<File>) -> io::Result<Self> {
        let file = opened?;
        let metadata = file.metadata()?;
        let written = (metadata.mtime(), metadata.mtime_nsec());
        Ok(Self { file: Arc::new(file), len: metadata.len(), written, failure: Arc::default() })
    }

    /// The error to report for the file at this path: the system error if a read failed, otherwise the given one.
    pub(super) fn blame(&self, path: &Path, error: Error) -> Error {
        match self.failure.load(Ordering::Relaxed) {
            0 => error,
            number => Error::Io {
                action: "cannot read",
                path: PathBuf::from(path),
                source: io::Error::from_raw_os_error(number),
                hint: "the disk or the network may be failing: copy the file elsewhere and try again",
            },
        }
    }

    fn remember(&self, error: io::Error) -> io::Error {
        if let Some(number) = error.raw_os_error().filter(|_| error.kind() != io::ErrorKind::Interrupted) {
            let _ = self.failure.compare_exchange(0, number, Ordering::Relaxed, Ordering::Relaxed);
        }
        error
    }

    /// Whether length and modification time are the same as when the file was opened.
    pub(super) fn is_unchanged(&self) -> bool {
        let now = self.file.metadata();
        now.is_ok_and(|now| now.len() == self.len && (now.mtime(), now.mtime_nsec()) == self.written)
    }

    /// A reader that starts at a position.
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

fn cannot_read(path: &Path, source: io::Error) -> Error {
    Error::Io { action: "cannot read", path: path.to_owned(), source, hint: "check the path and its permissions" }
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
        self.file.read_exact_at(&mut buffer, start).map_err(|error| self.remember(error))?;
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
        let read = self.file.file.read_at(&mut buffer[..left], self.at);
        let count = read.map_err(|error| self.file.remember(error))?;
        self.at += count as u64;
        Ok(count)
    }
}

/// The largest size of a text file: parameter files are far smaller.
const MOST_TEXT: u64 = 1 << 20;

/// The text of a small file, such as a file of parameters.
pub(crate) fn read_small_text(path: &Path) -> std::result::Result<String, Error> {
    let file = PositionedFile::open(path)?;
    if file.len > MOST_TEXT {
        return Err(no_text(path, "is too large for a file of parameters"));
    }
    let read = file.get_bytes(0, file.len as usize);
    let bytes = read.map_err(|error| file.blame(path, no_text(path, &error.to_string())))?;
    String::from_utf8(bytes.to_vec()).map_err(|_| no_text(path, "is not text"))
}

fn no_text(path: &Path, problem: &str) -> Error {
    Error::File {
        subject: path.into(),
        problem: problem.to_owned(),
        hint: "check that it is the right file".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::TemporaryFolder;

    /// Issue 15, point 9.
    #[test]
    fn a_read_error_is_not_reported_as_a_damaged_file() {
        let folder = TemporaryFolder::new().unwrap();
        let path = folder.path().join("rows.parquet");
        std::fs::write(&path, [1; 100]).unwrap();
        let mut file = PositionedFile::open(&path).unwrap();
        assert!(file.get_bytes(50, 51).is_err());
        assert!(matches!(file.blame(&path, no_text(&path, "EOF")), Error::File { .. }));
        // Any system error will do: this file is open for writing only.
        file.file = Arc::new(File::options().write(true).open(&path).unwrap());
        let mut text = Vec::new();
        assert!(file.get_bytes(0, 10).is_err() && file.cursor(0).unwrap().read_to_end(&mut text).is_err());
        let error = file.clone().blame(&path, no_text(&path, "EOF"));
        assert!(error.is_world() && error.to_string().starts_with("cannot read"), "{error}");
    }
}
