//! The required accuracy of a lattice: what part of the tolerance each of its errors may use up.

use std::ops::Range;

use super::blocks::BlockGrid;
use super::window::{Load, Window, WindowDemand};
use crate::scene::{Curve, Scene};

/// Part of the tolerance that sampling may use up. The truncation takes at most half for a row of one source; the rest is for boxes that
/// direct sums leave out. Chosen, not measured: coarser nodes save more than larger parts for the others.
const SAMPLING_SHARE: f64 = 0.375;
/// The same for truncation where no row can be summed again. On the sphere up to one and a half times as much is used. Chosen, not measured.
const ROOT_SHARE: f64 = 0.25;
/// The same for sources that are too far from a chart to be on it, for a row with at least its own weight around it. Chosen, not measured.
const LEFT_OUT_SHARE: f64 = 1.0 / 32.0;
/// Sides of blocks that are tried, in σ. Chosen, not measured.
const SIDES: Range<f64> = 1.5..14.0;
/// On the sphere, where charts have blocks of their own, sources are counted in cubes of at most this side, in σ. Chosen, not measured.
const CUBE: f64 = 6.0;

/// The accuracy that a lattice must have.
pub(crate) struct Accuracy {
    /// σ in the unit of the axes.
    pub(crate) sigma: f64,
    /// Largest relative error of the sampling.
    pub(crate) relative: f64,
    /// Largest error of the truncation, as a multiple of √K.
    pub(crate) root: f64,
    /// Largest kernel of sources that are left out.
    pub(crate) left_out: f64,
}

impl Accuracy {
    pub(crate) fn new(scene: &Scene, sources: usize, weight: f64, tolerance: f64) -> Self {
        let sigma = (0.5 * std::f64::consts::LOG2_E / scene.scale).sqrt();
        // A row with a few sources of the usual weight around it will still be certified.
        let root = tolerance / (2.0 * (sources as f64).sqrt());
        Self { sigma, root, ..Self::for_all(sigma, weight, tolerance) }
    }

    /// Such that every row is certified that is a source of weight one itself, even without any other source near it.
    pub(crate) fn for_all(sigma: f64, weight: f64, tolerance: f64) -> Self {
        Self {
            sigma,
            relative: SAMPLING_SHARE * tolerance,
            root: ROOT_SHARE * tolerance / weight.sqrt(),
            left_out: LEFT_OUT_SHARE * tolerance / weight,
        }
    }

    /// The blocks and the window of the cheapest lattice in the plane or in space.
    pub(crate) fn window(&self, curve: Curve, dimensions: usize, load: Load) -> Option<(BlockGrid, Window)> {
        let demand = WindowDemand {
            dimensions,
            sampling: self.relative,
            truncation: self.root,
            variances: (1.0, 1.0),
            root: 2.0,
            scale_offset: 0.0,
            load,
        };
        let (window, side) = (0..5)
            .map(|double| self.level(curve, SIDES.start) * f64::from(double).exp2())
            .filter(|side| SIDES.contains(&(side / self.sigma)))
            .filter_map(|side| Window::design(side / self.sigma, &demand).map(|window| (window, side)))
            .min_by(|a, b| a.0.cost(load).total_cmp(&b.0.cost(load)))?;
        Some((BlockGrid { curve, dimensions, side }, window))
    }

    /// Cubes in which places of the sphere are counted and compared with what a chart reaches; `None` if σ is below the smallest.
    pub(crate) fn cells(&self, curve: Curve) -> Option<BlockGrid> {
        let side = self.level(curve, CUBE);
        (side <= CUBE * self.sigma).then_some(BlockGrid { curve, dimensions: 3, side })
    }

    /// The largest side of cubes of the curve up to this many σ, or that of its smallest.
    fn level(&self, curve: Curve, sigmas: f64) -> f64 {
        curve.side() * (sigmas * self.sigma / curve.side()).log2().floor().max(0.0).exp2()
    }
}
