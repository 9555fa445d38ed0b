//! Bloom filters, which are copied to the output but not used. In a malicious file all columns may share a large one, and each
//! copy would take memory. A filter that is invalid or does not fit is left out: the output is correct without it.

use parquet::bloom_filter::Sbbf;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::{ChunkReader, Length};

use super::format::BLOOM_FILTER;
use super::thrift::{Thrift, Visitor};
use crate::io::budget::{Budget, Reservation};
use crate::io::file::PositionedFile;

/// The longest header in bytes, as in the Parquet crate.
const LONGEST_HEADER: u64 = 20;

/// Bytes of a block; a filter consists of whole blocks.
const BLOCK: u64 = 32;

/// The Bloom filters of a file.
pub(in crate::io) struct BloomFilters<'a> {
    file: &'a PositionedFile,
    budget: &'a Budget,
    /// Bytes of the file minus those of all filters read so far: if it would get negative, some filters are shared.
    left: u64,
}

impl<'a> BloomFilters<'a> {
    pub(in crate::io) fn new(file: &'a PositionedFile, budget: &'a Budget) -> Self {
        Self { file, budget, left: file.len() }
    }

    /// The filter of a column and the memory reserved for it; `None` if there is none or it is left out.
    pub(in crate::io) fn read(&mut self, chunk: &ColumnChunkMetaData) -> Option<(Sbbf, Reservation)> {
        let size = self.size(chunk)?;
        self.left = self.left.checked_sub(size)?;
        // The bytes of the file, and the parsed filter.
        let taken = self.budget.take(2 * size, || "copying Bloom filters".to_owned()).ok()?;
        let filter = Sbbf::read_from_column_chunk(chunk, self.file).ok()??;
        Some((filter, taken))
    }

    /// Bytes of a filter with its header, if both are valid.
    fn size(&self, chunk: &ColumnChunkMetaData) -> Option<u64> {
        let start = u64::try_from(chunk.bloom_filter_offset()?).ok()?;
        let look = self.file.len().checked_sub(start)?.min(LONGEST_HEADER);
        let bytes = self.file.get_bytes(start, look as usize).ok()?;
        let (mut thrift, mut claims) = (Thrift::new(&bytes), BloomClaims::default());
        thrift.structure(BLOOM_FILTER, &mut claims).ok()?;
        let bits = u64::try_from(claims.bytes).ok().filter(|bits| *bits > 0 && bits % BLOCK == 0)?;
        let size = (bytes.len() - thrift.left()) as u64 + bits;
        chunk.bloom_filter_length().is_none_or(|length| u64::try_from(length) == Ok(size)).then_some(size)
    }
}

/// The fields of a header.
#[derive(Default)]
struct BloomClaims {
    bytes: i64,
}

impl Visitor for BloomClaims {
    fn number(&mut self, name: &'static str, value: i64) {
        if name == "bytes" {
            // The crate truncates numbers to 32 bits.
            self.bytes = i32::try_from(value).map_or(0, i64::from);
        }
    }
}
