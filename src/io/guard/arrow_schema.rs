//! The Arrow schema that writers embed beside Parquet's own. It is a flatbuffer, in which parts can be shared, but every reader
//! copies them: one name of a megabyte, shared by a thousand columns, takes a megabyte in the file and a gigabyte in memory.
//! Writers also repeat the file's key-value pairs in it, which a reader would then hold twice.

use std::collections::HashSet;
use std::path::Path;

use arrow::datatypes::Schema;
use arrow::ipc::convert::fb_to_schema;
use arrow::ipc::{root_as_message, root_as_message_with_opts};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use flatbuffers::{InvalidFlatbuffer, VerifierOptions};
use parquet::arrow::{ARROW_SCHEMA_META_KEY, encode_arrow_schema};
use parquet::errors::ParquetError;
use parquet::file::metadata::{FileMetaData, KeyValue, ParquetMetaData, ParquetMetaDataBuilder};

use super::ours;
use crate::error::Error;
use crate::io::budget::Budget;

/// By how much a schema may grow if shared parts are copied. Writers share only the layouts of its tables: measured growth is
/// less than twofold (2026-11-18).
const MOST_SHARED: usize = 4;

/// What precedes the schema: a continuation marker, and its length.
const MARK: [u8; 4] = [0xff; 4];
const MARK_AND_LENGTH: usize = 8;

/// Splits the key-value pairs from the metadata. The Arrow schema stays in the metadata, where the crate looks for it, but
/// without long pairs that it repeats. Among the returned pairs it has no value.
pub(super) fn separate(
    path: &Path,
    metadata: ParquetMetaData,
    budget: &Budget,
) -> Result<(ParquetMetaData, Vec<KeyValue>), ParquetError> {
    let pairs = metadata.file_metadata().key_value_metadata().map_or(&[][..], Vec::as_slice);
    let _copies =
        budget.take(size(pairs.iter().filter(|pair| !is_schema(pair))), || reading_metadata(path)).map_err(ours)?;
    let mut embedded = None;
    for schema in pairs.iter().filter(|pair| is_schema(pair)).filter_map(|pair| pair.value.as_deref()) {
        let mut room = budget.take(0, || reading_metadata(path)).map_err(ours)?;
        let parsed = parse(schema, |bytes| room.grow(bytes, || reading_metadata(path)).map_err(ours))?;
        embedded = Some(without_repeated(schema, parsed, pairs, path)?);
    }
    let kept = pairs.iter().map(without_schema).collect();
    let file = metadata.file_metadata();
    let schema = embedded.map(|schema| vec![KeyValue::new(ARROW_SCHEMA_META_KEY.to_owned(), schema)]);
    let file = FileMetaData::new(
        file.version(),
        file.num_rows(),
        file.created_by().map(str::to_owned),
        schema,
        file.schema_descr_ptr(),
        file.column_orders().cloned(),
    );
    let groups = metadata.into_builder().take_row_groups();
    Ok((ParquetMetaDataBuilder::new(file).set_row_groups(groups).build(), kept))
}

fn reading_metadata(path: &Path) -> String {
    format!("reading the metadata of {}", path.display())
}

fn is_schema(pair: &KeyValue) -> bool {
    pair.key == ARROW_SCHEMA_META_KEY
}

/// The pair; without its value if that is the Arrow schema.
fn without_schema(pair: &KeyValue) -> KeyValue {
    if is_schema(pair) { KeyValue::new(pair.key.clone(), None) } else { pair.clone() }
}

/// Memory of key-value pairs in bytes.
pub(in crate::io) fn size<'a>(pairs: impl IntoIterator<Item = &'a KeyValue>) -> u64 {
    let texts = pairs.into_iter().map(|pair| pair.key.capacity() + pair.value.as_ref().map_or(0, String::capacity));
    texts.map(|text| (size_of::<KeyValue>() + text) as u64).sum()
}

/// Parses a schema, and refuses one with more shared parts than writers produce. `grow` reserves memory.
fn parse(schema: &str, mut grow: impl FnMut(u64) -> Result<(), ParquetError>) -> Result<Schema, ParquetError> {
    grow(schema.len() as u64)?;
    let bytes = decode(schema);
    let parsed = match shared(&bytes) {
        Some(times) => {
            // The parsed schema, and its encoding without repeated pairs.
            grow(times as u64 * 2 * bytes.len() as u64)?;
            root_as_message_with_opts(&limits(&bytes, times), message(&bytes)).ok()
        }
        None => None,
    };
    let schema = parsed.and_then(|message| message.header_as_schema()).map(fb_to_schema);
    schema.ok_or_else(|| ParquetError::General("its embedded Arrow schema is invalid".to_owned()))
}

/// Bytes of metadata that stay in the schema although the pairs repeat them: pyarrow 26 shows no pairs but those in the schema, so that
/// data frames lose their index without them. Chosen: what pandas says of 10,000 columns takes two megabytes.
const MOST_REPEATED: usize = 4 << 20;

/// The schema; if its metadata are long, without those that are also among the pairs.
fn without_repeated(schema: &str, mut parsed: Schema, pairs: &[KeyValue], path: &Path) -> Result<String, ParquetError> {
    let repeated: usize = parsed.metadata.iter().map(|(key, value)| key.len() + value.len()).sum();
    let shorter = if repeated <= MOST_REPEATED {
        schema.to_owned()
    } else {
        let keys: HashSet<&str> = pairs.iter().map(|pair| pair.key.as_str()).collect();
        parsed.metadata.retain(|key, _| !keys.contains(key.as_str()));
        encode_arrow_schema(&parsed)
    };
    let readable = VerifierOptions::default();
    if matches!(root_as_message(message(&decode(&shorter))), Err(InvalidFlatbuffer::TooManyTables)) {
        let most = readable.max_tables;
        return Err(ours(Error::File {
            subject: path.into(),
            problem: format!("its Arrow schema has more than {most} parts: columns, types and pairs of metadata"),
            hint: "write it again with fewer of them, or without an Arrow schema".to_owned(),
        }));
    }
    Ok(shorter)
}

fn decode(schema: &str) -> Vec<u8> {
    BASE64_STANDARD.decode(schema).unwrap_or_default()
}

/// The message without its marker and length, which old writers omit.
fn message(bytes: &[u8]) -> &[u8] {
    let start = if bytes.starts_with(&MARK) { MARK_AND_LENGTH } else { 0 };
    bytes.get(start..).unwrap_or_default()
}

/// By how much a schema grows if shared parts are copied; `None` if it is invalid or grows too much.
fn shared(bytes: &[u8]) -> Option<usize> {
    (1..=MOST_SHARED).find(|&times| root_as_message_with_opts(&limits(bytes, times), message(bytes)).is_ok())
}

fn limits(bytes: &[u8], times: usize) -> VerifierOptions {
    let length = message(bytes).len();
    VerifierOptions { max_apparent_size: times * length, max_tables: length, ..VerifierOptions::default() }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::{DataType, Field, Schema};
    use parquet::arrow::encode_arrow_schema;

    use super::*;

    #[test]
    fn schemas_of_writers_grow_by_at_most_half_the_limit() {
        let list = DataType::List(Field::new("item", DataType::Int8, true).into());
        let key = DataType::Dictionary(DataType::Int8.into(), DataType::Utf8.into());
        let point = DataType::Struct(vec![Field::new("x", DataType::Float64, false)].into());
        for kind in [DataType::Null, DataType::Int64, DataType::Utf8, list, key, point] {
            let fields: Vec<Field> = (0..2000).map(|at| Field::new(format!("{at:x}"), kind.clone(), true)).collect();
            let schema = encode_arrow_schema(&Schema::new(fields));
            assert!(shared(&decode(&schema)).is_some_and(|times| times <= MOST_SHARED / 2), "{kind}");
        }
    }

    #[test]
    fn invalid_schemas_are_refused() {
        for schema in ["", "////", "no base64!", "AAAA"] {
            assert!(shared(&decode(schema)).is_none(), "{schema}");
        }
    }
}
