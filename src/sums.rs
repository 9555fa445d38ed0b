//! The sums themselves, for programs of one's own: what sources around targets add up to under the kernel.

use crate::engine::EngineOptions;
use crate::error::Error;
use crate::influence::{Field, Influence};
use crate::points::Places;
use crate::scene::Own;
use crate::space::Sigma;
use crate::span::Span;

/// Kernel sums at each target row. A row extremely far from every source may have sums that vanish in 64-bit numbers.
#[derive(Clone, Debug)]
pub struct KernelSums {
    /// `D = Σ K`.
    pub mass: Vec<f64>,
    /// `N = Σ K v` for each column of values.
    pub values: Vec<Vec<f64>>,
    /// `E`: a bound on the mass of the kernel's error. `|N / D − exact| ≤ R · E / D`, R the range of the values.
    pub error: Vec<f64>,
}

/// The kernel sums of columns of values over sources at each target.
///
/// # Errors
/// If σ does not fit the places, or columns have the wrong length or values that are not finite.
///
/// # Examples
/// ```
/// use geosmooth::{EngineOptions, Places, Sigma, kernel_sums};
///
/// let targets = Places::index(vec![vec![0.0]])?;
/// let sources = Places::index(vec![vec![0.0, 1.0]])?;
/// let sums = kernel_sums(Sigma::index(1.0)?, &targets, &sources, &[&[3.0, 5.0]], &EngineOptions::default())?;
/// let far = (-0.5_f64).exp();
/// assert!((sums.mass[0] - (1.0 + far)).abs() < 1e-12);
/// assert!((sums.values[0][0] - (3.0 + 5.0 * far)).abs() < 1e-12);
/// # Ok::<(), geosmooth::Error>(())
/// ```
pub fn kernel_sums(
    sigma: Sigma,
    targets: &Places,
    sources: &Places,
    columns: &[&[f64]],
    options: &EngineOptions,
) -> Result<KernelSums, Error> {
    let field = field(sigma, targets, sources, columns, options)?;
    let rows = 0..targets.len();
    Ok(KernelSums {
        mass: rows.clone().map(|row| field.mass_at(row)).collect(),
        values: (0..columns.len()).map(|k| rows.clone().map(|row| field.value_at(k, row)).collect()).collect(),
        error: rows.map(|row| field.error_at(row)).collect(),
    })
}

/// Kernel regression: the average of the values of the sources around each target, however far the nearest is. `None` where
/// there is no source at all, as in a group of its own.
///
/// # Errors
/// As [`kernel_sums`].
///
/// # Examples
/// ```
/// use geosmooth::{EngineOptions, Places, Sigma, kernel_average};
///
/// let targets = Places::index(vec![vec![0.5, 1e6]])?;
/// let sources = Places::index(vec![vec![0.0, 1.0]])?;
/// let averages = kernel_average(Sigma::index(1.0)?, &targets, &sources, &[3.0, 5.0], &EngineOptions::default())?;
/// assert_eq!(averages, [Some(4.0), Some(5.0)]);
/// # Ok::<(), geosmooth::Error>(())
/// ```
pub fn kernel_average(
    sigma: Sigma,
    targets: &Places,
    sources: &Places,
    values: &[f64],
    options: &EngineOptions,
) -> Result<Vec<Option<f64>>, Error> {
    let span = Span::of(&[values]);
    let units: Vec<f64> = values.iter().map(|&value| span.to_unit(value)).collect();
    let field = field(sigma, targets, sources, &[&units], options)?;
    let average = |row: usize| (field.mass[row] > 0.0).then(|| span.value_at(field.shrunk(0, row, 0.0)));
    Ok((0..targets.len()).map(average).collect())
}

fn field(
    sigma: Sigma,
    targets: &Places,
    sources: &Places,
    columns: &[&[f64]],
    options: &EngineOptions,
) -> Result<Field, Error> {
    for values in columns {
        if values.len() != sources.len() {
            return Err(Error::Length { what: "values", found: values.len(), expected: sources.len() });
        }
        if let Some(row) = values.iter().position(|value| !value.is_finite()) {
            return Err(Error::Value { what: "value", value: values[row], row });
        }
    }
    Influence::new(sigma, targets, sources, Own::Counts)?.field(sigma, columns, 0.0, options)
}
