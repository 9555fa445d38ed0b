//! Columns out of row groups or tables, decoded in parallel: every numeric type as `f64`, groups as small numbers.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, RecordBatch, StringArray};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, Float64Type};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::errors::ParquetError;
use rayon::prelude::*;

use super::guarded;
use super::input::{ArrowTable, Input, ParquetFile, Source, type_name};
use crate::error::Error;

/// A column of numbers; what was null is NaN.
#[derive(Clone, Debug)]
pub struct Numbers {
    /// Its name, for messages.
    pub name: String,
    /// The values, through all files.
    pub values: Vec<f64>,
    /// The first row that was null.
    pub first_null: Option<usize>,
}

/// What kind of values a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnKind {
    Number,
    /// A day, or a moment of one.
    Date,
    /// Text, truth values and the like: equal or not, but no numbers.
    Key,
}

/// The group of each row.
#[derive(Clone, Debug)]
pub struct GroupColumn {
    /// A small number for each row, equal for equal keys.
    pub ids: Vec<u32>,
    /// The first row whose key was null.
    pub first_null: Option<usize>,
}

/// Gives the same small number to equal group keys, over several inputs.
#[derive(Debug, Default)]
pub struct Groups {
    known: HashMap<String, u32>,
}

const BATCH: usize = 1 << 16;

impl Input {
    /// Reads columns of any numeric type.
    ///
    /// # Errors
    /// If a column does not exist, is not numeric, or the file is damaged.
    pub fn numbers(&self, names: &[&str]) -> Result<Vec<Numbers>, Error> {
        let mut roots = Vec::new();
        for name in names {
            let (root, field) = self.column(name)?;
            if !is_numeric(field.data_type()) {
                let problem = format!("is {}, not a number", type_name(field.data_type()));
                return Err(self.wrong_column(name, &problem, "choose a numeric column, or convert it"));
            }
            roots.push(root);
        }
        let arrays = self.arrays(&roots, as_float)?;
        Ok(names.iter().zip(arrays).map(|(name, parts)| join(name, &parts)).collect())
    }

    /// What kind of values a column holds.
    pub(crate) fn kind(&self, name: &str) -> Result<ColumnKind, Error> {
        let (_, field) = self.column(name)?;
        Ok(match field.data_type() {
            DataType::Date32 | DataType::Date64 | DataType::Timestamp(..) => ColumnKind::Date,
            data_type if is_numeric(data_type) => ColumnKind::Number,
            _ => ColumnKind::Key,
        })
    }

    /// Reads a column of dates, in days since the beginning of 1970; what was null is NaN.
    pub(crate) fn days(&self, name: &str) -> Result<Numbers, Error> {
        let (root, _) = self.column(name)?;
        let days =
            |array: &ArrayRef| as_float(&strict_cast(&strict_cast(array, &DataType::Date32)?, &DataType::Int32)?);
        Ok(join(name, &self.arrays(&[root], days)?[0]))
    }

    /// Reads a column of group keys.
    ///
    /// # Errors
    /// If the column does not exist or cannot be written as text, or the file is damaged.
    pub fn groups(&self, name: &str, groups: &mut Groups) -> Result<GroupColumn, Error> {
        let (root, field) = self.column(name)?;
        if field.data_type().is_nested() {
            let problem = format!("is {}, not a group", type_name(field.data_type()));
            return Err(self.wrong_column(name, &problem, "choose a column of text or numbers"));
        }
        let arrays = self.arrays(&[root], as_key)?.remove(0);
        let mut ids = Vec::new();
        let mut first_null = None;
        for array in &arrays {
            for key in array.as_string::<i32>() {
                if key.is_none() {
                    first_null.get_or_insert(ids.len());
                }
                ids.push(groups.id(key.unwrap_or_default()));
            }
        }
        Ok(GroupColumn { ids, first_null })
    }

    /// The given top-level columns, each as arrays in row order, after `convert`.
    pub(super) fn arrays<F>(&self, roots: &[usize], convert: F) -> Result<Vec<Vec<ArrayRef>>, Error>
    where
        F: Fn(&ArrayRef) -> Result<ArrayRef, ParquetError> + Sync,
    {
        let parts = match &self.source {
            Source::Files(files) => from_files(files, roots, &convert)?,
            Source::Memory(table) => guarded(self.path(), || from_table(table, roots, &convert))?,
        };
        let mut columns = vec![Vec::new(); roots.len()];
        for part in parts {
            for (column, arrays) in columns.iter_mut().zip(part) {
                column.extend(arrays);
            }
        }
        Ok(columns)
    }
}

/// Each row group's arrays of each column.
type Parts = Vec<Vec<Vec<ArrayRef>>>;

fn from_files<F>(files: &[ParquetFile], roots: &[usize], convert: &F) -> Result<Parts, Error>
where
    F: Fn(&ArrayRef) -> Result<ArrayRef, ParquetError> + Sync,
{
    let groups = |file| (0..ParquetFile::parquet(file).num_row_groups()).map(move |group| (file, group));
    let tasks: Vec<(&ParquetFile, usize)> = files.iter().flat_map(groups).collect();
    tasks.into_par_iter().map(|(file, group)| guarded(&file.path, || row_group(file, group, roots, convert))).collect()
}

fn from_table<F>(table: &ArrowTable, roots: &[usize], convert: &F) -> Result<Parts, ParquetError>
where
    F: Fn(&ArrayRef) -> Result<ArrayRef, ParquetError> + Sync,
{
    let one = |batch: &RecordBatch| {
        roots.iter().map(|&root| Ok(vec![convert(batch.column(root))?])).collect::<Result<_, ParquetError>>()
    };
    table.batches.par_iter().map(one).collect()
}

fn row_group<F>(
    file: &ParquetFile,
    group: usize,
    roots: &[usize],
    convert: &F,
) -> Result<Vec<Vec<ArrayRef>>, ParquetError>
where
    F: Fn(&ArrayRef) -> Result<ArrayRef, ParquetError>,
{
    let mask = ProjectionMask::roots(file.parquet().file_metadata().schema_descr(), roots.iter().copied());
    let batches = ParquetRecordBatchReaderBuilder::new_with_metadata(file.reader.clone(), file.metadata.clone())
        .with_row_groups(vec![group])
        .with_projection(mask)
        .with_batch_size(BATCH)
        .build()?;
    // A projection comes back in the order of the file, each column once.
    let mut in_file: Vec<usize> = roots.to_vec();
    in_file.sort_unstable();
    in_file.dedup();
    let position: Vec<usize> = roots.iter().map(|root| in_file.partition_point(|other| other < root)).collect();
    let mut columns = vec![Vec::new(); roots.len()];
    let mut rows = 0;
    for batch in batches {
        let batch = batch?;
        rows += batch.num_rows();
        for (column, &at) in columns.iter_mut().zip(&position) {
            column.push(convert(batch.column(at))?);
        }
    }
    let claimed = file.parquet().row_group(group).num_rows();
    if rows as i64 != claimed {
        return Err(ParquetError::General(format!("row group {group} claims {claimed} rows but holds {rows}")));
    }
    Ok(columns)
}

fn is_numeric(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => is_numeric(values),
        other => other.is_numeric(),
    }
}

/// A cast that fails rather than losing a value.
fn strict_cast(array: &ArrayRef, to: &DataType) -> Result<ArrayRef, ParquetError> {
    Ok(cast_with_options(array, to, &CastOptions { safe: false, ..CastOptions::default() })?)
}

fn as_float(array: &ArrayRef) -> Result<ArrayRef, ParquetError> {
    strict_cast(array, &DataType::Float64)
}

/// Group keys as text. The key 1 is the key 1.0: one file may hold whole numbers as integers, another as floats.
fn as_key(array: &ArrayRef) -> Result<ArrayRef, ParquetError> {
    if array.data_type().is_integer() || !is_numeric(array.data_type()) {
        return strict_cast(array, &DataType::Utf8);
    }
    let floats = as_float(array)?;
    let key =
        |value: f64| if value.fract() == 0.0 && value.abs() < 9e15 { format!("{value:.0}") } else { value.to_string() };
    let keys: StringArray = floats.as_primitive::<Float64Type>().iter().map(|value| value.map(key)).collect();
    Ok(Arc::new(keys))
}

fn join(name: &str, parts: &[ArrayRef]) -> Numbers {
    let mut numbers = Numbers {
        name: name.to_owned(),
        values: Vec::with_capacity(parts.iter().map(Array::len).sum()),
        first_null: None,
    };
    for part in parts {
        numbers.append(part.as_primitive::<Float64Type>());
    }
    numbers
}

impl Numbers {
    fn append(&mut self, array: &Float64Array) {
        if array.null_count() == 0 {
            self.values.extend_from_slice(array.values());
            return;
        }
        for value in array {
            if value.is_none() {
                self.first_null.get_or_insert(self.values.len());
            }
            self.values.push(value.unwrap_or(f64::NAN));
        }
    }
}

impl Groups {
    /// The keys seen, in the order of their numbers.
    pub(crate) fn keys(&self) -> Vec<&str> {
        let mut keys: Vec<(&str, u32)> = self.known.iter().map(|(key, id)| (key.as_str(), *id)).collect();
        keys.sort_unstable_by_key(|(_, id)| *id);
        keys.into_iter().map(|(key, _)| key).collect()
    }

    /// The number of a key, if it was seen.
    pub(crate) fn find(&self, key: &str) -> Option<u32> {
        self.known.get(key).copied()
    }

    fn id(&mut self, key: &str) -> u32 {
        if let Some(id) = self.known.get(key) {
            return *id;
        }
        let id = self.known.len() as u32;
        self.known.insert(key.to_owned(), id);
        id
    }
}
