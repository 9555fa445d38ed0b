//! Between which σ to search: from well below the spacing of the places up to their extent.

use super::trials::Trials;
use super::{Sigmas, Tuner};
use crate::error::Error;
use crate::influence::Influence;
use crate::scene::Cloud;
use crate::score::median;
use crate::space::{EARTH_RADIUS, Metric, Sigma};

/// Smallest σ in spacings: the kernel of a neighbour is then e⁻⁸, so that hardly anything is smoothed.
const OF_SPACING: f64 = 0.25;
/// Largest σ in extents: an average over half of everything.
const OF_EXTENT: f64 = 0.5;
/// Places whose nearest neighbour is looked for, and neighbours along the curve that are looked at on either side.
const SAMPLE: usize = 2000;
const REACH: usize = 8;

impl Tuner {
    /// The range of σ to search.
    pub(super) fn range(&self, trials: &Trials, unit: Sigma) -> Result<(Sigma, Sigma), Error> {
        if let Sigmas::Within(low, high) = self.sigmas {
            return Ok((low, high));
        }
        let length = |of: fn(&Influence) -> f64| trials.influences().map(of).filter(|length| *length > 0.0);
        let spacing = length(spacing).fold(f64::INFINITY, f64::min);
        let extent = length(extent).fold(0.0, f64::max);
        if extent == 0.0 || !spacing.is_finite() {
            let (why, what) =
                if extent == 0.0 { ("at one place", "coordinates") } else { ("alone in their groups", "groups") };
            return Err(Error::Contradiction {
                message: format!("all rows are {why}, so that no sigma is better than another"),
                hint: format!("check the {what}"),
            });
        }
        let one = unit.scaled(1.0 / unit.value())?;
        let high = OF_EXTENT * extent;
        Ok((one.scaled((OF_SPACING * spacing).min(0.5 * high))?, one.scaled(high)?))
    }
}

/// Metres in a unit of the axes, where they are unit vectors.
fn unit_length(metric: Metric) -> f64 {
    if metric == Metric::Sphere { EARTH_RADIUS } else { 1.0 }
}

/// The longest side of the box around all sources.
fn extent(influence: &Influence) -> f64 {
    let layout = &influence.scene().layout;
    let side = |axis: &Vec<f64>| {
        let fold = |start, pick: fn(f64, f64) -> f64| axis.iter().copied().fold(start, pick);
        fold(f64::NEG_INFINITY, f64::max) - fold(f64::INFINITY, f64::min)
    };
    let sides = layout.sources.axes[..layout.metric.dimensions()].iter().map(side);
    unit_length(layout.metric) * sides.fold(0.0, f64::max)
}

/// The median distance from a source place to the nearest other, among those next to it on the curve: at most a little
/// more than the true one, which is all that a lower end of a search needs.
fn spacing(influence: &Influence) -> f64 {
    let layout = &influence.scene().layout;
    let (cloud, dimensions) = (&layout.sources, layout.metric.dimensions());
    let step = cloud.len().div_ceil(SAMPLE).max(1);
    let nearest = |group: &std::ops::Range<usize>| {
        let group = group.clone();
        group.clone().step_by(step).filter_map(move |place| nearest_on_curve(cloud, group.clone(), place, dimensions))
    };
    let distances: Vec<f64> = cloud.groups.iter().flat_map(nearest).collect();
    unit_length(layout.metric) * median(distances).unwrap_or(0.0)
}

fn nearest_on_curve(cloud: &Cloud, group: std::ops::Range<usize>, place: usize, dimensions: usize) -> Option<f64> {
    let near = place.saturating_sub(REACH).max(group.start)..(place + REACH + 1).min(group.end);
    let squared =
        |other: usize| -> f64 { cloud.axes[..dimensions].iter().map(|axis| (axis[other] - axis[place]).powi(2)).sum() };
    near.filter(|&other| other != place).map(squared).reduce(f64::min).map(f64::sqrt)
}
