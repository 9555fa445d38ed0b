//! From a column of a file to the columns of numbers that models see.

use crate::error::Error;
use crate::io::{ColumnKind, Groups, Input};

/// A column to learn from.
#[derive(Clone, Debug)]
pub(super) struct Feature {
    /// As it was asked for.
    text: String,
    pub(super) column: String,
    pub(super) kind: ColumnKind,
    shape: Shape,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Shape {
    Plain,
    Log,
    Square,
}

/// A column of names with more different values than this is no category.
const MOST_VALUES: usize = 100;
const DAYS_PER_YEAR: f64 = 365.2425;

impl Feature {
    /// `size`, `log(size)` or `square(size)`, in this file.
    pub(super) fn parse(text: &str, input: &Input) -> Result<Self, Error> {
        let text = text.trim();
        let inside = |name: &str| text.strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')');
        let (shape, column) = match (inside("log"), inside("square")) {
            (Some(column), _) => (Shape::Log, column),
            (_, Some(column)) => (Shape::Square, column),
            _ => (Shape::Plain, text),
        };
        let kind = input.kind(column)?;
        if shape != Shape::Plain && kind != ColumnKind::Number {
            return Err(input.wrong_column(column, "is not a number", "only numbers have a log or a square"));
        }
        Ok(Self { text: text.to_owned(), column: column.to_owned(), kind, shape })
    }

    /// The columns that a raw column becomes: numbers, days since 1970, or the numbers of keys.
    pub(super) fn columns(&self, raw: &[f64], keys: &Groups) -> Result<Vec<(String, Vec<f64>)>, Error> {
        let derived = |name: String, of: &dyn Fn(f64) -> f64| (name, raw.iter().map(|&value| of(value)).collect());
        let columns: Vec<(String, Vec<f64>)> = match self.kind {
            ColumnKind::Number => vec![derived(self.text.clone(), &|value| self.shape.of(value))],
            ColumnKind::Date => {
                let years = |days: f64| 1970.0 + days / DAYS_PER_YEAR;
                let month = |days: f64| (12.0 * (years(days) - years(days).floor())).floor() + 1.0;
                vec![
                    derived(format!("year of {}", self.column), &|days| years(days).floor()),
                    derived(format!("month of {}", self.column), &month),
                ]
            }
            ColumnKind::Key => {
                let one = |(id, key): (usize, &str)| {
                    derived(format!("{} {key}", self.column), &|value| f64::from(u8::from(value == id as f64)))
                };
                keys.keys().into_iter().enumerate().map(one).collect()
            }
        };
        self.check(columns)
    }

    fn check(&self, columns: Vec<(String, Vec<f64>)>) -> Result<Vec<(String, Vec<f64>)>, Error> {
        let wrong = |message: String, hint: &str| Err(Error::Contradiction { message, hint: hint.to_owned() });
        if columns.len() > MOST_VALUES {
            return wrong(
                format!("feature '{}' has {} different values", self.text, columns.len()),
                "leave it out: at most 100 are taken for a category",
            );
        }
        let row = columns.iter().find_map(|(_, values)| values.iter().position(|value| !value.is_finite()));
        match row {
            Some(row) => {
                wrong(format!("feature '{}' has no value at home {row}", self.text), "leave out the feature or the row")
            }
            None => Ok(columns),
        }
    }
}

impl Shape {
    fn of(self, value: f64) -> f64 {
        match self {
            Self::Plain => value,
            Self::Log => value.ln_1p(),
            Self::Square => value * value,
        }
    }
}
