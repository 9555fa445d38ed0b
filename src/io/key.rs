//! Converts group keys of any type to text. Two values of a type have the same text exactly if they are equal; decimals are
//! converted digit by digit, never by way of a float.
//!
//! The text does not depend on the type: the key 1 of one file is the same as 1.0, 1.00 or '1' of another.

use std::fmt::Write as _;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, FixedSizeBinaryArray, Float64Array, PrimitiveArray, StringArray,
};
use arrow::compute::{CastOptions, cast_with_options, take};
use arrow::datatypes::{DataType, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, Int64Type, TimeUnit};
use arrow::error::ArrowError;
use arrow::util::display::{ArrayFormatter, FormatOptions};

/// The keys of an array of any type that is not nested. NaN counts as null.
///
/// # Errors
/// If the array does not match its type.
pub fn as_keys(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let keys: StringArray = match array.data_type() {
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            return take(&as_keys(dictionary.values())?, dictionary.keys(), None);
        }
        DataType::RunEndEncoded(_, values) => return as_keys(&strict_cast(array, values.data_type())?),
        DataType::Float16 | DataType::Float32 | DataType::Float64 => {
            floats(strict_cast(array, &DataType::Float64)?.as_primitive())
        }
        DataType::Decimal32(_, scale) => decimals(array.as_primitive::<Decimal32Type>(), *scale),
        DataType::Decimal64(_, scale) => decimals(array.as_primitive::<Decimal64Type>(), *scale),
        DataType::Decimal128(_, scale) => decimals(array.as_primitive::<Decimal128Type>(), *scale),
        DataType::Decimal256(_, scale) => decimals(array.as_primitive::<Decimal256Type>(), *scale),
        // The time zone is only a display setting: the value counts from the epoch in UTC.
        DataType::Timestamp(unit, Some(_)) => return as_keys(&strict_cast(array, &DataType::Timestamp(*unit, None))?),
        DataType::Date64 => times(array)?.iter().map(|text| text.map(date)).collect(),
        DataType::Timestamp(..)
        | DataType::Date32
        | DataType::Time32(_)
        | DataType::Time64(_)
        | DataType::Duration(_) => times(array)?,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => {
            strict_cast(array, &DataType::LargeBinary)?.as_binary::<i64>().iter().map(|bytes| bytes.map(text)).collect()
        }
        DataType::FixedSizeBinary(_) => fixed(array.as_fixed_size_binary()),
        _ => return strict_cast(array, &DataType::Utf8),
    };
    Ok(Arc::new(keys))
}

/// A cast that fails rather than losing a value.
pub(super) fn strict_cast(array: &dyn Array, to: &DataType) -> Result<ArrayRef, ArrowError> {
    cast_with_options(array, to, &CastOptions { safe: false, ..CastOptions::default() })
}

fn floats(array: &Float64Array) -> StringArray {
    array.iter().map(|value| value.filter(|value| !value.is_nan()).map(float)).collect()
}

/// All digits of a whole number; the shortest decimal that identifies another float. Both zeros have one text.
fn float(value: f64) -> String {
    match value + 0.0 {
        value if value.fract() == 0.0 => format!("{value:.0}"),
        value => value.to_string(),
    }
}

fn decimals<T: ArrowPrimitiveType>(array: &PrimitiveArray<T>, scale: i8) -> StringArray
where
    T::Native: ToString,
{
    array.iter().map(|units| units.map(|units| decimal(&units.to_string(), scale))).collect()
}

/// `units` · 10^−scale without trailing zeros: 100 hundredths are 1.
pub(super) fn decimal(units: &str, scale: i8) -> String {
    let (sign, digits) = units.strip_prefix('-').map_or(("", units), |digits| ("-", digits));
    if digits == "0" {
        return digits.to_owned();
    }
    let Ok(places) = usize::try_from(scale) else {
        return format!("{units}{}", "0".repeat(usize::from(scale.unsigned_abs())));
    };
    let padded = format!("{digits:0>width$}", width = places + 1);
    let (whole, fraction) = padded.split_at(padded.len() - places);
    match fraction.trim_end_matches('0') {
        "" => format!("{sign}{whole}"),
        fraction => format!("{sign}{whole}.{fraction}"),
    }
}

/// Dates and times in ISO format, durations in seconds. A value outside the calendar is a number of seconds or days.
fn times(array: &ArrayRef) -> Result<StringArray, ArrowError> {
    let (scale, unit) = match array.data_type() {
        DataType::Date32 => (0, "days"),
        DataType::Timestamp(unit, _) | DataType::Time32(unit) | DataType::Time64(unit) | DataType::Duration(unit) => {
            (digits_of_seconds(*unit), "seconds")
        }
        _ => (digits_of_seconds(TimeUnit::Millisecond), "seconds"),
    };
    let counts = counts(array)?;
    let formatter = match array.data_type() {
        DataType::Duration(_) => None,
        _ => Some(ArrayFormatter::try_new(array, &const { FormatOptions::new() })?),
    };
    let keys = (0..array.len()).map(|row| {
        let on_calendar = formatter.as_ref().and_then(|formatter| formatter.value(row).try_to_string().ok());
        let key = on_calendar.unwrap_or_else(|| format!("{} {unit}", decimal(&counts.value(row).to_string(), scale)));
        array.is_valid(row).then_some(key)
    });
    Ok(keys.collect())
}

/// The text of a date that counts milliseconds: that of the same date in days.
fn date(text: &str) -> &str {
    text.strip_suffix("T00:00:00").unwrap_or(text)
}

/// Dates, times and durations as integers in the unit of their type.
fn counts(array: &ArrayRef) -> Result<PrimitiveArray<Int64Type>, ArrowError> {
    let array = match array.data_type() {
        DataType::Date32 | DataType::Time32(_) => &strict_cast(array, &DataType::Int32)?,
        _ => array,
    };
    Ok(strict_cast(array, &DataType::Int64)?.as_primitive().clone())
}

fn digits_of_seconds(unit: TimeUnit) -> i8 {
    match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 3,
        TimeUnit::Microsecond => 6,
        TimeUnit::Nanosecond => 9,
    }
}

/// Valid UTF-8 as text, since some programs write text as bytes; other bytes as hexadecimal digits.
fn text(bytes: &[u8]) -> String {
    match str::from_utf8(bytes) {
        Ok(text) if !text.starts_with(HEXADECIMAL) => text.to_owned(),
        _ => format!("{HEXADECIMAL}{}", hexadecimal(bytes)),
    }
}

const HEXADECIMAL: &str = "0x";

fn fixed(array: &FixedSizeBinaryArray) -> StringArray {
    array.iter().map(|bytes| bytes.map(uuid_or_digits)).collect()
}

/// Sixteen bytes in the format of a UUID, other lengths as hexadecimal digits.
fn uuid_or_digits(bytes: &[u8]) -> String {
    match bytes.len() {
        16 => [0..4, 4..6, 6..8, 8..10, 10..16].map(|part| hexadecimal(&bytes[part])).join("-"),
        _ => format!("{HEXADECIMAL}{}", hexadecimal(bytes)),
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    let mut digits = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}

#[cfg(test)]
mod tests {
    use arrow::array::{
        BinaryArray, BooleanArray, Date32Array, Date64Array, Decimal128Array, Decimal256Array, DictionaryArray,
        DurationSecondArray, Int32Array, Int64Array, LargeStringArray, StringViewArray, TimestampMillisecondArray,
        TimestampNanosecondArray, TimestampSecondArray, UInt64Array,
    };
    use arrow::datatypes::i256;

    use super::*;

    fn keys(array: impl Array + 'static) -> Vec<String> {
        let keys = as_keys(&(Arc::new(array) as ArrayRef)).unwrap();
        keys.as_string::<i32>().iter().map(|key| key.unwrap_or("null").to_owned()).collect()
    }

    fn decimals128(values: &[i128], precision: u8, scale: i8) -> Decimal128Array {
        Decimal128Array::from(values.to_vec()).with_precision_and_scale(precision, scale).unwrap()
    }

    /// Issue 15: decimals were converted by way of floats.
    #[test]
    fn numbers_keep_all_their_digits() {
        let large = 12_345_678_901_234_567_890_i128;
        assert_eq!(keys(decimals128(&[large, large + 1], 38, 0)), ["12345678901234567890", "12345678901234567891"]);
        let most = 10_i128.pow(38) - 1;
        assert_eq!(keys(decimals128(&[most, -most], 38, 0)), ["9".repeat(38), format!("-{}", "9".repeat(38))]);
        let most = i256::from_string(&"9".repeat(76)).unwrap();
        let wide = Decimal256Array::from(vec![most, most.wrapping_neg()]).with_precision_and_scale(76, 75).unwrap();
        assert_eq!(keys(wide), [format!("9.{}", "9".repeat(75)), format!("-9.{}", "9".repeat(75))]);
        assert_eq!(keys(UInt64Array::from(vec![u64::MAX])), ["18446744073709551615"]);
        assert_eq!(
            keys(Float64Array::from(vec![2_f64.powi(60), 1e22])),
            ["1152921504606846976", "10000000000000000000000"]
        );
    }

    #[test]
    fn a_number_is_one_key_in_every_type() {
        assert_eq!(keys(decimals128(&[100, -50, 7, 0], 38, 2)), ["1", "-0.5", "0.07", "0"]);
        assert_eq!(keys(decimals128(&[12, 0], 5, -3)), ["12000", "0"]);
        assert_eq!(keys(Float64Array::from(vec![1.0, -0.5, 0.07, -0.0])), ["1", "-0.5", "0.07", "0"]);
        assert_eq!(keys(Int64Array::from(vec![1, 12_000, 0])), ["1", "12000", "0"]);
        let floats = Arc::new(Float64Array::from(vec![1.5, -0.0, 65504.0])) as ArrayRef;
        for narrow in [DataType::Float16, DataType::Float32] {
            let floats = strict_cast(&floats, &narrow).unwrap();
            assert_eq!(as_keys(&floats).unwrap().as_string::<i32>(), &StringArray::from(vec!["1.5", "0", "65504"]));
        }
        let infinite = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
        assert_eq!(keys(Float64Array::from(infinite.to_vec())), ["null", "inf", "-inf"]);
    }

    #[test]
    fn bytes_are_keys_whether_or_not_they_are_text() {
        let bytes: [&[u8]; 5] = [b"a", b"\xff", b"0xff", b"", "größe".as_bytes()];
        let expected = ["a", "0xff", "0x30786666", "", "größe"];
        let array = Arc::new(BinaryArray::from(bytes.to_vec())) as ArrayRef;
        for data_type in [DataType::Binary, DataType::LargeBinary, DataType::BinaryView] {
            let keys = as_keys(&strict_cast(&array, &data_type).unwrap()).unwrap();
            assert_eq!(keys.as_string::<i32>(), &StringArray::from(expected.to_vec()), "{data_type}");
        }
        let uuid = FixedSizeBinaryArray::try_from_iter(
            [b"\x55\x0e\x84\x00\xe2\x9b\x41\xd4\xa7\x16\x44\x66\x55\x44\x00\x00"].into_iter(),
        );
        assert_eq!(keys(uuid.unwrap()), ["550e8400-e29b-41d4-a716-446655440000"]);
        let others = FixedSizeBinaryArray::try_from_iter([b"abc", b"\x00\x01\xff"].into_iter());
        assert_eq!(keys(others.unwrap()), ["0x616263", "0x0001ff"]);
    }

    #[test]
    fn times_are_equal_in_every_unit_and_zone() {
        let zoned = TimestampMillisecondArray::from(vec![0, 1, i64::MAX]).with_timezone("America/New_York");
        let end = "9223372036854775.807 seconds";
        assert_eq!(keys(zoned), ["1970-01-01T00:00:00", "1970-01-01T00:00:00.001", end]);
        let apart = TimestampNanosecondArray::from(vec![0, 1_000_000, 1_000_001]);
        assert_eq!(keys(apart), ["1970-01-01T00:00:00", "1970-01-01T00:00:00.001", "1970-01-01T00:00:00.001000001"]);
        assert_eq!(keys(TimestampSecondArray::from(vec![i64::MAX])), ["9223372036854775807 seconds"]);
        assert_eq!(keys(Date32Array::from(vec![-1, i32::MAX])), ["1969-12-31", "2147483647 days"]);
        assert_eq!(keys(Date64Array::from(vec![-86_400_000, 1])), ["1969-12-31", "1970-01-01T00:00:00.001"]);
        assert_eq!(
            keys(DurationSecondArray::from(vec![-61, i64::MAX])),
            ["-61 seconds", "9223372036854775807 seconds"]
        );
    }

    #[test]
    fn text_of_every_type_is_unchanged() {
        assert_eq!(keys(StringViewArray::from(vec![Some("01"), None])), ["01", "null"]);
        assert_eq!(keys(LargeStringArray::from(vec!["1.00"])), ["1.00"]);
        assert_eq!(keys(BooleanArray::from(vec![true, false])), ["true", "false"]);
        let values = Arc::new(decimals128(&[100, 150], 9, 2));
        let dictionary = DictionaryArray::new(Int32Array::from(vec![Some(1), None, Some(0)]), values);
        assert_eq!(keys(dictionary), ["1.5", "null", "1"]);
    }
}
