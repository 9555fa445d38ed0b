//! The norm in which errors of kernels on the sphere are measured.

/// Highest order of Laguerre's polynomials that is used: no expansion takes more parts. Chosen, not measured.
pub(crate) const MOST_ORDERS: usize = 12;
/// Where they are evaluated: so often in each unit, and up to beyond the last zero, which is below 4m + 2. How often was chosen, not measured.
const LOOKS: u32 = 250;
const LAST_LOOK: u32 = 60;

/// √K + κK, K being the kernel. Far away the first is larger, nearby the second: an error that is small next to K does no harm there.
/// An error that is a multiple of it adds up to at most this multiple of `√(W D) + κD`.
#[derive(Clone, Debug)]
pub(crate) struct ErrorNorm {
    /// κ.
    pub(crate) near: f64,
    /// For each order m a constant C with `|Lₘ(x)| exp(−x) ≤ C (exp(−x/2) + κ exp(−x))` for all x ≥ 0, Lₘ being Laguerre's polynomial.
    pub(crate) laguerre: [f64; MOST_ORDERS + 1],
}

impl ErrorNorm {
    pub(crate) fn new(near: f64) -> Self {
        Self { near, laguerre: laguerre(near) }
    }

    /// Its length where √K is this, next to √K.
    pub(crate) fn per_root(&self, root: f64) -> f64 {
        1.0 + self.near * root
    }
}

/// `|Lₘ| ≤ exp(x/2)`, so that one is always enough. Since `|Lₘ′| ≤ m exp(x/2)`, it grows between two looks by at most m times their distance; and
/// beyond all zeros `|Lₘ|` is at most xᵐ/m!, which falls behind exp(x/2).
fn laguerre(near: f64) -> [f64; MOST_ORDERS + 1] {
    let mut constants = [0.0_f64; MOST_ORDERS + 1];
    let step = 1.0 / f64::from(LOOKS);
    for look in 0..LAST_LOOK * LOOKS {
        let x = f64::from(look) * step;
        let growth = (0.5 * x).exp();
        let (length, between) = (growth + near, step * growth * (0.5 * step).exp());
        let (mut before, mut this) = (0.0, 1.0_f64);
        for (m, constant) in (0..).map(f64::from).zip(&mut constants) {
            *constant = constant.max((this.abs() + m * between) / length);
            (before, this) = (this, ((2.0 * m + 1.0 - x) * this - m * before) / (m + 1.0));
        }
    }
    let last = f64::from(LAST_LOOK);
    let mut highest = (-0.5 * last).exp();
    for (m, constant) in (1..).map(f64::from).zip(&mut constants) {
        *constant = constant.max(highest).min(1.0);
        highest *= last / m;
    }
    constants
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Laguerre's polynomial by its definition.
    fn polynomial(order: usize, x: f64) -> f64 {
        let mut term = 1.0;
        let mut sum = 1.0;
        for k in 1..=order {
            term *= -x * (order + 1 - k) as f64 / (k * k) as f64;
            sum += term;
        }
        sum
    }

    #[test]
    fn constants_hold_everywhere_and_are_not_too_large() {
        for near in [0.0, 30.0, 600.0, 1e5] {
            let norm = ErrorNorm::new(near);
            for order in 0..=6 {
                let constant = norm.laguerre[order];
                let looks = (0..6000).map(|k| 0.0317 * f64::from(k));
                let parts = looks.map(|x| polynomial(order, x).abs() / ((0.5 * x).exp() + near));
                let largest = parts.fold(0.0, f64::max);
                assert!(largest <= constant, "order {order}, near {near}: {largest} above {constant}");
                assert!(
                    constant <= largest + 0.005 * order as f64 + 1e-3,
                    "order {order}, near {near}: {constant}, {largest}"
                );
            }
        }
        assert!(ErrorNorm::new(600.0).laguerre[1] < 0.015);
    }
}
