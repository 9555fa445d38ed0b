//! Folds of labelled rows by blocks of space, so that most hidden rows have no labelled row next door.

use std::collections::BTreeMap;

use crate::chance::Chance;
use crate::correct::LabelledRows;
use crate::error::Error;
use crate::points::Places;
use crate::space::{EARTH_RADIUS, Sigma};
use crate::tune::Trial;

/// One fold: rows taken for ones to predict, and the rows of all other folds, whose labels may be seen.
#[derive(Clone, Debug)]
pub struct Fold {
    hidden: Rows,
    seen: Rows,
}

#[derive(Clone, Debug)]
struct Rows {
    places: Places,
    labels: Vec<f64>,
    predictions: Vec<Vec<f64>>,
}

const SEED: u64 = 2020;

impl Fold {
    /// Cuts space into square blocks of a side (a length with its unit, as for σ) and deals them into folds of about as many
    /// rows each, at random but always the same way.
    ///
    /// # Errors
    /// If there are fewer than two folds or fewer blocks than folds, or the unit does not fit the places.
    pub fn blocked(labelled: &LabelledRows, folds: usize, block: Sigma) -> Result<Vec<Self>, Error> {
        if folds < 2 {
            return Err(Error::Parameter { name: "number of folds", value: folds.to_string(), expected: "at least 2" });
        }
        labelled.check()?;
        let fold_of = deal(&blocks(labelled.places, block)?, folds, block)?;
        let rows =
            |keep: &dyn Fn(usize) -> bool| -> Vec<usize> { (0..fold_of.len()).filter(|&r| keep(fold_of[r])).collect() };
        let fold = |number: usize| Self {
            hidden: Rows::of(labelled, &rows(&|fold| fold == number)),
            seen: Rows::of(labelled, &rows(&|fold| fold != number)),
        };
        Ok((0..folds).map(fold).collect())
    }

    /// The trial that the fold is.
    #[must_use]
    pub fn trial(&self) -> Trial<'_> {
        Trial {
            targets: &self.hidden.places,
            predictions: self.hidden.columns(),
            truth: &self.hidden.labels,
            labelled: Some(LabelledRows {
                places: &self.seen.places,
                labels: &self.seen.labels,
                predictions: self.seen.columns(),
            }),
            hides_own_label: false,
        }
    }
}

impl Rows {
    fn of(labelled: &LabelledRows, rows: &[usize]) -> Self {
        let pick = |values: &[f64]| rows.iter().map(|&row| values[row]).collect();
        Self {
            places: labelled.places.select(rows),
            labels: pick(labelled.labels),
            predictions: labelled.predictions.iter().map(|values| pick(values)).collect(),
        }
    }

    fn columns(&self) -> Vec<&[f64]> {
        self.predictions.iter().map(Vec::as_slice).collect()
    }
}

type Block = [i64; 3];

/// The block of each row.
fn blocks(places: &Places, block: Sigma) -> Result<Vec<Block>, Error> {
    places.metric(block)?;
    let axes = places.axes();
    let side = block.value();
    let plain = |row: usize| {
        let mut cell = [0; 3];
        cell.iter_mut().zip(axes).for_each(|(cell, axis)| *cell = (axis[row] / side).floor() as i64);
        cell
    };
    let degree = EARTH_RADIUS.to_radians();
    let on_sphere = |row: usize| {
        // Bands of latitude, each cut into blocks as wide as high at its middle.
        let band = (axes[0][row] * degree / side).floor();
        let middle = ((band + 0.5) * side / degree).clamp(-90.0, 90.0);
        let around = axes[1][row].rem_euclid(360.0) * degree * middle.to_radians().cos();
        [band as i64, (around / side).floor() as i64, 0]
    };
    let rows = 0..places.len();
    Ok(if matches!(block, Sigma::Sphere(_)) { rows.map(on_sphere).collect() } else { rows.map(plain).collect() })
}

/// The fold of each row: blocks in random order, each to the fold that has the fewest rows so far.
fn deal(blocks: &[Block], folds: usize, side: Sigma) -> Result<Vec<usize>, Error> {
    let mut sizes: BTreeMap<Block, usize> = BTreeMap::new();
    for block in blocks {
        *sizes.entry(*block).or_default() += 1;
    }
    if sizes.len() < folds {
        return Err(Error::Contradiction {
            message: format!("{} blocks of {side} hold all rows, too few for {folds} folds", sizes.len()),
            hint: "give a smaller `block`, or fewer `folds`".to_owned(),
        });
    }
    let mut order: Vec<(Block, usize)> = sizes.into_iter().collect();
    Chance::new(SEED).shuffle(&mut order);
    let mut rows_in = vec![0; folds];
    let mut fold_of: BTreeMap<Block, usize> = BTreeMap::new();
    for (block, size) in order {
        let fold = (0..folds).min_by_key(|&fold| rows_in[fold]).unwrap_or(0);
        rows_in[fold] += size;
        fold_of.insert(block, fold);
    }
    Ok(blocks.iter().map(|block| fold_of[block]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> Places {
        let steps = || (0..40).flat_map(|i| (0..40).map(move |j| (f64::from(i), f64::from(j))));
        Places::lat_lon(
            steps().map(|(i, _)| 41.0 + 0.01 * i).collect(),
            steps().map(|(_, j)| (179.8 + 0.01 * j) % 360.0).collect(),
        )
        .unwrap()
    }

    #[test]
    fn every_row_is_hidden_once_and_blocks_stay_together() {
        let places = grid();
        let labels: Vec<f64> = (0..places.len()).map(|row| row as f64).collect();
        let labelled = LabelledRows { places: &places, labels: &labels, predictions: vec![&labels] };
        let block = Sigma::metres(5000.0).unwrap();
        let folds = Fold::blocked(&labelled, 5, block).unwrap();
        let mut hidden: Vec<f64> = folds.iter().flat_map(|fold| fold.hidden.labels.clone()).collect();
        hidden.sort_by(f64::total_cmp);
        assert_eq!(hidden, labels);
        for fold in &folds {
            assert_eq!(fold.hidden.labels.len() + fold.seen.labels.len(), labels.len());
            assert!((200..500).contains(&fold.hidden.labels.len()), "{}", fold.hidden.labels.len());
            let of = |rows: &Rows| blocks(&rows.places, block).unwrap();
            let seen = of(&fold.seen);
            assert!(of(&fold.hidden).iter().all(|block| !seen.contains(block)));
        }
    }

    #[test]
    fn too_few_blocks_and_wrong_units_are_refused() {
        let places = grid();
        let labels = vec![0.0; places.len()];
        let labelled = LabelledRows { places: &places, labels: &labels, predictions: vec![&labels] };
        let refused = |folds, block: &str| Fold::blocked(&labelled, folds, block.parse().unwrap()).is_err();
        assert!(refused(5, "5000km") && refused(1, "5km") && refused(5, "7"));
        assert!(!refused(5, "5km") && !refused(3, "0.05deg"));
    }
}
