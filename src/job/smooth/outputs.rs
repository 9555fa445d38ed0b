//! The columns that smoothing adds, and the files that it writes.

use super::Smooth;
use crate::error::Error;
use crate::io::{Complete, NewColumn, Output};
use crate::job::caller::Caller;
use crate::job::data::Data;
use crate::job::inputs::Inputs;
use crate::job::weights::between_rows;
use crate::smoother::{Smoothed, SmoothingPlan};

/// Where the rows with so many new columns go, and the matrix, checked before the work.
pub(super) fn destinations(
    request: &Smooth,
    inputs: &Inputs,
    columns: usize,
    caller: &Caller,
) -> Result<(Option<Output>, Option<Output>), Error> {
    match (&request.output, inputs.test.is_in_memory()) {
        (Some(_), true) => return Err(inputs.test.no_file()),
        (None, false) => return Err(Error::missing("output", "the Parquet file that the result goes to")),
        _ => {}
    }
    let [output, matrix] = [&request.output, &request.matrix]
        .map(|path| path.as_deref().map(|path| caller.create(path, request.report.overwrite)).transpose());
    let output = output?.map(|output| output.for_rows_of(&inputs.test, columns)).transpose()?;
    let matrix = matrix?;
    match (&output, &matrix) {
        (Some(output), Some(matrix)) if output.destination() == matrix.destination() => {
            Err(Error::SameOutput { path: output.destination().to_owned(), options: ["matrix", "output"] })
        }
        _ => Ok((output, matrix)),
    }
}

/// The names of the columns to add, none of which may exist.
pub(super) fn new_names(request: &Smooth, inputs: &Inputs) -> Result<Vec<String>, Error> {
    let mut names: Vec<String> = inputs.predictions.iter().map(|prediction| format!("{prediction}_smoothed")).collect();
    if request.certificate {
        names.extend(inputs.predictions.iter().map(|prediction| format!("{prediction}_error_bound")));
        names.push("n_effective".to_owned());
    }
    match names.iter().find(|name| inputs.test.has(name)) {
        None => Ok(names),
        Some(name) => {
            Err(inputs.test.wrong_column(name, "exists already", "rename or drop it: the result would have that name"))
        }
    }
}

/// The columns to add, with no value where a row took no part.
pub(super) fn new_columns(
    names: &[String],
    data: &Data,
    smoothed: &[Smoothed],
    n_effective: Option<&[f64]>,
) -> Vec<NewColumn> {
    let table = &data.test;
    let mut columns: Vec<Vec<Option<f64>>> =
        smoothed.iter().map(|column| table.spread(column.values.iter().copied())).collect();
    if let Some(n_effective) = n_effective {
        columns.extend(smoothed.iter().map(|column| table.spread(column.error_bound.iter().copied().map(Some))));
        columns.push(table.spread(n_effective.iter().copied().map(Some)));
    }
    names.iter().cloned().zip(columns).map(|(name, values)| NewColumn { name, values }).collect()
}

/// Writes the weights between rows, as they stand in their tables.
pub(super) fn write_matrix(output: Output, plan: &SmoothingPlan, data: &Data) -> Result<Complete, Error> {
    let batches = between_rows(plan, &data.test, data.train.as_ref())?;
    output.write_triplets(batches.map(|batch| (integers(batch.rows), integers(batch.columns), batch.weights)))
}

fn integers(rows: Vec<usize>) -> Vec<i64> {
    rows.into_iter().map(|row| row as i64).collect()
}
