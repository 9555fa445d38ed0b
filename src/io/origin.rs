//! Reads index columns relative to an origin. Whole numbers and decimals that 64-bit floats cannot hold are stored as
//! differences from one of the values, so that distances are exact.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Decimal128Type, Decimal256Type, Float64Type, Int64Type, i256};
use arrow::error::ArrowError;

use super::input::Input;
use super::key::{decimal, strict_cast};
use super::read::Numbers;
use super::shortened;
use crate::error::Error;

/// The origin of index columns: the same for all inputs of a run, since there are distances between their rows.
///
/// The rows that are read first determine the origin of each column: zero if 64-bit floats hold all of their values, otherwise
/// the whole part of the first value. A value whose difference from the origin is not a float is an error.
#[derive(Debug, Default)]
pub struct Origin {
    /// The origin of each column; `None` until the first value.
    offsets: Vec<Option<i256>>,
}

impl Origin {
    /// The origin zero for all columns: for rows that several processes read on their own.
    #[must_use]
    pub fn zero() -> Self {
        Self { offsets: vec![Some(i256::ZERO); 3] }
    }

    /// The origin of each column, rounded to a float.
    pub(crate) fn as_floats(&self) -> Vec<f64> {
        let offsets = self.offsets.iter();
        offsets.map(|offset| offset.and_then(|offset| offset.to_string().parse().ok()).unwrap_or(0.0)).collect()
    }
}

/// Whole numbers up to 2^53 are floats. Decimals with up to 15 significant digits are distinct as floats.
const LARGEST_WHOLE: u128 = 1 << 53;
const LARGEST_DECIMAL: u128 = 1_000_000_000_000_000;
/// 10^22 is the largest power of ten that is exact as a float.
const LARGEST_POWER: i8 = 22;

impl Input {
    /// Reads index columns of any numeric type.
    pub(super) fn index(&self, names: &[String], origin: &mut Origin) -> Result<Vec<Numbers>, Error> {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let read = self.arrays(&self.numeric(&names)?, &[], |array| Ok(plain(array)?))?;
        origin.offsets.resize(names.len().max(origin.offsets.len()), None);
        let columns = names.iter().zip(&read.arrays).zip(&mut origin.offsets);
        columns
            .map(|((name, arrays), offset)| {
                *offset = offset.or_else(|| origin_of(arrays));
                self.counted_from(name, offset.unwrap_or(i256::ZERO), arrays)
            })
            .collect()
    }

    fn counted_from(&self, name: &str, offset: i256, arrays: &[ArrayRef]) -> Result<Numbers, Error> {
        let mut numbers = self.no_numbers(name, arrays)?;
        for array in arrays {
            let first = numbers.values.len();
            if numbers.first_null.is_none() {
                numbers.first_null = (0..array.len()).find(|row| array.is_null(*row)).map(|row| first + row);
            }
            for (at, value) in differences(array, offset).enumerate() {
                numbers.values.push(value.ok_or_else(|| self.too_far(name, array, at, first + at, offset))?);
            }
        }
        Ok(numbers)
    }

    /// The error about value `at` of an array, which is row `row` of all that are read.
    fn too_far(&self, name: &str, array: &ArrayRef, at: usize, row: usize, offset: i256) -> Error {
        let value = if let Some(floats) = array.as_primitive_opt::<Float64Type>() {
            floats.value(at).to_string()
        } else {
            let (mut values, scale) = units(array);
            values.nth(at).flatten().map_or_else(String::new, |units| decimal(&units.to_string(), scale))
        };
        let (subject, column) = (self.name().clone(), shortened(name, 80));
        Error::Inexact { subject, column, value, row: self.first_row() + row, origin: offset.to_string() }
    }
}

/// Numbers of any type as 64-bit floats, 64-bit integers, or decimals of 128 or 256 bits.
fn plain(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    match array.data_type() {
        DataType::Dictionary(_, values) => plain(&strict_cast(array, values)?),
        DataType::Decimal128(..) | DataType::Decimal256(..) => Ok(array.clone()),
        DataType::Decimal32(_, scale) | DataType::Decimal64(_, scale) => {
            strict_cast(array, &DataType::Decimal128(38, *scale))
        }
        DataType::UInt64 => {
            strict_cast(array, &DataType::Int64).or_else(|_| strict_cast(array, &DataType::Decimal128(20, 0)))
        }
        other if other.is_integer() => strict_cast(array, &DataType::Int64),
        _ => strict_cast(array, &DataType::Float64),
    }
}

/// The differences from an offset; NaN for null, `None` if the difference is not a float.
fn differences(array: &ArrayRef, offset: i256) -> Box<dyn Iterator<Item = Option<f64>> + '_> {
    if array.data_type() == &DataType::Float64 {
        let floats = array.as_primitive::<Float64Type>().iter();
        return Box::new(floats.map(move |value| moved(value.unwrap_or(f64::NAN), offset)));
    }
    let (values, scale) = units(array);
    let from_offset = OffsetScale::new(offset, scale);
    Box::new(values.map(move |units| units.map_or(Some(f64::NAN), |units| from_offset.difference(units))))
}

/// Whole numbers or decimals as integers, and the number of their digits after the point.
fn units(array: &ArrayRef) -> (Box<dyn Iterator<Item = Option<i256>> + '_>, i8) {
    match array.data_type() {
        DataType::Decimal128(_, scale) => {
            let units = array.as_primitive::<Decimal128Type>().iter();
            (Box::new(units.map(|units| units.map(i256::from_i128))), *scale)
        }
        DataType::Decimal256(_, scale) => (Box::new(array.as_primitive::<Decimal256Type>().iter()), *scale),
        _ => {
            let units = array.as_primitive::<Int64Type>().iter();
            (Box::new(units.map(|units| units.map(|units| i256::from_i128(units.into())))), 0)
        }
    }
}

/// The origin of a column; `None` without values. For floats it is zero: they are used as they are.
fn origin_of(arrays: &[ArrayRef]) -> Option<i256> {
    let mut first = None;
    let mut fits = true;
    for array in arrays.iter().filter(|array| array.null_count() < array.len()) {
        if array.data_type() == &DataType::Float64 {
            return Some(i256::ZERO);
        }
        let (values, scale) = units(array);
        for units in values.flatten() {
            first.get_or_insert((units, scale));
            fits &= small(units, scale).is_some();
        }
    }
    let (units, scale) = first?;
    if fits { Some(i256::ZERO) } else { whole(units, scale) }
}

/// The whole part of a decimal, if 256 bits hold it.
fn whole(units: i256, scale: i8) -> Option<i256> {
    let power = power_of_ten(scale.unsigned_abs())?;
    if scale < 0 { units.checked_mul(power) } else { units.checked_div(power) }
}

fn power_of_ten(exponent: u8) -> Option<i256> {
    i256::from_i128(10).checked_pow(exponent.into())
}

/// Computes exact differences between values of one scale and an offset.
struct OffsetScale {
    offset: Option<i256>,
    /// The factor from units to whole numbers, if the scale is negative; otherwise 1.
    power: Option<i256>,
    scale: i8,
}

impl OffsetScale {
    fn new(offset: i256, scale: i8) -> Self {
        let power = power_of_ten(scale.unsigned_abs());
        if scale < 0 {
            return Self { offset: Some(offset), power, scale: 0 };
        }
        Self { offset: power.and_then(|power| offset.checked_mul(power)), power: Some(i256::ONE), scale }
    }

    /// The difference as a float, if no other difference has the same float.
    fn difference(&self, units: i256) -> Option<f64> {
        let units = units.checked_mul(self.power?)?.checked_sub(self.offset?)?;
        small(units, self.scale).or_else(|| exact(units, self.scale))
    }
}

/// The difference between a float and an offset; the float itself if the offset is zero.
fn moved(value: f64, offset: i256) -> Option<f64> {
    if offset == i256::ZERO || !value.is_finite() {
        return Some(value);
    }
    let units = i256::from_f64(value).filter(|_| value.fract() == 0.0)?;
    OffsetScale::new(offset, 0).difference(units)
}

/// The float of a number with few digits, which needs no check.
fn small(units: i256, scale: i8) -> Option<f64> {
    let units = units.to_i128()?;
    let most = if scale == 0 { LARGEST_WHOLE } else { LARGEST_DECIMAL };
    let fits = (0..=LARGEST_POWER).contains(&scale) && units.unsigned_abs() <= most;
    fits.then(|| units as f64 / 10_f64.powi(scale.into()))
}

/// The float of a decimal, if printing it gives the same digits: then no other decimal of that scale has the same float.
fn exact(units: i256, scale: i8) -> Option<f64> {
    let digits = decimal(&units.to_string(), scale);
    let value: f64 = digits.parse().ok()?;
    let again = if digits.contains('.') { value.to_string() } else { format!("{value:.0}") };
    (again == digits).then_some(value)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Decimal128Array, Float64Array, Int64Array, RecordBatch, UInt64Array};

    use super::*;
    use crate::io::ArrowTable;

    const FAR: i64 = (1 << 62) + 1;

    /// Reads one index column relative to an origin.
    fn read(column: impl Array + 'static, origin: &mut Origin) -> Result<Vec<f64>, Error> {
        let batch = RecordBatch::try_from_iter_with_nullable([("t", Arc::new(column) as ArrayRef, true)]).unwrap();
        let table = ArrowTable { schema: batch.schema(), batches: vec![batch] };
        let axes = Input::in_memory("rows", table).index(&["t".to_owned()], origin)?;
        Ok(axes.into_iter().next().unwrap().values)
    }

    #[test]
    fn the_first_values_determine_the_origin_of_all_inputs() {
        let origin = &mut Origin::default();
        let none = read(Int64Array::from(vec![None]), origin).unwrap();
        assert!(none[0].is_nan(), "nulls do not determine the origin");
        assert_eq!(read(Int64Array::from(vec![FAR + 5, FAR, FAR - 300]), origin).unwrap(), [0.0, -5.0, -305.0]);
        assert_eq!(read(UInt64Array::from(vec![FAR as u64]), origin).unwrap(), [-5.0]);
        let float = (FAR - 1) as f64;
        assert_eq!(read(Float64Array::from(vec![float, f64::INFINITY]), origin).unwrap(), [-6.0, f64::INFINITY]);
        assert_eq!(origin.as_floats(), [FAR as f64]);
        let wrong = read(Int64Array::from(vec![FAR, 0]), origin).unwrap_err();
        assert!(matches!(&wrong, Error::Inexact { value, row: 1, .. } if value == "0"), "{wrong}");
    }

    #[test]
    fn values_that_floats_hold_are_unchanged() {
        let origin = &mut Origin::default();
        assert_eq!(read(Int64Array::from(vec![1 << 53, -7]), origin).unwrap(), [9_007_199_254_740_992.0, -7.0]);
        assert_eq!(read(Int64Array::from(vec![FAR - 1]), origin).unwrap(), [4_611_686_018_427_387_904.0]);
        assert!(read(Int64Array::from(vec![FAR]), origin).is_err());
        let floats = vec![0.1, -0.0, 1e300, f64::NAN];
        let same = read(Float64Array::from(floats.clone()), &mut Origin::default()).unwrap();
        assert!(same.iter().zip(&floats).all(|(a, b)| a.to_bits() == b.to_bits()), "{same:?}");
    }

    #[test]
    fn decimals_lose_their_whole_part() {
        let seconds = |units: Vec<i128>| Decimal128Array::from(units).with_precision_and_scale(38, 9).unwrap();
        let start = 1_763_500_000_000_000_000;
        let found = read(seconds(vec![start + 1, start + 2, start - 1]), &mut Origin::default()).unwrap();
        assert_eq!(found, [1e-9, 2e-9, -1e-9]);
        let many = Decimal128Array::from(vec![1, 10_i128.pow(35) + 1]).with_precision_and_scale(38, 30).unwrap();
        assert!(read(many, &mut Origin::default()).is_err());
    }
}
