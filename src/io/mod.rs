//! Parquet and GeoParquet in and out, and tables in memory. Nothing here knows about smoothing.

mod budget;
mod file;
mod geometry;
mod guard;
mod input;
mod output;
mod read;

pub use budget::Budget;
pub(crate) use file::read_small_text;
pub use geometry::{CoordinateColumns, CoordinateRequest};
pub use input::{ArrowTable, Input};
pub use output::{NewColumn, Output};
pub(crate) use read::ColumnKind;
pub use read::{GroupColumn, Groups, Numbers};

const DAMAGED: &str = "the file may be damaged or truncated: write it again, or check it with another Parquet reader";

/// Foreign messages may have several lines or be very long; ours are one line.
fn one_line(message: &str) -> String {
    let line = message.split_whitespace().collect::<Vec<_>>().join(" ");
    shortened(&line, 300)
}

/// The beginning of a text that may be kilobytes long.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most { text.to_owned() } else { text.chars().take(most).collect::<String>() + "…" }
}
