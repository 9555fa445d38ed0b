//! Limits the size of decompressed pages. A page may claim a small size and decompress to more than fits in memory, since some
//! of the crate's codecs continue until the stream ends.

use std::io::{self, Read};

use parquet::basic::Compression;
use parquet::errors::ParquetError;

/// The most bytes that one compressed byte can expand to; `None` if there is no bound.
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

/// The most bytes that this many compressed bytes can expand to.
pub(super) fn most(codec: Compression, packed: u64) -> u64 {
    most_from_a_byte(codec).map_or(u64::MAX, |most| packed.saturating_mul(most))
}

/// Memory of a decoder beside its output, in bytes: Brotli has a window of up to 16 MiB, LZ4 frames have blocks of up to 4 MiB,
/// of which two are held.
pub(super) fn window(codec: Compression) -> u64 {
    match codec {
        Compression::UNCOMPRESSED | Compression::SNAPPY | Compression::LZ4_RAW | Compression::LZO => 0,
        Compression::GZIP(_) => 1 << 16,
        Compression::ZSTD(_) => 1 << 18,
        Compression::LZ4 => 1 << 23,
        Compression::BROTLI(_) => 17 << 20,
    }
}

/// Decompresses without storing the output, to check that it is not longer than claimed.
pub(super) fn check(codec: Compression, packed: &[u8], claimed: u64) -> Result<(), ParquetError> {
    let unpacked = match codec {
        Compression::GZIP(_) => length(flate2::read::MultiGzDecoder::new(packed), claimed),
        // Windows beyond 16 MiB are not part of the format, but decoders allocate memory for them.
        Compression::BROTLI(_) if packed.first().is_some_and(|byte| byte & 0x7f == LARGE_WINDOW) => Ok(u64::MAX),
        Compression::BROTLI(_) => length(brotli::Decompressor::new(packed, 1 << 16), claimed),
        // Some old writers use frames under this codec, and the crate tries to read them.
        Compression::LZ4 => length(lz4_flex::frame::FrameDecoder::new(packed), claimed).or(Ok(claimed)),
        _ => Ok(claimed),
    };
    match unpacked {
        Ok(size) if size <= claimed => Ok(()),
        Ok(_) => Err(ParquetError::General("a page unpacks to more than it claims".to_owned())),
        Err(error) => Err(error.into()),
    }
}

/// The length of a stream, counted up to one byte more than claimed.
fn length(stream: impl Read, claimed: u64) -> io::Result<u64> {
    io::copy(&mut stream.take(claimed + 1), &mut io::sink())
}

/// The first seven bits of a Brotli stream with a large window.
const LARGE_WINDOW: u8 = 0x11;
