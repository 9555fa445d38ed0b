//! The one place that imports every lattice: the choice for places in memory, and one type for all of them.

use std::ops::{Deref, Range};

use serde::{Deserialize, Serialize};

use super::globe::GlobeLattice;
use super::lattice::{Accuracy, BlockGrid, Lattice, Load, POINTS_PER_VOLUME};
use super::plane::PlaneLattice;
use super::sphere::{ChartDemand, ChartProblem, KnownPlaces, SphereLattice};
use crate::scene::Layout;
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
