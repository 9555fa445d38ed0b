//! Sums by patches of the globe against all pairs, for every mesh that is cheap to test.

use super::GlobeLattice;
use super::squares::SquareCounts;
use crate::engine::fast::any_lattice::AnyLattice;
use crate::engine::fast::laid::LaidLattice;
use crate::engine::fast::lattice::Sheets;
use crate::engine::fast::sphere::KnownPlaces;
use crate::points::Places;
use crate::scene::{Layout, Own, Scene};
use crate::space::{EARTH_RADIUS, Sigma};

const ROWS: usize = 300;

/// Places that depend on two numbers that cover the unit square evenly, and on their own number.
fn layout(place: fn(f64, f64, usize) -> [f64; 2]) -> Vec<[f64; 2]> {
    let steps = [0.754_877_666, 0.569_840_291_f64];
    (0..ROWS).map(|i| (i, steps.map(|step| (i as f64 * step).fract()))).map(|(i, [a, b])| place(a, b, i)).collect()
}

/// Latitudes and longitudes all over the sphere, around a pole, across the date line, in two towns far apart, in one.
fn layouts() -> [Vec<[f64; 2]>; 5] {
    [
        layout(|a, b, _| [(2.0 * a - 1.0).asin().to_degrees(), 360.0 * b - 180.0]),
        layout(|a, b, _| [90.0 - 20.0 * a, 360.0 * b - 180.0]),
        layout(|a, b, _| [40.0 * a - 10.0, 170.0 + 25.0 * b]),
        layout(|a, b, i| if i.is_multiple_of(3) { [-30.0 + a, -70.0 + b] } else { [31.0 + a, 109.0 + 2.0 * b] }),
        layout(|a, b, _| [48.0 + 0.5 * a, 2.0 + 0.5 * b]),
    ]
}

fn scene(places: &[[f64; 2]], kilometres: f64) -> Scene {
    let [latitudes, longitudes] = [0, 1].map(|k| places.iter().map(|place| place[k]).collect());
    let places = Places::lat_lon(latitudes, longitudes).unwrap();
    let sigma = Sigma::metres(1000.0 * kilometres).unwrap();
    Scene::new(sigma, &places, &[(&places, 1.0)], Own::Counts).unwrap()
}

/// Nodes with which a test is done in no time.
const FEW_NODES: usize = 10_000;

/// The largest error of the mass next to what was allowed for, over all meshes with few nodes.
fn worst(scene: &Scene, sigma: f64, tolerance: f64) -> Option<f64> {
    let layout = &*scene.layout;
    let [sources, targets] = [&layout.sources, &layout.targets].map(|cloud| KnownPlaces::exactly(cloud, 0..ROWS));
    let squares = SquareCounts::of([&sources, &targets]);
    let few = squares.meshes(sigma, tolerance).filter(|globe| {
        let patches = globe.targets(0, &layout.sources, 0..ROWS).runs.len();
        patches * globe.nodes_of_a_patch() < FEW_NODES
    });
    few.map(|globe| largest_error(globe, scene, sigma)).reduce(f64::max)
}

/// The same for one of them.
fn largest_error(globe: GlobeLattice, scene: &Scene, sigma: f64) -> f64 {
    let (layout, off) = (&*scene.layout, globe.off);
    let sources = globe.runs(&layout.sources, 0..ROWS);
    let laid = LaidLattice::new(AnyLattice::Globe(globe), layout, &sources, 0..ROWS);
    let sums = laid.sheets[0].sums(&*laid.lattice, layout, &[&scene.mass]);
    let found = |place: usize| laid.sheets[0].of_target(&sums, place, 1)[0];
    let errors = (0..ROWS).map(|place| (found(place) - mass(layout, place, sigma)).abs());
    errors.fold(0.0, f64::max) / (off * ROWS as f64)
}

/// All pairs, plainly.
fn mass(layout: &Layout, target: usize, sigma: f64) -> f64 {
    let (target, sources) = (layout.targets.place(target), (0..ROWS).map(|source| layout.sources.place(source)));
    sources.map(|source| (-0.5 * (arc(&target, &source) / sigma).powi(2)).exp()).sum()
}

/// The angle between two unit vectors, accurate at both ends.
fn arc(a: &[f64; 3], b: &[f64; 3]) -> f64 {
    let [plus, minus] = [1.0, -1.0].map(|sign: f64| (0..3).map(|k| (a[k] + sign * b[k]).powi(2)).sum::<f64>().sqrt());
    2.0 * minus.atan2(plus)
}

#[test]
fn no_pair_is_wrong_by_more_than_was_allowed_for() {
    let (mut nearest, mut found) = (0.0_f64, [0; 5]);
    for (places, found) in layouts().iter().zip(&mut found) {
        for kilometres in [700.0, 2000.0, 2500.0, 6000.0, 1e6] {
            let (scene, sigma) = (scene(places, kilometres), 1000.0 * kilometres / EARTH_RADIUS);
            for tolerance in [1e-2, 1e-6, 1e-9] {
                let Some(worst) = worst(&scene, sigma, tolerance) else { continue };
                assert!(worst <= 1.0, "{kilometres} km, {tolerance}: {worst}");
                nearest = nearest.max(worst);
                *found += 1;
            }
        }
    }
    assert!(nearest > 1e-3, "the bound says nothing: {nearest}");
    // Arcs of half a turn have a kink, which images can smooth as long as they are tiny there.
    assert!(found.iter().all(|found| *found >= 3) && found[4] == 15, "{found:?}");
}

#[test]
fn there_are_no_patches_for_narrow_kernels() {
    let scene = scene(&[[30.0, 30.0]], 1.0);
    let place = KnownPlaces::exactly(&scene.layout.sources, 0..1);
    let squares = SquareCounts::of([&place, &place]);
    assert_eq!([1e-3, 1e-9, 1e-100].map(|sigma| squares.meshes(sigma, 1e-2).count()), [0; 3]);
}
