//! Checks the footer before the Parquet crate parses it. The crate follows the schema by recursion, and allocates memory for
//! as many row groups and children as the footer claims.

use std::path::Path;

use super::format::FILE;
use super::thrift::{Broken, Thrift, Visitor};
use crate::error::Error;
use crate::io::{DAMAGED, shortened};

/// The deepest nesting of a schema; a list takes two levels. A thread with 2 MiB of stack handles 300 levels but not 400
/// (2026-11-18), and some threads have a smaller stack.
const MOST_LEVELS: usize = 100;

/// The most row groups that the Parquet crate can number.
pub(in crate::io) const MOST_ROW_GROUPS: usize = i16::MAX as usize;

/// Bytes of a parsed column chunk or schema element. Measured: 430 for each of 200,000 columns with statistics (2026-11-18).
/// Half as much again, so that the memory limit holds in any case.
const BYTES_PER_STRUCT: u64 = 640;

/// Bytes of a key-value pair beside its texts: 48, twice that while the list grows, and 64 for the allocations of short texts.
const BYTES_PER_PAIR: u64 = 160;

/// Bytes of a parsed number in a list. In the footer it takes as little as one byte.
const BYTES_PER_NUMBER: u64 = 8;

/// Refuses a footer that the Parquet crate cannot handle. Returns the bytes that the parsed footer takes.
pub(super) fn check(path: &Path, bytes: &[u8]) -> Result<u64, Error> {
    let mut footer = Footer::default();
    let walked = Thrift::new(bytes).structure(FILE, &mut footer);
    footer.schema.close();
    if let Some((problem, hint)) = footer.problem(walked) {
        return Err(Error::File { subject: path.into(), problem: shortened(&problem, 300), hint: hint.to_owned() });
    }
    let structs = footer.structs * BYTES_PER_STRUCT + footer.pairs * BYTES_PER_PAIR;
    Ok(bytes.len() as u64 + structs + footer.numbers * BYTES_PER_NUMBER)
}

/// The hint for an encrypted file.
pub(super) const NO_KEYS: &str = "write it again without encryption: keys are not supported";

/// Codecs from 0, uncompressed, to 7, `LZ4_RAW`.
const CODECS: std::ops::RangeInclusive<i64> = 0..=7;

/// The counts in a footer.
#[derive(Default)]
struct Footer {
    schema: SchemaTree,
    row_groups: usize,
    /// Schema elements and column chunks.
    structs: u64,
    pairs: u64,
    /// Numbers in lists.
    numbers: u64,
    is_encrypted: bool,
    unknown_codec: Option<i64>,
}

impl Footer {
    /// Why the footer is refused, with a hint; `walked` is the result of parsing it.
    fn problem(&self, walked: Result<(), Broken>) -> Option<(String, &'static str)> {
        if self.is_encrypted {
            return Some(("is encrypted".to_owned(), NO_KEYS));
        }
        match walked {
            Err(Broken::Short) => return Some(("its footer ends too soon".to_owned(), DAMAGED)),
            Err(Broken::Nonsense) => return Some(("its footer is invalid".to_owned(), DAMAGED)),
            Ok(()) => {}
        }
        if self.row_groups > MOST_ROW_GROUPS {
            let problem = format!("has {} row groups, more than {MOST_ROW_GROUPS}", self.row_groups);
            return Some((problem, "write it again with larger row groups"));
        }
        let levels = self.schema.deepest;
        if levels > MOST_LEVELS {
            let problem = format!("its columns are nested {levels} levels deep, more than {MOST_LEVELS}");
            return Some((problem, "write it again without the nested columns"));
        }
        if !self.schema.is_sound {
            return Some(("its schema is invalid".to_owned(), DAMAGED));
        }
        let codec = self.unknown_codec?;
        Some((format!("is compressed with codec {codec}, which is unknown"), super::OTHER_CODECS))
    }
}

impl Visitor for Footer {
    fn number(&mut self, name: &'static str, value: i64) {
        match name {
            "children" => self.schema.children = value,
            "codec" if !CODECS.contains(&value) => self.unknown_codec = Some(value),
            _ => {}
        }
    }

    fn list(&mut self, name: &'static str, size: usize) {
        match name {
            "schema" => self.schema.start(size),
            "row_groups" => self.row_groups = size,
            "numbers" => self.numbers += size as u64,
            _ => {}
        }
    }

    fn structure(&mut self, name: &'static str) {
        match name {
            "schema" => self.schema.add(),
            "encryption" => self.is_encrypted = true,
            _ => {}
        }
        self.structs += u64::from(matches!(name, "schema" | "columns"));
        self.pairs += u64::from(name == "pairs");
    }
}

/// The schema: a tree, stored as a list in which every element has the number of its children.
#[derive(Default)]
struct SchemaTree {
    elements: usize,
    /// Children of the current element.
    children: i64,
    is_open: bool,
    /// Children that are still missing, on each level.
    missing: Vec<i64>,
    deepest: usize,
    is_sound: bool,
}

impl SchemaTree {
    fn start(&mut self, elements: usize) {
        self.elements = elements;
        self.is_sound = true;
    }

    fn add(&mut self) {
        self.close();
        self.is_open = true;
    }

    /// Completes the current element.
    fn close(&mut self) {
        if !std::mem::take(&mut self.is_open) {
            return;
        }
        while self.missing.pop_if(|left| *left == 0).is_some() {}
        if let Some(left) = self.missing.last_mut() {
            *left -= 1;
        }
        let children = std::mem::take(&mut self.children);
        self.is_sound &= (0..self.elements as i64).contains(&children);
        self.missing.push(children.max(0));
        self.deepest = self.deepest.max(self.missing.len());
    }
}
