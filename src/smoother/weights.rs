//! The smoothing matrix W between rows: the sparse engine's matrix between places, expanded to rows.

use super::SmoothingPlan;
use crate::engine::Matrix;
use crate::error::Error;
use crate::scene::Own;

/// Entries of W between rows: the target row, the source row (targets first, then labelled rows) and the weight.
#[derive(Clone, Debug, Default)]
pub struct WeightBatch {
    /// Target rows, ascending.
    pub rows: Vec<usize>,
    /// Source rows, ascending within a row.
    pub columns: Vec<usize>,
    /// Weights; the weights of a row sum to one.
    pub weights: Vec<f64>,
}

impl SmoothingPlan {
    /// W with one row for each target row and one column for each source row, in batches of about a million entries. Places
    /// that were merged are expanded to their rows.
    ///
    /// # Errors
    /// If the engine keeps no matrix, or the expanded matrix is larger than the memory limit.
    pub fn weights(&self) -> Result<impl Iterator<Item = WeightBatch>, Error> {
        let matrix =
            self.matrix().filter(|_| self.scene.layout.own == Own::Counts).ok_or_else(|| Error::Contradiction {
                message: "this plan keeps no weight matrix between rows".to_owned(),
                hint: "use the sparse engine, without leave-one-out".to_owned(),
            })?;
        let layout = &self.scene.layout;
        let size_of_place: Vec<u64> = (0..layout.targets.len())
            .map(|place| {
                matrix.row(place).0.iter().map(|&source| layout.rows_of_source.at(source as usize).len() as u64).sum()
            })
            .collect();
        let nonzeros =
            layout.target_of_row.iter().map(|&place| size_of_place[place as usize]).fold(0, u64::saturating_add);
        let (need, limit) = (nonzeros.saturating_mul(24), self.smoother.engine.memory());
        if need > limit {
            return Err(Error::MatrixTooLarge { nonzeros, need, limit, cutoff: self.smoother.engine.has_cutoff() });
        }
        let rows = layout.target_of_row.len();
        let mut next = 0;
        Ok(std::iter::from_fn(move || {
            let mut batch = WeightBatch::default();
            while next < rows && batch.rows.len() < WeightBatch::ENOUGH {
                self.add_row(next, matrix, &mut batch);
                next += 1;
            }
            (!batch.rows.is_empty()).then_some(batch)
        }))
    }

    fn add_row(&self, row: usize, matrix: &Matrix, batch: &mut WeightBatch) {
        let (places, weights) = matrix.row(self.scene.layout.target_of_row[row] as usize);
        let mut entries: Vec<(usize, f64)> = Vec::new();
        for (&place, weight) in places.iter().zip(weights) {
            let share = weight / self.scene.mass[place as usize];
            entries.extend(
                self.scene
                    .layout
                    .rows_of_source
                    .at(place as usize)
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
    /// Entries after which a batch is returned: 24 MiB. Chosen, not measured.
    const ENOUGH: usize = 1 << 20;
}
