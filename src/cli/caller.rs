//! Who a subcommand works for: a person at a terminal, or a program that holds its tables in memory.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::engine::Progress;
use crate::error::Error;
use crate::finding::Finding;
use crate::io::{ArrowTable, Budget, Input, read_small_text};

/// Hears what a subcommand has to say while it works.
pub trait Listener: Sync {
    /// A phase of the work begins, such as `read`, `plan` or `apply`; it lasts until what is returned is dropped.
    fn phase(&self, name: &'static str) -> Box<dyn Progress + '_>;
    /// Something that the user should know.
    fn warn(&self, message: &str);
}

/// Inputs that a program holds, by the names that stand for them in its request where paths would.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// Tables, for `--test`, `--train` and `--validation`.
    pub tables: HashMap<PathBuf, ArrowTable>,
    /// Texts, for `--params`.
    pub texts: HashMap<PathBuf, String>,
}

/// Where inputs come from, and who hears of the work.
pub(super) struct Caller<'a> {
    pub(super) memory: &'a Memory,
    pub(super) listener: &'a dyn Listener,
    /// Memory for reading.
    pub(super) budget: &'a Budget,
    /// Whether tuning should score over σ and c around the best too, page or not.
    pub(super) surface: bool,
}

impl Caller<'_> {
    /// The table of that name, or the files of that path.
    pub(super) fn open(&self, path: &Path) -> Result<Input, Error> {
        match self.memory.tables.get(path) {
            Some(table) => Ok(Input::in_memory(path, table.clone())),
            None => Input::open(path, self.budget),
        }
    }

    /// The text of that name, or of the file of that path.
    pub(super) fn text(&self, path: &Path) -> Result<String, Error> {
        self.memory.texts.get(path).map_or_else(|| read_small_text(path), |text| Ok(text.clone()))
    }

    pub(super) fn phase(&self, name: &'static str) -> Box<dyn Progress + '_> {
        self.listener.phase(name)
    }

    pub(super) fn warn(&self, message: &str) {
        self.listener.warn(message);
    }

    pub(super) fn tell(&self, findings: &[Finding]) {
        findings.iter().for_each(|finding| self.warn(&finding.message));
    }
}
