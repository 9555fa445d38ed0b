//! The footer, looked over before the Parquet crate parses it: the crate follows the schema by recursion and makes room
//! for as many row groups and children as are claimed.

use std::path::Path;

use super::format::FILE;
use super::thrift::{Broken, Thrift, Visitor};
use crate::error::Error;
use crate::io::{DAMAGED, shortened};

/// Levels of nesting that a schema may have; lists take two each. Threads of 2 MiB of stack bear 300 levels and not 400,
/// some have less stack (2026-11-18).
const MOST_LEVELS: usize = 100;

/// Row groups that the Parquet crate can number.
pub(in crate::io) const MOST_ROW_GROUPS: usize = i16::MAX as usize;

/// Bytes that a column of a row group or an element of the schema takes once it is parsed. Measured:
/// 430 for each of 200 000 columns with statistics (2026-11-18); half as much again, since a limit is a promise.
const BYTES_PER_STRUCT: u64 = 640;

/// Bytes that a pair of key and value takes beside its texts: 48, twice that while the list grows, and room for short texts.
const BYTES_PER_PAIR: u64 = 160;

/// Bytes for each number in a list, which may take one in the footer.
const BYTES_PER_NUMBER: u64 = 8;

/// Refuses a footer that the crate would choke on; gives the bytes that it takes once it is parsed.
pub(super) fn check(path: &Path, bytes: &[u8]) -> Result<u64, Error> {
    let mut footer = Footer::default();
    let walked = Thrift::new(bytes).structure(FILE, &mut footer);
    let refuse = |problem: String, hint: &str| {
        Err(Error::File { path: path.to_owned(), problem: shortened(&problem, 300), hint: hint.to_owned() })
    };
    if footer.is_encrypted {
        return refuse("is encrypted".to_owned(), NO_KEYS);
    }
    match walked {
        Err(Broken::Short) => return refuse("its footer ends too soon".to_owned(), DAMAGED),
        Err(Broken::Nonsense) => return refuse("its footer makes no sense".to_owned(), DAMAGED),
        Ok(()) => footer.schema.close(),
    }
    if footer.row_groups > MOST_ROW_GROUPS {
        let problem = format!("has {} row groups, more than {MOST_ROW_GROUPS}", footer.row_groups);
        return refuse(problem, "write it again with larger row groups");
    }
    if footer.schema.deepest > MOST_LEVELS {
        let problem = format!("its columns are nested {} levels deep, more than {MOST_LEVELS}", footer.schema.deepest);
        return refuse(problem, "write it again without the nested columns");
    }
    if !footer.schema.is_sound {
        return refuse("its schema makes no sense".to_owned(), DAMAGED);
    }
    if let Some(codec) = footer.unknown_codec {
        return refuse(format!("is compressed with codec {codec}, which is unknown"), super::OTHER_CODECS);
    }
    let structs = footer.structs * BYTES_PER_STRUCT + footer.pairs * BYTES_PER_PAIR;
    Ok(bytes.len() as u64 + structs + footer.numbers * BYTES_PER_NUMBER)
}

/// What to do about an encrypted file.
pub(super) const NO_KEYS: &str = "write it again without encryption: there is no way to give a key";

/// Codecs from 0, uncompressed, to 7, `LZ4_RAW`.
const CODECS: std::ops::RangeInclusive<i64> = 0..=7;

/// What a footer holds, in numbers.
#[derive(Default)]
struct Footer {
    schema: SchemaTree,
    row_groups: usize,
    /// Elements of the schema, columns of row groups.
    structs: u64,
    pairs: u64,
    /// Numbers in lists.
    numbers: u64,
    is_encrypted: bool,
    unknown_codec: Option<i64>,
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

/// The schema: a tree, written as a list in which every element says how many children follow.
#[derive(Default)]
struct SchemaTree {
    elements: usize,
    /// Children of the element being walked over.
    children: i64,
    is_open: bool,
    /// Children still to come, on each level.
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

    /// The element being walked over is complete.
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
