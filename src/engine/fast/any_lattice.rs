//! The one place that imports every lattice: one type for all of them, and the choice among them.
//!
//! In memory the places are known ([`LatticeProblem`]), and rows that miss the tolerance are summed again. Streamed rows are only counted
//! ([`LatticePlan`]): every row must be certified beforehand. There every target is a source of weight one itself, so that D ≥ 1;
//! `E ≤ ρD + η√(WD) + aW` is within the tolerance for all rows if it is for D = 1, and that is known before any row comes.

use std::ops::{Deref, Range};

use serde::{Deserialize, Serialize};

use super::globe::{GlobeLattice, least_mass};
use super::lattice::{Accuracy, BlockGrid, Bound, CountedRows, Lattice, LatticeCost, Load, POINTS_PER_VOLUME};
use super::plane::PlaneLattice;
use super::sphere::{ChartDemand, ChartProblem, KnownPlaces, SphereLattice, sorted_centres};
use crate::scene::{Curve, Layout};
use crate::space::Metric;

/// A lattice of any kind.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum AnyLattice {
    Plane(PlaneLattice),
    Sphere(Box<SphereLattice>),
    Globe(GlobeLattice),
}

impl Deref for AnyLattice {
    type Target = dyn Lattice;

    fn deref(&self) -> &(dyn Lattice + 'static) {
        match self {
            Self::Plane(lattice) => lattice,
            Self::Sphere(lattice) => &**lattice,
            Self::Globe(lattice) => lattice,
        }
    }
}

/// Known sources and targets of one group that may go through a lattice.
pub(super) struct LatticeProblem<'a> {
    pub(super) layout: &'a Layout,
    pub(super) sources: Range<usize>,
    pub(super) targets: Range<usize>,
    pub(super) accuracy: Accuracy,
    pub(super) tolerance: f64,
}

impl LatticeProblem<'_> {
    /// Blocks to count places in, and the lattice of the plane where that is the one.
    pub(super) fn blocks(&self) -> Option<(BlockGrid, Option<AnyLattice>)> {
        let Layout { metric, curve, .. } = *self.layout;
        if metric == Metric::Sphere {
            return Some((self.accuracy.cells(curve)?, None));
        }
        let lattice = PlaneLattice::design(&self.accuracy, curve, metric.dimensions(), Load::ONE)?;
        Some((lattice.grid, Some(AnyLattice::Plane(lattice))))
    }

    /// The lattice of the sphere for about this many sources and targets that share a cell with a source: charts, or patches of the globe
    /// where σ is too wide for charts.
    pub(super) fn on_sphere(&self, cells: BlockGrid, in_cell: f64) -> Option<AnyLattice> {
        let density = in_cell * (self.accuracy.sigma / cells.side).powi(2) / POINTS_PER_VOLUME;
        let sources = KnownPlaces::exactly(&self.layout.sources, self.sources.clone());
        let targets = KnownPlaces::exactly(&self.layout.targets, self.targets.clone());
        let charts = ChartDemand::new(&self.accuracy, density).and_then(|demand| {
            let smallest = LEAST_HALOS * demand.halo();
            SphereLattice::design(&ChartProblem { demand, sources: &sources, targets: &targets, cells, smallest })
        });
        charts.map(|lattice| AnyLattice::Sphere(Box::new(lattice))).or_else(|| {
            GlobeLattice::design(&sources, &targets, self.accuracy.sigma, self.tolerance).map(AnyLattice::Globe)
        })
    }
}

/// Smallest side of a chart in halos: smaller charts have most of their sources in common with others. Chosen, not measured.
const LEAST_HALOS: f64 = 4.0;
/// The same where rows cannot be summed directly: where σ is wide there are no larger charts. Chosen, not measured.
const LEAST_HALOS_STREAMED: f64 = 0.5;

/// A lattice for rows that are counted, and the bound of its sums.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct LatticePlan {
    /// The curve that rows are sorted along.
    pub(crate) curve: Curve,
    pub(super) lattice: AnyLattice,
    pub(super) bound: Bound,
}

impl LatticePlan {
    /// The cheapest lattice; `None` if none certifies all rows.
    pub(crate) fn new(counted: &CountedRows) -> Option<Self> {
        let windowed = SHARES_TRIED.into_iter().find_map(|part| {
            let accuracy = Accuracy::for_all(counted.sigma, counted.weight, part * counted.tolerance);
            let lay_out = if counted.metric == Metric::Sphere { Self::sphere } else { Self::plane };
            lay_out(counted, &accuracy).filter(|plan| plan.certifies(counted.tolerance, 1.0))
        });
        windowed.or_else(|| Self::globe(counted))
    }

    /// All rows may be in one block, in as many parts as allowed.
    fn with(lattice: AnyLattice, curve: Curve, counted: &CountedRows) -> Self {
        let points = lattice.window_and_load().map_or(0, |(window, _)| counted.points(&window));
        Self { curve, bound: lattice.bound(points, counted.weight), lattice }
    }

    /// Whether rows keep the tolerance that have at least this mass around them.
    fn certifies(&self, tolerance: f64, least: f64) -> bool {
        let error = self.bound.error(least);
        error <= (1.0 - LEFT) * tolerance * (least - error)
    }

    fn plane(counted: &CountedRows, accuracy: &Accuracy) -> Option<Self> {
        let dimensions = counted.metric.dimensions();
        let (low, high) = counted.box_around();
        let curve = Curve::over(low, high, dimensions);
        let load = Load { point: counted.density(), node: 1.0 };
        let lattice = PlaneLattice::design(accuracy, curve, dimensions, load)?;
        Some(Self::with(AnyLattice::Plane(lattice), curve, counted))
    }

    fn sphere(counted: &CountedRows, accuracy: &Accuracy) -> Option<Self> {
        let curve = whole_sphere();
        let demand = ChartDemand::for_all(accuracy, counted.density())?;
        let smallest = (LEAST_HALOS_STREAMED * demand.halo()).max(counted.side);
        let [all, targets] = [false, true].map(|only_targets| sorted_centres(counted, only_targets, curve));
        let [sources, targets] = [&all, &targets].map(|centres| KnownPlaces::in_cubes(centres, counted.side));
        let cells = accuracy.cells(curve)?;
        let lattice =
            SphereLattice::design(&ChartProblem { demand, sources: &sources, targets: &targets, cells, smallest })?;
        Some(Self::with(AnyLattice::Sphere(Box::new(lattice)), curve, counted))
    }

    /// Patches have the same error for all pairs: they are accurate enough if a fair part of all weight is around every row.
    fn globe(counted: &CountedRows) -> Option<Self> {
        let least = if counted.metric == Metric::Sphere { least_mass(counted) } else { 0.0 };
        let plan = Self::with(AnyLattice::Globe(GlobeLattice::for_all(counted, least)?), whole_sphere(), counted);
        plan.certifies(counted.tolerance, least).then_some(plan)
    }

    /// What it takes, by the cubes of the rows; `None` if it is more than this many bytes for each column.
    pub(crate) fn cost(&self, counted: &CountedRows, limit: u64) -> Option<LatticeCost> {
        self.lattice.cost(counted, limit).filter(|cost| cost.bytes <= limit)
    }
}

/// Parts of the tolerance that are aimed at: on the sphere, errors of sampling count far from a row too, and a first aim may miss.
const SHARES_TRIED: [f64; 7] = [1.0, 1.0 / 2.0, 1.0 / 4.0, 1.0 / 8.0, 1.0 / 32.0, 1.0 / 128.0, 1.0 / 512.0];
/// Part of the tolerance that is left for the rounding of averages, which joins their bound afterwards. Chosen, not measured.
const LEFT: f64 = 1.0 / 64.0;

/// A curve around the whole sphere.
fn whole_sphere() -> Curve {
    Curve::over([-1.0; 3], [1.0; 3], 3)
}
