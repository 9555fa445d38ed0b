//! Plans a lattice from cell counts for streamed rows. Every row must be certified beforehand; none can be summed again.
//!
//! Every target is a source of weight one itself, so that D ≥ 1. `E ≤ ρD + η√(WD) + aW` is within the tolerance for all rows if it is for
//! D = 1, and that is known before any row comes.

use serde::{Deserialize, Serialize};

use super::any_lattice::AnyLattice;
use super::globe::{GlobeLattice, least_mass};
use super::lattice::{Accuracy, Bound, CountedRows, LatticeCost, Load, Sheets, Windowed};
use super::plane::PlaneLattice;
use super::sphere::{ChartDemand, ChartProblem, KnownPlaces, SphereLattice, sorted_centres};
use crate::scene::Curve;
use crate::space::Metric;

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
        Some(Self { bound: bound(&lattice, counted), curve, lattice: AnyLattice::Plane(lattice) })
    }

    fn sphere(counted: &CountedRows, accuracy: &Accuracy) -> Option<Self> {
        let curve = whole_sphere();
        let demand = ChartDemand::for_all(accuracy, counted.density())?;
        let smallest = (LEAST_HALOS * demand.halo()).max(counted.side);
        let [all, targets] = [false, true].map(|only_targets| sorted_centres(counted, only_targets, curve));
        let [sources, targets] = [&all, &targets].map(|centres| KnownPlaces::in_cubes(centres, counted.side));
        let cells = accuracy.cells(curve)?;
        let lattice =
            SphereLattice::design(&ChartProblem { demand, sources: &sources, targets: &targets, cells, smallest })?;
        Some(Self { bound: bound(&lattice, counted), curve, lattice: AnyLattice::Sphere(Box::new(lattice)) })
    }

    /// Patches have the same error for all pairs: they are accurate enough if a fair part of all weight is around every row.
    fn globe(counted: &CountedRows) -> Option<Self> {
        let least = if counted.metric == Metric::Sphere { least_mass(counted) } else { 0.0 };
        let lattice = GlobeLattice::for_all(counted, least)?;
        let bound = lattice.bound(0, counted.weight);
        let plan = Self { bound, curve: whole_sphere(), lattice: AnyLattice::Globe(lattice) };
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
/// Smallest side of a chart in halos. Small charts have most of their sources in common with others, but where σ is wide there are no
/// larger ones. Chosen, not measured.
const LEAST_HALOS: f64 = 0.5;

/// The bound where all rows may be in one block, in as many parts as allowed.
fn bound(lattice: &impl Windowed, counted: &CountedRows) -> Bound {
    lattice.bound(counted.points(lattice.window()), counted.weight)
}

/// A curve around the whole sphere.
fn whole_sphere() -> Curve {
    Curve::over([-1.0; 3], [1.0; 3], 3)
}
