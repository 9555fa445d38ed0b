//! Kernel sums and kernel averages as plain functions, for programs that need no smoother.

use crate::engine::EngineOptions;
use crate::error::Error;
use crate::influence::Influence;
pub use crate::influence::KernelSums;
use crate::points::Places;
use crate::scene::Own;
use crate::space::Sigma;
use crate::span::Span;

/// The kernel sums of columns of source values at each target.
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
    Ok(checked_sums(sigma, targets, sources, columns, options)?.scaled())
}

/// Kernel regression: the weighted average of the source values at each target, however far the nearest source is. `None`
/// where there is no source at all, as in a group that has none.
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
    let sums = checked_sums(sigma, targets, sources, &[&span.to_units(values)], options)?;
    let rows = sums.mass.iter().enumerate();
    Ok(rows.map(|(row, &mass)| (mass > 0.0).then(|| span.value_at(sums.shrunk(0, row, 0.0)))).collect())
}

fn checked_sums(
    sigma: Sigma,
    targets: &Places,
    sources: &Places,
    columns: &[&[f64]],
    options: &EngineOptions,
) -> Result<KernelSums, Error> {
    for values in columns {
        if values.len() != sources.len() {
            return Err(Error::Length { what: "values", found: values.len(), expected: sources.len() });
        }
        if let Some(row) = values.iter().position(|value| !value.is_finite()) {
            return Err(Error::Value { what: "value", value: values[row], row });
        }
    }
    Influence::new(sigma, targets, sources, Own::Counts)?.sums(sigma, columns, 0.0, options)
}
