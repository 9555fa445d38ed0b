//! All rows smoothed tile by tile: counted, cut, and each tile on its own.

use geosmooth::partition::{
    Capacity, Census, Checksums, GroupMoments, Membership, Partition, Role, SmoothingProblem, SourceRows, TileGroup,
    TileRole,
};
use geosmooth::{Error, Places, Sigma, Smoothed, SmoothedTile, Smoother};

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
    pub(crate) tile_groups: usize,
}

/// Rows of one role in a tile: their numbers, places and values.
struct Rowed {
    numbers: Vec<usize>,
    places: Places,
    values: Vec<f64>,
}

/// Where every row goes, by role.
type Memberships = (Vec<Membership>, Vec<Membership>);

/// Bytes that lattices have room in.
const ROOM: u64 = 1 << 30;

impl Tiling<'_> {
    /// In tiles of at most so many rows: those to be smoothed and the sources, of which most are both.
    pub(crate) fn smooth(&self, rows: u64) -> Result<Tiled, Error> {
        let capacity = Capacity { bytes: rows, per_target: 1, per_source: 1 };
        self.by(&Partition::new(&self.census()?, &self.problem(), &capacity)?)
    }

    /// The same with tile groups, whose lattices have all the room they want.
    pub(crate) fn smooth_with_tile_groups(&self, rows: u64) -> Result<Tiled, Error> {
        let capacity = Capacity { bytes: ROOM, per_target: ROOM / rows, per_source: ROOM / rows };
        self.by(&Partition::with_tile_groups(&self.census()?, &self.problem(), &capacity)?)
    }

    fn problem(&self) -> SmoothingProblem {
        let (label_weight, tolerance) = (self.label_weight, self.tolerance);
        SmoothingProblem { label_weight, tolerance, ..SmoothingProblem::new(&[self.range()]) }
    }

    fn census(&self) -> Result<Census, Error> {
        let mut census = Census::new(self.sigma, self.targets.0.metric(self.sigma)?, self.cells);
        for (role, (places, values)) in [(Role::ToPredict, self.targets), (Role::Labelled, self.labelled)] {
            census.add(role, &SourceRows::new(places, &[values]))?;
        }
        Ok(census)
    }

    fn by(&self, partition: &Partition) -> Result<Tiled, Error> {
        let memberships = (
            partition.memberships(self.targets.0, Role::ToPredict).unwrap(),
            partition.memberships(self.labelled.0, Role::Labelled).unwrap(),
        );
        let (low, high) = self.range();
        let rows = self.targets.1.len();
        let (values, error_bound) = (vec![None; rows], vec![f64::NAN; rows]);
        let smoothed = Smoothed { values, error_bound, range: (high - low).min(f64::MAX) };
        let (tiles, groups) = (partition.tiles().len(), partition.tile_groups());
        let mut tiled = Tiled { smoothed, tiles, tile_groups: groups.len() };
        for tile in 0..partition.tiles_alone() {
            let rows = TileRole::ALL.map(|role| self.rows(&memberships, tile as u32, role));
            let found = partition.smooth_tile(tile, self.smoother, &rows.each_ref().map(Rowed::sources))?;
            tiled.note(&rows[0].numbers, found);
        }
        groups.iter().try_for_each(|group| self.one_group(&memberships, group, &mut tiled))?;
        Ok(tiled)
    }

    fn rows(&self, (targets, labelled): &Memberships, tile: u32, role: TileRole) -> Rowed {
        let (memberships, (places, values)) = match role.role() {
            Role::ToPredict => (targets, self.targets),
            Role::Labelled => (labelled, self.labelled),
        };
        let here = memberships.iter().filter(|it| it.tile == tile && it.role == role);
        let numbers: Vec<usize> = here.map(|it| it.row as usize).collect();
        Rowed { places: places.select(&numbers), values: numbers.iter().map(|&row| values[row]).collect(), numbers }
    }

    fn one_group(&self, memberships: &Memberships, group: &TileGroup, tiled: &mut Tiled) -> Result<(), Error> {
        let mut moments = GroupMoments::default();
        for tile in group.tiles() {
            for role in TileRole::ALL {
                moments.add(group, tile, role, &self.rows(memberships, tile, role).sources())?;
            }
        }
        let field = moments.field(group)?;
        for tile in group.tiles() {
            let home = self.rows(memberships, tile, TileRole::Home);
            let mut seen = Checksums::default();
            seen.add(Role::ToPredict, &home.sources());
            field.check(tile, &seen)?;
            tiled.note(&home.numbers, field.smooth(group, self.c, &home.sources())?);
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

impl Rowed {
    fn sources(&self) -> SourceRows<'_> {
        SourceRows::new(&self.places, &[&self.values])
    }
}

impl Tiled {
    /// Notes what came of rows, each of which is at home once.
    fn note(&mut self, rows: &[usize], tile: SmoothedTile) {
        // A tile without rows at home has no columns.
        let Some(found) = tile.columns.into_iter().next() else { return };
        let Smoothed { values, error_bound, .. } = &mut self.smoothed;
        for (at, row) in rows.iter().enumerate() {
            assert!(error_bound[*row].is_nan(), "row {row} is at home twice");
            (values[*row], error_bound[*row]) = (found.values[at], found.error_bound[at]);
        }
    }
}
