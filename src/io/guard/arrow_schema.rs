//! The Arrow schema that writers embed beside Parquet's own. Its format lets parts be shared, of which everybody who reads it
//! makes copies: a name of a megabyte for each of a thousand columns takes a megabyte in the file and a thousand here.

use arrow::ipc::root_as_message_with_opts;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use flatbuffers::VerifierOptions;
use parquet::arrow::ARROW_SCHEMA_META_KEY;
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;

/// How many times as long a schema may be without shared parts. Writers share the layouts of its tables: measured less than
/// twice (2026-11-18).
const MOST_SHARED: usize = 4;

/// What is before the schema: a mark, and its length.
const MARK: [u8; 4] = [0xff; 4];
const MARK_AND_LENGTH: usize = 8;

/// Refuses an embedded schema that shares more than writers do. The rest is for the crate to find out.
pub(super) fn check(metadata: &ParquetMetaData) -> Result<(), ParquetError> {
    let pairs = metadata.file_metadata().key_value_metadata().into_iter().flatten();
    let mut schemas = pairs.filter(|pair| pair.key == ARROW_SCHEMA_META_KEY).filter_map(|pair| pair.value.as_deref());
    if schemas.all(|schema| is_sound(schema, MOST_SHARED)) {
        return Ok(());
    }
    Err(ParquetError::General("the Arrow schema in it makes no sense".to_owned()))
}

/// Whether a schema is a schema, and at most so many times as long without shared parts.
fn is_sound(schema: &str, most_shared: usize) -> bool {
    let bytes = BASE64_STANDARD.decode(schema).unwrap_or_default();
    let start = if bytes.starts_with(&MARK) { MARK_AND_LENGTH } else { 0 };
    let message = bytes.get(start..).unwrap_or_default();
    let limits = VerifierOptions { max_apparent_size: most_shared * message.len(), ..VerifierOptions::default() };
    root_as_message_with_opts(&limits, message).is_ok()
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::{DataType, Field, Schema};
    use parquet::arrow::encode_arrow_schema;

    use super::*;

    #[test]
    fn schemas_of_writers_need_half_of_what_they_may() {
        let list = DataType::List(Field::new("item", DataType::Int8, true).into());
        let key = DataType::Dictionary(DataType::Int8.into(), DataType::Utf8.into());
        let point = DataType::Struct(vec![Field::new("x", DataType::Float64, false)].into());
        for kind in [DataType::Null, DataType::Int64, DataType::Utf8, list, key, point] {
            let fields: Vec<Field> = (0..2000).map(|at| Field::new(format!("{at:x}"), kind.clone(), true)).collect();
            let schema = encode_arrow_schema(&Schema::new(fields));
            assert!(is_sound(&schema, MOST_SHARED / 2), "{kind}");
        }
    }

    #[test]
    fn what_is_no_schema() {
        for schema in ["", "////", "no base64!", "AAAA"] {
            assert!(!is_sound(schema, MOST_SHARED), "{schema}");
        }
    }
}
