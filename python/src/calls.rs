//! The subcommands: arguments as on the command line, tables through Arrow's capsules.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;

use geosmooth::Error;
use geosmooth::io::ArrowTable;
use geosmooth::job::call::{Call, Memory, ShownRows, Told};
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3_arrow::input::AnyRecordBatch;

use crate::attend::attend;

/// What Python hands over: arguments, tables and texts that they name, and who hears of progress.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Request<'py> {
    arguments: Vec<OsString>,
    tables: HashMap<PathBuf, Bound<'py, PyAny>>,
    texts: HashMap<PathBuf, String>,
    progress: Option<Bound<'py, PyAny>>,
}

impl<'py> Request<'py> {
    /// Does the work of a call, and gives its outcome with what it told as a dictionary.
    fn run<T: Send + 'static>(
        self,
        py: Python<'py>,
        work: impl FnOnce(&Call) -> Result<T, Error> + Send + 'static,
    ) -> PyResult<(T, Bound<'py, PyDict>)> {
        let Self { arguments, tables, texts, progress } = self;
        let tables = tables.iter().map(|(name, table)| Ok((name.clone(), held(table)?))).collect::<PyResult<_>>()?;
        let memory = Memory { tables, texts };
        let (outcome, warnings) =
            attend(py, progress.as_ref(), move |desk| work(&Call { arguments, memory: &memory, listener: desk }))?;
        let told = PyDict::new(py);
        told.set_item("warnings", warnings)?;
        Ok((outcome, told))
    }
}

/// A table of any library, as it lies in memory.
fn held(table: &Bound<'_, PyAny>) -> PyResult<ArrowTable> {
    let (batches, schema) = table.extract::<AnyRecordBatch>()?.into_table()?.into_inner();
    Ok(ArrowTable { schema, batches })
}

fn tell(result: &Bound<'_, PyDict>, told: Told) -> PyResult<()> {
    result.set_item("json", told.json)?;
    result.set_item("text", told.text)
}

/// Rows before and after, as arrays.
fn show<'py>(result: &Bound<'py, PyDict>, rows: ShownRows) -> PyResult<()> {
    let py = result.py();
    let shown = PyDict::new(py);
    shown.set_item("geographic", rows.places.is_geographic())?;
    let axes: Vec<Bound<'py, PyArray1<f64>>> =
        rows.places.into_axes().into_iter().map(|axis| axis.into_pyarray(py)).collect();
    shown.set_item("axes", axes)?;
    shown.set_item("truth", rows.truth.map(|truth| truth.into_pyarray(py)))?;
    shown.set_item("before", rows.before.into_pyarray(py))?;
    shown.set_item("after", rows.after.into_pyarray(py))?;
    shown.set_item("prediction", rows.prediction)?;
    shown.set_item("label", rows.label)?;
    result.set_item("rows", shown)
}

#[pyfunction]
pub(crate) fn smooth<'py>(py: Python<'py>, request: Request<'py>, details: bool) -> PyResult<Bound<'py, PyDict>> {
    let (smoothing, result) = request.run(py, |call| call.smooth())?;
    let columns = PyDict::new(py);
    for column in smoothing.columns {
        let values: Vec<f64> = column.values.into_iter().map(|value| value.unwrap_or(f64::NAN)).collect();
        columns.set_item(column.name, values.into_pyarray(py))?;
    }
    result.set_item("columns", columns)?;
    if let Some(rows) = smoothing.rows.filter(|_| details) {
        show(&result, rows)?;
    }
    tell(&result, smoothing.told)?;
    Ok(result)
}

#[pyfunction]
pub(crate) fn tune<'py>(py: Python<'py>, request: Request<'py>, surface: bool) -> PyResult<Bound<'py, PyDict>> {
    let (tuning, result) = request.run(py, move |call| call.tune(surface))?;
    if let Some(surface) = tuning.surface {
        let sigmas: Vec<f64> = surface.sigmas.iter().map(|sigma| sigma.value()).collect();
        result.set_item("surface", (sigmas, surface.cs, surface.scores))?;
    }
    result.set_item("parameters", tuning.parameters.to_json())?;
    show(&result, tuning.rows)?;
    tell(&result, tuning.told)?;
    Ok(result)
}

#[pyfunction]
pub(crate) fn compare<'py>(py: Python<'py>, request: Request<'py>) -> PyResult<Bound<'py, PyDict>> {
    let (compared, result) = request.run(py, |call| call.compare())?;
    let errors = PyDict::new(py);
    for engine in compared.errors {
        errors.set_item(engine.engine, engine.errors.into_pyarray(py))?;
    }
    result.set_item("errors", errors)?;
    tell(&result, compared.told)?;
    Ok(result)
}

#[pyfunction]
pub(crate) fn diagnose<'py>(py: Python<'py>, request: Request<'py>) -> PyResult<Bound<'py, PyDict>> {
    let (diagnosed, result) = request.run(py, |call| call.diagnose())?;
    result.set_item("sentences", diagnosed.sentences)?;
    result.set_item("n_effective", diagnosed.n_effective.into_pyarray(py))?;
    show(&result, diagnosed.rows)?;
    tell(&result, diagnosed.told)?;
    Ok(result)
}

#[pyfunction]
pub(crate) fn methods<'py>(py: Python<'py>, request: Request<'py>) -> PyResult<Bound<'py, PyDict>> {
    let (told, result) = request.run(py, |call| call.methods())?;
    tell(&result, told)?;
    Ok(result)
}

/// W in compressed sparse rows: its shape, and where rows begin, columns and weights.
#[pyfunction]
pub(crate) fn weights<'py>(py: Python<'py>, request: Request<'py>) -> PyResult<Bound<'py, PyDict>> {
    let (matrix, result) = request.run(py, |call| call.weights())?;
    let mut starts = vec![0_i64; matrix.rows + 1];
    for row in matrix.batches.iter().flat_map(|batch| &batch.rows) {
        starts[row + 1] += 1;
    }
    (0..matrix.rows).for_each(|row| starts[row + 1] += starts[row]);
    let columns: Vec<i64> =
        matrix.batches.iter().flat_map(|batch| &batch.columns).map(|&column| column as i64).collect();
    let weights: Vec<f64> = matrix.batches.into_iter().flat_map(|batch| batch.weights).collect();
    result.set_item("shape", (matrix.rows, matrix.columns))?;
    result.set_item("starts", starts.into_pyarray(py))?;
    result.set_item("columns", columns.into_pyarray(py))?;
    result.set_item("weights", weights.into_pyarray(py))?;
    Ok(result)
}
