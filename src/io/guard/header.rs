//! Reads the page headers of a column one after the other, without reading the pages.

use bytes::Bytes;
use parquet::errors::ParquetError;
use parquet::file::reader::ChunkReader;

use super::format::PAGE;
use super::thrift::{Broken, Thrift, Visitor};
use crate::io::file::PositionedFile;

/// Bytes to read first for a header: most take some 30 bytes, or 100 with statistics.
pub(super) const FIRST_LOOK: u64 = 1 << 10;

/// The factor by which to read more if a header did not end, and the limit: statistics may hold long texts. Chosen, not
/// measured.
const MORE: u64 = 16;
const MOST: u64 = 1 << 24;

/// The type of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PageKind {
    Data,
    DataV2,
    Dictionary,
    Index,
}

/// The fields of a page header.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    pub(super) kind: PageKind,
    /// The position of the page in the file.
    pub(super) start: u64,
    /// Compressed size in bytes.
    pub(super) packed: u64,
    /// Uncompressed size in bytes.
    pub(super) unpacked: u64,
    pub(super) values: u64,
    pub(super) encoding: i64,
    /// Bytes at the start that are never compressed.
    pub(super) levels: u64,
    pub(super) is_packed: bool,
}

/// The page headers in a part of a file.
pub(super) struct Headers {
    file: PositionedFile,
    at: u64,
    end: u64,
    /// The bytes read last, and their position.
    window: (u64, Bytes),
}

impl Headers {
    pub(super) fn new(file: PositionedFile, start: u64, length: u64) -> Self {
        Self { file, at: start, end: start.saturating_add(length), window: (start, Bytes::new()) }
    }

    /// The next header. Skips its page.
    pub(super) fn next(&mut self) -> Result<Option<Header>, ParquetError> {
        if self.at == self.end {
            return Ok(None);
        }
        let mut size = FIRST_LOOK;
        loop {
            let bytes = self.look(size)?;
            let mut thrift = Thrift::new(&bytes);
            let mut claims = HeaderClaims::default();
            match thrift.structure(PAGE, &mut claims) {
                Ok(()) => {
                    let start = self.at + (bytes.len() - thrift.left()) as u64;
                    let header = claims.header(start).filter(|header| header.packed <= self.end - start);
                    let header = header.ok_or_else(|| nonsense(self.at))?;
                    self.at = start + header.packed;
                    return Ok(Some(header));
                }
                Err(Broken::Short) if (bytes.len() as u64) < MOST.min(self.end - self.at) => {
                    size = MORE * FIRST_LOOK.max(bytes.len() as u64);
                }
                Err(_) => return Err(nonsense(self.at)),
            }
        }
    }

    /// The bytes from the current position on; the rest of the window if it may be long enough.
    fn look(&mut self, size: u64) -> Result<Bytes, ParquetError> {
        let (start, window) = &self.window;
        let offset = (self.at - start) as usize;
        if offset < window.len() && size == FIRST_LOOK {
            return Ok(window.slice(offset..));
        }
        let bytes = self.file.get_bytes(self.at, size.min(self.end - self.at) as usize)?;
        self.window = (self.at, bytes.clone());
        Ok(bytes)
    }
}

fn nonsense(at: u64) -> ParquetError {
    ParquetError::General(format!("the page header at byte {at} is invalid"))
}

/// The fields of a header, as they are read.
#[derive(Default)]
struct HeaderClaims {
    kind: Option<i64>,
    packed: Option<i64>,
    unpacked: Option<i64>,
    values: i64,
    encoding: i64,
    levels: i64,
    is_unpacked: bool,
    /// The structs for the type of the page. More than one could contradict each other.
    details: Vec<&'static str>,
    is_large: bool,
}

impl Visitor for HeaderClaims {
    fn number(&mut self, name: &'static str, value: i64) {
        // The crate truncates numbers to 32 bits.
        self.is_large |= i32::try_from(value).is_err() && !name.is_empty();
        match name {
            "type" => self.kind = Some(value),
            "packed" => self.packed = Some(value),
            "unpacked" => self.unpacked = Some(value),
            "values" => self.values = value,
            "encoding" => self.encoding = value,
            "levels" if value < 0 => self.is_large = true,
            "levels" => self.levels += value,
            "is packed" => self.is_unpacked = value == 0,
            _ => {}
        }
    }

    fn structure(&mut self, name: &'static str) {
        if !name.is_empty() {
            self.details.push(name);
        }
    }
}

impl HeaderClaims {
    /// The header of a page at `start`; `None` if it is invalid.
    fn header(&self, start: u64) -> Option<Header> {
        let kind = match (self.kind?, self.details.as_slice()) {
            (0, ["data"]) => PageKind::Data,
            (1, [] | ["index"]) => PageKind::Index,
            (2, ["dictionary"]) => PageKind::Dictionary,
            (3, ["data v2"]) => PageKind::DataV2,
            _ => return None,
        };
        let header = Header {
            kind,
            start,
            packed: u64::try_from(self.packed?).ok()?,
            unpacked: u64::try_from(self.unpacked?).ok()?,
            values: u64::try_from(self.values).ok()?,
            encoding: self.encoding,
            levels: u64::try_from(self.levels).ok()?,
            is_packed: !self.is_unpacked,
        };
        let fits = header.levels <= header.packed && header.levels <= header.unpacked;
        (fits && !self.is_large).then_some(header)
    }
}
