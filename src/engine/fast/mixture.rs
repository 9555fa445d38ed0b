//! The kernel as a sum of few Gaussians of the straight distance.

/// Weights and variances of Gaussians, in σ², that add up to the kernel but for a proven error.
#[derive(Clone, Debug)]
pub(super) struct Mixture {
    pub(super) parts: Vec<(f64, f64)>,
    /// Error as a multiple of √K.
    pub(super) miss: f64,
    /// The parts, all taken positive, add up to at most `near · K + far · √K`.
    pub(super) near: f64,
    pub(super) far: f64,
    /// What is left beyond the farthest distance at which the above was shown.
    pub(super) beyond: f64,
    /// Variance of the Gaussian that √K is at least, in σ².
    pub(super) root: f64,
}

impl Mixture {
    /// The Gaussian itself.
    pub(super) fn gaussian() -> Self {
        Self { parts: vec![(1.0, 1.0)], miss: 0.0, near: 1.0, far: 0.0, beyond: 0.0, root: 2.0 }
    }

    /// The Gaussian of the great-circle distance, σ in radians.
    pub(super) fn of_arcs(_sigma: f64, _miss: f64) -> Option<Self> {
        None
    }

    /// Total size of the weights.
    pub(super) fn amount(&self) -> f64 {
        self.parts.iter().map(|(weight, _)| weight.abs()).sum()
    }

    pub(super) fn variances(&self) -> (f64, f64) {
        let variances = self.parts.iter().map(|(_, variance)| *variance);
        (variances.clone().fold(f64::INFINITY, f64::min), variances.fold(0.0, f64::max))
    }
}
