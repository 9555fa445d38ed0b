//! Columns out of row groups or tables, decoded in parallel: every numeric type as `f64`, groups as small numbers.

use std::ops::Range;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, RecordBatch};
use arrow::datatypes::{DataType, Float64Type};
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, RowSelection, RowSelector};
use parquet::arrow::{FieldLevels, ProjectionMask, parquet_to_arrow_field_levels};
use parquet::errors::ParquetError;
use rayon::prelude::*;

use super::budget::{Budget, Taken};
use super::guard::{Surveyed, guarded, ours};
use super::input::{ArrowTable, Input, ParquetFile, Piece, Source, type_name};
use super::key::strict_cast;
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

const BATCH: usize = 1 << 16;

impl Input {
    /// Reads columns of any numeric type.
    ///
    /// # Errors
    /// If a column does not exist, is not numeric, or the file is damaged.
    pub fn numbers(&self, names: &[&str]) -> Result<Vec<Numbers>, Error> {
        let Columns { arrays, .. } = self.arrays(&self.numeric(names)?, &[], as_float)?;
        names.par_iter().zip(arrays).map(|(name, parts)| self.join(name, &parts)).collect()
    }

    /// The positions of columns that must be numeric.
    pub(super) fn numeric(&self, names: &[&str]) -> Result<Vec<usize>, Error> {
        let position = |name: &&str| match self.column(name)? {
            (root, field) if is_numeric(field.data_type()) => Ok(root),
            (_, field) => {
                let problem = format!("is {}, not a number", type_name(field.data_type()));
                Err(self.wrong_column(name, &problem, "choose a numeric column, or convert it"))
            }
        };
        names.iter().map(position).collect()
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
        let read = self.arrays(&[root], &[], days)?;
        self.join(name, &read.arrays[0])
    }

    /// What memory is asked for, for messages.
    pub(super) fn reading(&self) -> String {
        format!("reading {} rows of {}", self.rows(), self.path().display())
    }

    /// The given top-level columns, each as arrays in row order, after `convert`; of structs these members alone.
    pub(super) fn arrays<F>(&self, roots: &[usize], members: &[&str], convert: F) -> Result<Columns, Error>
    where
        F: Fn(&ArrayRef) -> Result<ArrayRef, ParquetError> + Sync,
    {
        let parts = match &self.source {
            Source::Files(files, pieces) => {
                // What the columns take as numbers, and one of them twice while its parts are joined.
                let need = (self.rows() as u64).saturating_mul(8 * (roots.len() as u64 + 1));
                drop(self.budget.take(need, || self.reading())?);
                from_files(files, pieces, roots, members, &convert, &self.budget)?
            }
            Source::Memory(table) => guarded(self.path(), || from_table(table, roots, &convert))?,
        };
        let mut columns = Columns { arrays: vec![Vec::new(); roots.len()], taken: Vec::new() };
        for Part { arrays, taken } in parts {
            for (column, arrays) in columns.arrays.iter_mut().zip(arrays) {
                column.extend(arrays);
            }
            columns.taken.extend(taken);
        }
        Ok(columns)
    }

    fn join(&self, name: &str, parts: &[ArrayRef]) -> Result<Numbers, Error> {
        let mut numbers = self.no_numbers(name, parts)?;
        for part in parts {
            numbers.append(part.as_primitive::<Float64Type>());
        }
        Ok(numbers)
    }

    /// Room for the numbers of these arrays.
    pub(super) fn no_numbers(&self, name: &str, parts: &[ArrayRef]) -> Result<Numbers, Error> {
        let rows = parts.iter().map(Array::len).sum();
        self.budget.take(8 * rows as u64, || self.reading())?.keep(u64::MAX);
        Ok(Numbers { name: name.to_owned(), values: Vec::with_capacity(rows), first_null: None })
    }
}

/// Arrays of each column, and the memory that they take.
pub(super) struct Columns {
    pub(super) arrays: Vec<Vec<ArrayRef>>,
    pub(super) taken: Vec<Taken>,
}

/// The arrays of each column in a row group or a part of a table.
struct Part {
    arrays: Vec<Vec<ArrayRef>>,
    taken: Option<Taken>,
}

fn from_files<F>(
    files: &[ParquetFile],
    pieces: &[Piece],
    roots: &[usize],
    members: &[&str],
    convert: &F,
    budget: &Budget,
) -> Result<Vec<Part>, Error>
where
    F: Fn(&ArrayRef) -> Result<ArrayRef, ParquetError> + Sync,
{
    let of_file = |pieces: &'_ [Piece]| {
        let file = &files[pieces[0].file];
        file.guarded(|| Projection::new(file, roots, members))
    };
    let by_file: Vec<&[Piece]> = pieces.chunk_by(|one, next| one.file == next.file).collect();
    let projections: Vec<Projection> = by_file.iter().map(|pieces| of_file(pieces)).collect::<Result<_, _>>()?;
    let tasks: Vec<(&Projection, &Piece)> =
        projections.iter().zip(by_file).flat_map(|(it, pieces)| pieces.iter().map(move |piece| (it, piece))).collect();
    let one = |(projection, piece): (&Projection, &Piece)| {
        projection.file.guarded(|| projection.piece(piece, convert, budget))
    };
    tasks.into_par_iter().map(one).collect()
}

fn from_table<F>(table: &ArrowTable, roots: &[usize], convert: &F) -> Result<Vec<Part>, ParquetError>
where
    F: Fn(&ArrayRef) -> Result<ArrayRef, ParquetError> + Sync,
{
    let one = |batch: &RecordBatch| {
        let arrays = roots.iter().map(|&root| Ok(vec![convert(batch.column(root))?]));
        Ok(Part { arrays: arrays.collect::<Result<_, ParquetError>>()?, taken: None })
    };
    table.batches.par_iter().map(one).collect()
}

/// Columns to read from a file.
struct Projection<'a> {
    file: &'a ParquetFile,
    /// The leaves of their trees.
    leaves: Vec<usize>,
    levels: FieldLevels,
    /// Where each column comes back: a projection is in the order of the file, each column once.
    position: Vec<usize>,
}

impl<'a> Projection<'a> {
    fn new(file: &'a ParquetFile, roots: &[usize], members: &[&str]) -> Result<Self, ParquetError> {
        let schema = file.parquet().file_metadata().schema_descr();
        let is_wanted = |leaf: &usize| {
            let path = schema.column(*leaf).path().clone();
            let member = path.parts().get(1).filter(|_| !members.is_empty());
            roots.contains(&schema.get_column_root_idx(*leaf))
                && member.is_none_or(|member| members.contains(&member.as_str()))
        };
        let leaves: Vec<usize> = (0..schema.num_columns()).filter(is_wanted).collect();
        let mask = ProjectionMask::leaves(schema, leaves.iter().copied());
        let levels = parquet_to_arrow_field_levels(schema, mask, Some(file.metadata.schema().fields()))?;
        let mut in_file: Vec<usize> = roots.to_vec();
        in_file.sort_unstable();
        in_file.dedup();
        let position = roots.iter().map(|root| in_file.partition_point(|other| other < root)).collect();
        Ok(Self { file, leaves, levels, position })
    }

    fn piece<F>(&self, piece: &Piece, convert: &F, budget: &Budget) -> Result<Part, ParquetError>
    where
        F: Fn(&ArrayRef) -> Result<ArrayRef, ParquetError>,
    {
        let what = || format!("reading {}", self.file.path.display());
        let Piece { group, rows: wanted, .. } = piece;
        let surveyed = Surveyed::new(self.file, *group, &self.leaves, wanted.len().clamp(1, BATCH), budget)?;
        let claimed = self.file.parquet().row_group(*group).num_rows();
        let selection = (wanted.len() as i64 != claimed).then(|| selected(wanted));
        let batches =
            ParquetRecordBatchReader::try_new_with_row_groups(&self.levels, &surveyed, surveyed.batch, selection)?;
        let mut arrays = vec![Vec::new(); self.position.len()];
        let mut taken = budget.take(0, what).map_err(ours)?;
        let mut end = wanted.start;
        for batch in batches {
            let batch = batch?;
            end += batch.num_rows();
            for (column, &at) in arrays.iter_mut().zip(&self.position) {
                let array = convert(batch.column(at))?;
                taken.grow(array.get_array_memory_size() as u64, what).map_err(ours)?;
                column.push(array);
            }
        }
        if end != wanted.end {
            return Err(ParquetError::General(format!("row group {group} claims {claimed} rows but holds {end}")));
        }
        Ok(Part { arrays, taken: Some(taken) })
    }
}

/// These rows of a row group and no others.
fn selected(rows: &Range<usize>) -> RowSelection {
    vec![RowSelector::skip(rows.start), RowSelector::select(rows.len())].into()
}

fn is_numeric(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => is_numeric(values),
        other => other.is_numeric(),
    }
}

fn as_float(array: &ArrayRef) -> Result<ArrayRef, ParquetError> {
    Ok(strict_cast(array, &DataType::Float64)?)
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
