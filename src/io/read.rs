//! Reads columns of files or tables in parallel. Every numeric type becomes `f64`.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, RecordBatch};
use arrow::datatypes::{DataType, FieldRef, Fields, Float64Type};
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, RowSelection, RowSelector};
use parquet::arrow::{FieldLevels, ProjectionMask, parquet_to_arrow_field_levels};
use parquet::errors::ParquetError;
use parquet::schema::types::SchemaDescriptor;
use rayon::prelude::*;

use super::budget::{Budget, Reservation};
use super::guard::ParquetFile;
use super::guard::{Surveyed, guarded, ours};
use super::input::{ArrowTable, Input, Piece, Source, type_name};
use super::key::strict_cast;
use crate::error::Error;

/// A column of numbers; null is NaN.
#[derive(Clone, Debug)]
pub struct Numbers {
    /// Its name, for messages.
    pub name: String,
    /// The values of all files.
    pub values: Vec<f64>,
    /// The first row that is null.
    pub first_null: Option<usize>,
}

/// The coordinates of each row; null values and empty points are NaN.
#[derive(Clone, Debug)]
pub struct CoordinateColumns {
    /// Latitude and longitude, or the index columns relative to their origin.
    pub axes: Vec<Numbers>,
    /// Whether the axes are index columns.
    pub is_index: bool,
    /// A remark for the user about how they were read.
    pub note: Option<String>,
}

/// The kind of values that a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnKind {
    Number,
    /// A date, or a date with a time.
    Date,
    /// Text, booleans and other values that can only be compared for equality.
    Key,
}

/// Rows decoded at a time: 512 KiB of doubles. Chosen, not measured.
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
        names.iter().map(|name| self.numeric_column(name)).collect()
    }

    fn numeric_column(&self, name: &str) -> Result<usize, Error> {
        let (root, field) = self.column(name)?;
        if is_numeric(field.data_type()) {
            return Ok(root);
        }
        let problem = format!("is {}, not a number", type_name(field.data_type()));
        Err(self.wrong_column(name, &problem, "choose a numeric column, or convert it"))
    }

    /// The kind of values that a column holds.
    pub(crate) fn kind(&self, name: &str) -> Result<ColumnKind, Error> {
        let (_, field) = self.column(name)?;
        Ok(match field.data_type() {
            DataType::Date32 | DataType::Date64 | DataType::Timestamp(..) => ColumnKind::Date,
            data_type if is_numeric(data_type) => ColumnKind::Number,
            _ => ColumnKind::Key,
        })
    }

    /// Reads a column of dates, in days since 1970-01-01; null is NaN.
    pub(crate) fn days(&self, name: &str) -> Result<Numbers, Error> {
        let (root, _) = self.column(name)?;
        let read = self.arrays(&[root], &[], as_days)?;
        self.join(name, &read.arrays[0])
    }

    /// The purpose of a memory reservation, for messages.
    pub(super) fn reading(&self) -> String {
        format!("reading {} rows of {}", self.rows(), self.name())
    }

    /// The given top-level columns, each as arrays in row order, after `convert`; only these members of structs.
    pub(super) fn arrays<F>(&self, roots: &[usize], members: &[&str], convert: F) -> Result<Columns, Error>
    where
        F: Fn(&ArrayRef) -> Result<ArrayRef, ParquetError> + Sync,
    {
        let parts = match &self.source {
            Source::Files(files, pieces) => {
                // The columns as numbers, and one of them twice while its parts are joined.
                let need = (self.rows() as u64).saturating_mul(8 * (roots.len() as u64 + 1));
                drop(self.budget.take(need, || self.reading())?);
                from_files(files, pieces, roots, members, &convert, &self.budget)?
            }
            Source::Memory(table) => guarded(self.name().clone(), || from_table(table, roots, &convert))?,
        };
        let mut columns = Columns { arrays: vec![Vec::new(); roots.len()], taken: Vec::new() };
        for DecodedPart { arrays, taken } in parts {
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

    /// Allocates memory for the numbers of these arrays.
    pub(super) fn no_numbers(&self, name: &str, parts: &[ArrayRef]) -> Result<Numbers, Error> {
        let rows = parts.iter().map(Array::len).sum();
        self.budget.take(8 * rows as u64, || self.reading())?.keep(u64::MAX);
        Ok(Numbers { name: name.to_owned(), values: Vec::with_capacity(rows), first_null: None })
    }
}

/// The arrays of each column, and the memory reserved for them.
pub(super) struct Columns {
    pub(super) arrays: Vec<Vec<ArrayRef>>,
    pub(super) taken: Vec<Reservation>,
}

/// The arrays of each column of one row group or one batch.
struct DecodedPart {
    arrays: Vec<Vec<ArrayRef>>,
    taken: Option<Reservation>,
}

fn from_files<F>(
    files: &[ParquetFile],
    pieces: &[Piece],
    roots: &[usize],
    members: &[&str],
    convert: &F,
    budget: &Budget,
) -> Result<Vec<DecodedPart>, Error>
where
    F: Fn(&ArrayRef) -> Result<ArrayRef, ParquetError> + Sync,
{
    let by_file: Vec<&[Piece]> = pieces.chunk_by(|one, next| one.file == next.file).collect();
    let used = by_file.iter().map(|pieces| &files[pieces[0].file]);
    let projections: Vec<Projection> =
        used.map(|file| file.guarded(|| Projection::new(file, roots, members))).collect::<Result<_, _>>()?;
    let tasks: Vec<(&Projection, &Piece)> =
        projections.iter().zip(by_file).flat_map(|(it, pieces)| pieces.iter().map(move |piece| (it, piece))).collect();
    let tasks = tasks.into_par_iter();
    tasks.map(|(of, piece)| of.file.guarded(|| of.piece(piece, convert, budget))).collect()
}

fn from_table<F>(table: &ArrowTable, roots: &[usize], convert: &F) -> Result<Vec<DecodedPart>, ParquetError>
where
    F: Fn(&ArrayRef) -> Result<ArrayRef, ParquetError> + Sync,
{
    table.batches.par_iter().map(|batch| from_batch(batch, roots, convert)).collect()
}

fn from_batch<F>(batch: &RecordBatch, roots: &[usize], convert: &F) -> Result<DecodedPart, ParquetError>
where
    F: Fn(&ArrayRef) -> Result<ArrayRef, ParquetError>,
{
    let arrays = roots.iter().map(|&root| Ok(vec![convert(batch.column(root))?]));
    Ok(DecodedPart { arrays: arrays.collect::<Result<_, ParquetError>>()?, taken: None })
}

/// The columns to read from a file.
struct Projection<'a> {
    file: &'a ParquetFile,
    /// Their leaves in the Parquet schema.
    leaves: Vec<usize>,
    levels: FieldLevels,
    /// The position of each requested column among those read: they are read in the order of the file, each once.
    position: Vec<usize>,
}

impl<'a> Projection<'a> {
    fn new(file: &'a ParquetFile, roots: &[usize], members: &[&str]) -> Result<Self, ParquetError> {
        let schema = file.parquet().file_metadata().schema_descr();
        let leaves = (0..schema.num_columns()).filter(|&leaf| is_wanted(schema, leaf, roots, members));
        let leaves: Vec<usize> = leaves.collect();
        let mask = ProjectionMask::leaves(schema, leaves.iter().copied());
        let fields = file.metadata.schema().fields().iter().map(readable).collect::<Fields>();
        let levels = parquet_to_arrow_field_levels(schema, mask, Some(&fields))?;
        let mut in_file: Vec<usize> = roots.to_vec();
        in_file.sort_unstable();
        in_file.dedup();
        let position = roots.iter().map(|root| in_file.partition_point(|other| other < root)).collect();
        Ok(Self { file, leaves, levels, position })
    }

    fn piece<F>(&self, piece: &Piece, convert: &F, budget: &Budget) -> Result<DecodedPart, ParquetError>
    where
        F: Fn(&ArrayRef) -> Result<ArrayRef, ParquetError>,
    {
        let Piece { group, rows: wanted, .. } = piece;
        let surveyed = Surveyed::new(self.file, *group, &self.leaves, wanted.len().clamp(1, BATCH), budget)?;
        let claimed = self.file.parquet().row_group(*group).num_rows();
        let selection = (wanted.len() as i64 != claimed).then(|| selected(wanted));
        let batches =
            ParquetRecordBatchReader::try_new_with_row_groups(&self.levels, &surveyed, surveyed.batch, selection)?;
        let mut arrays = vec![Vec::new(); self.position.len()];
        let mut taken = budget.take(0, || self.file.reading()).map_err(ours)?;
        let mut end = wanted.start;
        for batch in batches {
            let batch = batch?;
            end += batch.num_rows();
            for (column, &at) in arrays.iter_mut().zip(&self.position) {
                let array = convert(batch.column(at))?;
                taken.grow(array.get_array_memory_size() as u64, || self.file.reading()).map_err(ours)?;
                column.push(array);
            }
        }
        if end != wanted.end {
            return Err(ParquetError::General(format!("row group {group} claims {claimed} rows but holds {end}")));
        }
        Ok(DecodedPart { arrays, taken: Some(taken) })
    }
}

/// The field as the Parquet crate can read it. It reads dictionaries of text and bytes of any length; those of decimals, booleans,
/// half floats and bytes of a fixed length it refuses. Dictionaries of any other values are therefore read as their values.
fn readable(field: &FieldRef) -> FieldRef {
    match field.data_type() {
        DataType::Dictionary(_, values) if !is_text_or_bytes(values) => {
            Arc::new(field.as_ref().clone().with_data_type(values.as_ref().clone()))
        }
        _ => Arc::clone(field),
    }
}

fn is_text_or_bytes(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Binary | DataType::LargeBinary)
}

/// Whether a leaf belongs to one of the columns, and to one of the members if any are listed.
fn is_wanted(schema: &SchemaDescriptor, leaf: usize, roots: &[usize], members: &[&str]) -> bool {
    let path = schema.column(leaf).path().clone();
    let member = path.parts().get(1).filter(|_| !members.is_empty());
    roots.contains(&schema.get_column_root_idx(leaf)) && member.is_none_or(|member| members.contains(&member.as_str()))
}

/// Selects these rows of a row group.
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

fn as_days(array: &ArrayRef) -> Result<ArrayRef, ParquetError> {
    as_float(&strict_cast(&strict_cast(array, &DataType::Date32)?, &DataType::Int32)?)
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
