//! Keywords of a call as typed options. A value of a wrong type is refused in one line that names the keyword.

use std::path::PathBuf;
use std::str::FromStr;

use geosmooth::Error;
use geosmooth::io::ArrowTable;
use geosmooth::job::{self, Bandwidth, Dataset, ParameterSource};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyString};
use pyo3_arrow::input::AnyRecordBatch;

use crate::errors::exception;
use crate::objects::json_of;

/// The keywords of a call.
#[derive(FromPyObject)]
#[pyo3(transparent)]
pub(crate) struct Options<'py> {
    given: Bound<'py, PyDict>,
}

impl<'py> Options<'py> {
    /// The value of a keyword, unless it is left out or `None`.
    fn get(&self, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(self.given.get_item(name)?.filter(|value| !value.is_none()))
    }

    /// What a function makes of the value, if there is one.
    fn with<T>(
        &self,
        name: &str,
        convert: impl FnOnce(&str, &Bound<'py, PyAny>) -> PyResult<T>,
    ) -> PyResult<Option<T>> {
        self.get(name)?.map(|value| convert(name, &value)).transpose()
    }

    /// The function that receives progress.
    pub(crate) fn progress(&self) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.get("progress")
    }

    pub(crate) fn flag(&self, name: &str) -> PyResult<bool> {
        self.with(name, flag).map(Option::unwrap_or_default)
    }

    pub(crate) fn text(&self, name: &str) -> PyResult<Option<String>> {
        self.with(name, text)
    }

    pub(crate) fn path(&self, name: &str) -> PyResult<Option<PathBuf>> {
        self.with(name, path)
    }

    pub(crate) fn number(&self, name: &str) -> PyResult<Option<f64>> {
        self.with(name, number)
    }

    pub(crate) fn count(&self, name: &str) -> PyResult<Option<usize>> {
        self.with(name, count)
    }

    /// A name such as that of an engine.
    pub(crate) fn named<T: FromStr<Err = Error>>(&self, name: &str) -> PyResult<Option<T>> {
        self.with(name, |name, value| parsed(&text(name, value)?))
    }

    /// One name or several, as they are written.
    pub(crate) fn names(&self, name: &str) -> PyResult<Option<Vec<String>>> {
        self.with(name, |name, value| list(name, value, "a name or a list of names", text))
    }

    /// Several names, of which a text may hold some behind each other with commas between them.
    pub(crate) fn items(&self, name: &str) -> PyResult<Option<Vec<String>>> {
        let names = self.names(name)?;
        Ok(names.map(|names| names.iter().flat_map(|text| job::items(text)).map(str::to_owned).collect()))
    }

    /// One number or several.
    pub(crate) fn numbers(&self, name: &str) -> PyResult<Option<Vec<f64>>> {
        self.with(name, |name, value| match value.cast::<PyString>() {
            Ok(text) => job::numbers(name, text.to_str()?).map_err(|error| exception(&error)),
            Err(_) => list(name, value, "a number or a list of numbers", number),
        })
    }

    /// A length as it was written: a text with a unit, or a number.
    pub(crate) fn written(&self, name: &str) -> PyResult<Option<String>> {
        self.with(name, written)
    }

    pub(crate) fn length<T: FromStr<Err = Error>>(&self, name: &str) -> PyResult<Option<T>> {
        self.with(name, |name, value| parsed(&written(name, value)?))
    }

    /// One length or several.
    pub(crate) fn lengths(&self, name: &str) -> PyResult<Option<Vec<Bandwidth>>> {
        self.with(name, |name, value| match value.cast::<PyString>() {
            Ok(text) => job::parsed(text.to_str()?).map_err(|error| exception(&error)),
            Err(_) => list(name, value, "a length or a list of lengths", |name, item| parsed(&written(name, item)?)),
        })
    }

    /// A number of bytes, perhaps with a unit.
    pub(crate) fn bytes(&self, name: &str, option: &'static str) -> PyResult<Option<u64>> {
        self.with(name, |name, value| job::bytes_of(option, &written(name, value)?).map_err(|error| exception(&error)))
    }

    /// Rows: a path or a table.
    pub(crate) fn dataset(&self, name: &str) -> PyResult<Option<Dataset>> {
        self.with(name, |name, value| {
            if let Ok(path) = path(name, value) {
                return Ok(Dataset::Files(path));
            }
            let (batches, schema) = value.extract::<AnyRecordBatch>()?.into_table()?.into_inner();
            Ok(Dataset::table(name, ArrowTable { schema, batches }))
        })
    }

    /// Rows that must be given.
    pub(crate) fn rows(&self, name: &str) -> PyResult<Dataset> {
        self.dataset(name)?.ok_or_else(|| PyTypeError::new_err(format!("{name} is missing: give a table or a path")))
    }

    /// Tuned parameters: a path, or a dictionary.
    pub(crate) fn parameters(&self, name: &str) -> PyResult<Option<ParameterSource>> {
        self.with(name, |name, value| match value.cast::<PyDict>() {
            Ok(_) => ParameterSource::from_value(name, json_of(value)?).map_err(|error| exception(&error)),
            Err(_) => path(name, value).map(ParameterSource::File),
        })
    }
}

/// The error of a value that is of a wrong type.
fn wrong(name: &str, value: &Bound<'_, PyAny>, expected: &str) -> PyErr {
    let shown = value.repr().map_or_else(|_| String::new(), |text| text.to_string());
    let kind = value.get_type().name().map_or_else(|_| String::new(), |name| name.to_string());
    let shown: String = shown.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(60).collect();
    PyTypeError::new_err(format!("{name} is {shown} ({kind}), not {expected}"))
}

fn parsed<T: FromStr<Err = Error>>(text: &str) -> PyResult<T> {
    text.parse().map_err(|error| exception(&error))
}

/// Whether it is true or false, of Python's or of numpy's kind.
fn is_bool(value: &Bound<'_, PyAny>) -> bool {
    value.is_instance_of::<PyBool>() || value.get_type().name().is_ok_and(|name| name == "bool" || name == "bool_")
}

fn flag(name: &str, value: &Bound<'_, PyAny>) -> PyResult<bool> {
    if is_bool(value) { value.is_truthy() } else { Err(wrong(name, value, "True or False")) }
}

fn text(name: &str, value: &Bound<'_, PyAny>) -> PyResult<String> {
    value.extract().map_err(|_| wrong(name, value, "a text"))
}

fn path(name: &str, value: &Bound<'_, PyAny>) -> PyResult<PathBuf> {
    value.extract().map_err(|_| wrong(name, value, "a path"))
}

fn number(name: &str, value: &Bound<'_, PyAny>) -> PyResult<f64> {
    let found = if is_bool(value) { None } else { value.extract().ok() };
    found.ok_or_else(|| wrong(name, value, "a number"))
}

fn count(name: &str, value: &Bound<'_, PyAny>) -> PyResult<usize> {
    let found = if is_bool(value) { None } else { value.extract().ok() };
    found.ok_or_else(|| wrong(name, value, "a whole number of 0 or more"))
}

/// A length as it was written: numbers with all their digits.
fn written(name: &str, value: &Bound<'_, PyAny>) -> PyResult<String> {
    match text(name, value) {
        Ok(text) => Ok(text),
        Err(_) if number(name, value).is_ok() => Ok(value.str()?.to_string()),
        Err(_) => Err(wrong(name, value, "a number with a unit, such as \"500m\", or a plain number")),
    }
}

/// One item or several, of any kind that can be gone through.
fn list<'py, T>(
    name: &str,
    value: &Bound<'py, PyAny>,
    expected: &str,
    item: impl Fn(&str, &Bound<'py, PyAny>) -> PyResult<T>,
) -> PyResult<Vec<T>> {
    if let Ok(single) = item(name, value) {
        return Ok(vec![single]);
    }
    if value.is_instance_of::<PyBytes>() || value.is_instance_of::<PyString>() {
        return item(name, value).map(|single| vec![single]);
    }
    let items = value.try_iter().map_err(|_| wrong(name, value, expected))?;
    items.map(|each| item(name, &each?)).collect()
}
