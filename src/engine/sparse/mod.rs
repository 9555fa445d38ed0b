//! A kiddo k-d tree truncates the kernel into a sparse, row-normalised weight matrix.
//!
//! Neighbouring targets form a tile. One query of the tree finds the candidates of the whole tile, sorted once, and
//! each target selects from them. The radius of the query is known beforehand: a source at decay x contributes at most `W·2^−x`, and D is at
//! least what the nearest source contributes. Candidates that are not needed are then dropped, largest decay first, as long as the
//! certificate stays within the tolerance.
//!
//! In: a scene. Out: the matrix, and sums by it. Bound: what was never found, what was dropped, and rounding.
//!
//! Order of files: [`limits`], [`candidates`], [`forest`].

mod candidates;
mod forest;
mod limits;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use self::forest::{Forest, MatrixRows, QueryTile};
pub use self::limits::Truncation;
use super::matrix::{BYTES_PER_NONZERO, Matrix};
use super::plan::{Engine, Plan, Progress, Sums};
use crate::error::Error;
use crate::kernel::{Decay, WithDecay, with_decay};
use crate::scene::Scene;

/// The engine of the sparse matrix.
#[derive(Clone, Copy, Debug)]
pub struct Sparse {
    /// Where the kernel is cut.
    pub truncation: Truncation,
    /// Bytes that the matrix may take; `None` for no limit.
    pub memory_limit: Option<u64>,
}

impl Engine for Sparse {
    fn plan(&self, scene: Arc<Scene>, progress: &dyn Progress) -> Result<Box<dyn Plan>, Error> {
        let build = BuildRows { engine: self, scene: &scene, progress };
        let rows = with_decay(scene.layout.metric, scene.scale, build)?;
        let mut plan = SparsePlan { scene, matrix: Matrix::default(), sums: Sums::default() };
        for MatrixRows { block, sums } in rows {
            plan.matrix.blocks.push(block);
            plan.sums.mass.extend(sums.mass);
            plan.sums.error.extend(sums.error);
            plan.sums.exponent.extend(sums.exponent);
        }
        Ok(Box::new(plan))
    }
}

impl Sparse {
    /// Refuses a matrix with more entries than there is memory for.
    fn check(&self, nonzeros: u64) -> Result<(), Error> {
        let (need, limit) = (nonzeros.saturating_mul(BYTES_PER_NONZERO), self.memory_limit.unwrap_or(u64::MAX));
        let cutoff = matches!(self.truncation, Truncation::Cutoff(_));
        if need > limit { Err(Error::MatrixTooLarge { nonzeros, need, limit, cutoff }) } else { Ok(()) }
    }
}

/// Target places that one task turns into a block of rows. Chosen, not measured.
const ROWS_PER_TASK: usize = 2048;

/// Builds the rows of the matrix, unless they would not fit in the memory limit.
struct BuildRows<'a> {
    engine: &'a Sparse,
    scene: &'a Scene,
    progress: &'a dyn Progress,
}

impl WithDecay for BuildRows<'_> {
    type Output = Result<Vec<MatrixRows>, Error>;

    fn run<D: Decay<A>, const A: usize, const K: usize>(self, decay: D) -> Self::Output {
        let forest = Forest::<D, A, K>::plant(decay, self.scene, self.engine.truncation);
        let tiles = forest.tiles();
        self.engine.check(forest.estimate(&tiles))?;
        let tasks = share_out(&tiles);
        self.progress.start(tasks.len() as u64);
        let built = AtomicU64::new(0);
        tasks
            .into_par_iter()
            .map(|task| {
                // The estimate may have been low: entries that are built are checked, too.
                self.engine.check(built.load(Ordering::Relaxed))?;
                let rows = forest.rows(task);
                built.fetch_add(rows.block.columns.len() as u64, Ordering::Relaxed);
                self.progress.advance(1);
                Ok(rows)
            })
            .collect()
    }
}

/// Cuts the tiles into runs of about [`ROWS_PER_TASK`] targets.
fn share_out(tiles: &[QueryTile]) -> Vec<&[QueryTile]> {
    let mut rows = 0;
    let mut is_full = |tile: &QueryTile| {
        rows += tile.targets.len();
        rows >= ROWS_PER_TASK && std::mem::take(&mut rows) > 0
    };
    tiles.chunk_by(|tile, _| !is_full(tile)).collect()
}

struct SparsePlan {
    scene: Arc<Scene>,
    matrix: Matrix,
    /// The sums of the rows, without any column of values.
    sums: Sums,
}

impl Plan for SparsePlan {
    fn sums(&self, columns: &[Vec<f64>], _: &dyn Progress) -> Sums {
        let mean = |column: &Vec<f64>| column.par_iter().zip(&self.scene.mass).map(|(sum, mass)| sum / mass).collect();
        let mut values = self.matrix.apply(&columns.iter().map(mean).collect::<Vec<_>>());
        for column in &mut values {
            column.iter_mut().zip(&self.sums.mass).for_each(|(value, mass)| *value *= mass);
        }
        Sums { values, ..self.sums.clone() }
    }

    fn matrix(&self) -> Option<&Matrix> {
        Some(&self.matrix)
    }
}
