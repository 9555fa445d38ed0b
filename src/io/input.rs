//! [`Input`]: one or more Parquet files with one schema, or a table in memory.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, FieldRef, SchemaRef};

use super::budget::Budget;
use super::expand::expand;
use super::guard::ParquetFile;
use super::nearest::nearest;
use super::shortened;
use crate::error::{Error, Subject};

/// Parquet files with one schema, in the order of their names, or a table in memory. Rows are numbered through all files.
#[derive(Debug)]
pub struct Input {
    pub(super) source: Source,
    pub(super) budget: Budget,
    /// The number of its first row in the whole input, if it is a part of one.
    pub(super) first_row: usize,
    pub(super) name: Subject,
}

#[derive(Debug)]
pub(super) enum Source {
    /// Rows of the files, in order. The parts of an input share its files.
    Files(Arc<[ParquetFile]>, Vec<Piece>),
    Memory(ArrowTable),
}

/// Rows of a row group.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    /// The position of the file among those of the input.
    pub(super) file: usize,
    pub(super) group: usize,
    pub(super) rows: Range<usize>,
}

/// An Arrow table in memory. Cloning it copies no values.
#[derive(Clone, Debug)]
pub struct ArrowTable {
    /// The columns. Metadata may describe columns of points, under the key `geo` as in `GeoParquet` or by `GeoArrow` types.
    pub schema: SchemaRef,
    /// The rows.
    pub batches: Vec<RecordBatch>,
}

/// All rows of the file at position `at`.
fn pieces(file: &ParquetFile, at: usize) -> impl Iterator<Item = Piece> {
    file.parquet().row_groups().iter().enumerate().map(move |(group, claims)| Piece {
        file: at,
        group,
        rows: 0..usize::try_from(claims.num_rows()).unwrap_or(0),
    })
}

impl Input {
    /// Opens a file, all `.parquet` files of a directory, or all files that a glob matches. Names that begin with a dot or an
    /// underscore are skipped unless they are spelled out. Only the footers are read here. The memory of everything that is
    /// read stays within the budget.
    ///
    /// # Errors
    /// If no file matches, a file is not a Parquet file, or the files differ in schema.
    pub fn open(given: &Path, budget: &Budget) -> Result<Self, Error> {
        let paths = expand(given)?.into_iter();
        let files = paths.map(|path| ParquetFile::open(path, budget)).collect::<Result<Vec<_>, _>>()?;
        let first = files[0].parquet().file_metadata().schema();
        if let Some(other) = files.iter().find(|file| file.parquet().file_metadata().schema() != first) {
            return Err(Error::File {
                subject: other.path.as_path().into(),
                problem: format!("{} from {}", difference(&files[0], other), files[0].path.display()),
                hint: "all files of one input need the same columns in the same order with the same types".to_owned(),
            });
        }
        let pieces = files.iter().enumerate().flat_map(|(at, file)| pieces(file, at)).collect();
        let source = Source::Files(files.into(), pieces);
        Ok(Self { source, budget: budget.clone(), first_row: 0, name: given.into() })
    }

    /// A table in memory, and the name of the argument that it is for messages.
    #[must_use]
    pub fn in_memory(argument: &str, table: ArrowTable) -> Self {
        let name = Subject::Argument(argument.to_owned());
        Self { source: Source::Memory(table), budget: Budget::unlimited(), first_row: 0, name }
    }

    /// The files; none for a table in memory.
    pub(super) fn files(&self) -> &[ParquetFile] {
        match &self.source {
            Source::Files(files, _) => files,
            Source::Memory(_) => &[],
        }
    }

    /// Checks that the files of its rows have not changed since they were opened.
    pub(crate) fn check_unchanged(&self) -> Result<(), Error> {
        let Source::Files(files, pieces) = &self.source else { return Ok(()) };
        let mut used: Vec<usize> = pieces.iter().map(|piece| piece.file).collect();
        used.dedup();
        match used.into_iter().find(|at| !files[*at].reader.is_unchanged()) {
            None => Ok(()),
            Some(at) => Err(Error::File {
                subject: files[at].path.as_path().into(),
                problem: "was written to while it was read".to_owned(),
                hint: "run again once it is complete; nothing was written".to_owned(),
            }),
        }
    }

    /// The path as it was given, or the name of the table.
    #[must_use]
    pub fn name(&self) -> &Subject {
        &self.name
    }

    /// Whether it is a table in memory rather than files.
    #[must_use]
    pub fn is_in_memory(&self) -> bool {
        matches!(self.source, Source::Memory(_))
    }

    /// The error that a table in memory cannot be written to a file: columns are copied from files.
    #[must_use]
    pub fn no_file(&self) -> Error {
        Error::File {
            subject: self.name.clone(),
            problem: "is a table in memory, from which no file is written".to_owned(),
            hint: "leave out `output` and write the table that comes back".to_owned(),
        }
    }

    /// The paths of the files; none for a table in memory.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.files().iter().map(|file| file.path.as_path())
    }

    /// Number of rows according to the footers.
    #[must_use]
    pub fn rows(&self) -> usize {
        match &self.source {
            Source::Files(_, pieces) => pieces.iter().map(|piece| piece.rows.len()).fold(0, usize::saturating_add),
            Source::Memory(table) => table.batches.iter().map(RecordBatch::num_rows).sum(),
        }
    }

    /// The number of its first row in the whole input: messages number rows through all parts.
    pub(crate) fn first_row(&self) -> usize {
        self.first_row
    }

    /// The schema that all files share.
    #[must_use]
    pub fn schema(&self) -> &SchemaRef {
        match &self.source {
            Source::Files(files, _) => files[0].metadata.schema(),
            Source::Memory(table) => &table.schema,
        }
    }

    /// Whether there is a column of this name.
    #[must_use]
    pub fn has(&self, column: &str) -> bool {
        self.schema().fields().iter().any(|field| field.name() == column)
    }

    /// The position and field of a column.
    ///
    /// # Errors
    /// If there is no column of that name (the message suggests a similar one), or more than one.
    pub fn column(&self, name: &str) -> Result<(usize, &FieldRef), Error> {
        let mut found = self.schema().fields().iter().enumerate().filter(|(_, field)| field.name() == name);
        match (found.next(), found.next()) {
            (Some(only), None) => Ok(only),
            (Some(_), Some(_)) => {
                Err(self.wrong_column(name, "exists more than once", "rename one of the columns of that name"))
            }
            (None, _) => Err(self.wrong_column(name, "does not exist", &self.nearest_names(name))),
        }
    }

    /// An error about a column of this input.
    #[must_use]
    pub fn wrong_column(&self, name: &str, problem: &str, hint: &str) -> Error {
        Error::Column {
            subject: self.name.clone(),
            column: shortened(name, 80),
            problem: problem.to_owned(),
            hint: hint.to_owned(),
        }
    }

    /// A value of the key-value metadata.
    pub(super) fn key_value(&self, key: &str) -> Option<&str> {
        match &self.source {
            Source::Files(files, _) => files[0].pairs.iter().find(|pair| pair.key == key)?.value.as_deref(),
            Source::Memory(table) => table.schema.metadata().get(key).map(String::as_str),
        }
    }

    fn nearest_names(&self, wanted: &str) -> String {
        let names = self.schema().fields().iter().map(|field| field.name().as_str());
        match nearest(wanted, names) {
            Some(best) => format!("did you mean '{}'? The columns are {}", shortened(best, 80), self.listed()),
            None => format!("the columns are {}", self.listed()),
        }
    }

    /// The names of the columns, as many as fit on a line.
    #[must_use]
    pub fn listed(&self) -> String {
        let names: Vec<String> = self.schema().fields().iter().map(|field| shortened(field.name(), 40)).collect();
        match names.len() {
            0..=25 => names.join(", "),
            more => format!("{}, … and {} more", names[..25].join(", "), more - 25),
        }
    }
}

/// How the columns of two files differ, for messages.
fn difference(first: &ParquetFile, other: &ParquetFile) -> String {
    let [first, other] = [first, other].map(|file| file.parquet().file_metadata().schema().get_fields());
    let unequal = first.iter().zip(other).find(|(a, b)| a != b).map(|(_, b)| b);
    match unequal.or(other.get(first.len())).or(first.get(other.len())) {
        Some(field) => format!("column '{}' differs", shortened(field.name(), 80)),
        None => "its schema differs".to_owned(),
    }
}

/// The name of a type in messages.
pub(super) fn type_name(data_type: &DataType) -> String {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "text".to_owned(),
        DataType::Boolean => "true or false".to_owned(),
        DataType::Struct(_) => "a struct".to_owned(),
        DataType::Map(..) => "a map".to_owned(),
        DataType::Timestamp(..) | DataType::Date32 | DataType::Date64 => "a date or time".to_owned(),
        DataType::Dictionary(_, values) => type_name(values),
        DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..) => "a list".to_owned(),
        other => shortened(&other.to_string(), 80),
    }
}
