//! How the gain of smoothing changes as the data grow.

use serde::Serialize;

use super::homes::Homes;
use super::housing::{Housing, Line};
use crate::engine::Progress;
use crate::error::Error;

/// The paper's numbers of homes in each set.
pub const SIZES: [usize; 7] = [1000, 2000, 4000, 8000, 12_000, 16_000, 20_000];

/// The models at one size.
#[derive(Clone, Debug, Serialize)]
pub struct Size {
    /// Homes in each of the three sets.
    pub rows: usize,
    /// Each model.
    pub models: Vec<Line>,
}

/// The experiment of [`Housing`] at each of the sizes.
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
    let size = |&rows: &usize| {
        let models = Housing { rows, trials, seed }.run(homes, &())?;
        progress.advance(rows as u64);
        Ok(Size { rows, models })
    };
    sizes.iter().map(size).collect()
}
