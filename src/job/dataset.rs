//! Where rows come from: Parquet files, or a table that a program holds.

use std::path::PathBuf;

use crate::error::Subject;
use crate::io::ArrowTable;

/// Rows to read.
#[derive(Clone, Debug)]
pub enum Dataset {
    /// A Parquet file, a directory or a glob of them.
    Files(PathBuf),
    /// A table in memory.
    Table {
        /// The argument that it is, for messages: `test`.
        argument: String,
        /// Its rows.
        table: ArrowTable,
    },
}

impl Dataset {
    /// A table in memory, and the argument that it is for messages.
    #[must_use]
    pub fn table(argument: &str, table: ArrowTable) -> Self {
        Self::Table { argument: argument.to_owned(), table }
    }

    /// The path or the argument, as messages name it.
    #[must_use]
    pub fn name(&self) -> Subject {
        match self {
            Self::Files(path) => path.into(),
            Self::Table { argument, .. } => Subject::Argument(argument.clone()),
        }
    }
}

impl<P: Into<PathBuf>> From<P> for Dataset {
    fn from(path: P) -> Self {
        Self::Files(path.into())
    }
}
