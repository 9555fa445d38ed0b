//! σ so wide that halos would hold everything: rows go by in two passes, and only what they add up to at the nodes of lattices is kept.
//!
//! A [`Blueprint`] lays out the lattices from a [`Census`]. In the first pass every part of the rows adds its [`Moments`], in any number of places
//! at once; joined, they become a [`Field`], which smooths the rows of the second pass. The promise is that of all rows together.

use serde::{Deserialize, Serialize};

use super::cells::CountedCells;
use super::census::{Census, Count, Role, width};
use crate::engine::{self, CountedRows, LatticePlan, MOST_PARTS, RowSums, Sums};
use crate::error::Error;
use crate::points::Places;
use crate::scene::{Own, Scene};
use crate::smoother::{Blending, SmoothedTile, check_values, effective_sources};
use crate::space::Sigma;
use crate::span::Span;

/// Lattices for rows that are counted but not at hand.
///
/// # Examples
/// ```
/// use geosmooth::partition::{Blueprint, Census, Moments, Role};
/// use geosmooth::{Places, Sigma};
///
/// let sigma = Sigma::index(10.0)?;
/// let part = |start: u32| Places::index(vec![(start..start + 500).map(|i| f64::from(i) * 0.1).collect()]);
/// let values = |start: u32| (start..start + 500).map(|i| f64::from(i % 7)).collect::<Vec<f64>>();
///
/// let mut census = Census::new(sigma, part(0)?.metric(sigma)?, Census::MOST_CELLS);
/// let mut moments = Moments::default();
/// census.add(&part(0)?, Role::ToPredict)?;
/// census.add(&part(500)?, Role::ToPredict)?;
/// let blueprint = Blueprint::new(&census, sigma, 1.0, 1e-6, &[(0.0, 6.0)], u64::MAX).expect("one fits");
/// for start in [0, 500] {
///     moments.add(&blueprint, &part(start)?, Role::ToPredict, &[&values(start)])?;
/// }
/// let field = moments.field(&blueprint);
/// let smoothed = field.smooth(&blueprint, 1.0, &part(500)?, &[&values(500)])?;
/// assert!((smoothed.columns[0].values[250].unwrap() - 3.0).abs() < 0.1);
/// assert!(smoothed.columns[0].error_bound[250] < 6e-6);
/// # Ok::<(), geosmooth::Error>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Blueprint {
    sigma: Sigma,
    label_weight: f64,
    tolerance: f64,
    /// The lowest and the highest value of each column over all sources.
    ranges: Vec<(f64, f64)>,
    sums: LatticePlan,
    /// For the squares of kernels and weights, if effective sources are wanted.
    squares: Option<LatticePlan>,
    rows: u64,
    /// What sources that are not counted here carry to a row at most.
    beyond: f64,
    bytes: u64,
    multiplications: f64,
}

impl Blueprint {
    /// Lays out lattices for all rows that were counted. The ranges are those of each column of predictions, labels included. `None` if no
    /// lattice certifies all rows, or they would take more bytes than this.
    #[must_use]
    pub fn new(
        census: &Census,
        sigma: Sigma,
        label_weight: f64,
        tolerance: f64,
        ranges: &[(f64, f64)],
        limit: u64,
    ) -> Option<Self> {
        Self::over(&CountedCells::of(census), sigma, label_weight, tolerance, ranges, limit)
    }

    /// The same for some cells.
    pub(super) fn over(
        counted_cells: &CountedCells,
        sigma: Sigma,
        label_weight: f64,
        tolerance: f64,
        ranges: &[(f64, f64)],
        limit: u64,
    ) -> Option<Self> {
        let laid = laid_out(counted_cells, sigma, label_weight, tolerance, 1 + ranges.len(), limit)?;
        let (ranges, PlannedLattice { plan, bytes, multiplications }) = (ranges.to_vec(), laid);
        Some(Self {
            sigma,
            label_weight,
            tolerance,
            ranges,
            sums: plan,
            squares: None,
            rows: counted_cells.count().all(),
            beyond: 0.0,
            bytes,
            multiplications,
        })
    }

    /// The same with lattices for the effective number of sources behind each row, within so many bytes in all.
    #[must_use]
    pub fn with_n_effective(self, census: &Census, limit: u64) -> Option<Self> {
        self.with_squares(&CountedCells::of(census), limit)
    }

    pub(super) fn with_squares(mut self, counted_cells: &CountedCells, limit: u64) -> Option<Self> {
        let (sigma, weight) = (self.sigma.scaled(0.5_f64.sqrt()).ok()?, self.label_weight * self.label_weight);
        let left = limit.checked_sub(self.bytes)?;
        let PlannedLattice { plan, bytes, multiplications } =
            laid_out(counted_cells, sigma, weight, self.tolerance, 1, left)?;
        self.squares = Some(plan);
        self.bytes += bytes;
        self.multiplications += multiplications;
        Some(self)
    }

    /// The same where sources that are not counted here carry so much to a row at most.
    pub(super) fn with_beyond(self, beyond: f64) -> Self {
        Self { beyond, ..self }
    }

    /// Bytes that moments and fields take, about.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Multiplications of the whole job, about.
    #[must_use]
    pub fn multiplications(&self) -> f64 {
        self.multiplications
    }

    fn scene(&self, plan: &LatticePlan, targets: &Places, sources: &[(&Places, f64)]) -> Result<Scene, Error> {
        Scene::along(Some(plan.curve()), self.sigma, targets, sources, Own::Counts)
    }

    fn spans(&self) -> Vec<Span> {
        self.ranges.iter().map(|(low, high)| Span::between(*low, *high)).collect()
    }
}

/// A pattern and what it takes.
struct PlannedLattice {
    plan: LatticePlan,
    bytes: u64,
    multiplications: f64,
}

/// The pattern for a label weight and so many columns, the mass being one, if it fits.
fn laid_out(
    counted_cells: &CountedCells,
    sigma: Sigma,
    label_weight: f64,
    tolerance: f64,
    columns: usize,
    limit: u64,
) -> Option<PlannedLattice> {
    let (count, sigma) = (counted_cells.count(), width(sigma, counted_cells.metric));
    let weight = |count: Count| count.to_predict as f64 + label_weight * count.labelled as f64;
    let (cubes, side) = counted_cells.cubes(sigma, weight, limit)?;
    let rows = CountedRows {
        metric: counted_cells.metric,
        sigma,
        tolerance,
        weight: weight(count),
        rows: count.all(),
        cubes: &cubes,
        side,
        groups: counted_cells.groups(),
    };
    let plan = LatticePlan::new(&rows)?;
    // Groups have lattices of their own, which may be as large as one for all of them.
    let times = (columns * counted_cells.groups()) as u64;
    let cost = plan.cost(&rows, limit / times)?;
    let bytes = cost.bytes * times;
    let rows = (count.all() + counted_cells.read()) as f64;
    let multiplications = columns as f64 * (cost.row * rows + cost.nodes);
    Some(PlannedLattice { plan, bytes, multiplications })
}

/// What sources add up to, so far.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Moments {
    sums: engine::NodeMoments,
    squares: engine::NodeMoments,
    /// Parts that came one after the other: sums at a node have been added to so often.
    parts: usize,
}

impl Moments {
    /// Adds some rows, with a column for each range of the blueprint if they are to be predicted and the labels otherwise.
    ///
    /// # Errors
    /// If columns differ in number or length or have values that are not finite, σ does not fit the places, or the rows come in more parts than
    /// were counted on.
    pub fn add(&mut self, blueprint: &Blueprint, places: &Places, role: Role, columns: &[&[f64]]) -> Result<(), Error> {
        self.add_rows(blueprint, places, role, role == Role::ToPredict, columns)
    }

    /// Adds rows to predict that are not smoothed by this blueprint: guests of a [`TileGroup`](super::Crowd).
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn add_guests(&mut self, blueprint: &Blueprint, places: &Places, columns: &[&[f64]]) -> Result<(), Error> {
        self.add_rows(blueprint, places, Role::ToPredict, false, columns)
    }

    fn add_rows(
        &mut self,
        blueprint: &Blueprint,
        places: &Places,
        role: Role,
        targets: bool,
        columns: &[&[f64]],
    ) -> Result<(), Error> {
        let (weight, of_role, what) = match role {
            Role::ToPredict => (1.0, blueprint.ranges.len(), "prediction"),
            Role::Labelled => (blueprint.label_weight, 1, "label"),
        };
        if columns.len() != of_role {
            return Err(Error::Length { what: "the columns of a part", found: columns.len(), expected: of_role });
        }
        columns.iter().try_for_each(|values| check_values(what, values, places.len()))?;
        if weight == 0.0 || places.is_empty() {
            return Ok(());
        }
        self.parts = check_parts(self.parts + 1)?;
        let (nowhere, groups) = (places.select(&[]), groups_of(places));
        let scene = blueprint.scene(&blueprint.sums, &nowhere, &[(places, weight)])?;
        let gathered: Vec<Vec<f64>> = blueprint
            .spans()
            .iter()
            .enumerate()
            .map(|(k, span)| scene.gather(&[columns[k.min(of_role - 1)]], |value| span.to_unit(value)))
            .collect();
        let all: Vec<&[f64]> = std::iter::once(&scene.mass).chain(&gathered).map(Vec::as_slice).collect();
        self.sums.add(&blueprint.sums, &scene, &groups, &all, targets);
        if let Some(plan) = &blueprint.squares {
            let scene = blueprint.scene(plan, &nowhere, &[(places, weight * weight)])?;
            self.squares.add(plan, &scene, &groups, &[&scene.mass], targets);
        }
        Ok(())
    }

    /// Adds what others have added up by the same blueprint.
    ///
    /// # Errors
    /// If rows come in more parts than were counted on.
    pub fn join(&mut self, other: Self) -> Result<(), Error> {
        self.parts = check_parts(self.parts.max(other.parts) + 1)?;
        self.sums.join(other.sums);
        self.squares.join(other.squares);
        Ok(())
    }

    /// Bytes that they take.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.sums.bytes() + self.squares.bytes()
    }

    /// What all sources together give wherever there are rows to predict.
    #[must_use]
    pub fn field(self, blueprint: &Blueprint) -> Field {
        let squares = blueprint.squares.as_ref().map(|plan| self.squares.field(plan, 1));
        Field { sums: self.sums.field(&blueprint.sums, 1 + blueprint.ranges.len()), squares }
    }
}

fn check_parts(parts: usize) -> Result<usize, Error> {
    if parts <= MOST_PARTS {
        return Ok(parts);
    }
    Err(Error::Parameter {
        name: "number of parts that rows come in",
        value: parts.to_string(),
        expected: "at most 16384: join some before they are added",
    })
}

/// The groups of some rows, ascending, each once.
fn groups_of(places: &Places) -> Vec<u32> {
    let mut groups: Vec<u32> =
        if places.has_groups() { (0..places.len()).map(|row| places.group(row)).collect() } else { vec![0] };
    groups.sort_unstable();
    groups.dedup();
    groups
}

/// What all sources give to the nodes that rows to predict read.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Field {
    sums: engine::NodeField,
    squares: Option<engine::NodeField>,
}

impl Field {
    /// Bytes that it takes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.sums.bytes() + self.squares.as_ref().map_or(0, engine::NodeField::bytes)
    }

    /// Smooths some of the rows to predict.
    ///
    /// # Errors
    /// If columns differ in number or length or have values that are not finite, σ does not fit the places, or a row is where none was added.
    pub fn smooth(
        &self,
        blueprint: &Blueprint,
        c: f64,
        places: &Places,
        predictions: &[&[f64]],
    ) -> Result<SmoothedTile, Error> {
        if predictions.len() != blueprint.ranges.len() {
            let (found, expected) = (predictions.len(), blueprint.ranges.len());
            return Err(Error::Length { what: "the columns of a part", found, expected });
        }
        predictions.iter().try_for_each(|values| check_values("prediction", values, places.len()))?;
        let groups = groups_of(places);
        let scene = blueprint.scene(&blueprint.sums, places, &[])?;
        let mut sums = self.sums.sums(&blueprint.sums, &scene, &groups, 1 + predictions.len());
        sums.error.iter_mut().for_each(|error| *error += blueprint.beyond);
        let rows = &scene.layout.target_of_row;
        // Every row is a source of weight one itself: less means that it was not among them.
        if let Some(row) = rows.iter().position(|place| sums.mass[*place as usize] < 0.5) {
            return Err(Error::Uncounted { row });
        }
        let column = |(k, (predictions, span)): (usize, (&&[f64], &Span))| {
            Blending::new(c, span).rows(predictions, rows, &sums, k)
        };
        let columns = predictions.iter().zip(&blueprint.spans()).enumerate().map(column).collect();
        let effective = |(field, plan): (&engine::NodeField, &LatticePlan)| {
            let scene = blueprint.scene(plan, places, &[])?;
            let squares = field.sums(plan, &scene, &groups, 1);
            let of = |place: &u32, sums: &Sums| RowSums::at(*place as usize, sums, None);
            // Both scenes have one place for equal rows, but perhaps not in the same order.
            let rows = rows.iter().zip(&scene.layout.target_of_row);
            let most = blueprint.rows as f64;
            Ok(rows.map(|(place, squared)| effective_sources(of(place, &sums), of(squared, &squares), most)).collect())
        };
        let n_effective = self.squares.as_ref().zip(blueprint.squares.as_ref()).map(effective).transpose()?;
        Ok(SmoothedTile { columns, n_effective })
    }
}
