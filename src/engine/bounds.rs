//! Boxes around places, and their distances.

use serde::{Deserialize, Serialize};

use crate::scene::Cloud;

/// The box around some places, in the axes that span the space.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Bounds {
    pub(super) low: [f64; 3],
    pub(super) high: [f64; 3],
}

impl Bounds {
    pub(super) fn around(cloud: &Cloud, dimensions: usize, places: &(impl Iterator<Item = usize> + Clone)) -> Self {
        let mut bounds = Self { low: [0.0; 3], high: [0.0; 3] };
        for k in 0..dimensions {
            let axis = places.clone().map(|place| cloud.axes[k][place]);
            bounds.low[k] = axis.clone().fold(f64::INFINITY, f64::min);
            bounds.high[k] = axis.fold(f64::NEG_INFINITY, f64::max);
        }
        bounds
    }

    /// The box of one place.
    pub(super) fn at<const A: usize>(place: &[f64; A]) -> Self {
        let corner = std::array::from_fn(|k| place.get(k).copied().unwrap_or(0.0));
        Self { low: corner, high: corner }
    }

    /// The square of the least distance between places of two boxes.
    #[inline]
    pub(super) fn squared_distance(&self, other: &Self) -> f64 {
        (0..3).map(|k| (self.low[k] - other.high[k]).max(other.low[k] - self.high[k]).max(0.0).powi(2)).sum()
    }
}

/// The square of the straight distance.
#[inline]
pub(super) fn squared_distance<const K: usize>(a: &[f64; K], b: &[f64; K]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}
