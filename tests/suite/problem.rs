//! Problems to smooth: seeded layouts that are hard in different ways, in every metric.

use geosmooth::engine::EngineKind;
use geosmooth::{Error, Places, Sigma, Smoothed, Smoother};

/// A small generator with a fixed sequence (splitmix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Uniform on [0, 1).
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub(crate) fn normal(&mut self) -> f64 {
        (-2.0 * (1.0 - self.unit()).ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos()
    }
}

/// How places lie in the unit square.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    Uniform,
    Towns,
    Line,
    Grid,
    Duplicates,
    FarOutliers,
    /// A city, and single rows around it at growing distances: those that a cut at a few σ gets wrong.
    CityAndHermits,
    Coast,
}

pub(crate) const SHAPES: [Shape; 8] = [
    Shape::Uniform,
    Shape::Towns,
    Shape::Line,
    Shape::Grid,
    Shape::Duplicates,
    Shape::FarOutliers,
    Shape::CityAndHermits,
    Shape::Coast,
];

impl Shape {
    pub(crate) fn points(self, count: usize, random: &mut Random) -> Vec<[f64; 3]> {
        (0..count).map(|i| self.point(i, count, random)).collect()
    }

    fn point(self, i: usize, count: usize, random: &mut Random) -> [f64; 3] {
        let uniform = [random.unit(), random.unit(), random.unit()];
        let share = i as f64 / count as f64;
        match self {
            Self::Uniform => uniform,
            Self::Towns => {
                let town = 0.1 + 0.2 * ((random.next() % 5) as f64);
                [town + 0.01 * random.normal(), 1.0 - town + 0.02 * random.normal(), 0.5 + 0.01 * random.normal()]
            }
            Self::Line => [0.5, uniform[1], 0.5],
            Self::Grid => [((i % 16) as f64) / 16.0, ((i / 16) as f64) / 16.0, 0.5],
            Self::Duplicates => uniform.map(|x| (x * 4.0).floor() / 4.0),
            Self::FarOutliers if i.is_multiple_of(50) => uniform.map(|x| 0.5 + 2000.0 * (x - 0.5)),
            Self::FarOutliers => uniform.map(|x| 0.5 + 0.01 * x),
            Self::CityAndHermits if i.is_multiple_of(20) => [0.5 + share, 0.5, 0.5],
            Self::CityAndHermits => [0.5, 0.5, 0.5].map(|x| x + 0.005 * random.normal()),
            Self::Coast => [share, 0.5 + 0.2 * (9.0 * share).sin() + 0.05 * (41.0 * share).sin(), 0.5],
        }
    }
}

/// The kinds of space, each with its own σ for a spread of the unit square.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Space {
    Degrees,
    Metres,
    Index(usize),
}

pub(crate) const SPACES: [Space; 5] =
    [Space::Degrees, Space::Metres, Space::Index(1), Space::Index(2), Space::Index(3)];

impl Space {
    /// Places whose unit square is one degree wide, astride the date line for metres.
    pub(crate) fn places(self, points: &[[f64; 3]]) -> Places {
        let axis = |k: usize| points.iter().map(move |point| point[k]).collect::<Vec<_>>();
        let latitude = || points.iter().map(|point| (40.0 + point[0]).clamp(-90.0, 90.0)).collect::<Vec<_>>();
        match self {
            Self::Degrees => {
                Places::lat_lon(latitude(), points.iter().map(|point| (point[1] - 84.0).clamp(-180.0, 180.0)).collect())
            }
            Self::Metres => {
                let wrap = |x: f64| if x > 180.0 { x - 360.0 } else { x };
                Places::lat_lon(
                    latitude(),
                    points.iter().map(|point| wrap((179.5 + point[1]).clamp(-180.0, 360.0))).collect(),
                )
            }
            Self::Index(axes) => Places::index((0..axes).map(axis).collect()),
        }
        .unwrap()
    }

    /// σ as a part of the unit square.
    pub(crate) fn sigma(self, share: f64) -> Sigma {
        match self {
            Self::Degrees => Sigma::degrees(share),
            Self::Metres => Sigma::metres(share * 111_195.0),
            Self::Index(_) => Sigma::index(share),
        }
        .unwrap()
    }
}

/// Rows to predict, labelled rows and their values.
pub(crate) struct Problem {
    pub(crate) targets: Places,
    pub(crate) predictions: Vec<f64>,
    pub(crate) labelled: Places,
    pub(crate) labels: Vec<f64>,
}

impl Problem {
    pub(crate) fn new(shape: Shape, space: Space, count: usize, seed: u64) -> Self {
        let mut random = Random(seed);
        let targets = space.places(&shape.points(count, &mut random));
        let labelled = space.places(&shape.points(count, &mut random));
        let predictions = (0..count).map(|_| 100.0 + 20.0 * random.normal()).collect();
        let labels = (0..count).map(|_| 120.0 + 20.0 * random.normal()).collect();
        Self { targets, predictions, labelled, labels }
    }

    pub(crate) fn smooth(&self, smoother: &Smoother, engine: EngineKind) -> Smoothed {
        let plan = smoother.clone().engine(engine).plan(&self.targets, Some(&self.labelled)).unwrap();
        plan.apply(&[&self.predictions], Some(&self.labels)).unwrap().remove(0)
    }
}

/// The values of a column that has all of them.
pub(crate) fn all(smoothed: &Smoothed) -> Vec<f64> {
    smoothed.values.iter().map(|value| value.unwrap()).collect()
}

pub(crate) fn smoother(sigma: Sigma, c: f64) -> Smoother {
    Smoother::new(sigma, c).unwrap()
}

/// Largest difference of two columns.
pub(crate) fn largest_difference(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max)
}

pub(crate) fn refused<T>(outcome: Result<T, Error>) -> String {
    outcome.err().expect("should have been refused").to_string()
}

/// Writes the same tests for each engine.
macro_rules! for_each_engine {
    ($($test:ident),+ $(,)?) => {
        mod exact {
            $(#[test] fn $test() { super::$test(geosmooth::engine::EngineKind::Exact); })+
        }
        mod sparse {
            $(#[test] fn $test() { super::$test(geosmooth::engine::EngineKind::Sparse); })+
        }
        mod fast {
            $(#[test] fn $test() { super::$test(geosmooth::engine::EngineKind::Fast); })+
        }
    };
}
pub(crate) use for_each_engine;
