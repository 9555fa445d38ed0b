//! Parses JSON and refuses duplicate keys. Most parsers keep one of the values without notice, and not all the same one.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::shortened;

/// Parses a text.
///
/// # Errors
/// A phrase for a message: the text is not JSON, or has a certain key twice.
pub(crate) fn parse_json(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map(|Unambiguous(value)| value).map_err(|error| match error.classify() {
        serde_json::error::Category::Data => error.to_string(),
        _ => format!("is not JSON: {error}"),
    })
}

/// A value without duplicate keys.
struct Unambiguous(Value);

impl<'de> Deserialize<'de> for Unambiguous {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(AnyValue).map(Self)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Unambiguous(element)) = elements.next_element()? {
            list.push(element);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if object.contains_key(&key) {
                return Err(A::Error::custom(format_args!("has the key '{}' twice", shortened(&key, 80))));
            }
            let Unambiguous(value) = entries.next_value()?;
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_the_same_as_those_of_serde() {
        let text = r#"{"a": [1, -2, 0.30000000000000004, 1e300, true, null, "é\n"], "b": {"a": {}}, "": 18446744073709551615}"#;
        assert_eq!(parse_json(text), Ok(serde_json::from_str(text).unwrap()));
    }

    #[test]
    fn a_duplicate_key_is_named() {
        for text in [r#"{"c": 1, "sigma": 2, "c": 1}"#, r#"[{"b": {"c": 1, "c": {}}}]"#, r#"{"c": 1, "\u0063": 1}"#] {
            assert!(parse_json(text).unwrap_err().starts_with("has the key 'c' twice at line 1"), "{text}");
        }
    }

    #[test]
    fn text_that_is_not_json_is_refused() {
        for text in ["", "{", "{'a': 1}", "[1,]", "{} {}"] {
            assert!(parse_json(text).unwrap_err().starts_with("is not JSON: "), "{text}");
        }
        assert!(parse_json(&"[".repeat(1000)).is_err());
    }
}
