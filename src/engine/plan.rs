//! What an engine is: it plans for a scene once, then sums any values over it. What it gives: the sums of one kernel at each target place.

use std::sync::Arc;

use super::matrix::Matrix;
use crate::error::Error;
use crate::scene::Scene;

/// A way to compute [`Sums`].
pub trait Engine: Send + Sync {
    /// Prepares for sums over this scene with any values.
    ///
    /// # Errors
    /// If the plan would not fit in memory.
    fn plan(&self, scene: Arc<Scene>, progress: &dyn Progress) -> Result<Box<dyn Plan>, Error>;
}

/// A scene that an engine is ready to sum over.
pub trait Plan: Send + Sync {
    /// The sums for columns of `w·v` at the source places, as [`Scene::gather`] makes them.
    fn sums(&self, columns: &[Vec<f64>], progress: &dyn Progress) -> Sums;

    /// The row-normalised weight matrix, if the engine keeps one.
    fn matrix(&self) -> Option<&Matrix> {
        None
    }
}

/// The sums of one kernel at each target place.
///
/// The sums of a row very far from every source would underflow. They are scaled: the true sums are those here
/// times `2^exponent`. Ratios are not affected.
#[derive(Clone, Debug, Default)]
pub struct Sums {
    /// `D`: the kernel mass, 0 where there is no source at all.
    pub mass: Vec<f64>,
    /// `N` for each value column.
    pub values: Vec<Vec<f64>>,
    /// `E`: a bound on the mass of the kernel's error, truncation and rounding together.
    pub error: Vec<f64>,
    /// The power of two that scales all of the above, a whole number; 0 for almost every place.
    pub exponent: Vec<f64>,
}

impl Sums {
    /// Zeros for this many places and value columns.
    pub(super) fn zero(places: usize, columns: usize) -> Self {
        // Not one vector and its clones: those would write zeros to memory that is zero.
        let [mass, error, exponent] = [(); 3].map(|()| vec![0.0; places]);
        Self { mass, values: (0..columns).map(|_| vec![0.0; places]).collect(), error, exponent }
    }

    /// Writes the sums at one place: mass first, then each column.
    pub(super) fn write(&mut self, place: usize, mut sums: impl Iterator<Item = f64>, error: f64, exponent: f64) {
        self.mass[place] = sums.next().unwrap_or(0.0);
        self.error[place] = error;
        self.exponent[place] = exponent;
        for (column, sum) in self.values.iter_mut().zip(sums) {
            column[place] = sum;
        }
    }
}

/// Receives the progress of long work. `()` ignores it.
///
/// To stop the work, the caller may unwind out of either method with `std::panic::resume_unwind`. No partial result
/// outlives the call.
pub trait Progress: Sync {
    /// Work of `total` steps begins.
    fn start(&self, total: u64);
    /// This many more steps are done.
    fn advance(&self, steps: u64);
}

impl Progress for () {
    fn start(&self, _: u64) {}
    fn advance(&self, _: u64) {}
}
