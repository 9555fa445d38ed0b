//! Any numbers as places, values, weights, σ and tolerance: `fast` and `sparse` against `exact`, `exact` against a double loop,
//! and tiles against `exact`. Invalid problems are refused with an error; all others keep their error bounds.

use geosmooth::engine::EngineKind;
use geosmooth::partition::Census;
use geosmooth::{Error, Places, Smoothed, Smoother};

use super::bytes::Bytes;
use super::layout::{Drawing, Rows, Space, finite};
use crate::problem::Random;
use crate::tiled::Tiling;

/// The most rows for the sparse engine and for the double loop, so that a run stays quick.
const FEW_ROWS: usize = 300;

/// Checks the problem that the bytes describe.
pub(crate) fn check(data: &[u8]) {
    let problem = Problem::read(&mut Bytes(data));
    match problem.smoother() {
        Ok((smoother, places)) => problem.compare(&smoother, &places),
        Err(error) => assert!(!problem.valid, "{error}"),
    }
}

struct Problem {
    space: Space,
    valid: bool,
    leave_one_out: bool,
    groups: bool,
    /// How tiles are made: from this many cells, each with this fraction of all rows, and with this engine.
    cells: usize,
    part: u64,
    tile_engine: EngineKind,
    sigma: f64,
    tolerance: f64,
    c: f64,
    label_weight: f64,
    targets: Rows,
    labelled: Rows,
}

impl Problem {
    fn read(bytes: &mut Bytes) -> Self {
        let (space, flags) = (Space::of(bytes.byte()), bytes.byte());
        let flag = |at: u8| flags >> at & 1 == 1;
        let valid = !flag(0);
        let tolerance = 10_f64.powf(-12.0 * f64::from(bytes.byte()) / 255.0);
        // Mostly close to 1, where rounding errors are visible.
        let c = 1.0 - (f64::from(bytes.byte()) / 255.0).powi(8);
        let (sigma, weight) = (bytes.number(), bytes.number());
        let sigma = if valid { finite(sigma).abs().clamp(1e-100, 1e100) } else { sigma };
        let label_weight = if valid && weight != 0.0 { finite(weight).abs().clamp(1e-100, 1e100) } else { weight };
        let value = (bytes.number(), bytes.number());
        let unit = if flag(1) { space.step(sigma) } else { 1.0 };
        let random = Random(u64::from(u16::from_le_bytes(bytes.take())));
        let [targets, labelled] = Drawing { space, valid, unit, sigma, value, random }.rows(bytes);
        Self {
            space,
            valid,
            leave_one_out: flag(2),
            groups: flag(3),
            cells: if flag(4) { 20 } else { Census::MOST_CELLS },
            part: if flag(5) { 8 } else { 1 },
            tile_engine: if flag(6) { EngineKind::Fast } else { EngineKind::Auto },
            sigma,
            tolerance: if valid { tolerance.max(1e-12) } else { bytes.number() },
            c,
            label_weight,
            targets,
            labelled,
        }
    }

    fn smoother(&self) -> Result<(Smoother, [Places; 2]), Error> {
        let smoother = Smoother::new(self.space.sigma(self.sigma)?, self.c)?
            .label_weight(self.label_weight)?
            .tolerance(self.tolerance)?;
        let smoother = if self.leave_one_out { smoother.leave_one_out() } else { smoother };
        let places = [self.targets.places(self.space, self.groups)?, self.labelled.places(self.space, self.groups)?];
        Ok((smoother, places))
    }

    fn compare(&self, smoother: &Smoother, places: &[Places; 2]) {
        let exact = match self.smooth(smoother, places, EngineKind::Exact) {
            Ok(exact) => exact,
            Err(error) => return assert!(!self.valid, "{error}"),
        };
        let few = self.targets.len() + self.labelled.len() <= FEW_ROWS;
        if few && self.space != Space::Metres {
            self.check_oracle(&exact);
        }
        for engine in [EngineKind::Fast, EngineKind::Sparse] {
            if few || engine == EngineKind::Fast {
                self.check(engine.name(), &self.smooth(smoother, places, engine).expect("as exact"), &exact);
            }
        }
        self.check_tiles(smoother, places, &exact);
    }

    /// Smooths all rows tile by tile, if they can be cut.
    fn check_tiles(&self, smoother: &Smoother, [targets, labelled]: &[Places; 2], exact: &Smoothed) {
        let tiling = Tiling {
            smoother: &smoother.clone().engine(self.tile_engine),
            sigma: self.space.sigma(self.sigma).expect("as before"),
            c: self.c,
            label_weight: self.label_weight,
            tolerance: self.tolerance,
            targets: (targets, &self.targets.values),
            labelled: (labelled, &self.labelled.values),
            cells: self.cells,
        };
        if self.leave_one_out {
            return assert!(tiling.smooth(u64::MAX).is_err() || targets.is_empty(), "tiles leave nothing out");
        }
        let (targets, labelled) = (self.targets.len() as u64, self.labelled.len() as u64);
        // Rows that cannot be separated need memory for all of them.
        let enough = 2 + targets + labelled + targets / 8;
        let tiled = match tiling.smooth(enough.div_ceil(self.part)) {
            Err(Error::Memory { .. }) if self.part > 1 => tiling.smooth(enough),
            done => done,
        };
        let tiled = tiled.expect("as exact").smoothed;
        self.check_range("tiles", &tiled);
        self.check("tiles", &tiled, exact);
    }

    fn smooth(
        &self,
        smoother: &Smoother,
        [targets, labelled]: &[Places; 2],
        engine: EngineKind,
    ) -> Result<Smoothed, Error> {
        let plan = smoother.clone().engine(engine).plan(targets, Some(labelled))?;
        let smoothed = plan.apply(&[&self.targets.values], Some(&self.labelled.values))?.remove(0);
        self.check_range(engine.name(), &smoothed);
        if self.targets.len() <= FEW_ROWS {
            let most = (self.targets.len() + self.labelled.len()) as f64;
            let within = |count: &f64| (0.0..=most).contains(count);
            assert!(plan.n_effective()?.iter().all(within), "{engine}: effective sources");
        }
        Ok(smoothed)
    }

    /// The values of all sources.
    fn values(&self) -> impl Iterator<Item = f64> {
        let labels = self.labelled.values.iter().filter(|_| self.label_weight > 0.0);
        self.targets.values.iter().chain(labels).copied()
    }

    fn range(&self) -> (f64, f64) {
        (self.values().fold(f64::INFINITY, f64::min), self.values().fold(f64::NEG_INFINITY, f64::max))
    }

    /// Every value is within the range of its sources, and every row has a value and a bound.
    fn check_range(&self, engine: &str, smoothed: &Smoothed) {
        let range = self.range().0..=self.range().1;
        for (row, (value, bound)) in smoothed.values.iter().zip(&smoothed.error_bound).enumerate() {
            assert!(
                value.is_none_or(|value| range.contains(&value)),
                "{engine}, row {row}: {value:?} not in {range:?}"
            );
            assert!(value.is_some() || self.leave_one_out, "{engine}, row {row}: no value");
            assert!(*bound >= 0.0, "{engine}, row {row}: bound {bound}");
        }
        assert!(
            smoothed.relative_bounds().all(|bound| (0.0..=f64::INFINITY).contains(&bound)),
            "{engine}: relative bounds"
        );
    }

    /// The error of every row is within the tolerance and within its own bound, up to the rounding errors of `exact`.
    fn check(&self, engine: &str, other: &Smoothed, exact: &Smoothed) {
        let (low, high) = self.range();
        // Computed from half the range: the range itself may overflow.
        let limit = 2.0 * (self.tolerance * (0.5 * high - 0.5 * low));
        for row in 0..exact.values.len() {
            let (Some(a), Some(b)) = (exact.values[row], other.values[row]) else {
                assert_eq!(exact.values[row], other.values[row], "{engine}, row {row}");
                continue;
            };
            let (error, bound, own) = ((a - b).abs(), other.error_bound[row], exact.error_bound[row]);
            // If rounding errors dominate, which differ between engines, a bound may be up to twice that of `exact`.
            let kept = error <= bound + own && error <= limit + own && bound <= limit + 2.0 * own;
            assert!(
                kept,
                "{engine}, row {row}: error {error:e}, certificate {bound:e}, tolerance {limit:e}, exact {own:e}"
            );
        }
    }

    /// Compares with a double loop over all pairs in plain arithmetic, relative to the nearest source.
    fn check_oracle(&self, exact: &Smoothed) {
        let range = exact.range;
        for row in 0..self.targets.len() {
            let sources = self.sources_of(row);
            let nearest = sources.iter().map(|source| source.0).fold(f64::INFINITY, f64::min);
            let weights: Vec<f64> =
                sources.iter().map(|(exponent, weight, _)| weight * (nearest - exponent).exp()).collect();
            let mass: f64 = weights.iter().sum();
            let (Some(found), true) = (exact.values[row], mass > 0.0) else { continue };
            let mean = weights.iter().zip(&sources).map(|(weight, source)| weight / mass * source.2).sum::<f64>();
            let expected = self.c * mean + (1.0 - self.c) * self.targets.values[row];
            // Exponents have relative rounding errors; those far beyond the nearest source do not matter.
            let largest = self.values().fold(0.0, |largest: f64, value| largest.max(value.abs()));
            let terms = 8.0 * sources.len() as f64;
            let slack =
                f64::EPSILON * (32.0 * range * (nearest + 1000.0) + terms * largest) + terms * f64::from_bits(1);
            let error = (found - expected).abs();
            assert!(
                error <= exact.error_bound[row] + slack || !expected.is_finite(),
                "exact, row {row}: {found:e} instead of {expected:e}, bound {:e}",
                exact.error_bound[row]
            );
        }
    }

    /// Exponent, weight and value of each source of a target.
    fn sources_of(&self, row: usize) -> Vec<(f64, f64, f64)> {
        let (place, group) = self.targets.place(row);
        let parts = [(&self.targets, 1.0), (&self.labelled, self.label_weight)];
        let mut sources = Vec::new();
        for (part, (rows, weight)) in parts.into_iter().enumerate() {
            for other in 0..rows.len() {
                let (there, its_group) = rows.place(other);
                let left_out = self.leave_one_out && part == 0 && other == row;
                if weight > 0.0 && !left_out && (!self.groups || group == its_group) {
                    let squares = place.iter().zip(&there).map(|(a, b)| ((a - b) / self.sigma).powi(2));
                    sources.push((0.5 * squares.sum::<f64>(), weight, rows.values[other]));
                }
            }
        }
        sources
    }
}
