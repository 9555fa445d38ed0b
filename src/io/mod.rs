//! Parquet and GeoParquet in and out, and tables in memory. Nothing here knows about smoothing.

mod budget;
mod file;
#[cfg(test)]
mod fixture;
mod geometry;
mod guard;
mod input;
mod json;
mod output;
mod parts;
mod read;
mod spill;
mod temporary;

pub use budget::Budget;
pub(crate) use file::read_small_text;
pub use geometry::{CoordinateColumns, CoordinateRequest};
pub use input::{ArrowTable, Input};
pub(crate) use json::parse_json;
pub use output::{NewColumn, Output};
pub(crate) use read::ColumnKind;
pub use read::{GroupColumn, Groups, Numbers};
pub(crate) use spill::{Spill, free_space};
pub(crate) use temporary::{TemporaryFolder, remove_all, try_remove_all};

const DAMAGED: &str = "the file may be damaged or truncated: write it again, or check it with another Parquet reader";

/// Foreign messages may have several lines or be very long; ours are one line.
fn one_line(message: &str) -> String {
    let line = message.split_whitespace().collect::<Vec<_>>().join(" ");
    shortened(&line, 300)
}

/// The beginning of a text that may be kilobytes long, for a line of a message.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    let mut shown: String = text.chars().take(most).map(harmless).collect();
    if text.chars().nth(most).is_some() {
        shown.push('…');
    }
    shown
}

/// Control characters in a file's names would break the line, or command the terminal.
fn harmless(letter: char) -> char {
    let breaks = letter.is_control() || matches!(letter, '\u{2028}' | '\u{2029}');
    if breaks { char::REPLACEMENT_CHARACTER } else { letter }
}
