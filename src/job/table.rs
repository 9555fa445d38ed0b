//! A Parquet input turned into what smoothing needs: places, columns of numbers, and which rows take part.

use crate::correct::LabelledRows;
use crate::error::Error;
use crate::io::{CoordinateColumns, CoordinateRequest, GroupColumn, Groups, Input, Numbers, Origin};
use crate::points::{self, Places};

use super::options::OnInvalid;

/// What to read from an input.
pub(crate) struct Wanted<'a> {
    pub(crate) coordinates: &'a CoordinateRequest,
    pub(crate) group: Option<&'a str>,
    /// Columns that must be finite for a row to take part.
    pub(crate) columns: &'a [&'a str],
    pub(crate) on_invalid: OnInvalid,
}

/// The rows of an input that take part.
pub(crate) struct Table {
    pub(crate) places: Places,
    /// The wanted columns, in order.
    pub(crate) columns: Vec<Vec<f64>>,
    /// Rows of the input that take part; `None` if all do.
    kept: Option<Vec<usize>>,
    /// Rows of the input.
    pub(crate) rows: usize,
    /// Something that the user should know.
    pub(crate) note: Option<String>,
}

impl Table {
    pub(crate) fn read(
        input: &Input,
        wanted: &Wanted,
        groups: &mut Groups,
        origin: &mut Origin,
    ) -> Result<Self, Error> {
        let CoordinateColumns { axes, is_index, note } = input.coordinates(wanted.coordinates, origin)?;
        let columns = if wanted.columns.is_empty() { Vec::new() } else { input.numbers(wanted.columns)? };
        let groups = wanted.group.map(|name| input.groups(name, groups)).transpose()?;
        let rows = axes[0].values.len();
        let kept = Screening { input, axes: &axes, columns: &columns, groups: wanted.group.zip(groups.as_ref()), rows }
            .kept(wanted.on_invalid)?;
        let axes: Vec<Vec<f64>> = axes.into_iter().map(|axis| selected(axis.values, kept.as_deref())).collect();
        let columns = columns.into_iter().map(|column| selected(column.values, kept.as_deref())).collect();
        let mut places = place(axes, is_index, origin).map_err(|error| in_file(input, kept.as_deref(), error))?;
        if let Some(GroupColumn { ids, .. }) = groups {
            places = places.with_groups(selected(ids, kept.as_deref()))?;
        }
        Ok(Self { places, columns, kept, rows, note })
    }

    pub(crate) fn skipped(&self) -> usize {
        self.rows - self.places.len()
    }

    /// The places and the first column.
    pub(crate) fn with_label(&self) -> (&Places, &[f64]) {
        (&self.places, &self.columns[0])
    }

    /// The rows as labelled ones: the first column is the label, the others are out-of-fold predictions.
    pub(crate) fn labelled(&self) -> LabelledRows<'_> {
        LabelledRows {
            places: &self.places,
            labels: &self.columns[0],
            predictions: self.columns[1..].iter().map(Vec::as_slice).collect(),
        }
    }

    /// Values of the rows that take part, put back among all rows.
    pub(crate) fn spread(&self, values: impl Iterator<Item = Option<f64>>) -> Vec<Option<f64>> {
        match &self.kept {
            None => values.collect(),
            Some(kept) => {
                let mut all = vec![None; self.rows];
                kept.iter().zip(values).for_each(|(&row, value)| all[row] = value);
                all
            }
        }
    }

    /// Values of all rows, reduced to those that take part.
    pub(crate) fn keep(&self, values: Vec<f64>) -> Vec<f64> {
        selected(values, self.kept.as_deref())
    }

    /// The row of the input behind each row that takes part.
    pub(crate) fn row(&self, position: usize) -> usize {
        self.kept.as_ref().map_or(position, |kept| kept[position])
    }
}

/// The values of these rows, or of all.
fn selected<T: Copy>(values: Vec<T>, rows: Option<&[usize]>) -> Vec<T> {
    match rows {
        None => values,
        Some(rows) => rows.iter().map(|&row| values[row]).collect(),
    }
}

fn place(mut axes: Vec<Vec<f64>>, is_index: bool, origin: &Origin) -> Result<Places, Error> {
    if is_index {
        return Ok(Places::index(axes)?.counted_from(origin.as_floats()));
    }
    let longitude = axes.pop().unwrap_or_default();
    let latitude = axes.pop().unwrap_or_default();
    Places::lat_lon(latitude, longitude)
}

/// The same error with the file in front, and the row of the file rather than of what was kept.
fn in_file(input: &Input, kept: Option<&[usize]>, error: Error) -> Error {
    let Error::Place { what, value, row, expected, hint } = error else { return error };
    let row = input.first_row() + kept.map_or(row, |kept| kept[row]);
    Error::File {
        subject: input.name().clone(),
        problem: format!("{what} {value} at row {row} is not {expected}"),
        hint: hint.to_owned(),
    }
}

/// Looks for rows that cannot take part.
struct Screening<'a> {
    input: &'a Input,
    axes: &'a [Numbers],
    columns: &'a [Numbers],
    groups: Option<(&'a str, &'a GroupColumn)>,
    rows: usize,
}

impl Screening<'_> {
    fn kept(&self, on_invalid: OnInvalid) -> Result<Option<Vec<usize>>, Error> {
        let clean = self.numbers().all(|column| points::all(&column.values, f64::is_finite));
        self.check_groups()?;
        if clean {
            return Ok(None);
        }
        let kept: Vec<usize> = (0..self.rows).filter(|&row| self.is_valid(row)).collect();
        if on_invalid == OnInvalid::Skip {
            return Ok(Some(kept));
        }
        let row = (0..self.rows).find(|&row| !self.is_valid(row)).unwrap_or(0);
        let Some(column) = self.numbers().find(|column| !column.values[row].is_finite()) else { return Ok(Some(kept)) };
        let value = if column.first_null == Some(row) { "null".to_owned() } else { column.values[row].to_string() };
        Err(Error::InvalidRows {
            subject: self.input.name().clone(),
            column: crate::io::shortened(&column.name, 80),
            value,
            row: self.input.first_row() + row,
            count: self.rows - kept.len(),
            hint: "mend the rows, or leave them out with `on-invalid skip`",
        })
    }

    fn numbers(&self) -> impl Iterator<Item = &Numbers> {
        self.axes.iter().chain(self.columns)
    }

    fn is_valid(&self, row: usize) -> bool {
        self.numbers().all(|column| column.values[row].is_finite())
    }

    fn check_groups(&self) -> Result<(), Error> {
        match self.groups {
            Some((name, GroupColumn { first_null: Some(row), .. })) => {
                let row = self.input.first_row() + row;
                Err(self.input.wrong_column(name, &format!("is null or NaN at row {row}"), "give every row a group"))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch};

    use super::*;
    use crate::io::{ArrowTable, Budget};

    /// The first error of 30 rows that are read ten at a time, of which one has no such latitude, price or group.
    fn error(wrong: &str) -> String {
        let at = |name: &str, row: usize| row == 27 && name == wrong;
        let numbers = |name: &str, instead: f64| -> ArrayRef {
            Arc::new((0..30).map(|row| Some(if at(name, row) { instead } else { 5.0 })).collect::<Float64Array>())
        };
        let groups: Int64Array = (0..30).map(|row| (!at("group", row)).then_some(1)).collect();
        let columns = [
            ("lat", numbers("lat", 91.0)),
            ("lon", numbers("", 0.0)),
            ("price", numbers("price", f64::INFINITY)),
            ("group", Arc::new(groups) as ArrayRef),
        ];
        let batch = RecordBatch::try_from_iter(columns).expect("columns of one length");
        let input = Input::in_memory("rows", ArrowTable { schema: batch.schema(), batches: vec![batch] });
        let wanted = Wanted {
            coordinates: &CoordinateRequest::Find,
            group: Some("group"),
            columns: &["price"],
            on_invalid: OnInvalid::Error,
        };
        let mut parts = input.parts(10, Budget::unlimited);
        let error =
            parts.find_map(|part| Table::read(&part, &wanted, &mut Groups::default(), &mut Origin::default()).err());
        error.map_or_else(String::new, |error| error.to_string())
    }

    #[test]
    fn errors_in_parts_of_an_input_name_the_row_of_the_whole() {
        for wrong in ["lat", "price", "group"] {
            assert!(error(wrong).contains(" at row 27"), "{wrong}: {}", error(wrong));
        }
        assert_eq!(error("none"), "");
    }
}
