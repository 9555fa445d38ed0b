//! Pages of results: what each request shows where a page is asked for.

mod compare;
mod diagnose;
mod rows;
mod smooth;
mod tune;

use std::path::{Path, PathBuf};

pub use self::compare::EngineErrors;
pub(crate) use self::compare::page as compare_page;
pub(crate) use self::diagnose::page as diagnose_page;
pub use self::rows::ShownRows;
pub(crate) use self::smooth::page as smooth_page;
pub use self::tune::Surface;
pub(crate) use self::tune::page as tune_page;
use super::caller::Caller;
use super::options::ReportOptions;
use crate::error::Error;
use crate::io::{Complete, Output};
use crate::report::{Page, Table};

/// A page to come: its folder exists and may be written to.
pub(crate) struct Report<'a> {
    folder: PathBuf,
    index: Output,
    overwrite: bool,
    caller: &'a Caller<'a>,
}

impl ReportOptions {
    /// Whether there is to be a page.
    pub(crate) fn is_wanted(&self) -> bool {
        self.report.is_some()
    }

    /// Makes the folder and finds out before the work whether the page could be written beside the other outputs of the run, each with
    /// the option that names it.
    pub(crate) fn prepare<'a>(
        &self,
        others: &[(&'static str, Option<&Output>)],
        caller: &'a Caller,
    ) -> Result<Option<Report<'a>>, Error> {
        let Some(folder) = self.report.clone() else { return Ok(None) };
        let whole = resolved(&folder);
        for &(option, other) in others {
            // Before the folder is made: it would take the name of the other output.
            other.map_or(Ok(()), |other| refuse_folder(&whole, option, other))?;
        }
        let report = Report::prepare(folder, "choose another with `report`", self.overwrite, caller)?;
        for &(option, other) in others {
            other.map_or(Ok(()), |other| report.refuse(option, other))?;
        }
        Ok(Some(report))
    }
}

const INDEX: &str = "index.html";

impl<'a> Report<'a> {
    /// Makes the folder and finds out before the work whether the page could be written; the hint says which option names it.
    pub(crate) fn prepare(
        folder: PathBuf,
        hint: &'static str,
        overwrite: bool,
        caller: &'a Caller,
    ) -> Result<Self, Error> {
        if let Err(source) = std::fs::create_dir_all(&folder) {
            return Err(Error::Io { action: "cannot make the folder", path: folder, source, hint });
        }
        let index = caller.create(&folder.join(INDEX), overwrite)?;
        Ok(Self { folder, index, overwrite, caller })
    }

    /// Refuses an output that would be a file of the page too; the names of its figures are only known once it is made.
    fn refuse(&self, option: &'static str, other: &Output) -> Result<(), Error> {
        let destination = other.destination();
        let is_beside = std::fs::canonicalize(&self.folder).is_ok_and(|folder| destination.parent() == Some(&folder));
        let is_figure = destination.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("svg"));
        if destination != self.index.destination() && !(is_beside && is_figure) {
            return Ok(());
        }
        Err(Error::SameOutput { path: destination.to_owned(), options: [option, "report"] })
    }

    /// Where the page will be.
    pub(crate) fn page(&self) -> &Path {
        self.index.destination()
    }

    /// Writes the plots and the page that needs them: all of it is complete then and lacks but its names.
    pub(crate) fn write(self, page: &Page) -> Result<Vec<Complete>, Error> {
        self.write_with(page, Vec::new())
    }

    /// Writes more files beside the page, then the plots, then the page that needs them.
    pub(crate) fn write_with(self, page: &Page, more: Vec<(String, String)>) -> Result<Vec<Complete>, Error> {
        let (html, beside): (Vec<_>, Vec<_>) =
            page.render().into_iter().chain(more).partition(|(name, _)| name == INDEX);
        let mut written = Vec::new();
        for (name, text) in beside {
            let output = self.caller.create(&self.folder.join(name), self.overwrite)?;
            written.push(output.write_bytes(text.as_bytes())?);
        }
        let html: String = html.into_iter().map(|(_, text)| text).collect();
        written.push(self.index.write_bytes(html.as_bytes())?);
        Ok(written)
    }
}

/// Refuses an output with the name of the page's folder, or of a folder around it.
fn refuse_folder(folder: &Path, option: &'static str, other: &Output) -> Result<(), Error> {
    if folder.starts_with(other.destination()) {
        return Err(Error::SameOutput { path: other.destination().to_owned(), options: [option, "report"] });
    }
    Ok(())
}

/// The path with links resolved, as far as its folders exist.
fn resolved(path: &Path) -> PathBuf {
    let existing = path.ancestors().find_map(|start| {
        let folder = if start.as_os_str().is_empty() { Path::new(".") } else { start };
        Some(std::fs::canonicalize(folder).ok()?.join(path.strip_prefix(start).ok()?))
    });
    existing.unwrap_or_else(|| path.to_owned())
}

/// A table of names and texts.
pub(crate) fn facts(caption: &str, lines: &[(&str, String)]) -> Table {
    Table {
        caption: caption.to_owned(),
        header: vec![String::new(), String::new()],
        rows: lines.iter().map(|(name, text)| vec![(*name).to_owned(), text.clone()]).collect(),
    }
}

pub(crate) fn strings<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).to_vec()
}
