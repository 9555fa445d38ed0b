//! The design of charts of one size: their blocks, window and expansion, with errors and cost.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::chart::ChartGrid;
use super::error_norm::ErrorNorm;
use super::expansion::{Expansion, Extent};
use super::mixture::Mixture;
use crate::engine::fast::lattice::{Accuracy, Bound, Load, Window, WindowDemand};

/// Sides of blocks that are tried, in σ, each larger than the one before by this factor. Chosen, not measured.
const SIDES: Range<f64> = 1.5..14.0;
const NEXT_SIDE: f64 = 1.1;
/// Smallest `scale_offset`: it keeps divisions by it finite, and no chart that pays is smaller. Chosen, not measured.
const LEAST_OFFSET: f64 = 1e-6;
/// Most blocks from the centre of a chart to its edge: their numbers are 32-bit.
const MOST_BLOCKS: f64 = 1e9;
/// Roundings besides those of the lattice itself: 16 of scales and directions, which change distances and so count as often as the
/// decay, 50 at 10 σ; and 64 of powers and factors.
const ROUNDINGS: f64 = 50.0 * 16.0 + 64.0;

/// Part of the relative error that the expansion may use; the rest is for sampling. Chosen, not measured.
const EXPANDING_SHARE: f64 = 0.5;
/// Part of the error of the expansion that the mixture of chords may use. Chosen, not measured.
const MIXTURE_SHARE: f64 = 0.7;

/// What a multiplication at a node costs next to one at a point, which also loads and stores. Estimated, not measured.
const NODE: f64 = 0.3;

/// By how much the accuracy of charts is relaxed at most where points are dense: rows with a few sources around them are still
/// certified. Chosen, not measured.
const MOST_RELAXED: f64 = 3.0;

/// The kernel that charts must reproduce, and how accurately.
#[derive(Clone, Debug)]
pub(crate) struct ChartDemand {
    /// σ in radians.
    sigma: f64,
    /// Relative error of the sampling.
    relative: f64,
    /// Everything else, as a multiple of √K.
    root: f64,
    /// The norm of the error of the expansion, which may use half of the above.
    norm: ErrorNorm,
    mixture: Mixture,
    /// Sources with a smaller kernel than this need not be on a chart.
    left_out: f64,
    /// Points in σ² where they are dense, relative to where a lattice starts to pay.
    density: f64,
}

impl ChartDemand {
    /// For points of this density, relative to where a lattice starts to pay.
    pub(crate) fn new(accuracy: &Accuracy, density: f64) -> Option<Self> {
        // Where points are dense, isolated rows are few and may be summed directly.
        let root = accuracy.root * (1.0 + 0.25 * density).sqrt().min(MOST_RELAXED);
        Self::for_all(&Accuracy { root, ..*accuracy }, density)
    }

    /// The same where all rows are certified by the charts. The expansion may use a part of the relative error.
    pub(crate) fn for_all(accuracy: &Accuracy, density: f64) -> Option<Self> {
        let Accuracy { sigma, relative, root, left_out } = *accuracy;
        let norm = ErrorNorm::new(2.0 * EXPANDING_SHARE * relative / root);
        let mixture = Mixture::of_arcs(sigma, &norm, 0.5 * MIXTURE_SHARE * root)?;
        Some(Self { sigma, relative: (1.0 - EXPANDING_SHARE) * relative, root, norm, mixture, left_out, density })
    }

    /// How far from its targets a chart takes sources, in radians.
    pub(crate) fn halo(&self) -> f64 {
        self.sigma * (-2.0 * self.left_out.ln()).max(0.0).sqrt()
    }
}

/// What all charts have in common.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ChartDesign {
    pub(crate) grid: ChartGrid,
    pub(crate) window: Window,
    pub(crate) expansion: Expansion,
    /// κ of the norm that the expansion is measured by.
    near: f64,
    /// Largest kernel of sources that are not on a chart.
    pub(crate) left_out: f64,
}

impl ChartDesign {
    /// The cheapest one for charts of this radius, an angle.
    pub(crate) fn new(task: &ChartDemand, radius: f64) -> Option<Self> {
        let sigma = task.sigma;
        let square = (0.5 * radius.min(2.0)).tan().powi(2);
        // Scales from 1 to 1 + square, and the middle between them.
        let scale = 1.0 + 0.5 * square;
        let scale_offset = (0.5 * square / scale * (1.0 + 1e-9)).max(LEAST_OFFSET);
        let extent = Extent { sigma, scale_offset, radius: 2.0 * square.sqrt() };
        let expansion = Expansion::new(&extent, &task.mixture, &task.norm, 0.5 * task.root)?;
        let demand = WindowDemand {
            dimensions: 2,
            sampling: task.relative / expansion.near,
            truncation: task.root / expansion.amount,
            variances: expansion.terms.variances(),
            root: expansion.root,
            scale_offset,
            load: crowded(&expansion, task),
        };
        let unit = sigma * scale;
        let sides = std::iter::successors(Some(SIDES.start), |side| Some(side * NEXT_SIDE));
        let (window, side) = sides
            .take_while(|side| SIDES.contains(side))
            .map(|side| few_digits(side * unit))
            .filter_map(|side| Window::design(side / unit, &demand).map(|window| (window, side)))
            .min_by(|a, b| a.0.cost(demand.load).total_cmp(&b.0.cost(demand.load)))?;
        let grid = ChartGrid { scale, side, nodes: window.nodes };
        let (near, left_out) = (task.norm.near, task.left_out);
        (extent.radius < MOST_BLOCKS * side).then_some(Self { grid, window, expansion, near, left_out })
    }

    /// Work for the points and nodes of one σ².
    pub(crate) fn cost(&self, task: &ChartDemand) -> f64 {
        self.window.cost(crowded(&self.expansion, task))
    }

    /// Relative error of sampling and rounding, with at most this many points in a block.
    pub(crate) fn sampling(&self, points: usize) -> f64 {
        let window = &self.window;
        // The exponents of windows, each right to some units in the last place.
        let largest = 0.125 * (window.step * window.taps as f64).powi(2) / window.narrow();
        let roundings = window.roundings() + window.additions(points) + 4.0 * 10.0 * largest + ROUNDINGS;
        self.expansion.near * (window.sampling + self.expansion.in_all * roundings * 0.5 * f64::EPSILON)
    }

    /// The bound of sums on these charts, with at most this many points in one block.
    pub(crate) fn bound(&self, points: usize, weight: f64) -> Bound {
        let (sampling, expansion) = (self.sampling(points), &self.expansion);
        let root = self.root() + expansion.far * sampling;
        // The error of the expansion is one of the norm: it has a relative part, too.
        let relative = sampling + self.near * expansion.miss;
        Bound { relative, root, absolute: expansion.beyond + self.left_out, weight }
    }

    /// Error of the expansion and of truncation, as a multiple of √K.
    pub(crate) fn root(&self) -> f64 {
        self.expansion.miss + self.expansion.amount * self.window.truncation
    }
}

fn crowded(expansion: &Expansion, task: &ChartDemand) -> Load {
    let load = expansion.terms.load();
    Load { point: load.point * task.density, node: load.node * NODE }
}

/// A number with sixteen binary digits of its mantissa.
fn few_digits(x: f64) -> f64 {
    f64::from_bits(x.to_bits() & !((1 << 36) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demand(sigma: f64) -> Option<ChartDemand> {
        ChartDemand::for_all(&Accuracy { sigma, relative: 3e-7, root: 6e-10, left_out: 1e-13 }, 1.0)
    }

    #[test]
    fn a_design_keeps_what_it_is_asked_for() {
        for (kilometres, radius) in [(0.1, 0.5), (1.0, 0.3), (10.0, 0.45), (100.0, 0.3)] {
            let task = demand(kilometres / 6371.0).expect("a mixture");
            let design = ChartDesign::new(&task, radius).expect("a chart of a continent");
            assert!(design.sampling(1000) < 1.1 * task.relative && design.root() < 1.7 * task.root, "{design:?}");
            assert!(design.near * design.expansion.miss <= 0.5 * task.root * task.norm.near, "{design:?}");
            // Corners of blocks are exact.
            assert_eq!(few_digits(design.grid.side).to_bits() & 0xF_FFFF_FFFF, 0);
        }
        assert!(demand(0.5).is_none_or(|task| ChartDesign::new(&task, 0.5).is_none()));
    }
}
