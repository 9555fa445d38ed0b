//! The gain of smoothing by the number of homes.

use serde::Serialize;

use super::homes::Homes;
use super::housing::{Housing, HousingResult};
use crate::engine::Progress;
use crate::error::Error;

/// The paper's numbers of homes in each set.
pub const SIZES: [usize; 7] = [1000, 2000, 4000, 8000, 12_000, 16_000, 20_000];

/// The results at one size.
#[derive(Clone, Debug, Serialize)]
pub struct Size {
    /// Homes in each of the three sets.
    pub rows: usize,
    /// The result of each model.
    pub models: Vec<HousingResult>,
}

/// Runs the experiment of [`Housing`] at each size.
///
/// # Errors
/// If there are not enough homes for one of them.
pub fn run(
    homes: &Homes,
    sizes: &[usize],
    trials: usize,
    seed: u64,
    progress: &dyn Progress,
) -> Result<Vec<Size>, Error> {
    sizes.iter().try_for_each(|&rows| homes.check(rows, trials))?;
    progress.start(sizes.iter().sum::<usize>() as u64);
    let mut all = Vec::new();
    for &rows in sizes {
        all.push(Size { rows, models: Housing { rows, trials, seed }.run(homes, &())? });
        progress.advance(rows as u64);
    }
    Ok(all)
}
