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
        let (shape, column) = match (argument(text, "log"), argument(text, "square")) {
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
        let column = &self.column;
        self.check(match self.kind {
            ColumnKind::Number => vec![(self.text.clone(), mapped(raw, |value| self.shape.of(value)))],
            ColumnKind::Date => {
                vec![
                    (format!("year of {column}"), mapped(raw, year)),
                    (format!("month of {column}"), mapped(raw, month)),
                ]
            }
            ColumnKind::Key => {
                let keys = keys.keys().into_iter().enumerate();
                keys.map(|(id, key)| (format!("{column} {key}"), mapped(raw, |value| indicator(value, id)))).collect()
            }
        })
    }

    fn check(&self, columns: Vec<(String, Vec<f64>)>) -> Result<Vec<(String, Vec<f64>)>, Error> {
        let gap = columns.iter().find_map(|(_, values)| values.iter().position(|value| !value.is_finite()));
        let (problem, hint) = match gap {
            _ if columns.len() > MOST_VALUES => {
                let hint = "leave it out: a category has at most 100 values";
                (format!("has {} different values", columns.len()), hint)
            }
            Some(row) => (format!("has no value at home {row}"), "leave out the feature or the row"),
            None => return Ok(columns),
        };
        Err(Error::Contradiction { message: format!("feature '{}' {problem}", self.text), hint: hint.to_owned() })
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

/// `size` of `log(size)`.
fn argument<'a>(text: &'a str, function: &str) -> Option<&'a str> {
    text.strip_prefix(function)?.strip_prefix('(')?.strip_suffix(')')
}

fn mapped(values: &[f64], of: impl Fn(f64) -> f64) -> Vec<f64> {
    values.iter().map(|&value| of(value)).collect()
}

/// The year of a number of days since 1970.
fn year(days: f64) -> f64 {
    years(days).floor()
}

/// The month of a number of days since 1970, from 1 to 12; up to a day off.
fn month(days: f64) -> f64 {
    (12.0 * (years(days) - year(days))).floor() + 1.0
}

fn years(days: f64) -> f64 {
    1970.0 + days / DAYS_PER_YEAR
}

/// 1 for the key with this number, 0 for any other.
fn indicator(value: f64, id: usize) -> f64 {
    if value == id as f64 { 1.0 } else { 0.0 }
}
