//! All rows smoothed tile by tile: counted, cut, and each tile on its own.

use geosmooth::partition::{Capacity, Census, Checksums, Membership, Moments, Partition, Role, RowHashes, TileGroup};
use geosmooth::{Error, Places, Sigma, Smoothed, SmoothedTile, Smoother, TileContents, TileRows, smooth_tile};

/// Some rows and their values.
pub(crate) type Rows<'a> = (&'a Places, &'a [f64]);

/// What is smoothed, and how it is cut.
pub(crate) struct Tiling<'a> {
    pub(crate) smoother: &'a Smoother,
    pub(crate) sigma: Sigma,
    pub(crate) c: f64,
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
    pub(crate) crowds: usize,
}

/// Rows of a tile: those at home by their numbers, with places and values, guests and labelled rows.
struct Rowed {
    at_home: Vec<usize>,
    home: (Places, Vec<f64>),
    guests: (Places, Vec<f64>),
    labelled: (Places, Vec<f64>),
}

/// Where every row goes, by role.
type Memberships = (Vec<Membership>, Vec<Membership>);

/// Bytes that lattices have room in.
const ROOM: u64 = 1 << 30;

impl Tiling<'_> {
    /// In tiles of at most so many rows: those to be smoothed and the sources, of which most are both.
    pub(crate) fn smooth(&self, rows: u64) -> Result<Tiled, Error> {
        let capacity = Capacity { bytes: rows, per_target: 1, per_source: 1 };
        self.by(&Partition::new(&self.census()?, self.sigma, self.label_weight, self.tolerance, &capacity)?)
    }

    /// The same with crowds, whose lattices have all the room they want.
    pub(crate) fn smooth_with_crowds(&self, rows: u64) -> Result<Tiled, Error> {
        let capacity = Capacity { bytes: ROOM, per_target: ROOM / rows, per_source: ROOM / rows };
        let (census, ranges) = (self.census()?, [self.range()]);
        let (weight, tolerance) = (self.label_weight, self.tolerance);
        self.by(&Partition::with_tile_groups(&census, self.sigma, weight, tolerance, &capacity, &ranges, false)?)
    }

    fn census(&self) -> Result<Census, Error> {
        let mut census = Census::new(self.sigma, self.targets.0.metric(self.sigma)?, self.cells);
        for (role, (places, values)) in [(Role::ToPredict, self.targets), (Role::Labelled, self.labelled)] {
            census.add_hashed(places, role, &RowHashes::of(places, &[values]))?;
        }
        Ok(census)
    }

    fn by(&self, partition: &Partition) -> Result<Tiled, Error> {
        let visits = (
            partition.memberships(self.targets.0, Role::ToPredict).unwrap(),
            partition.memberships(self.labelled.0, Role::Labelled).unwrap(),
        );
        let (low, high) = self.range();
        let rows = self.targets.1.len();
        let (values, error_bound) = (vec![None; rows], vec![f64::NAN; rows]);
        let smoothed = Smoothed { values, error_bound, range: (high - low).min(f64::MAX) };
        let (tiles, crowds) = (partition.tiles().len(), partition.tile_groups());
        let mut tiled = Tiled { smoothed, tiles, crowds: crowds.len() };
        for tile in 0..crowds.first().map_or(tiles as u32, |crowd| crowd.tiles().start) {
            let rows = self.rows(&visits, tile);
            partition.check(tile as usize, &self.seen(&rows))?;
            let found = self.one_tile(&rows, partition)?;
            tiled.note(&rows.at_home, found);
        }
        crowds.iter().try_for_each(|crowd| self.one_crowd(&visits, crowd, &mut tiled))?;
        Ok(tiled)
    }

    fn rows(&self, (targets, labelled): &Memberships, tile: u32) -> Rowed {
        let at_home = rows_of(targets, tile, true);
        Rowed {
            home: chosen(self.targets, &at_home),
            guests: chosen(self.targets, &rows_of(targets, tile, false)),
            labelled: chosen(self.labelled, &rows_of(labelled, tile, false)),
            at_home,
        }
    }

    /// Checksums of the rows of a tile.
    fn seen(&self, rows: &Rowed) -> Checksums {
        let Rowed { home, guests, labelled, .. } = rows;
        let mut seen = Checksums::default();
        for (role, (places, values)) in [(Role::ToPredict, home), (Role::ToPredict, guests), (Role::Labelled, labelled)]
        {
            seen.add(role, &RowHashes::of(places, &[values]));
        }
        seen.with_label_weight(self.label_weight)
    }

    fn one_tile(&self, rows: &Rowed, partition: &Partition) -> Result<SmoothedTile, Error> {
        let Rowed { home, guests, labelled, .. } = rows;
        let inside = (home.0.len() + guests.0.len()) as f64 + self.label_weight * labelled.0.len() as f64;
        let columns = [[home.1.as_slice()], [guests.1.as_slice()], [labelled.1.as_slice()]];
        let contents = TileContents {
            home: TileRows { places: &home.0, columns: &columns[0] },
            guests: TileRows { places: &guests.0, columns: &columns[1] },
            labelled: Some(TileRows { places: &labelled.0, columns: &columns[2] }),
            ranges: &[self.range()],
            beyond: partition.beyond(inside),
        };
        smooth_tile(self.smoother, &contents, false, &())
    }

    fn one_crowd(&self, visits: &Memberships, crowd: &TileGroup, tiled: &mut Tiled) -> Result<(), Error> {
        let (mut moments, mut seen, blueprint) = (Moments::default(), Checksums::default(), crowd.blueprint());
        for tile in crowd.tiles() {
            let Rowed { home, guests, labelled, .. } = self.rows(visits, tile);
            moments.add(blueprint, &home.0, Role::ToPredict, &[&home.1])?;
            moments.add_guests(blueprint, &guests.0, &[&guests.1])?;
            moments.add(blueprint, &labelled.0, Role::Labelled, &[&labelled.1])?;
            seen.join(self.seen(&Rowed { home, guests, labelled, at_home: Vec::new() }));
        }
        seen.check(crowd.counted())?;
        let field = moments.field(blueprint);
        for tile in crowd.tiles() {
            let Rowed { at_home, home, .. } = self.rows(visits, tile);
            tiled.note(&at_home, field.smooth(blueprint, self.c, &home.0, &[&home.1])?);
        }
        Ok(())
    }

    /// The lowest and the highest value of all sources.
    fn range(&self) -> (f64, f64) {
        let labels = self.labelled.1.iter().filter(|_| self.label_weight > 0.0);
        let values = || self.targets.1.iter().chain(labels.clone()).copied();
        (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max))
    }
}

impl Tiled {
    /// Notes what came of rows, each of which is at home once.
    fn note(&mut self, rows: &[usize], mut tile: SmoothedTile) {
        let found = tile.columns.remove(0);
        let Smoothed { values, error_bound, .. } = &mut self.smoothed;
        for (at, row) in rows.iter().enumerate() {
            assert!(error_bound[*row].is_nan(), "row {row} is at home twice");
            (values[*row], error_bound[*row]) = (found.values[at], found.error_bound[at]);
        }
    }
}

/// Some rows of a column and their places.
fn chosen((places, values): Rows, rows: &[usize]) -> (Places, Vec<f64>) {
    (places.select(rows), rows.iter().map(|&row| values[row]).collect())
}

fn rows_of(visits: &[Membership], tile: u32, at_home: bool) -> Vec<usize> {
    visits.iter().filter(|v| v.tile == tile && v.at_home == at_home).map(|v| v.row as usize).collect()
}
