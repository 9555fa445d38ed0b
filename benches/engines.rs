//! The three engines, `exact`, `sparse` and `fast`, by the number of rows and σ, on a random country of towns with a fixed seed.
//!
//! `cargo bench` prints the time of plan and apply together; `benches/side_by_side.py` compares geosmooth with other programs.

use divan::{Bencher, black_box};
use geosmooth::engine::EngineKind;
use geosmooth::{Places, Sigma, Smoother};

fn main() {
    divan::main();
}

/// Towns of different sizes, with density falling towards their outskirts, in an area of about 50 degrees; and values.
struct Country {
    places: Places,
    values: Vec<f64>,
}

impl Country {
    fn new(rows: usize) -> Self {
        let mut state = 7_u64;
        let mut unit = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let centres: Vec<(f64, f64)> = (0..400).map(|_| (26.0 + 22.0 * unit(), -123.0 + 53.0 * unit())).collect();
        let mut house = || {
            // The cube of a uniform number selects large towns more often than small ones.
            let (latitude, longitude) = centres[(400.0 * unit().powi(3)) as usize];
            let (distance, angle) = (-0.15 * (1.0 - unit()).ln(), std::f64::consts::TAU * unit());
            (latitude + distance * angle.sin(), longitude + distance * angle.cos(), unit())
        };
        let (mut latitude, mut longitude, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for (lat, lon, value) in (0..rows).map(|_| house()) {
            latitude.push(lat);
            longitude.push(lon);
            values.push(value);
        }
        Self { places: Places::lat_lon(latitude, longitude).expect("all on the map"), values }
    }
}

fn smooth(bencher: Bencher, rows: usize, sigma: &str, engine: EngineKind) {
    let country = Country::new(rows);
    let sigma: Sigma = sigma.parse().expect("a valid sigma");
    let smoother = Smoother::new(sigma, 0.6).expect("a valid c").engine(engine);
    bencher.bench(|| {
        let plan = smoother.plan(black_box(&country.places), None).expect("it fits");
        plan.apply(&[&country.values], None).expect("finite values")
    });
}

#[divan::bench(args = ["0.01deg", "1deg", "1km", "100km", "3000km"], consts = [5_000, 20_000], sample_count = 3)]
fn exact<const ROWS: usize>(bencher: Bencher, sigma: &str) {
    smooth(bencher, ROWS, sigma, EngineKind::Exact);
}

#[divan::bench(args = ["0.001deg", "0.003deg", "0.01deg", "100m", "1km"], consts = [20_000, 100_000], sample_count = 3)]
fn sparse<const ROWS: usize>(bencher: Bencher, sigma: &str) {
    smooth(bencher, ROWS, sigma, EngineKind::Sparse);
}

#[divan::bench(args = ["0.001deg", "0.01deg", "0.1deg", "1deg", "100m", "10km", "100km"], consts = [20_000, 100_000], sample_count = 3)]
fn fast<const ROWS: usize>(bencher: Bencher, sigma: &str) {
    smooth(bencher, ROWS, sigma, EngineKind::Fast);
}
