//! Everything that can go wrong, with the fields that a message needs. What all faces say is written here; how they spell options
//! is up to [`Face`].

use std::fmt;
use std::path::{Path, PathBuf};

use crate::face::Face;

/// What an error is about: a file, or an argument that a program passed, such as a table in memory.
///
/// # Examples
/// ```
/// use geosmooth::Subject;
///
/// assert_eq!(Subject::File("rows.parquet".into()).to_string(), "rows.parquet");
/// assert_eq!(Subject::Argument("test".to_owned()).to_string(), "<test>");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A file, a folder or a glob.
    File(PathBuf),
    /// An argument, by its name.
    Argument(String),
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Argument(name) => write!(f, "<{name}>"),
        }
    }
}

impl<P: Into<PathBuf>> From<P> for Subject {
    fn from(path: P) -> Self {
        Self::File(path.into())
    }
}

/// An error of geosmooth. [`Error::hint`] gives the way out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// σ is not a positive number with a unit that we know.
    #[error("sigma '{text}' is not a positive length")]
    Sigma {
        /// What was given.
        text: String,
    },
    /// σ has a unit that does not fit the kind of places, or none where one is needed.
    #[error("sigma {sigma} does not fit {places}")]
    SigmaKind {
        /// σ as it is displayed.
        sigma: String,
        /// The kind of places at hand.
        places: &'static str,
        /// How σ should be written for them.
        instead: &'static str,
    },
    /// A parameter is outside its range.
    #[error("{}", out_of_range(Face::Library, name, value, expected))]
    Parameter {
        /// What it is, or the option between backticks.
        name: &'static str,
        /// What was given.
        value: String,
        /// What would have been right.
        expected: &'static str,
    },
    /// Requests that contradict each other.
    #[error("{}", Face::Library.spelled(message))]
    Contradiction {
        /// What contradicts what, options between backticks.
        message: String,
        /// The way out.
        hint: String,
    },
    /// An option that is needed and was not given.
    #[error("{}", missing(Face::Library, option))]
    Missing {
        /// Its name.
        option: &'static str,
        /// What to give.
        what: String,
    },
    /// An option that names a column twice.
    #[error("{}", twice(Face::Library, option, name))]
    Twice {
        /// Its name.
        option: &'static str,
        /// The column, shortened if very long.
        name: String,
    },
    /// The side of blocks is no length, or has a unit that does not fit the places.
    #[error("{}", block(Face::Library, text))]
    Block {
        /// What was given.
        text: String,
    },
    /// Rows that score are among those that were learned from or chosen on.
    #[error("{}", leak(Face::Library, path, options))]
    Leak {
        /// The file that has both.
        path: PathBuf,
        /// The options that name it.
        options: [&'static str; 2],
    },
    /// Two outputs would be one file.
    #[error("{}", same_output(Face::Library, path, options))]
    SameOutput {
        /// The file.
        path: PathBuf,
        /// The options that name it, or the folder that it is in.
        options: [&'static str; 2],
    },
    /// A coordinate that is no place.
    #[error("{what} {} at row {row} is not {expected}", plain(*value))]
    Place {
        /// Which coordinate.
        what: &'static str,
        /// Its value.
        value: f64,
        /// Row, counted from 0.
        row: usize,
        /// What it should have been.
        expected: &'static str,
        /// The way out.
        hint: &'static str,
    },
    /// Columns of different lengths where one length is needed.
    #[error("{what} has {found} rows, expected {expected}")]
    Length {
        /// Which column.
        what: &'static str,
        /// Rows that it has.
        found: usize,
        /// Rows that it should have.
        expected: usize,
    },
    /// A value that is not finite.
    #[error("{what} is {value} at row {row}")]
    Value {
        /// Which column.
        what: &'static str,
        /// The value.
        value: f64,
        /// Row, counted from 0.
        row: usize,
    },
    /// A row where none was counted when space was cut into tiles.
    #[error("row {row} is where no row was counted")]
    Uncounted {
        /// Row, counted from 0.
        row: usize,
    },
    /// Rows that are not those that were counted.
    #[error("{}", changed(what, *found, *counted))]
    Changed {
        /// Which rows.
        what: &'static str,
        /// How many there are now.
        found: u64,
        /// How many were counted.
        counted: u64,
    },
    /// A weight matrix that would not fit.
    #[error("the weight matrix needs about {} for {nonzeros} non-zeros, the memory limit leaves {}", bytes(*need), bytes(*limit))]
    MatrixTooLarge {
        /// Entries that it would hold, measured or estimated.
        nonzeros: u64,
        /// Bytes that it would take.
        need: u64,
        /// Bytes allowed.
        limit: u64,
        /// Whether the kernel is cut at a number of σ, which only a matrix does.
        cutoff: bool,
    },
    /// More memory than allowed for something other than the matrix.
    #[error("{what} needs about {}, the memory limit leaves {}", bytes(*need), bytes(*limit))]
    Memory {
        /// What needs it.
        what: String,
        /// Bytes that it would take.
        need: u64,
        /// Bytes allowed.
        limit: u64,
    },
    /// The operating system refused something.
    #[error("{action} {}: {source}", path.display())]
    Io {
        /// What was tried: "cannot read", "cannot write".
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
        /// The way out, if there is an obvious one.
        hint: &'static str,
    },
    /// A file or a table that cannot be used as it is.
    #[error("{subject}: {problem}")]
    File {
        /// Which file or table.
        subject: Subject,
        /// What is wrong with it.
        problem: String,
        /// The way out.
        hint: String,
    },
    /// A column that is missing, ambiguous or of the wrong type.
    #[error("{subject}: column '{column}' {problem}")]
    Column {
        /// Which file or table.
        subject: Subject,
        /// Which column, shortened if very long.
        column: String,
        /// What is wrong with it.
        problem: String,
        /// The way out.
        hint: String,
    },
    /// A value of an index column that is too far from where the column is counted from.
    #[error(
        "{subject}: column '{column}' is {value} at row {row}, of which no float holds the difference from {origin}"
    )]
    Inexact {
        /// Which file or table.
        subject: Subject,
        /// Which column, shortened if very long.
        column: String,
        /// The value in all its digits.
        value: String,
        /// Row, counted from 0 over all files of the input.
        row: usize,
        /// Where the column is counted from.
        origin: String,
    },
    /// Rows that cannot take part.
    #[error("{subject}: column '{column}' is {value} at row {row}{}", rows_like_it(*count))]
    InvalidRows {
        /// Which file or table.
        subject: Subject,
        /// Column of the first such row.
        column: String,
        /// Its value there.
        value: String,
        /// First such row, counted from 0 over all files of the input.
        row: usize,
        /// How many rows are invalid.
        count: usize,
        /// The way out.
        hint: &'static str,
    },
}

impl Error {
    /// The next step, if there is one, with options spelled as fields of a request.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        self.hint_for(Face::Library)
    }

    /// The next step, if there is one, with options as a face spells them.
    #[must_use]
    pub fn hint_for(&self, face: Face) -> Option<String> {
        let hint = match self {
            Self::Sigma { .. } => {
                "write a number and a unit: 500m, 2km or 1mi on the sphere, 0.01deg as in the paper, or a plain number with `index` columns"
            }
            Self::SigmaKind { instead, .. } => instead,
            Self::Place { hint, .. } | Self::InvalidRows { hint, .. } | Self::Io { hint, .. } => hint,
            Self::Contradiction { hint, .. } | Self::File { hint, .. } | Self::Column { hint, .. } => hint,
            Self::MatrixTooLarge { cutoff: true, .. } => {
                "use a smaller `cutoff` or `sigma`, raise `memory-limit`, or give a `tolerance` instead of the cutoff, for which no matrix is needed"
            }
            Self::MatrixTooLarge { .. } => {
                "use `engine fast`, which keeps no matrix, a smaller `sigma`, a larger `tolerance`, or raise `memory-limit`"
            }
            Self::Memory { .. } => "raise `memory-limit`, or give fewer rows",
            Self::Parameter { expected, .. } => return Some(format!("give a value that is {expected}")),
            Self::Missing { what, .. } => return Some(face.spelled(&format!("give {what}"))),
            Self::Twice { .. } => "name each column once",
            Self::Block { .. } => "write 5km or 0.05deg for latitude and longitude, a plain number with `index`",
            Self::Leak { .. } => {
                "give other rows; tune can score on training rows with `leave-one-out` and out-of-fold predictions"
            }
            Self::SameOutput { .. } => "give them different names or folders",
            Self::Inexact { .. } => {
                "places that differ would fall together: subtract one number from the column in all inputs, or make it a double where rounding does no harm"
            }
            Self::Uncounted { .. } | Self::Changed { .. } => "rows must be the same each time that they are read",
            Self::Length { .. } | Self::Value { .. } => "",
        };
        (!hint.is_empty()).then(|| face.spelled(hint))
    }

    /// What went wrong, with options as a face spells them. `Display` spells them as fields of a request.
    #[must_use]
    pub fn message_for(&self, face: Face) -> String {
        match self {
            Self::Parameter { name, value, expected } => out_of_range(face, name, value, expected),
            Self::Missing { option, .. } => missing(face, option),
            Self::Twice { option, name } => twice(face, option, name),
            Self::Block { text } => block(face, text),
            Self::Leak { path, options } => leak(face, path, options),
            Self::SameOutput { path, options } => same_output(face, path, options),
            Self::Contradiction { message, .. } => face.spelled(message),
            other => other.to_string(),
        }
    }

    /// An option that is needed and was not given; the hint says to give this.
    pub(crate) fn missing(option: &'static str, what: &str) -> Self {
        Self::Missing { option, what: what.to_owned() }
    }

    /// Whether the world failed (disk, permissions) rather than the request.
    #[must_use]
    pub fn is_world(&self) -> bool {
        matches!(self, Self::Io { .. })
    }
}

fn out_of_range(face: Face, name: &str, value: &str, expected: &str) -> String {
    format!("{} is {value}, but must be {expected}", face.spelled(name))
}

fn missing(face: Face, option: &str) -> String {
    format!("{} is missing", face.option(option))
}

fn twice(face: Face, option: &str, name: &str) -> String {
    format!("{} names '{name}' twice", face.option(option))
}

fn block(face: Face, text: &str) -> String {
    format!("{} '{text}' is not a length that fits the places", face.option("block"))
}

fn leak(face: Face, path: &Path, options: &[&str; 2]) -> String {
    let [first, second] = options.map(|option| face.option(option));
    format!("{} is both {first} and {second}, so that labels would leak", path.display())
}

fn same_output(face: Face, path: &Path, options: &[&str; 2]) -> String {
    let [first, second] = options.map(|option| face.option(option));
    format!("{first} and {second} would write the same file, {}", path.display())
}

fn changed(what: &str, found: u64, counted: u64) -> String {
    if found == counted {
        format!("{found} {what} have other places, values or groups than when they were counted")
    } else {
        format!("there are {found} {what} where {counted} were counted")
    }
}

fn rows_like_it(count: usize) -> String {
    if count > 1 { format!(" ({count} such rows in all)") } else { String::new() }
}

/// A number as people write it: without hundreds of zeros.
pub(crate) fn plain(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && size.is_finite() && !(1e-4..1e15).contains(&size) {
        format!("{value:e}")
    } else {
        value.to_string()
    }
}

/// Bytes as people read them.
#[must_use]
pub fn bytes(count: u64) -> String {
    const UNITS: [(&str, f64); 4] =
        [("TiB", 1_099_511_627_776.0), ("GiB", 1_073_741_824.0), ("MiB", 1_048_576.0), ("KiB", 1024.0)];
    let count = count as f64;
    UNITS
        .iter()
        .find(|(_, size)| count >= *size)
        .map_or_else(|| format!("{count} B"), |(unit, size)| format!("{:.1} {unit}", count / size))
}
