//! Any bytes as columns of any type. Two rows are in one group exactly if their keys have the same value. Index columns keep
//! all differences, or are refused for a reason. Values are compared as 256-bit integers.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Decimal32Array, Decimal64Array, Decimal128Array, Decimal256Array,
    DictionaryArray, FixedSizeBinaryArray, Float32Array, Float64Array, Int32Array, Int64Array, RecordBatch,
    StringArray, UInt64Array,
};
use arrow::compute::cast;
use arrow::datatypes::{DataType, TimeUnit, i256};
use geosmooth::io::{ArrowTable, CoordinateRequest, Groups, Input, Origin};

use super::bytes::Bytes;

/// The most rows of a column.
const MOST_ROWS: usize = 40;
/// Whole numbers up to 2^53, and decimals with up to 15 digits, are distinct as floats.
const WHOLE: i128 = 1 << 53;
const DECIMAL: i128 = 1_000_000_000_000_000;

/// Checks the columns that the bytes describe.
pub(crate) fn check(data: &[u8]) {
    let mut bytes = Bytes(data);
    let columns = [Column::read(&mut bytes), Column::read(&mut bytes)];
    check_groups(&columns);
    check_index(&columns);
}

/// A column of one type, and the values of its rows.
struct Column {
    array: ArrayRef,
    values: Vec<Value>,
    is_number: bool,
}

/// A value that is equal for equal keys.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    /// Null.
    Missing,
    /// A number of units of 10^−scale, without trailing zeros.
    Number(i256, i32),
    /// A value of another type, compared by its bytes.
    Bytes(Vec<u8>),
}

const UNITS: [TimeUnit; 4] = [TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond];

impl Column {
    fn read(bytes: &mut Bytes) -> Self {
        let (kind, scale, wrapping, count) = (bytes.byte(), bytes.byte(), bytes.byte(), bytes.byte());
        // A few bases and small steps, so that values coincide, or differ by little far from zero.
        let bases: [[u8; 32]; 3] = std::array::from_fn(|at| if at == 0 { [0; 32] } else { bytes.take() });
        let mut draw = || {
            let [which, step] = bytes.take();
            let base = i256::from_le_bytes(bases[usize::from(which) % bases.len()]);
            base.wrapping_add(i256::from_i128(i128::from(step as i8)))
        };
        let raw: Vec<i256> = (0..=usize::from(count) % MOST_ROWS).map(|_| draw()).collect();
        Self::of(kind, scale, &raw).wrapped(wrapping)
    }

    fn of(kind: u8, scale: u8, raw: &[i256]) -> Self {
        match kind % 24 {
            0..8 => Self::integers(kind % 8, raw),
            8..12 => Self::floats(kind % 4, raw),
            12..16 => Self::decimals(kind % 4, scale, raw),
            16..21 => Self::times(kind % 24 - 16, UNITS[usize::from(scale) % 4], raw),
            other => Self::bytes(other, usize::from(scale) % 20, raw),
        }
    }

    fn integers(kind: u8, raw: &[i256]) -> Self {
        let types = [
            DataType::Int8,
            DataType::Int16,
            DataType::Int32,
            DataType::Int64,
            DataType::UInt8,
            DataType::UInt16,
            DataType::UInt32,
            DataType::UInt64,
        ];
        let (data_type, bits) = (&types[usize::from(kind)], 8 << (kind % 4));
        let low = |value: &i256| value.as_i128() as u64;
        let value = |value: &i256| match (kind < 4, 64 - bits) {
            (true, shift) => i128::from((low(value) << shift) as i64 >> shift),
            (false, shift) => i128::from((low(value) << shift) >> shift),
        };
        let numbers: Vec<i128> = raw.iter().map(value).collect();
        let array: ArrayRef = if kind < 4 {
            Arc::new(Int64Array::from_iter_values(numbers.iter().map(|number| *number as i64)))
        } else {
            Arc::new(UInt64Array::from_iter_values(numbers.iter().map(|number| *number as u64)))
        };
        Self::numbers(&cast(&array, data_type).expect("as wide"), numbers.into_iter().map(i256::from_i128), 0)
    }

    /// Eighths that floats of each width hold, or whole numbers far beyond 2^53.
    fn floats(kind: u8, raw: &[i256]) -> Self {
        let eighths = |bits: u32| raw.iter().map(move |value| (value.as_i128() as i64) << (64 - bits) >> (64 - bits));
        let small = |bits: u32| -> ArrayRef {
            Arc::new(Float64Array::from_iter_values(eighths(bits).map(|eighths| eighths as f64 / 8.0)))
        };
        let thousandths = |bits: u32| eighths(bits).map(|eighths| i256::from_i128(125 * i128::from(eighths)));
        match kind {
            0 => Self::numbers(&cast(&small(10), &DataType::Float16).expect("a width"), thousandths(10), 3),
            1 => Self::numbers(&cast(&small(20), &DataType::Float32).expect("a width"), thousandths(20), 3),
            2 => {
                let whole: Vec<f32> = raw.iter().map(|value| (value.as_i128() >> 8) as f32).collect();
                let values: Vec<i256> = whole.iter().map(|value| i256::from_i128(*value as i128)).collect();
                Self::numbers(&(Arc::new(Float32Array::from(whole)) as ArrayRef), values.into_iter(), 0)
            }
            _ => {
                let any = raw.iter().map(|value| f64::from_bits(value.as_i128() as u64));
                let values = any.clone().map(|value| match value {
                    value if value.is_nan() => Value::Missing,
                    value if value.fract() == 0.0 && value.abs() < 1e38 => number(i256::from_i128(value as i128), 0),
                    value => Value::Bytes(value.to_bits().to_le_bytes().to_vec()),
                });
                let values = values.collect();
                Self { array: Arc::new(any.collect::<Float64Array>()), values, is_number: true }
            }
        }
    }

    fn decimals(kind: u8, scale: u8, raw: &[i256]) -> Self {
        let (digits, scale) = match kind {
            0 => (9, i32::from(scale) % 19 - 9),
            1 => (18, i32::from(scale) % 37 - 18),
            2 => (38, i32::from(scale) % 77 - 38),
            _ => (76, i32::from(scale) % 153 - 76),
        };
        let most = i256::from_i128(10).wrapping_pow(digits);
        let units: Vec<i256> = raw.iter().map(|value| value.wrapping_rem(most)).collect();
        let small = units.iter().map(|units| units.as_i128());
        let (precision, place) = (digits as u8, scale as i8);
        let array: Arc<dyn Array> = match kind {
            0 => {
                let array = Decimal32Array::from_iter_values(small.map(|units| units as i32));
                Arc::new(array.with_precision_and_scale(precision, place).expect("sound"))
            }
            1 => {
                let array = Decimal64Array::from_iter_values(small.map(|units| units as i64));
                Arc::new(array.with_precision_and_scale(precision, place).expect("sound"))
            }
            2 => Arc::new(
                Decimal128Array::from_iter_values(small).with_precision_and_scale(precision, place).expect("sound"),
            ),
            _ => {
                let array = Decimal256Array::from_iter_values(units.iter().copied());
                Arc::new(array.with_precision_and_scale(precision, place).expect("sound"))
            }
        };
        Self::numbers(&array, units.into_iter(), scale)
    }

    /// Times are compared by their counts; in one column all have the same unit.
    fn times(kind: u8, unit: TimeUnit, raw: &[i256]) -> Self {
        let counts: Vec<i64> = raw.iter().map(|value| value.as_i128() as i64).collect();
        let short: Vec<i32> = counts.iter().map(|count| *count as i32).collect();
        let is_short = kind < 2 && matches!(unit, TimeUnit::Second | TimeUnit::Millisecond);
        let data_type = match kind {
            0 if is_short => DataType::Date32,
            0 => DataType::Date64,
            1 if is_short => DataType::Time32(unit),
            1 => DataType::Time64(unit),
            2 => DataType::Timestamp(unit, None),
            3 => DataType::Timestamp(unit, Some("Asia/Tokyo".into())),
            _ => DataType::Duration(unit),
        };
        let array: ArrayRef = if is_short {
            Arc::new(Int32Array::from(short.clone()))
        } else {
            Arc::new(Int64Array::from(counts.clone()))
        };
        let values = counts.iter().zip(&short).map(|(long, short)| if is_short { i64::from(*short) } else { *long });
        Self {
            array: cast(&array, &data_type).expect("the same bits"),
            values: values.map(|count| Value::Bytes(count.to_le_bytes().to_vec())).collect(),
            is_number: false,
        }
    }

    fn bytes(kind: u8, length: usize, raw: &[i256]) -> Self {
        let bytes: Vec<Vec<u8>> = raw.iter().map(|value| value.to_le_bytes()[..length].to_vec()).collect();
        let text = || bytes.iter().map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        let binary = || Arc::new(bytes.iter().map(|bytes| Some(bytes.as_slice())).collect::<BinaryArray>()) as ArrayRef;
        let (array, values): (ArrayRef, Vec<Vec<u8>>) = match kind {
            21 => {
                let data_type = [DataType::Utf8, DataType::LargeUtf8, DataType::Utf8View][length % 3].clone();
                let array: ArrayRef = Arc::new(StringArray::from_iter_values(text()));
                (cast(&array, &data_type).expect("text"), text().map(String::into_bytes).collect())
            }
            22 if length > 0 => {
                let fixed = FixedSizeBinaryArray::try_from_iter(bytes.iter()).expect("one length");
                (Arc::new(fixed), bytes)
            }
            22 => {
                let truth: Vec<bool> = raw.iter().map(|value| value.as_i128() & 1 == 1).collect();
                let values = truth.iter().map(|truth| vec![u8::from(*truth)]).collect();
                (Arc::new(BooleanArray::from(truth)), values)
            }
            _ => {
                let data_type = [DataType::Binary, DataType::LargeBinary, DataType::BinaryView][length % 3].clone();
                (cast(&binary(), &data_type).expect("bytes"), bytes)
            }
        };
        Self { array, values: values.into_iter().map(Value::Bytes).collect(), is_number: false }
    }

    fn numbers(array: &ArrayRef, units: impl Iterator<Item = i256>, scale: i32) -> Self {
        Self { array: array.clone(), values: units.map(|units| number(units, scale)).collect(), is_number: true }
    }

    /// The same rows as a dictionary, or with every seventh row null.
    fn wrapped(self, wrapping: u8) -> Self {
        let Self { array, mut values, is_number } = self;
        let here = |row: usize| wrapping & 2 == 0 || row % 7 != 6;
        let array = if wrapping.is_multiple_of(4) {
            array
        } else {
            let rows = (0..array.len()).map(|row| here(row).then_some(row as i32));
            Arc::new(DictionaryArray::new(rows.collect::<Int32Array>(), array))
        };
        (0..values.len()).filter(|row| !here(*row)).for_each(|row| values[row] = Value::Missing);
        Self { array, values, is_number }
    }

    /// As an input of one column, in two batches.
    fn input(&self) -> Input {
        let batch = RecordBatch::try_from_iter_with_nullable([("it", self.array.clone(), true)]).expect("a column");
        let half = batch.num_rows() / 2;
        let batches = vec![batch.slice(0, half), batch.slice(half, batch.num_rows() - half)];
        Input::in_memory("rows", ArrowTable { schema: batch.schema(), batches })
    }

    fn rows(&self) -> Range<usize> {
        0..self.values.len()
    }
}

/// A number without trailing zeros.
fn number(mut units: i256, mut scale: i32) -> Value {
    let ten = i256::from_i128(10);
    while units != i256::ZERO && units.wrapping_rem(ten) == i256::ZERO {
        (units, scale) = (units.wrapping_div(ten), scale - 1);
    }
    Value::Number(units, if units == i256::ZERO { 0 } else { scale })
}

/// Groups are equal exactly if values are: within a column, and for numbers also between columns. Values of other types in
/// different columns may have the same text.
fn check_groups(columns: &[Column; 2]) {
    let mut groups = Groups::default();
    let [one, two] = [0, 1].map(|at: usize| columns[at].input().groups("it", &mut groups).expect("keys of any type"));
    let [first, second] = columns;
    for (column, found) in [(first, &one), (second, &two)] {
        let missing = column.rows().find(|row| column.values[*row] == Value::Missing);
        assert_eq!(found.first_null, missing, "{}", column.array.data_type());
    }
    let compare = |(a, x): (&Value, u32), (b, y): (&Value, u32)| {
        let comparable = matches!((a, b), (Value::Number(..), Value::Number(..)));
        (comparable, *a == Value::Missing || *b == Value::Missing || (a == b) == (x == y))
    };
    for row in first.rows() {
        for other in first.rows() {
            let (_, agrees) = compare((&first.values[row], one.ids[row]), (&first.values[other], one.ids[other]));
            assert!(agrees, "{}, rows {row} and {other}", first.array.data_type());
        }
        for other in second.rows() {
            let (comparable, agrees) =
                compare((&first.values[row], one.ids[row]), (&second.values[other], two.ids[other]));
            assert!(agrees || !comparable, "{} and {}", first.array.data_type(), second.array.data_type());
        }
    }
}

/// Both columns as one index of two inputs.
fn check_index(columns: &[Column; 2]) {
    let mut origin = Origin::default();
    let request = CoordinateRequest::Index(vec!["it".to_owned()]);
    let mut places: Vec<(i256, i32, f64)> = Vec::new();
    for column in columns {
        let data_type = column.array.data_type();
        let values: Vec<(usize, i256, i32)> = column.rows().filter_map(|row| counted(column, row)).collect();
        match column.input().coordinates(&request, &mut origin) {
            Ok(read) => {
                assert!(column.is_number, "{data_type}");
                let axis = &read.axes[0].values;
                assert_eq!(axis.len(), column.values.len());
                places.extend(values.into_iter().map(|(row, units, scale)| (units, scale, axis[row])));
            }
            Err(error) => {
                let has_reason = !column.is_number || columns.iter().any(is_float) || is_wide(&places, &values);
                return assert!(has_reason, "{data_type}: {error}");
            }
        }
    }
    check_differences(&places);
}

/// The row, the units and the scale of a value, if it is a number.
fn counted(column: &Column, row: usize) -> Option<(usize, i256, i32)> {
    match &column.values[row] {
        Value::Number(units, scale) => Some((row, *units, *scale)),
        _ => None,
    }
}

/// Whether a column has floats, which are used unchanged and therefore cannot have any origin.
fn is_float(column: &Column) -> bool {
    match column.array.data_type() {
        DataType::Dictionary(_, values) => values.is_floating(),
        other => other.is_floating(),
    }
}

/// Whether values are too far apart or have too many decimals; or the column before has the origin zero, from which these are
/// too far.
fn is_wide(before: &[(i256, i32, f64)], values: &[(usize, i256, i32)]) -> bool {
    let after = values.iter().map(|value| (value.1, value.2));
    let all: Vec<(i256, i32)> = before.iter().map(|place| (place.0, place.1)).chain(after).collect();
    let scale = all.iter().map(|value| value.1).max().unwrap_or(0).max(0);
    let Some(units) = all.iter().map(|value| scaled(*value, scale)).collect::<Option<Vec<i256>>>() else { return true };
    // The origin is the whole part of a decimal, so that a difference may be up to one larger than the distance of two values.
    let most = i256::from_i128(if scale == 0 { WHOLE } else { DECIMAL / 2 });
    let near = |value: &i256| value.checked_abs().is_some_and(|size| size <= most);
    let (low, high) = (units.iter().min().expect("a value"), units.iter().max().expect("a value"));
    let spread = high.checked_sub(*low).is_none_or(|spread| spread > most);
    let from_zero = before.iter().zip(&units).all(|(place, units)| written(place.2, scale) == Some(*units));
    let late = !before.is_empty() && from_zero && !units[before.len()..].iter().all(near);
    spread || late || scale > 14
}

fn scaled((units, own): (i256, i32), scale: i32) -> Option<i256> {
    units.checked_mul(i256::from_i128(10).checked_pow(u32::try_from(scale - own).ok()?)?)
}

/// Differences of coordinates equal differences of values in all digits; small whole numbers are unchanged.
fn check_differences(places: &[(i256, i32, f64)]) {
    let scale = places.iter().map(|place| place.1).max().unwrap_or(0).max(0);
    let in_units = |place: &(i256, i32, f64)| Some((scaled((place.0, place.1), scale)?, written(place.2, scale)?));
    let Some(units) = places.iter().map(in_units).collect::<Option<Vec<(i256, i256)>>>() else { return };
    for ((value, place), given) in units.iter().zip(places) {
        assert_eq!(value.checked_sub(*place), units[0].0.checked_sub(units[0].1), "{} is not {value}", given.2);
    }
    let small = |place: &(i256, i32, f64)| place.0.to_i128().is_some_and(|units| units.abs() <= WHOLE);
    if scale == 0 && places.iter().all(|place| place.1 == 0 && small(place)) {
        assert!(places.iter().all(|place| place.0.to_i128().is_some_and(|units| units as f64 == place.2)));
    }
}

/// The digits of a float as units of 10^−scale.
fn written(value: f64, scale: i32) -> Option<i256> {
    let digits = if value.fract() == 0.0 { format!("{value:.0}") } else { value.to_string() };
    let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
    let places = usize::try_from(scale).ok()?;
    (fraction.len() <= places).then(|| i256::from_string(&format!("{whole}{fraction:0<places$}"))).flatten()
}
