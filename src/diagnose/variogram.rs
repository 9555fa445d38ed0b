//! The empirical variogram of errors: half the mean squared difference of two errors, by the distance between their rows.

use rayon::prelude::*;
use serde::Serialize;

use crate::chance::Chance;
use crate::error::Error;
use crate::points::Places;
use crate::space::{EARTH_RADIUS, Metric, Sigma, unit_vector};

/// One class of distances of an empirical variogram.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Lag {
    /// Mean distance of the pairs, in the unit of σ.
    pub distance: f64,
    /// Pairs of rows.
    pub pairs: u64,
    /// Half the mean squared difference of the errors before.
    pub before: f64,
    /// Half the mean squared difference of the errors after.
    pub after: f64,
}

/// Classes of distance, each σ/2 wide. They end at ten σ, far beyond the reach of the kernel (e⁻⁵⁰).
const LAGS: usize = 20;
const LAGS_PER_SIGMA: f64 = 2.0;
/// The most rows in the first and in the second role of a pair; from more, a random sample is drawn. 2·10⁸ pairs at most.
/// Chosen, not measured.
const FIRST_ROWS: usize = 2000;
const SECOND_ROWS: usize = 100_000;
/// An arbitrary number: the year of the paper.
const SEED: u64 = 2020;

/// The empirical variogram of errors before and after.
pub(crate) fn variogram(places: &Places, sigma: Sigma, before: &[f64], after: &[f64]) -> Result<Vec<Lag>, Error> {
    let metric = places.metric(sigma)?;
    let first = Chance::new(SEED).sample(places.len(), FIRST_ROWS);
    let second = Chance::new(SEED + 1).sample(places.len(), SECOND_ROWS);
    let points: Vec<[f64; 3]> = second.iter().map(|&row| point(places, metric, row)).collect();
    let pairs = Pairs { places, metric, sigma: sigma.value(), second: &second, points: &points, before, after };
    let rows: Vec<[LagTally; LAGS]> = first.par_iter().map(|&row| pairs.of_row(row)).collect();
    let totals = (0..LAGS).map(|lag| rows.iter().fold(LagTally::default(), |sum, row| sum.plus(&row[lag])));
    Ok(totals.filter(|tally| tally.pairs > 0).map(LagTally::lag).collect())
}

/// The rows that may be the second of a pair.
struct Pairs<'a> {
    places: &'a Places,
    metric: Metric,
    sigma: f64,
    second: &'a [usize],
    /// The places of the second rows.
    points: &'a [[f64; 3]],
    before: &'a [f64],
    after: &'a [f64],
}

impl Pairs<'_> {
    /// Adds up all pairs with this row as the first, by their distance.
    fn of_row(&self, row: usize) -> [LagTally; LAGS] {
        let mut lags = [LagTally::default(); LAGS];
        let here = point(self.places, self.metric, row);
        for (&other, there) in self.second.iter().zip(self.points) {
            if other == row || self.places.group(other) != self.places.group(row) {
                continue;
            }
            let distance = distance(self.metric, here, *there);
            if let Some(lag) = lags.get_mut((LAGS_PER_SIGMA * distance / self.sigma) as usize) {
                lag.add(distance, self.before[row] - self.before[other], self.after[row] - self.after[other]);
            }
        }
        lags
    }
}

#[derive(Clone, Copy, Default)]
struct LagTally {
    pairs: u64,
    distance: f64,
    before: f64,
    after: f64,
}

impl LagTally {
    fn add(&mut self, distance: f64, before: f64, after: f64) {
        self.pairs += 1;
        self.distance += distance;
        self.before += 0.5 * before * before;
        self.after += 0.5 * after * after;
    }

    fn plus(self, other: &Self) -> Self {
        Self {
            pairs: self.pairs + other.pairs,
            distance: self.distance + other.distance,
            before: self.before + other.before,
            after: self.after + other.after,
        }
    }

    fn lag(self) -> Lag {
        let pairs = self.pairs as f64;
        Lag {
            distance: self.distance / pairs,
            pairs: self.pairs,
            before: self.before / pairs,
            after: self.after / pairs,
        }
    }
}

/// The place of a row, in the (up to three) axes that span the space.
fn point(places: &Places, metric: Metric, row: usize) -> [f64; 3] {
    let axes = places.axes();
    match metric {
        Metric::Plane(_) => std::array::from_fn(|k| axes.get(k).map_or(0.0, |axis| axis[row])),
        Metric::Sphere => {
            let vector = unit_vector(axes[0][row], axes[1][row]);
            std::array::from_fn(|k| vector[k])
        }
    }
}

/// The distance between two points, in the unit of σ.
fn distance(metric: Metric, here: [f64; 3], there: [f64; 3]) -> f64 {
    let straight = (0..3).map(|k| (here[k] - there[k]).powi(2)).sum::<f64>().sqrt();
    match metric {
        Metric::Plane(_) => straight,
        Metric::Sphere => 2.0 * EARTH_RADIUS * (0.5 * straight).clamp(0.0, 1.0).asin(),
    }
}
