//! How far pages unpack. A page may claim little and unpack to more than any memory holds: some of the crate's codecs go
//! on until the stream ends.

use std::io::{self, Read};

use parquet::basic::Compression;
use parquet::errors::ParquetError;

/// Bytes that one byte can unpack to at most; `None` where there is no bound.
///
/// Snappy: a copy of 64 bytes takes 3. LZ4: a byte lengthens a copy by 255. Deflate: 258 bytes in two bits. Zstandard: a
/// block of 128 KiB takes 4. Brotli: copies of 16 MiB take a few bytes.
fn most_from_a_byte(codec: Compression) -> Option<u64> {
    match codec {
        Compression::UNCOMPRESSED => Some(1),
        Compression::SNAPPY => Some(22),
        Compression::LZ4 | Compression::LZ4_RAW => Some(256),
        Compression::GZIP(_) => Some(1032),
        Compression::ZSTD(_) => Some(1 << 15),
        Compression::BROTLI(_) | Compression::LZO => None,
    }
}

/// Bytes that so many packed bytes can unpack to.
pub(super) fn most(codec: Compression, packed: u64) -> u64 {
    most_from_a_byte(codec).map_or(u64::MAX, |most| packed.saturating_mul(most))
}

/// Bytes that a decoder takes beside its output: Brotli keeps a window of up to 16 MiB, frames of LZ4 have blocks of up to 4.
pub(super) fn window(codec: Compression) -> u64 {
    match codec {
        Compression::UNCOMPRESSED | Compression::SNAPPY | Compression::LZ4_RAW | Compression::LZO => 0,
        Compression::GZIP(_) => 1 << 16,
        Compression::ZSTD(_) => 1 << 18,
        Compression::LZ4 => 1 << 23,
        Compression::BROTLI(_) => 17 << 20,
    }
}

/// Unpacks to nowhere, to see that what comes out is not more than was claimed.
pub(super) fn check(codec: Compression, packed: &[u8], claimed: u64) -> Result<(), ParquetError> {
    let count = |stream: &mut dyn Read| io::copy(&mut stream.take(claimed + 1), &mut io::sink());
    let unpacked = match codec {
        Compression::GZIP(_) => count(&mut flate2::read::MultiGzDecoder::new(packed)),
        // Windows beyond 16 MiB are no part of the format, though decoders make room for them.
        Compression::BROTLI(_) if packed.first().is_some_and(|byte| byte & 0x7f == LARGE_WINDOW) => Ok(u64::MAX),
        Compression::BROTLI(_) => count(&mut brotli::Decompressor::new(packed, 1 << 16)),
        // Old writers mean frames by this codec; the crate tries them too.
        Compression::LZ4 => count(&mut lz4_flex::frame::FrameDecoder::new(packed)).or(Ok(claimed)),
        _ => Ok(claimed),
    };
    match unpacked {
        Ok(size) if size <= claimed => Ok(()),
        Ok(_) => Err(ParquetError::General("a page unpacks to more than it claims".to_owned())),
        Err(error) => Err(error.into()),
    }
}

/// The first seven bits of a Brotli stream with a large window.
const LARGE_WINDOW: u8 = 0x11;
