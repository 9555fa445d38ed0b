//! Spatially blocked cross-validation: folds of labelled rows by blocks of space, so that most hidden rows have no visible
//! labelled row close by.

use std::collections::BTreeMap;

use crate::chance::Chance;
use crate::correct::LabelledRows;
use crate::error::Error;
use crate::points::Places;
use crate::space::{EARTH_RADIUS, Sigma};
use crate::tune::Trial;

/// One fold: its rows are hidden and have to be predicted; the rows of all other folds are seen with their labels.
#[derive(Clone, Debug)]
pub struct Fold {
    hidden: FoldRows,
    seen: FoldRows,
}

#[derive(Clone, Debug)]
struct FoldRows {
    places: Places,
    labels: Vec<f64>,
    predictions: Vec<Vec<f64>>,
}

/// An arbitrary number: the year of the paper.
const SEED: u64 = 2020;

impl Fold {
    /// Cuts space into square blocks with the given side (a length with a unit, as for σ), and assigns them to folds with about
    /// equal numbers of rows: at random, but with a fixed seed.
    ///
    /// # Errors
    /// If there are fewer than two folds or fewer blocks than folds, or the unit does not fit the places.
    pub fn blocked(labelled: &LabelledRows, folds: usize, block: Sigma) -> Result<Vec<Self>, Error> {
        if folds < 2 {
            return Err(Error::Parameter { name: "number of folds", value: folds.to_string(), expected: "at least 2" });
        }
        labelled.check()?;
        let fold_of = deal(&blocks(labelled.places, block)?, folds, block)?;
        Ok((0..folds).map(|number| Self::number(number, &fold_of, labelled)).collect())
    }

    /// The fold of this number.
    fn number(number: usize, fold_of: &[usize], labelled: &LabelledRows) -> Self {
        let (hidden, seen): (Vec<usize>, Vec<usize>) = (0..fold_of.len()).partition(|&row| fold_of[row] == number);
        Self { hidden: FoldRows::of(labelled, &hidden), seen: FoldRows::of(labelled, &seen) }
    }

    /// The fold as a trial for tuning.
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

impl FoldRows {
    fn of(labelled: &LabelledRows, rows: &[usize]) -> Self {
        Self {
            places: labelled.places.select(rows),
            labels: select(labelled.labels, rows),
            predictions: labelled.predictions.iter().map(|values| select(values, rows)).collect(),
        }
    }

    fn columns(&self) -> Vec<&[f64]> {
        self.predictions.iter().map(Vec::as_slice).collect()
    }
}

fn select(values: &[f64], rows: &[usize]) -> Vec<f64> {
    rows.iter().map(|&row| values[row]).collect()
}

/// The indices of a block along each axis.
type Block = [i64; 3];

/// The block of each row.
fn blocks(places: &Places, block: Sigma) -> Result<Vec<Block>, Error> {
    places.metric(block)?;
    let (axes, side) = (places.axes(), block.value());
    let rows = 0..places.len();
    Ok(match block {
        Sigma::Sphere(_) => rows.map(|row| block_on_sphere(axes[0][row], axes[1][row], side)).collect(),
        _ => rows.map(|row| block_on_plane(axes, row, side)).collect(),
    })
}

fn block_on_plane(axes: &[Vec<f64>], row: usize, side: f64) -> Block {
    let mut block = [0; 3];
    block.iter_mut().zip(axes).for_each(|(index, axis)| *index = (axis[row] / side).floor() as i64);
    block
}

/// Bands of latitude, each cut into blocks that are as wide as high in the middle of the band.
fn block_on_sphere(latitude: f64, longitude: f64, side: f64) -> Block {
    let degree = EARTH_RADIUS.to_radians();
    let band = (latitude * degree / side).floor();
    let middle = ((band + 0.5) * side / degree).clamp(-90.0, 90.0);
    let around = longitude.rem_euclid(360.0) * degree * middle.to_radians().cos();
    [band as i64, (around / side).floor() as i64, 0]
}

/// The fold of each row. Blocks are assigned in random order, each to the fold with the fewest rows so far.
fn deal(blocks: &[Block], folds: usize, side: Sigma) -> Result<Vec<usize>, Error> {
    let mut sizes: BTreeMap<Block, usize> = BTreeMap::new();
    for block in blocks {
        *sizes.entry(*block).or_default() += 1;
    }
    if sizes.len() < folds {
        return Err(Error::Contradiction {
            message: format!("the rows lie in {} blocks of {side}, too few for {folds} folds", sizes.len()),
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
        let steps = (0..40).flat_map(|i| (0..40).map(move |j| (f64::from(i), f64::from(j))));
        let (latitude, longitude) = steps.map(|(i, j)| (41.0 + 0.01 * i, (179.8 + 0.01 * j) % 360.0)).unzip();
        Places::lat_lon(latitude, longitude).unwrap()
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
            let [hidden, seen] = [&fold.hidden, &fold.seen].map(|rows| blocks(&rows.places, block).unwrap());
            assert!(hidden.iter().all(|block| !seen.contains(block)));
        }
    }

    #[test]
    fn too_few_blocks_and_wrong_units_are_refused() {
        let places = grid();
        let labels = vec![0.0; places.len()];
        let labelled = LabelledRows { places: &places, labels: &labels, predictions: vec![&labels] };
        for (folds, block, is_refused) in
            [(5, "5000km", true), (1, "5km", true), (5, "7", true), (5, "5km", false), (3, "0.05deg", false)]
        {
            let result = Fold::blocked(&labelled, folds, block.parse().unwrap());
            assert_eq!(result.is_err(), is_refused, "{folds} {block}");
        }
    }
}
