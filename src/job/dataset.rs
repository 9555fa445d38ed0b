//! Where rows come from: Parquet files, or a table that a program holds.

use std::path::{Path, PathBuf};

use crate::io::ArrowTable;

/// Rows to read.
#[derive(Clone, Debug)]
pub enum Dataset {
    /// A Parquet file, a directory or a glob of them.
    Files(PathBuf),
    /// A table in memory.
    Table {
        /// What messages call it, such as `<test>`.
        name: PathBuf,
        /// Its rows.
        table: ArrowTable,
    },
}

impl Dataset {
    /// A table in memory, and what messages call it.
    #[must_use]
    pub fn table(name: &str, table: ArrowTable) -> Self {
        Self::Table { name: name.into(), table }
    }

    /// The path, or what messages call the table.
    #[must_use]
    pub fn name(&self) -> &Path {
        match self {
            Self::Files(path) => path,
            Self::Table { name, .. } => name,
        }
    }
}

impl<P: Into<PathBuf>> From<P> for Dataset {
    fn from(path: P) -> Self {
        Self::Files(path.into())
    }
}
