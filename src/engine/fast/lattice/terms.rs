//! The kernel of a lattice: one Gaussian, or several with weights between sets of columns.

use serde::{Deserialize, Serialize};

use super::window::Load;

/// Gaussians of some variances, each with a weight between every two sets of columns.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Terms {
    /// Sets of columns at either end.
    pub(crate) sets: usize,
    pub(crate) parts: Vec<GaussianPart>,
}

/// One Gaussian of the lattice.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct GaussianPart {
    pub(crate) variance: f64,
    /// The weight from set i of the sources to set j of the targets, j fastest.
    pub(crate) weights: Vec<f64>,
}

impl Terms {
    /// The Gaussian of variance one itself.
    pub(crate) fn gaussian() -> Self {
        Self { sets: 1, parts: vec![GaussianPart { variance: 1.0, weights: vec![1.0] }] }
    }

    /// The variance of the Gaussian, if it is a single one with weight one.
    pub(crate) fn single(&self) -> Option<f64> {
        match self.parts.as_slice() {
            [part] if part.weights == [1.0] => Some(part.variance),
            _ => None,
        }
    }

    pub(crate) fn load(&self) -> Load {
        Load { point: self.sets as f64, node: (self.sets * self.parts.len()) as f64 }
    }

    /// Total size of the weights for |α| and |β| up to `scale_offset`, all sets taken positive.
    pub(crate) fn size(&self, scale_offset: f64) -> f64 {
        let size = |(at, x): (usize, &f64)| x.abs() * scale_offset.powi((at / self.sets + at % self.sets) as i32);
        self.parts.iter().flat_map(|part| part.weights.iter().enumerate()).map(size).sum()
    }

    /// Smallest and largest variance.
    pub(crate) fn variances(&self) -> (f64, f64) {
        let variances = self.parts.iter().map(|part| part.variance);
        (variances.clone().fold(f64::INFINITY, f64::min), variances.fold(0.0, f64::max))
    }
}
