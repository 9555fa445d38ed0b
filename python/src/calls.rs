//! The jobs: keywords as typed requests, tables through Arrow's capsules, results as objects.

use std::fmt::Display;

use geosmooth::engine::Truncation;
use geosmooth::job::{
    self, Compare, DataOptions, Diagnose, KernelOptions, Listener, ReportOptions, RunOptions, ScoredOn, ShownRows,
    SigmaSearch, Smooth, Tune, WeightMatrix,
};
use geosmooth::{Error, Parameters, PlaceColumns};
use numpy::{IntoPyArray, PyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Serialize;

use crate::attend::attend;
use crate::errors::exception;
use crate::objects::{json_of, object};
use crate::options::Options;
use crate::rows::or_nan;

/// Does a job for the keywords, and gives its outcome with a dictionary that holds the warnings.
fn run<'py, R: Send + 'static, T: Send + 'static>(
    py: Python<'py>,
    options: &Options<'py>,
    request: R,
    work: impl FnOnce(&R, &dyn Listener) -> Result<T, Error> + Send + 'static,
) -> PyResult<(T, Bound<'py, PyDict>)> {
    let (outcome, warnings) = attend(py, options.progress()?.as_ref(), move |desk| work(&request, desk))?;
    let result = PyDict::new(py);
    result.set_item("warnings", warnings)?;
    Ok((outcome, result))
}

/// Adds a summary: as an object, and as the text that people read.
fn summarize(result: &Bound<'_, PyDict>, summary: &(impl Serialize + Display)) -> PyResult<()> {
    result.set_item("summary", object(result.py(), summary)?)?;
    result.set_item("text", summary.to_string())
}

impl Options<'_> {
    fn data(&self) -> PyResult<DataOptions> {
        let places = PlaceColumns {
            lat: self.text("lat")?,
            lon: self.text("lon")?,
            geometry: self.text("geometry")?,
            index: self.names("index")?.unwrap_or_default(),
            group: self.text("group")?,
        };
        Ok(DataOptions {
            train: self.dataset("train")?,
            label: self.text("label")?,
            prediction: self.names("prediction")?.unwrap_or_default(),
            train_prediction: self.names("train_prediction")?.unwrap_or_default(),
            places,
            on_invalid: self.named("on_invalid")?.unwrap_or_default(),
        })
    }

    fn kernel(&self) -> PyResult<KernelOptions> {
        Ok(KernelOptions {
            sigma: self.length("sigma")?,
            label_weight: self.number("label_weight")?,
            correct_sigma: self.length("correct_sigma")?,
            correct_shrink: self.number("correct_shrink")?,
            no_correct: self.flag("no_correct")?,
            params: self.parameters("params")?,
            truncation: self.truncation()?,
        })
    }

    fn truncation(&self) -> PyResult<Truncation> {
        raising(Truncation::of(self.number("tolerance")?, self.number("cutoff")?))
    }

    fn report(&self) -> PyResult<ReportOptions> {
        Ok(ReportOptions { report: self.path("report")?, overwrite: self.flag("overwrite")? })
    }

    fn running(&self) -> PyResult<RunOptions> {
        Ok(RunOptions { threads: self.count("threads")?, memory_limit: self.bytes("memory_limit", "`memory-limit`")? })
    }
}

/// A value, or the error of the crate as an exception.
fn raising<T>(outcome: Result<T, Error>) -> PyResult<T> {
    outcome.map_err(|error| exception(&error))
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
pub(crate) fn smooth<'py>(py: Python<'py>, options: Options<'py>) -> PyResult<Bound<'py, PyDict>> {
    let mut request = Smooth {
        data: options.data()?,
        kernel: options.kernel()?,
        c: options.number("c")?,
        output: options.path("output")?,
        certificate: options.flag("certificate")?,
        report: options.report()?,
        running: options.running()?,
        spill_dir: options.path("spill_dir")?,
        ..Smooth::new(options.rows("test")?)
    };
    request.engine = options.named("engine")?.unwrap_or(request.engine);
    let (smoothing, result) = run(py, &options, request, job::smooth)?;
    let columns = PyDict::new(py);
    for column in smoothing.columns {
        columns.set_item(column.name, or_nan(column.values).into_pyarray(py))?;
    }
    result.set_item("columns", columns)?;
    let is_shown = options.flag("details")?;
    if let Some(rows) = smoothing.rows.filter(|_| is_shown) {
        show(&result, rows)?;
    }
    summarize(&result, &smoothing.summary)?;
    Ok(result)
}

#[pyfunction]
pub(crate) fn tune<'py>(py: Python<'py>, options: Options<'py>) -> PyResult<Bound<'py, PyDict>> {
    let block = options.written("block")?;
    let scored_on = ScoredOn::of(
        options.dataset("validation")?,
        options.flag("leave_one_out")?,
        options.count("folds")?,
        block.as_deref(),
    );
    let sigmas = SigmaSearch::of(options.lengths("sigma_grid")?, options.lengths("sigma_range")?.as_deref());
    let mut request = Tune {
        scored_on: raising(scored_on)?,
        data: options.data()?,
        sigmas: raising(sigmas)?,
        c_grid: options.numbers("c_grid")?,
        label_weights: options.numbers("label_weight")?,
        truncation: options.truncation()?,
        output: options.path("output")?,
        surface: options.flag("surface")?,
        report: options.report()?,
        running: options.running()?,
        ..Tune::default()
    };
    request.metric = options.named("metric")?.unwrap_or(request.metric);
    request.engine = options.named("engine")?.unwrap_or(request.engine);
    let (tuning, result) = run(py, &options, request, job::tune)?;
    if let Some(surface) = tuning.surface {
        let sigmas: Vec<f64> = surface.sigmas.iter().map(|sigma| sigma.value()).collect();
        result.set_item("surface", (sigmas, surface.cs, surface.scores))?;
    }
    result.set_item("parameters", object(py, &tuning.parameters)?)?;
    show(&result, tuning.rows)?;
    summarize(&result, &tuning.summary)?;
    Ok(result)
}

#[pyfunction]
pub(crate) fn compare<'py>(py: Python<'py>, options: Options<'py>) -> PyResult<Bound<'py, PyDict>> {
    let mut request = Compare {
        data: options.data()?,
        kernel: options.kernel()?,
        report: options.report()?,
        running: options.running()?,
        ..Compare::new(options.rows("test")?)
    };
    request.c = options.number("c")?.unwrap_or(request.c);
    if let Some(names) = options.items("engines")? {
        request.engines = raising(names.iter().map(|name| name.parse()).collect())?;
    }
    let (compared, result) = run(py, &options, request, job::compare)?;
    let errors = PyDict::new(py);
    for engine in compared.errors {
        errors.set_item(engine.engine, engine.errors.into_pyarray(py))?;
    }
    result.set_item("errors", errors)?;
    summarize(&result, &compared.summary)?;
    Ok(result)
}

#[pyfunction]
pub(crate) fn diagnose<'py>(py: Python<'py>, options: Options<'py>) -> PyResult<Bound<'py, PyDict>> {
    let mut request = Diagnose {
        data: options.data()?,
        kernel: options.kernel()?,
        c: options.number("c")?,
        report: options.report()?,
        running: options.running()?,
        ..Diagnose::new(options.rows("validation")?)
    };
    request.engine = options.named("engine")?.unwrap_or(request.engine);
    let (diagnosed, result) = run(py, &options, request, job::diagnose)?;
    summarize(&result, &diagnosed.summary)?;
    result.set_item("sentences", diagnosed.summary.sentences)?;
    result.set_item("n_effective", diagnosed.summary.findings.n_effective.into_pyarray(py))?;
    show(&result, diagnosed.rows)?;
    Ok(result)
}

#[cfg(feature = "baselines")]
#[pyfunction]
pub(crate) fn methods<'py>(py: Python<'py>, options: Options<'py>) -> PyResult<Bound<'py, PyDict>> {
    let sigmas = options.lengths("sigma_grid")?;
    let grids = job::MethodGrids {
        sigma: sigmas.map(|sigmas| sigmas.iter().map(|sigma| sigma.sigma()).collect()),
        c: options.numbers("c_grid")?,
        delta: options.numbers("delta_grid")?,
        eta: options.numbers("eta_grid")?,
        alpha: options.numbers("alpha_grid")?,
        ridge: options.numbers("ridge_grid")?,
        laplacian: options.numbers("laplacian_grid")?,
        constant: options.numbers("constant_grid")?,
        noise: options.numbers("noise_grid")?,
    };
    let methods = options.items("methods")?.map(|names| names.iter().map(|name| name.parse()).collect());
    let mut request = job::Methods {
        data: options.data()?,
        features: options.items("features")?,
        methods: raising(methods.transpose())?,
        metric: options.named("metric")?.unwrap_or(geosmooth::Measure::R2),
        grids,
        truncation: options.truncation()?,
        report: options.report()?,
        running: options.running()?,
        ..job::Methods::new(options.rows("test")?, options.rows("validation")?)
    };
    request.engine = options.named("engine")?.unwrap_or(request.engine);
    let (standings, result) = run(py, &options, request, job::methods)?;
    summarize(&result, &standings)?;
    Ok(result)
}

/// W in compressed sparse rows: its shape, and where rows begin, columns and weights.
#[pyfunction]
pub(crate) fn weights<'py>(py: Python<'py>, options: Options<'py>) -> PyResult<Bound<'py, PyDict>> {
    let request = WeightMatrix {
        data: options.data()?,
        kernel: options.kernel()?,
        running: options.running()?,
        ..WeightMatrix::new(options.rows("test")?)
    };
    let (matrix, result) = run(py, &options, request, job::weights)?;
    let starts: Vec<i64> = matrix.starts().into_iter().map(|start| start as i64).collect();
    let columns: Vec<i64> =
        matrix.batches.iter().flat_map(|batch| &batch.columns).map(|&column| column as i64).collect();
    let weights: Vec<f64> = matrix.batches.into_iter().flat_map(|batch| batch.weights).collect();
    result.set_item("shape", (matrix.rows, matrix.columns))?;
    result.set_item("starts", starts.into_pyarray(py))?;
    result.set_item("columns", columns.into_pyarray(py))?;
    result.set_item("weights", weights.into_pyarray(py))?;
    Ok(result)
}

/// Tuned parameters as the text of a file, checked.
#[pyfunction]
pub(crate) fn parameters_text(parameters: Bound<'_, PyDict>) -> PyResult<String> {
    let parameters = Parameters::from_value(json_of(parameters.as_any())?);
    parameters.map(|parameters| parameters.to_json()).map_err(PyValueError::new_err)
}
