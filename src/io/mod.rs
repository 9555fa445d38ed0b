//! Reads and writes Parquet and GeoParquet, and reads Arrow tables in memory. This module does not depend on smoothing.

mod abandoned;
mod budget;
mod expand;
mod file;
#[cfg(test)]
mod fixture;
mod geometry;
mod groups;
mod guard;
mod input;
mod json;
mod key;
mod nearest;
mod origin;
mod output;
mod parts;
mod permissions;
mod point_column;
mod read;
mod spill;
mod temporary;

pub use budget::Budget;
pub(crate) use file::read_small_text;
pub use geometry::{CoordinateRequest, lat_lon_names};
pub use groups::{GroupColumn, Groups};
pub use input::{ArrowTable, Input};
pub(crate) use json::parse_json;
pub use key::as_keys;
pub use origin::Origin;
pub use output::{Complete, NewColumn, Output};
pub(crate) use read::ColumnKind;
pub use read::{CoordinateColumns, Numbers};
pub(crate) use spill::{Spill, free_space};
pub(crate) use temporary::{TemporaryFolder, remove_all, try_remove_all};

use crate::text::one_line;
pub(crate) use crate::text::shortened;

const DAMAGED: &str = "the file may be damaged or truncated: write it again, or check it with another Parquet reader";

/// A message of another library on one line, at most 300 characters long.
fn foreign(message: &str) -> String {
    shortened(&one_line(message), 300)
}
