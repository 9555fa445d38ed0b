//! W between rows: the matrix of the sparse engine with its merged places taken apart again.

use super::SmoothingPlan;
use crate::engine::Matrix;
use crate::error::Error;
use crate::scene::{Own, Scene};

/// Entries of W between rows: the target row, the source row (targets first, then labelled rows) and the weight.
#[derive(Clone, Debug, Default)]
pub struct WeightBatch {
    /// Target rows, ascending.
    pub rows: Vec<usize>,
    /// Source rows, ascending within a row.
    pub columns: Vec<usize>,
    /// Weights; those of a row sum to one.
    pub weights: Vec<f64>,
}

impl SmoothingPlan {
    /// W with one row for each target row and one column for each source row, merged places taken apart again, in
    /// batches of about a million entries.
    ///
    /// # Errors
    /// If the engine keeps no matrix, or taking merged places apart would make it larger than the memory limit.
    pub fn weights(&self) -> Result<impl Iterator<Item = WeightBatch>, Error> {
        let matrix =
            self.matrix().filter(|_| self.scene.layout.own == Own::Counts).ok_or_else(|| Error::Contradiction {
                message: "this plan keeps no weight matrix between rows".to_owned(),
                hint: "use the sparse engine, without leave-one-out".to_owned(),
            })?;
        let members = Members::of(&self.scene);
        let layout = &self.scene.layout;
        let size_of_place: Vec<u64> = (0..layout.targets.len())
            .map(|place| matrix.row(place).0.iter().map(|&source| members.at(source).len() as u64).sum())
            .collect();
        let nonzeros =
            layout.target_of_row.iter().map(|&place| size_of_place[place as usize]).fold(0, u64::saturating_add);
        let (need, limit) = (nonzeros.saturating_mul(24), self.smoother.memory_limit.unwrap_or(u64::MAX));
        if need > limit {
            return Err(Error::MatrixTooLarge { nonzeros, need, limit });
        }
        let rows = layout.target_of_row.len();
        let mut next = 0;
        Ok(std::iter::from_fn(move || {
            let mut batch = WeightBatch::default();
            while next < rows && batch.rows.len() < WeightBatch::ENOUGH {
                self.add_row(next, matrix, &members, &mut batch);
                next += 1;
            }
            (!batch.rows.is_empty()).then_some(batch)
        }))
    }

    fn add_row(&self, row: usize, matrix: &Matrix, members: &Members, batch: &mut WeightBatch) {
        let (places, weights) = matrix.row(self.scene.layout.target_of_row[row] as usize);
        let mut entries: Vec<(usize, f64)> = Vec::new();
        for (&place, weight) in places.iter().zip(weights) {
            let share = weight / self.scene.mass[place as usize];
            entries.extend(
                members
                    .at(place)
                    .iter()
                    .map(|&source| (source as usize, share * self.scene.weight_of_row(source as usize))),
            );
        }
        entries.sort_unstable_by_key(|(source, _)| *source);
        for (source, weight) in entries {
            batch.rows.push(row);
            batch.columns.push(source);
            batch.weights.push(weight);
        }
    }
}

impl WeightBatch {
    /// Entries after which a batch is handed on.
    const ENOUGH: usize = 1 << 20;
}

/// The source rows at each source place.
struct Members {
    starts: Vec<u32>,
    rows: Vec<u32>,
}

impl Members {
    fn of(scene: &Scene) -> Self {
        let place_of = &scene.layout.source_of_row;
        let mut starts = vec![0; scene.source_places() + 1];
        for &place in place_of {
            starts[place as usize + 1] += 1;
        }
        for place in 1..starts.len() {
            starts[place] += starts[place - 1];
        }
        let mut next = starts.clone();
        let mut rows = vec![0; place_of.len()];
        for (row, &place) in place_of.iter().enumerate() {
            rows[next[place as usize] as usize] = row as u32;
            next[place as usize] += 1;
        }
        Self { starts, rows }
    }

    fn at(&self, place: u32) -> &[u32] {
        &self.rows[self.starts[place as usize] as usize..self.starts[place as usize + 1] as usize]
    }
}
