//! The caller of a job: it receives progress and warnings, and says how options are spelled in them.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::dataset::Dataset;
use super::machine;
use super::options::RunOptions;
use crate::engine::Progress;
use crate::error::Error;
use crate::face::Face;
use crate::finding::Finding;
use crate::io::{Budget, Input, Output, read_small_text};
use crate::text::one_line;

/// Receives progress and warnings while a job runs.
pub trait Listener: Sync {
    /// A phase of the work begins, such as `read`, `plan` or `apply`; it lasts until what is returned is dropped.
    fn phase(&self, name: &'static str) -> Box<dyn Progress + '_>;
    /// Something that the user should know, in one line.
    fn warn(&self, message: &str);
    /// How options are spelled in messages.
    fn face(&self) -> Face {
        Face::Library
    }
}

/// Ignores everything.
impl Listener for () {
    fn phase(&self, _: &'static str) -> Box<dyn Progress + '_> {
        Box::new(())
    }

    fn warn(&self, _: &str) {}
}

/// The files that a run reads, whichever option names them: none of them may be an output.
#[derive(Debug, Default)]
struct Opened(Mutex<Vec<PathBuf>>);

impl Opened {
    fn add<'a>(&self, paths: impl Iterator<Item = &'a Path>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(paths.map(Path::to_owned));
    }

    /// An output that is none of those that were opened so far.
    fn create(&self, path: &Path, overwrite: bool) -> Result<Output, Error> {
        Output::create(path, overwrite, &self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What all parts of a run share: the listener, the memory for reading, and the files that it reads.
pub(crate) struct Caller<'a> {
    listener: &'a dyn Listener,
    /// Memory for reading.
    pub(crate) budget: Budget,
    opened: Opened,
}

impl<'a> Caller<'a> {
    /// Does work in threads of its own.
    pub(crate) fn work<T: Send>(
        running: &RunOptions,
        listener: &'a dyn Listener,
        work: impl FnOnce(&Caller) -> Result<T, Error> + Send,
    ) -> Result<T, Error> {
        let caller = Caller { listener, budget: running.budget(), opened: Opened::default() };
        machine::in_threads(running.threads, || work(&caller))
    }

    /// The table, or the files of the path.
    pub(crate) fn open(&self, dataset: &Dataset) -> Result<Input, Error> {
        match dataset {
            Dataset::Table { argument, table } => Ok(Input::in_memory(argument, table.clone())),
            Dataset::Files(path) => {
                let input = Input::open(path, &self.budget)?;
                self.opened.add(input.paths());
                Ok(input)
            }
        }
    }

    /// An output that is none of the files that the run has opened.
    pub(crate) fn create(&self, path: &Path, overwrite: bool) -> Result<Output, Error> {
        self.opened.create(path, overwrite)
    }

    /// The text of a small file.
    pub(crate) fn text(&self, path: &Path) -> Result<String, Error> {
        self.opened.add(std::iter::once(path));
        read_small_text(path)
    }

    pub(crate) fn phase(&self, name: &'static str) -> Box<dyn Progress + 'a> {
        self.listener.phase(name)
    }

    /// A message with its options as the listener wants them spelled.
    pub(crate) fn spelled(&self, message: &str) -> String {
        self.listener.face().spelled(message)
    }

    /// Warns of something; options in the message are spelled already.
    pub(crate) fn warn(&self, message: &str) {
        self.listener.warn(&one_line(message));
    }

    /// Warns of what was found, and gives it back with options spelled.
    pub(crate) fn report(&self, finding: Option<Finding>) -> Vec<Finding> {
        let spelled = finding.map(|it| Finding { message: self.spelled(&it.message), ..it });
        if let Some(finding) = &spelled {
            self.warn(&finding.message);
        }
        spelled.into_iter().collect()
    }
}
