//! Lists the files that an input path stands for: one file, the files of a folder, or those that a pattern matches.
//!
//! The same rule holds for folders and patterns. Names that begin with a dot or an underscore are hidden: they belong to other
//! programs, or to files that are still being written. A hidden file is taken, and a hidden folder entered, only if that part
//! of the pattern begins with the same dot or underscore. A path without wildcards is always taken.

use std::ffi::OsStr;
use std::io;
use std::path::{Component, Path, PathBuf};

use glob::Pattern;

use crate::error::Error;

/// The files that a path stands for, at least one, sorted by name.
pub(super) fn expand(given: &Path) -> Result<Vec<PathBuf>, Error> {
    if given.is_dir() {
        return in_folder(given);
    }
    match given.to_str() {
        // A file may be called "[1].parquet": the path of an existing file is not a pattern.
        Some(pattern) if pattern.contains(['*', '?', '[']) && !given.exists() => matching(given, pattern),
        _ => Ok(vec![given.to_owned()]),
    }
}

fn in_folder(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = std::fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let mut files = Vec::new();
    for entry in entries.map_err(|source| cannot_list(folder, source))? {
        let path = entry.path();
        if !path.file_name().is_some_and(is_hidden) && is_parquet(&path) {
            files.push(path);
        }
    }
    files.sort();
    let hint = "give the directory that holds them, or a pattern such as 'dir/**/*.parquet'";
    some(files, folder, "holds no .parquet files", hint)
}

fn is_parquet(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("parquet"))
}

fn matching(given: &Path, pattern: &str) -> Result<Vec<PathBuf>, Error> {
    let invalid =
        |error| nothing(given, &format!("is not a valid pattern: {error}"), "quote it and check the brackets");
    let parts: Vec<&str> = pattern.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    let mut files = Vec::new();
    for found in glob::glob(pattern).map_err(invalid)? {
        match found {
            Ok(path) if agrees(&parts, &names(&path), true) && !path.is_dir() => files.push(path),
            // A folder that cannot be read may hold rows, which must not go missing without an error.
            Err(error) if agrees(&parts, &names(error.path()), false) => {
                let folder = error.path().to_owned();
                return Err(cannot_list(&folder, error.into()));
            }
            _ => {}
        }
    }
    let hint = "check the pattern, and quote it so that the shell leaves it alone";
    some(files, given, "matches no file", hint)
}

/// The names in a path.
fn names(path: &Path) -> Vec<&OsStr> {
    let names = path.components().filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
    names.map(Component::as_os_str).collect()
}

/// Whether the parts of a pattern match names by the rule above: all parts if `is_whole`, otherwise the first parts.
fn agrees(parts: &[&str], names: &[&OsStr], is_whole: bool) -> bool {
    match (parts, names) {
        (rest, []) => !is_whole || rest.iter().all(|part| *part == "**"),
        ([], _) => false,
        (["**", rest @ ..], [first, others @ ..]) => {
            agrees(rest, names, is_whole) || (!is_hidden(first) && agrees(parts, others, is_whole))
        }
        ([part, rest @ ..], [first, others @ ..]) => is_match(part, first) && agrees(rest, others, is_whole),
    }
}

fn is_match(part: &str, name: &OsStr) -> bool {
    let name_text = name.to_string_lossy();
    let is_spelled_out = |first: char| matches!(first, '.' | '_') && name_text.starts_with(first);
    (!is_hidden(name) || part.starts_with(is_spelled_out))
        && Pattern::new(part).is_ok_and(|part| part.matches(&name_text))
}

fn is_hidden(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    (name.starts_with(b".") && name != b"..") || name.starts_with(b"_")
}

fn some(files: Vec<PathBuf>, given: &Path, problem: &str, hint: &str) -> Result<Vec<PathBuf>, Error> {
    if files.is_empty() { Err(nothing(given, problem, hint)) } else { Ok(files) }
}

fn nothing(given: &Path, problem: &str, hint: &str) -> Error {
    Error::File { subject: given.into(), problem: problem.to_owned(), hint: hint.to_owned() }
}

fn cannot_list(folder: &Path, source: io::Error) -> Error {
    Error::Io { action: "cannot list", path: folder.to_owned(), source, hint: "check its permissions" }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::io::TemporaryFolder;

    const FILES: [&str; 9] = [
        "a.parquet",
        "b.parquet",
        ".c.parquet",
        "_d.parquet",
        ".geosmooth-x.tmp",
        "deep/e.parquet",
        "deep/_temporary/f.parquet",
        ".git/g.parquet",
        ".git/.h.parquet",
    ];

    /// Issue 15, point 5.
    #[test]
    fn hidden_names_are_taken_only_if_they_are_spelled_out() {
        let folder = TemporaryFolder::new().unwrap();
        for file in FILES {
            fs::create_dir_all(folder.path().join(file).parent().unwrap()).unwrap();
            fs::write(folder.path().join(file), "").unwrap();
        }
        for (pattern, expected) in [
            ("", &["a.parquet", "b.parquet"][..]),
            ("*", &["a.parquet", "b.parquet"]),
            ("*.parquet", &["a.parquet", "b.parquet"]),
            ("?.parquet", &["a.parquet", "b.parquet"]),
            ("[._]*.parquet", &[]),
            ("**/*.parquet", &["a.parquet", "b.parquet", "deep/e.parquet"]),
            ("**/**/*.parquet", &["a.parquet", "b.parquet", "deep/e.parquet"]),
            ("**/e.parquet", &["deep/e.parquet"]),
            ("**/_temporary/*", &["deep/_temporary/f.parquet"]),
            ("**/_*/*", &["deep/_temporary/f.parquet"]),
            (".*.parquet", &[".c.parquet"]),
            ("_*", &["_d.parquet"]),
            (".g*/*", &[".git/g.parquet"]),
            (".git/*.parquet", &[".git/g.parquet"]),
            (".git/.*", &[".git/.h.parquet"]),
            (".git", &[".git/g.parquet"]),
            ("./deep/../[ab].parquet", &["deep/../a.parquet", "deep/../b.parquet"]),
            ("_d.parquet", &["_d.parquet"]),
        ] {
            let found = expand(&folder.path().join(pattern)).unwrap_or_default();
            let found: Vec<&Path> = found.iter().map(|file| file.strip_prefix(folder.path()).unwrap()).collect();
            let expected: Vec<&Path> = expected.iter().map(Path::new).collect();
            assert_eq!(found, expected, "{pattern}");
        }
    }
}
