//! Sums through charts of the sphere against all pairs.

use std::sync::Arc;

use super::any_lattice::AnyLattice;
use super::engine::Fast;
use super::group::GroupPlan;
use crate::engine::{Engine, Exact};
use crate::points::Places;
use crate::scene::{Own, Scene};
use crate::space::Sigma;

/// Numbers between 0 and 1 with a fixed sequence.
struct Random(u64);

impl Random {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Places around one, so many degrees in latitude and as far in longitude, and never beyond a pole.
    fn around(&mut self, latitude: f64, longitude: f64, degrees: f64, count: usize) -> Vec<(f64, f64)> {
        let across = degrees / latitude.to_radians().cos().max(0.01);
        let offsets = (0..count).map(|_| (2.0 * self.unit() - 1.0, 2.0 * self.unit() - 1.0));
        let places = offsets.map(|(north, east)| (latitude + degrees * north, longitude + across * east));
        places.map(|(latitude, longitude)| (latitude.clamp(-90.0, 90.0), longitude.clamp(-180.0, 360.0))).collect()
    }

    /// Cities all over the globe.
    fn cities(&mut self, count: usize) -> Vec<(f64, f64)> {
        let centres = (0..count).map(|k| (40.0 * (0.9 * k as f64).sin(), 30.0 * k as f64 - 180.0));
        centres.flat_map(|(latitude, longitude)| self.around(latitude, longitude, 1.0, 500)).collect()
    }
}

fn places(rows: &[(f64, f64)]) -> Places {
    Places::lat_lon(rows.iter().map(|row| row.0).collect(), rows.iter().map(|row| row.1).collect()).unwrap()
}

fn scene(kilometres: f64, targets: &Places, labelled: &Places, own: Own) -> Scene {
    let sigma = Sigma::metres(1000.0 * kilometres).unwrap();
    Scene::new(sigma, targets, &[(targets, 1.0), (labelled, 0.7)], own).unwrap()
}

/// Compares two columns with all pairs for some tolerances; every error must stay within its bound and every bound within
/// the tolerance. Gives the charts at the middle tolerance and how much of a bound was used.
fn check(scene: Scene, what: &str) -> (usize, f64) {
    let scene = Arc::new(scene);
    let waves = scene.mass.iter().zip(0..).map(|(mass, row)| mass * (0.5 * (0.37 * f64::from(row)).sin()));
    let steps = scene.mass.iter().zip(0..).map(|(mass, row)| mass * if row % 3 == 0 { 0.5 } else { -0.5 });
    let columns = [waves.collect(), steps.collect::<Vec<f64>>()];
    let exact = Exact::default().plan(scene.clone(), &()).unwrap().sums(&columns, &());
    let mut used = 0.0_f64;
    for tolerance in [1e-3, 1e-6, 1e-10] {
        let fast = Fast { tolerance, memory_limit: None }.plan(scene.clone(), &()).unwrap().sums(&columns, &());
        for row in 0..exact.mass.len() {
            let (scale, bound) = ((exact.exponent[row] - fast.exponent[row]).exp2(), fast.error[row]);
            let most = bound + scale * exact.error[row];
            let off = (fast.mass[row] - scale * exact.mass[row]).abs();
            assert!(off <= most, "{what} to {tolerance:e}, row {row}: mass {off:e} above {most:e}");
            for (fast, exact) in fast.values.iter().zip(&exact.values) {
                let off = (fast[row] - scale * exact[row]).abs();
                assert!(off <= 0.5 * most, "{what} to {tolerance:e}, row {row}: value {off:e} above {most:e}");
            }
            assert!(bound <= tolerance * (fast.mass[row] + scene.beside), "{what} to {tolerance:e}, row {row}: bound");
            used = used.max(off / most);
        }
    }
    let charts = (0..scene.layout.sources.groups.len()).map(|group| {
        let dense = GroupPlan::new(&scene, group, 1e-6).dense;
        dense
            .filter(|dense| matches!(dense.laid.lattice, AnyLattice::Sphere(_)))
            .map_or(0, |dense| dense.laid.sheets.len())
    });
    (charts.min().unwrap(), used)
}

#[test]
fn the_whole_globe_takes_many_charts() {
    let mut random = Random(1);
    let [targets, labelled] = [(); 2].map(|()| places(&random.cities(13)));
    let (charts, used) = check(scene(30.0, &targets, &labelled, Own::Counts), "globe");
    assert!(charts > 4 && used > 1e-3, "{charts} charts, {used}");
}

#[test]
fn a_pole_and_the_date_line_are_places_like_others() {
    let mut random = Random(2);
    let [targets, labelled] = [(); 2].map(|()| {
        let around = (0..4000).map(|_| (90.0 - 4.0 * random.unit().sqrt(), 360.0 * random.unit() - 180.0));
        let rows: Vec<(f64, f64)> = around.chain([(90.0, 0.0), (90.0, 77.0), (88.0, 180.0), (88.0, -180.0)]).collect();
        places(&rows)
    });
    let (charts, used) = check(scene(40.0, &targets, &labelled, Own::Counts), "pole");
    assert!(charts == 1 && used > 1e-3, "{charts} charts, {used}");
}

#[test]
fn a_city_at_the_edge_of_a_large_chart() {
    let mut random = Random(3);
    let [targets, labelled] = [(); 2].map(|()| {
        let mut rows = random.around(40.0, 170.0, 20.0, 1500);
        rows.extend(random.around(60.0, 140.0, 1.0, 3500));
        rows.extend(random.around(20.0, 190.0, 0.3, 1000));
        places(&rows)
    });
    for kilometres in [15.0, 60.0] {
        let (charts, used) = check(scene(kilometres, &targets, &labelled, Own::Counts), "edge");
        assert!(charts > 0 && used > 1e-3, "{kilometres} km: {charts} charts, {used}");
    }
}

#[test]
fn sources_beyond_the_edge_of_a_chart_count() {
    // Targets along two meridians far apart, labelled rows beside one of them, and each row left out of its own sum.
    let mut random = Random(4);
    let mut rows = random.around(10.0, 20.0, 0.4, 3000);
    rows.extend(random.around(10.0, 120.0, 0.4, 3000));
    let targets = places(&rows);
    let labelled = places(&random.around(12.2, 20.0, 0.8, 5000));
    for own in [Own::Counts, Own::LeftOut] {
        let (charts, used) = check(scene(30.0, &targets, &labelled, own), "halo");
        assert!(charts > 1 && used > 1e-3, "{charts} charts, {used}");
    }
}

#[test]
fn groups_and_mass_beside() {
    let mut random = Random(5);
    let [targets, labelled] = [(); 2].map(|()| {
        let rows = random.around(-33.0, 18.0, 2.0, 6000);
        places(&rows).with_groups((0..6000).map(|row| row % 2).collect()).unwrap()
    });
    let mut scene = scene(25.0, &targets, &labelled, Own::Counts);
    scene.beside = 10.0;
    let (charts, used) = check(scene, "groups");
    assert!(charts == 1 && used > 1e-3, "{charts} charts, {used}");
}
