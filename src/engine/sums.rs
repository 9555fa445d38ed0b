//! The result of every engine: the sums of one kernel at each target place.

/// The sums of one kernel at each target place.
///
/// The sums of a row very far from every source would underflow. They are scaled: the true sums are those here
/// times `2^exponent`. Ratios are not affected.
#[derive(Clone, Debug, Default)]
pub struct Sums {
    /// `D`: the kernel mass, 0 where there is no source at all.
    pub mass: Vec<f64>,
    /// `N` for each value column.
    pub values: Vec<Vec<f64>>,
    /// `E`: a bound on the mass of the kernel's error, truncation and rounding together.
    pub error: Vec<f64>,
    /// The power of two that scales all of the above, a whole number; 0 for almost every place.
    pub exponent: Vec<f64>,
}

impl Sums {
    /// Zeros for this many places and value columns.
    pub(super) fn zero(places: usize, columns: usize) -> Self {
        // Not one vector and its clones: those would write zeros to memory that is zero.
        let [mass, error, exponent] = [(); 3].map(|()| vec![0.0; places]);
        Self { mass, values: (0..columns).map(|_| vec![0.0; places]).collect(), error, exponent }
    }
}
