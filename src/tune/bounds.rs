//! The default range of σ to search: from well below the spacing of the places up to their extent.

use std::ops::Range;

use super::trials::Trials;
use super::{Sigmas, Tuner};
use crate::error::Error;
use crate::influence::Influence;
use crate::scene::Cloud;
use crate::score::median;
use crate::space::{EARTH_RADIUS, Metric, Sigma};

/// The smallest σ, as a fraction of the spacing: the kernel at one spacing is then e⁻⁸, so that hardly anything is smoothed.
const OF_SPACING: f64 = 0.25;
/// The largest σ, as a fraction of the extent: an average over about half of all rows.
const OF_EXTENT: f64 = 0.5;
/// Places whose nearest neighbour is searched, and places to compare on either side along the curve. Chosen, not measured.
const SAMPLE: usize = 2000;
const REACH: usize = 8;

impl Tuner {
    /// The range of σ to search.
    pub(super) fn range(&self, trials: &Trials, unit: Sigma) -> Result<(Sigma, Sigma), Error> {
        if let Sigmas::Within(low, high) = self.sigmas {
            return Ok((low, high));
        }
        let spacings = trials.influences().map(spacing).filter(|spacing| *spacing > 0.0);
        let spacing = spacings.fold(f64::INFINITY, f64::min);
        let extent = trials.influences().map(extent).fold(0.0, f64::max);
        if extent == 0.0 || !spacing.is_finite() {
            let (why, what) =
                if extent == 0.0 { ("at one place", "coordinates") } else { ("alone in their groups", "groups") };
            return Err(Error::Contradiction {
                message: format!("all rows are {why}, so that all values of sigma give the same result"),
                hint: format!("check the {what}"),
            });
        }
        let one = unit.scaled(1.0 / unit.value())?;
        let high = OF_EXTENT * extent;
        Ok((one.scaled((OF_SPACING * spacing).min(0.5 * high))?, one.scaled(high)?))
    }
}

/// The length of a unit of the axes, in the unit of σ: on the sphere the axes are those of unit vectors.
fn unit_length(metric: Metric) -> f64 {
    if metric == Metric::Sphere { EARTH_RADIUS } else { 1.0 }
}

/// The longest side of the box around all sources.
fn extent(influence: &Influence) -> f64 {
    let layout = &influence.scene().layout;
    let sides = layout.sources.axes[..layout.metric.dimensions()].iter().map(|axis| side(axis));
    unit_length(layout.metric) * sides.fold(0.0, f64::max)
}

fn side(axis: &[f64]) -> f64 {
    let high = axis.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    high - axis.iter().copied().fold(f64::INFINITY, f64::min)
}

/// The median distance from a source place to its nearest neighbour. Only places close along the curve are compared, so that the
/// result may be a little too large; for the lower end of a search this is good enough.
fn spacing(influence: &Influence) -> f64 {
    let layout = &influence.scene().layout;
    let (cloud, dimensions) = (&layout.sources, layout.metric.dimensions());
    let step = cloud.len().div_ceil(SAMPLE).max(1);
    let mut distances = Vec::new();
    for group in &cloud.groups {
        let sample = group.clone().step_by(step);
        distances.extend(sample.filter_map(|place| nearest_on_curve(cloud, group, place, dimensions)));
    }
    unit_length(layout.metric) * median(distances).unwrap_or(0.0)
}

fn nearest_on_curve(cloud: &Cloud, group: &Range<usize>, place: usize, dimensions: usize) -> Option<f64> {
    let near = place.saturating_sub(REACH).max(group.start)..(place + REACH + 1).min(group.end);
    let axes = &cloud.axes[..dimensions];
    let others = near.filter(|&other| other != place);
    let squares = others.map(|other| axes.iter().map(|axis| (axis[other] - axis[place]).powi(2)).sum::<f64>());
    squares.reduce(f64::min).map(f64::sqrt)
}
