//! The sums on arrays: places as rows of coordinates, values as columns.

use geosmooth::job::in_threads;
use geosmooth::{EngineOptions, Error, Places, Sigma};
use numpy::ndarray::{ArrayView2, Axis};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::attend::attend;
use crate::errors::exception;
use crate::rows::or_nan;

/// How to sum: the bandwidth, the engine and how accurate, in how many threads.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Settings {
    sigma: String,
    engine: String,
    tolerance: f64,
    cutoff: Option<f64>,
    threads: Option<usize>,
}

impl Settings {
    fn sigma(&self) -> Result<Sigma, Error> {
        self.sigma.parse()
    }

    fn options(&self) -> Result<EngineOptions, Error> {
        let options = EngineOptions::default().engine(self.engine.parse()?);
        match self.cutoff {
            Some(sigmas) => options.cutoff(sigmas),
            None => options.tolerance(self.tolerance),
        }
    }

    /// The places of rows of coordinates. The unit of σ says what they are: latitude and longitude, or an index.
    fn places(&self, coordinates: &ArrayView2<f64>) -> Result<Places, Error> {
        let mut axes = columns(coordinates);
        if matches!(self.sigma()?, Sigma::Index(_)) {
            return Places::index(axes);
        }
        match (axes.pop(), axes.pop(), axes.pop()) {
            (Some(longitude), Some(latitude), None) => Places::lat_lon(latitude, longitude),
            _ => Err(Error::Contradiction {
                message: format!("{} columns of coordinates for a sigma of {}", coordinates.ncols(), self.sigma),
                hint: "give latitude and longitude, or a plain number as sigma".to_owned(),
            }),
        }
    }
}

fn columns(array: &ArrayView2<f64>) -> Vec<Vec<f64>> {
    array.axis_iter(Axis(1)).map(|column| column.to_vec()).collect()
}

type Sums<'py> = (Bound<'py, PyArray1<f64>>, Vec<Bound<'py, PyArray1<f64>>>, Bound<'py, PyArray1<f64>>);

/// Mass, sums of each column of values, and error mass at each target.
#[pyfunction]
pub(crate) fn kernel_sums<'py>(
    py: Python<'py>,
    targets: PyReadonlyArray2<'py, f64>,
    sources: PyReadonlyArray2<'py, f64>,
    values: PyReadonlyArray2<'py, f64>,
    settings: Settings,
) -> PyResult<Sums<'py>> {
    let (targets, sources) = places(&settings, &targets, &sources)?;
    let values = columns(&values.as_array());
    let (sums, _) = attend(py, None, move |_| {
        let values: Vec<&[f64]> = values.iter().map(Vec::as_slice).collect();
        let (sigma, options) = (settings.sigma()?, settings.options()?);
        in_threads(settings.threads, || geosmooth::kernel_sums(sigma, &targets, &sources, &values, &options))
    })?;
    let values = sums.values.into_iter().map(|column| column.into_pyarray(py)).collect();
    Ok((sums.mass.into_pyarray(py), values, sums.error.into_pyarray(py)))
}

/// The average of the values around each target.
#[pyfunction]
pub(crate) fn kernel_average<'py>(
    py: Python<'py>,
    targets: PyReadonlyArray2<'py, f64>,
    sources: PyReadonlyArray2<'py, f64>,
    values: PyReadonlyArray1<'py, f64>,
    settings: Settings,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (targets, sources) = places(&settings, &targets, &sources)?;
    let values = values.as_array().to_vec();
    let (averages, _) = attend(py, None, move |_| {
        let (sigma, options) = (settings.sigma()?, settings.options()?);
        in_threads(settings.threads, || geosmooth::kernel_average(sigma, &targets, &sources, &values, &options))
    })?;
    Ok(or_nan(averages).into_pyarray(py))
}

fn places(
    settings: &Settings,
    targets: &PyReadonlyArray2<'_, f64>,
    sources: &PyReadonlyArray2<'_, f64>,
) -> PyResult<(Places, Places)> {
    let [targets, sources] = [targets, sources].map(|array| settings.places(&array.as_array()));
    Ok((targets.map_err(|error| exception(&error))?, sources.map_err(|error| exception(&error))?))
}
