//! Parquet and GeoParquet in and out, and tables in memory. Nothing here knows about smoothing.

mod file;
mod geometry;
mod input;
mod output;
mod read;

pub(crate) use file::read_small_text;
pub use geometry::{CoordinateColumns, CoordinateRequest};
pub use input::{ArrowTable, Input};
pub use output::{NewColumn, Output};
pub(crate) use read::ColumnKind;
pub use read::{GroupColumn, Groups, Numbers};

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use parquet::errors::ParquetError;

use crate::error::Error;

const DAMAGED: &str = "the file may be damaged or truncated: write it again, or check it with another Parquet reader";

/// Runs the Parquet reader on a file that nobody vouches for: its errors, and its panics, become ours.
fn guarded<T>(path: &Path, work: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, Error> {
    let file = |problem: String| Error::File { path: path.to_owned(), problem, hint: DAMAGED.to_owned() };
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(error)) => Err(file(one_line(&error.to_string()))),
        Err(_) => Err(file("the data make no sense".to_owned())),
    }
}

/// Foreign messages may have several lines or be very long; ours are one line.
fn one_line(message: &str) -> String {
    let line = message.split_whitespace().collect::<Vec<_>>().join(" ");
    shortened(&line, 300)
}

/// The beginning of a text that may be kilobytes long.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most { text.to_owned() } else { text.chars().take(most).collect::<String>() + "…" }
}
