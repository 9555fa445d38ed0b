//! Who a subcommand works for: a person at a terminal, or a program that holds its tables in memory.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::engine::Progress;
use crate::error::Error;
use crate::finding::Finding;
use crate::io::{ArrowTable, Budget, Input, Output, read_small_text};
use crate::text::one_line;

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

/// The files that a run reads, whichever option names them: none of them may be an output.
#[derive(Debug, Default)]
pub(crate) struct Opened(Mutex<Vec<PathBuf>>);

impl Opened {
    fn add<'a>(&self, paths: impl Iterator<Item = &'a Path>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(paths.map(Path::to_owned));
    }

    /// An output that is none of those that were opened so far.
    fn create(&self, path: &Path, overwrite: bool) -> Result<Output, Error> {
        Output::create(path, overwrite, &self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Where inputs come from, and who hears of the work.
pub(crate) struct Caller<'a> {
    pub(crate) memory: &'a Memory,
    pub(crate) listener: &'a dyn Listener,
    /// Memory for reading.
    pub(crate) budget: &'a Budget,
    pub(crate) opened: &'a Opened,
    /// Whether tuning should score over σ and c around the best too, page or not.
    pub(crate) surface: bool,
}

impl Caller<'_> {
    /// The table of that name, or the files of that path.
    pub(crate) fn open(&self, path: &Path) -> Result<Input, Error> {
        if let Some(table) = self.memory.tables.get(path) {
            return Ok(Input::in_memory(path, table.clone()));
        }
        let input = Input::open(path, self.budget)?;
        self.opened.add(input.paths());
        Ok(input)
    }

    /// An output that is none of the files that the run has opened.
    pub(crate) fn create(&self, path: &Path, overwrite: bool) -> Result<Output, Error> {
        self.opened.create(path, overwrite)
    }

    /// The text of that name, or of the file of that path.
    pub(crate) fn text(&self, path: &Path) -> Result<String, Error> {
        if let Some(text) = self.memory.texts.get(path) {
            return Ok(text.clone());
        }
        self.opened.add(std::iter::once(path));
        read_small_text(path)
    }

    pub(crate) fn phase(&self, name: &'static str) -> Box<dyn Progress + '_> {
        self.listener.phase(name)
    }

    pub(crate) fn warn(&self, message: &str) {
        self.listener.warn(&one_line(message));
    }

    pub(crate) fn tell(&self, findings: &[Finding]) {
        for finding in findings {
            self.warn(&finding.message);
        }
    }
}
