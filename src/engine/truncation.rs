//! Where an engine may cut the kernel.

/// Where the kernel is cut.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Truncation {
    /// Such that no row is wrong by more than this, relative to the range of the values.
    Tolerance(f64),
    /// At this many σ; the certificate reports the error.
    Cutoff(f64),
}
