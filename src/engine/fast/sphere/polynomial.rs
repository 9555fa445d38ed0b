//! Polynomials of two variables: as sums of Chebyshev polynomials, and by their coefficients.

use std::f64::consts::PI;
use std::ops::RangeBounds;

/// A Chebyshev node on [−1, 1].
pub(super) fn chebyshev_node(k: usize, count: usize) -> f64 {
    (PI * (k as f64 + 0.5) / count as f64).cos()
}

/// A polynomial of two variables within ±1 as a sum of products of Chebyshev polynomials.
#[derive(Clone)]
pub(super) struct ChebyshevSeries {
    count: usize,
    /// The second variable fastest.
    coefficients: Vec<f64>,
}

impl ChebyshevSeries {
    pub(super) fn zero(count: usize) -> Self {
        Self { count, coefficients: vec![0.0; count * count] }
    }

    pub(super) fn add(&mut self, factor: f64, other: &Self) {
        self.coefficients.iter_mut().zip(&other.coefficients).for_each(|(to, from)| *to += factor * from);
    }

    /// Of degree below `count` in each variable.
    pub(super) fn of(count: usize, value: impl Fn(f64, f64) -> f64) -> Self {
        let nodes: Vec<f64> = (0..count).map(|k| chebyshev_node(k, count)).collect();
        let values: Vec<f64> = (0..count * count).map(|at| value(nodes[at / count], nodes[at % count])).collect();
        Self { count, coefficients: cosine_transform(count, &cosine_transform(count, &values)) }
    }

    /// Total size of the terms of some degrees.
    pub(super) fn size(&self, degrees: impl RangeBounds<usize>) -> f64 {
        let terms = self.coefficients.iter().enumerate();
        terms.filter(|(at, _)| degrees.contains(&(at / self.count + at % self.count))).map(|(_, x)| x.abs()).sum()
    }

    /// The terms below a degree as a polynomial in α and β.
    pub(super) fn in_points(&self, degree: usize, scale_offset: f64, product: (f64, f64)) -> Polynomial {
        let mut first = Polynomial::zero(degree);
        let mut second = Polynomial::zero(degree);
        if degree > 1 {
            let half = 0.5 / scale_offset;
            (first.0[1], first.0[degree]) = (half, half);
            (second.0[0], second.0[degree + 1]) = (-product.0 / product.1, 1.0 / product.1);
        }
        let (first, second) = (first.chebyshev(degree), second.chebyshev(degree));
        let mut all = Polynomial::zero(degree);
        for (a, first) in first.iter().enumerate() {
            for (b, second) in second.iter().enumerate().take(degree - a) {
                all.add(self.coefficients[a * self.count + b], &first.times(second, degree));
            }
        }
        all
    }
}

/// The discrete cosine transform along the first axis, which becomes the second.
fn cosine_transform(count: usize, values: &[f64]) -> Vec<f64> {
    (0..count * count).map(|at| coefficient(count, &values[at / count..], at % count)).collect()
}

/// The coefficient of one order, from every `count`-th of some values.
fn coefficient(count: usize, values: &[f64], order: usize) -> f64 {
    let angle = |k: usize| PI * order as f64 * (k as f64 + 0.5) / count as f64;
    let scale = if order == 0 { 1.0 } else { 2.0 } / count as f64;
    scale * values.iter().step_by(count).enumerate().map(|(k, value)| value * angle(k).cos()).sum::<f64>()
}

/// A polynomial in α and β by coefficients, powers of β fastest, of degree below the square root of their number in each.
#[derive(Clone)]
pub(super) struct Polynomial(pub(super) Vec<f64>);

impl Polynomial {
    pub(super) fn zero(degree: usize) -> Self {
        Self(vec![0.0; degree * degree])
    }

    pub(super) fn add(&mut self, factor: f64, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(to, from)| *to += factor * from);
    }

    /// The product of two polynomials; what would be of a higher degree is not there.
    fn times(&self, other: &Self, degree: usize) -> Self {
        let mut product = Self::zero(degree);
        for (i, a) in self.0.iter().enumerate() {
            for (j, b) in other.0.iter().enumerate() {
                let powers = (i / degree + j / degree, i % degree + j % degree);
                if powers.0 < degree && powers.1 < degree {
                    product.0[powers.0 * degree + powers.1] += a * b;
                }
            }
        }
        product
    }

    /// The first Chebyshev polynomials of this polynomial.
    fn chebyshev(&self, count: usize) -> Vec<Self> {
        let mut one = Self::zero(count);
        one.0[0] = 1.0;
        let mut all = vec![one, self.clone()];
        all.truncate(count);
        while all.len() < count {
            let mut next = Self::zero(count);
            next.add(2.0, &self.times(&all[all.len() - 1], count));
            next.add(-1.0, &all[all.len() - 2]);
            all.push(next);
        }
        all
    }
}
