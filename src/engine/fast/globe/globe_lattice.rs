//! The lattice of the globe: places in the patches that they are in, and the three steps.

use std::ops::Range;

use rayon::prelude::*;

use super::bands::{PatchKey, PatchPosition, angles};
use super::nodes::{read_patch, spread_to_patch};
use super::patches::GlobeLattice;
use crate::engine::fast::lattice::{
    BlockKey, BlockRun, Bound, CountedRows, LaidPlaces, LastBlocks, Lattice, LatticeCost, NodeBlocks, Points, Route,
    Sheets, add_compensated,
};
use crate::engine::pieces::{pieces, slots};
use crate::scene::Cloud;
use crate::space::compensated;

/// Places of a patch that one task works on. Chosen, not measured.
const PIECE: usize = 1 << 12;
/// Bytes of a place in a patch: where it is, which it is, its rank, and the first two once more while it is sorted.
const BYTES_OF_PLACE: u64 = 72;

impl Sheets for GlobeLattice {
    fn runs(&self, _: &Cloud, places: Range<usize>) -> Vec<BlockRun> {
        vec![BlockRun { key: [0; 3], places }]
    }

    fn sources(&self, sheet: usize, cloud: &Cloud, runs: &[BlockRun]) -> LaidPlaces {
        let (start, end) =
            (runs.first().map_or(0, |run| run.places.start), runs.last().map_or(0, |run| run.places.end));
        self.targets(sheet, cloud, start..end)
    }

    /// Patch by patch.
    fn targets(&self, _: usize, cloud: &Cloud, places: Range<usize>) -> LaidPlaces {
        let locate = |place: usize| (self.bands.spot(angles(cloud, place)), place as u32);
        let mut located: Vec<(PatchPosition, u32)> = places.into_par_iter().with_min_len(PIECE).map(locate).collect();
        located.par_sort_unstable_by_key(|(spot, place)| (spot.key, *place));
        let runs = located.chunk_by(|a, b| a.0.key == b.0.key).scan(0, |end, patch| {
            let start = std::mem::replace(end, *end + patch.len());
            let (band, patch) = patch[0].0.key;
            Some(BlockRun { key: [0, i64::from(band), i64::from(patch)], places: start..*end })
        });
        let positions = [0, 1].map(|k| located.iter().map(|(spot, _)| spot.within[k]).collect());
        LaidPlaces { runs: runs.collect(), places: located.iter().map(|(_, place)| *place).collect(), positions }
    }

    fn bound(&self, _: usize, weight: f64) -> Bound {
        Bound::absolute(self.off, weight)
    }

    fn bytes_of_place(&self) -> (u64, u64) {
        (BYTES_OF_PLACE, 0)
    }
}

impl Lattice for GlobeLattice {
    fn route(&self, sources: &[BlockKey], targets: &[BlockKey]) -> Route {
        Route::at_once(sources, targets)
    }

    fn touched(&self, key: BlockKey) -> Vec<BlockKey> {
        vec![key]
    }

    fn numbers(&self, columns: usize) -> usize {
        2 * columns * self.nodes_of_a_patch()
    }

    /// With compensation the rounding error does not grow with the number of parts.
    fn is_compensated(&self) -> bool {
        true
    }

    fn spread(&self, sources: &Points, nodes: &NodeBlocks) {
        let pieces: Vec<(usize, Vec<f64>)> = pieces_of_patches(sources.laid)
            .into_par_iter()
            .map(|(patch, places)| {
                let amounts = amounts(sources, &places);
                (patch, spread_to_patch(&self.chebyshev, positions(sources.laid, places), &amounts))
            })
            .collect();
        for pieces in pieces.chunk_by(|a, b| a.0 == b.0) {
            let numbers = 0..pieces[0].1.len();
            let sums: Vec<f64> = numbers.map(|at| compensated(pieces.iter().map(|(_, sums)| sums[at]))).collect();
            nodes.change(&sources.laid.runs[pieces[0].0].key, |block| add_compensated(block, &sums));
        }
    }

    fn convolve(&self, route: &Route, nodes: Vec<f64>, columns: usize) -> Vec<f64> {
        let mut moments = vec![Vec::with_capacity(nodes.len() / (2 * columns)); columns];
        for block in nodes.chunks_exact(self.numbers(columns)) {
            let (sums, lost) = block.split_at(block.len() / 2);
            let of_patch = self.nodes_of_a_patch();
            let of_columns = sums.chunks_exact(of_patch).zip(lost.chunks_exact(of_patch));
            for (column, (sums, lost)) in moments.iter_mut().zip(of_columns) {
                column.extend(sums.iter().zip(lost).map(|(sum, lost)| sum + lost));
            }
        }
        drop(nodes);
        self.transfer(&patches(&route.stages[0]), &moments, &patches(route.last()))
    }

    fn read(&self, targets: &Points, nodes: &LastBlocks) -> Vec<f64> {
        let columns = targets.columns.len();
        let mut sums = vec![0.0; targets.laid.len() * columns];
        let pieces = pieces_of_patches(targets.laid);
        let slots = slots(&mut sums, pieces.iter().map(|(_, places)| places.len() * columns));
        pieces.into_par_iter().zip(slots).for_each(|((patch, places), out)| {
            if let Some(nodes) = nodes.get(&targets.laid.runs[patch].key, columns * self.nodes_of_a_patch()) {
                read_patch(&self.chebyshev, positions(targets.laid, places), nodes, out);
            }
        });
        sums
    }

    /// Nodes of sources by pieces, with their rounding errors, and in columns; nodes of targets by tiles and in one piece.
    fn bytes(&self, sources: &LaidPlaces, route: &Route) -> u64 {
        let patches = pieces_of_patches(sources).len() + 3 * route.stages[0].len() + 2 * route.last().len();
        8 * (patches * self.nodes_of_a_patch()) as u64
    }

    fn cost(&self, counted: &CountedRows, limit: u64) -> Option<LatticeCost> {
        self.cost_of_counted(counted).filter(|cost| cost.bytes <= limit)
    }
}

/// Blocks of the lattice as patches.
fn patches(blocks: &[BlockKey]) -> Vec<PatchKey> {
    blocks.iter().map(|[_, band, patch]| (*band as u32, *patch as u32)).collect()
}

/// The patches in pieces, each the work of a task: the number of the patch and the places.
fn pieces_of_patches(laid: &LaidPlaces) -> Vec<(usize, Range<usize>)> {
    let runs = laid.runs.iter().enumerate();
    runs.flat_map(|(number, run)| pieces(&run.places, PIECE).map(move |places| (number, places))).collect()
}

/// The columns of some sources, in the order in which they are laid.
fn amounts(sources: &Points, places: &Range<usize>) -> Vec<Vec<f64>> {
    let order = &sources.laid.places[places.clone()];
    sources.columns.iter().map(|column| order.iter().map(|place| column[*place as usize]).collect()).collect()
}

fn positions(laid: &LaidPlaces, places: Range<usize>) -> [&[f64]; 2] {
    [0, 1].map(|k: usize| &laid.positions[k][places.clone()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::fast::any_lattice::AnyLattice;
    use crate::engine::fast::globe::squares::SquareCounts;
    use crate::engine::fast::laid::LaidLattice;
    use crate::engine::fast::sphere::KnownPlaces;
    use crate::points::Places;
    use crate::scene::{Layout, Own, Scene};
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
}
