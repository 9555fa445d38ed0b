//! What an engine is: it plans for a scene once, then sums any values over it.

use std::sync::Arc;

use super::matrix::Matrix;
use super::sums::Sums;
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
