//! σ so wide that no chart of the sphere would do: the sphere is cut into patches, and the kernel is interpolated between Chebyshev nodes of each.
//!
//! Sources go to the nodes of their patches, nodes to nodes by direct sums, nodes to targets: `K(x, y) ≈ Σ L(x) K(node, node) L(y)`. How many nodes it takes does not
//! depend on the rows, and the wider σ is the fewer there are. The error is the same for all pairs ([`chebyshev`] has the proof), so that a row is certified if it has a
//! fair part of all weight around it, as almost all have by then; others are summed again.

mod bands;
mod chebyshev;
mod mesh;
mod moments;
mod nodes;
mod places;
mod squares;

pub(crate) use self::mesh::Mesh;
pub(crate) use self::moments::{PatchField, PatchMoments};
pub(crate) use self::squares::least_mass;

use std::ops::Range;

use rayon::prelude::*;

use self::nodes::read;
use self::places::{PatchedPlaces, all_angles};
use self::squares::SquareCounts;
use super::sphere::{Cap, angle};
use crate::scene::Layout;

/// What is to be summed.
pub(crate) struct PatchProblem<'a> {
    pub(crate) layout: &'a Layout,
    pub(crate) sources: Range<usize>,
    pub(crate) targets: Range<usize>,
    /// σ in radians.
    pub(crate) sigma: f64,
    pub(crate) tolerance: f64,
}

/// Patches with sources and targets in them.
pub(crate) struct Globe {
    mesh: Mesh,
    sources: PatchedPlaces,
    targets: PatchedPlaces,
    /// The targets as they are numbered outside.
    places: Range<usize>,
    /// Where each of them stands in the order of patches.
    position: Vec<u32>,
}

impl Globe {
    /// The cheapest patches, if they are cheaper than direct sums.
    pub(crate) fn new(task: &PatchProblem) -> Option<Self> {
        let sources = all_angles(&task.layout.sources, &task.sources);
        let targets = all_angles(&task.layout.targets, &task.targets);
        let mesh = SquareCounts::of(&sources, &targets, longest_arc(task)).cheapest(task.sigma, task.tolerance)?;
        Some(Self::over(mesh, task, &sources, &targets))
    }

    /// Places, given by their angles, in the patches of a mesh.
    fn over(mesh: Mesh, task: &PatchProblem, sources: &[[f64; 2]], targets: &[[f64; 2]]) -> Self {
        let sources = PatchedPlaces::new(&mesh.bands, sources, task.sources.start);
        let targets = PatchedPlaces::new(&mesh.bands, targets, task.targets.start);
        let mut position = vec![0; task.targets.len()];
        for (at, place) in (0..).zip(&targets.order) {
            position[*place as usize - task.targets.start] = at;
        }
        Self { mesh, sources, targets, places: task.targets.clone(), position }
    }

    /// Error of a pair of weight one.
    pub(crate) fn off(&self) -> f64 {
        self.mesh.off
    }

    /// The targets.
    pub(crate) fn targets(&self) -> Range<usize> {
        self.places.clone()
    }

    /// Bytes for each column: nodes of sources as tasks give them and all together, those of targets twice as well, and the sums of targets.
    pub(crate) fn bytes(&self) -> u64 {
        let (sources, targets) = (&self.sources, &self.targets);
        let patches = sources.pieces().len() + sources.patches.len() + 2 * targets.patches.len();
        8 * (patches * self.mesh.nodes_of_a_patch() + self.places.len()) as u64
    }

    /// Sources and targets in patches.
    pub(crate) fn places(&self) -> usize {
        self.sources.order.len() + self.places.len()
    }

    /// The sums of all targets, by columns of all sources.
    pub(crate) fn sums(&self, columns: &[&[f64]]) -> Vec<f64> {
        let moments = self.sources.spread(&self.mesh, columns);
        let field = self.mesh.transfer(&self.sources.keys(), &moments, &self.targets.keys());
        let mut sums = vec![0.0; self.places.len() * columns.len()];
        let pieces = self.targets.pieces();
        let mut rest = sums.as_mut_slice();
        let outs: Vec<&mut [f64]> = pieces
            .iter()
            .map(|(_, places)| rest.split_off_mut(..places.len() * columns.len()).unwrap_or_default())
            .collect();
        pieces.into_par_iter().zip(outs).for_each(|((patch, places), out)| {
            read(&self.mesh.chebyshev, &self.targets.within[places], &field[patch], out);
        });
        sums
    }

    /// The sums of one target.
    pub(crate) fn of_target<'a>(&self, sums: &'a [f64], place: usize, columns: usize) -> &'a [f64] {
        let at = self.position[place - self.places.start] as usize * columns;
        &sums[at..at + columns]
    }
}

/// No arc between a source and a target is longer.
fn longest_arc(task: &PatchProblem) -> f64 {
    let source = Cap::around(&task.layout.sources, task.sources.clone());
    let target = Cap::around(&task.layout.targets, task.targets.clone());
    let squared: f64 = (0..3).map(|k| (source.centre[k] - target.centre[k]).powi(2)).sum();
    angle(squared) + source.radius + target.radius
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::points::Places;
    use crate::scene::{Own, Scene};
    use crate::space::{EARTH_RADIUS, Sigma};

    const ROWS: usize = 300;

    /// Latitudes and longitudes all over the sphere, around a pole, across the date line, in two towns far apart, in one.
    fn layouts() -> [Vec<[f64; 2]>; 5] {
        let at = |i: usize, factor: f64| (i as f64 * factor).fract();
        let all = |place: fn(f64, f64, usize) -> [f64; 2]| {
            (0..ROWS).map(|i| place(at(i, 0.754_877_666), at(i, 0.569_840_291), i)).collect()
        };
        [
            all(|a, b, _| [(2.0 * a - 1.0).asin().to_degrees(), 360.0 * b - 180.0]),
            all(|a, b, _| [90.0 - 20.0 * a, 360.0 * b - 180.0]),
            all(|a, b, _| [40.0 * a - 10.0, 170.0 + 25.0 * b]),
            all(|a, b, i| if i.is_multiple_of(3) { [-30.0 + a, -70.0 + b] } else { [31.0 + a, 109.0 + 2.0 * b] }),
            all(|a, b, _| [48.0 + 0.5 * a, 2.0 + 0.5 * b]),
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
        let task = PatchProblem { layout, sources: 0..ROWS, targets: 0..ROWS, sigma, tolerance };
        let all = all_angles(&layout.sources, &(0..ROWS));
        let squares = SquareCounts::of(&all, &all, longest_arc(&task));
        let globes = squares.meshes(sigma, tolerance).map(|mesh| Globe::over(mesh, &task, &all, &all));
        let few = globes.filter(|globe| globe.sources.patches.len() * globe.mesh.nodes_of_a_patch() < FEW_NODES);
        let errors = few.map(|globe| {
            let sums = globe.sums(&[&scene.mass]);
            let error = |place: usize| (globe.of_target(&sums, place, 1)[0] - mass(layout, place, sigma)).abs();
            (0..ROWS).map(error).fold(0.0, f64::max) / (globe.off() * ROWS as f64)
        });
        errors.reduce(f64::max)
    }

    /// All pairs, plainly.
    fn mass(layout: &Layout, target: usize, sigma: f64) -> f64 {
        let [here, places] =
            [&layout.targets, &layout.sources].map(|cloud| move |place: usize| cloud.place::<3>(place));
        let arc = |source: usize| {
            let [plus, minus] = [1.0, -1.0].map(|sign: f64| {
                let (a, b) = (here(target), places(source));
                (0..3).map(|k| (a[k] + sign * b[k]).powi(2)).sum::<f64>().sqrt()
            });
            2.0 * minus.atan2(plus)
        };
        (0..ROWS).map(|source| (-0.5 * (arc(source) / sigma).powi(2)).exp()).sum()
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
        // Arcs of half a turn have a kink, which images can smooth as long as they are hardly heard.
        assert!(found.iter().all(|found| *found >= 3) && found[4] == 15, "{found:?}");
    }

    #[test]
    fn there_are_no_patches_for_narrow_kernels() {
        let squares = SquareCounts::of(&[[0.5, 0.5]], &[[0.5, 0.5]], 0.0);
        assert_eq!([1e-3, 1e-9, 1e-100].map(|sigma| squares.meshes(sigma, 1e-2).count()), [0; 3]);
    }
}
