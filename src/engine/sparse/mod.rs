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

use self::forest::{MatrixRows, QueryTile, RowBuilder, estimate, plant};
use super::matrix::{BYTES_PER_NONZERO, Matrix};
use super::plan::{Engine, Plan, Progress};
use super::sums::Sums;
use super::truncation::Truncation;
use crate::error::Error;
use crate::scene::Scene;

/// The engine of the sparse matrix.
#[derive(Clone, Copy, Debug)]
pub struct Sparse {
    /// Where the kernel is cut.
    pub truncation: Truncation,
    /// Bytes that the matrix may take; `None` for no limit.
    pub memory_limit: Option<u64>,
}

impl Sparse {
    /// Builds the trees and computes a sample of the rows, from which the size of the matrix is estimated.
    fn draft(&self, scene: Arc<Scene>) -> MatrixDraft {
        let forest = plant(scene.clone(), self.truncation);
        let tiles = forest.tiles();
        let nonzeros = estimate(forest.as_ref(), &tiles);
        let (limit, cutoff) = (self.memory_limit.unwrap_or(u64::MAX), matches!(self.truncation, Truncation::Cutoff(_)));
        MatrixDraft { scene, forest, tiles, nonzeros, limit, cutoff }
    }
}

impl Engine for Sparse {
    fn plan(&self, scene: Arc<Scene>, progress: &dyn Progress) -> Result<Box<dyn Plan>, Error> {
        self.draft(scene).plan(progress)
    }
}

/// A sparse plan before the matrix is built.
struct MatrixDraft {
    scene: Arc<Scene>,
    forest: Box<dyn RowBuilder>,
    tiles: Vec<QueryTile>,
    nonzeros: u64,
    limit: u64,
    /// Whether the kernel is cut at a fixed number of σ.
    cutoff: bool,
}

/// Target places that one task turns into a block of rows. Chosen, not measured.
const ROWS_PER_TASK: usize = 2048;

impl MatrixDraft {
    /// Builds the matrix, unless it would not fit in the memory limit.
    fn plan(self, progress: &dyn Progress) -> Result<Box<dyn Plan>, Error> {
        self.check(self.nonzeros)?;
        let tasks = share_out(&self.tiles);
        progress.start(tasks.len() as u64);
        let built = AtomicU64::new(0);
        let rows = tasks
            .into_par_iter()
            .map(|task| {
                // The estimate may have been low: entries that are built are checked, too.
                self.check(built.load(Ordering::Relaxed))?;
                let rows = self.forest.rows(task);
                built.fetch_add(rows.block.columns.len() as u64, Ordering::Relaxed);
                progress.advance(1);
                Ok(rows)
            })
            .collect::<Result<Vec<MatrixRows>, Error>>()?;
        Ok(Box::new(SparsePlan::new(self.scene, rows)))
    }

    fn check(&self, nonzeros: u64) -> Result<(), Error> {
        let (need, limit, cutoff) = (nonzeros.saturating_mul(BYTES_PER_NONZERO), self.limit, self.cutoff);
        if need > limit { Err(Error::MatrixTooLarge { nonzeros, need, limit, cutoff }) } else { Ok(()) }
    }
}

/// Cuts the tiles into runs of about [`ROWS_PER_TASK`] targets.
fn share_out(tiles: &[QueryTile]) -> Vec<&[QueryTile]> {
    let mut tasks = Vec::new();
    let (mut start, mut rows) = (0, 0);
    for (end, tile) in tiles.iter().enumerate() {
        rows += tile.targets.len();
        if rows >= ROWS_PER_TASK {
            tasks.push(&tiles[start..=end]);
            (start, rows) = (end + 1, 0);
        }
    }
    tasks.push(&tiles[start..]);
    tasks.retain(|task| !task.is_empty());
    tasks
}

struct SparsePlan {
    scene: Arc<Scene>,
    matrix: Matrix,
    mass: Vec<f64>,
    error: Vec<f64>,
    exponent: Vec<f64>,
}

impl SparsePlan {
    fn new(scene: Arc<Scene>, rows: Vec<MatrixRows>) -> Self {
        let mut plan =
            Self { scene, matrix: Matrix::default(), mass: Vec::new(), error: Vec::new(), exponent: Vec::new() };
        for rows in rows {
            plan.matrix.blocks.push(rows.block);
            plan.mass.extend(rows.mass);
            plan.error.extend(rows.error);
            plan.exponent.extend(rows.exponent);
        }
        plan
    }
}

impl Plan for SparsePlan {
    fn sums(&self, columns: &[Vec<f64>], _: &dyn Progress) -> Sums {
        let mean = |column: &Vec<f64>| column.par_iter().zip(&self.scene.mass).map(|(sum, mass)| sum / mass).collect();
        let mut values = self.matrix.apply(&columns.iter().map(mean).collect::<Vec<_>>());
        for column in &mut values {
            column.iter_mut().zip(&self.mass).for_each(|(value, mass)| *value *= mass);
        }
        Sums { mass: self.mass.clone(), values, error: self.error.clone(), exponent: self.exponent.clone() }
    }

    fn matrix(&self) -> Option<&Matrix> {
        Some(&self.matrix)
    }
}
