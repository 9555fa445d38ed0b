//! All rows smoothed tile by tile: counted, cut, and each tile on its own.

use geosmooth::partition::{Capacity, Census, Partition, Role, Visit};
use geosmooth::{Error, Places, Sigma, Smoothed, Smoother, TileContents, TileRows, smooth_tile};

/// Some rows and their values.
pub(crate) type Rows<'a> = (&'a Places, &'a [f64]);

/// What is smoothed, and how it is cut.
pub(crate) struct Tiling<'a> {
    pub(crate) smoother: &'a Smoother,
    pub(crate) sigma: Sigma,
    pub(crate) label_weight: f64,
    pub(crate) tolerance: f64,
    pub(crate) targets: Rows<'a>,
    pub(crate) labelled: Rows<'a>,
    /// Most cells of the census.
    pub(crate) cells: usize,
}

/// What came of all tiles, by row.
pub(crate) struct Tiled {
    pub(crate) smoothed: Smoothed,
    pub(crate) tiles: usize,
}

impl Tiling<'_> {
    /// In tiles of at most so many rows: those to be smoothed and the sources, of which most are both.
    pub(crate) fn smooth(&self, rows: u64) -> Result<Tiled, Error> {
        let ((targets, predictions), (labelled, labels)) = (self.targets, self.labelled);
        let mut census = Census::new(self.sigma, targets.metric(self.sigma)?, self.cells);
        census.add(targets, Role::ToPredict)?;
        census.add(labelled, Role::Labelled)?;
        let capacity = Capacity { bytes: rows, per_target: 1, per_source: 1 };
        let partition = Partition::new(&census, self.sigma, self.label_weight, self.tolerance, &capacity)?;
        let visits =
            (partition.visits(targets, Role::ToPredict).unwrap(), partition.visits(labelled, Role::Labelled).unwrap());
        let (low, high) = self.range();
        let (mut values, mut error_bound) = (vec![None; predictions.len()], vec![f64::NAN; predictions.len()]);
        for tile in 0..partition.tiles().len() as u32 {
            let at_home = rows_of(&visits.0, tile, true);
            let home = chosen(targets, predictions, &at_home);
            let guests = chosen(targets, predictions, &rows_of(&visits.0, tile, false));
            let near = chosen(labelled, labels, &rows_of(&visits.1, tile, false));
            let smoothed = self.one_tile(&home, &guests, &near, &partition, (low, high))?;
            for (at, row) in at_home.into_iter().enumerate() {
                assert!(error_bound[row].is_nan(), "row {row} is at home twice");
                (values[row], error_bound[row]) = (smoothed.values[at], smoothed.error_bound[at]);
            }
        }
        let smoothed = Smoothed { values, error_bound, range: (high - low).min(f64::MAX) };
        Ok(Tiled { smoothed, tiles: partition.tiles().len() })
    }

    fn one_tile(
        &self,
        home: &(Places, Vec<f64>),
        guests: &(Places, Vec<f64>),
        near: &(Places, Vec<f64>),
        partition: &Partition,
        range: (f64, f64),
    ) -> Result<Smoothed, Error> {
        let inside = (home.0.len() + guests.0.len()) as f64 + self.label_weight * near.0.len() as f64;
        let columns = [[home.1.as_slice()], [guests.1.as_slice()], [near.1.as_slice()]];
        let contents = TileContents {
            home: TileRows { places: &home.0, columns: &columns[0] },
            guests: TileRows { places: &guests.0, columns: &columns[1] },
            labelled: Some(TileRows { places: &near.0, columns: &columns[2] }),
            ranges: &[range],
            beyond: partition.beyond(inside),
        };
        Ok(smooth_tile(self.smoother, &contents, false, &())?.columns.remove(0))
    }

    /// The lowest and the highest value of all sources.
    fn range(&self) -> (f64, f64) {
        let labels = self.labelled.1.iter().filter(|_| self.label_weight > 0.0);
        let values = || self.targets.1.iter().chain(labels.clone()).copied();
        (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max))
    }
}

/// Some rows of a column and their places.
fn chosen(places: &Places, values: &[f64], rows: &[usize]) -> (Places, Vec<f64>) {
    (places.select(rows), rows.iter().map(|&row| values[row]).collect())
}

fn rows_of(visits: &[Visit], tile: u32, at_home: bool) -> Vec<usize> {
    visits.iter().filter(|v| v.tile == tile && v.at_home == at_home).map(|v| v.row as usize).collect()
}
