//! Tiles smoothed one by one against all pairs of all rows.

use geosmooth::engine::EngineKind;
use geosmooth::partition::Census;
use geosmooth::{Error, Places, Sigma};

use crate::problem::{Problem, SHAPES, SPACES, Shape, Space, all, smoother};
use crate::tiled::{Tiled, Tiling};

const LABEL_WEIGHT: f64 = 3.0;

fn check(shape: Shape, space: Space, share: f64, tolerance: f64, cells: usize) -> usize {
    // Sources that cannot be parted must fit: all 800 of them, beside some targets.
    compare(shape, space, share, tolerance, cells, |tiling| tiling.smooth(900)).unwrap().tiles
}

fn compare(
    shape: Shape,
    space: Space,
    share: f64,
    tolerance: f64,
    cells: usize,
    smooth: impl Fn(&Tiling) -> Result<Tiled, Error>,
) -> Result<Tiled, Error> {
    let problem = Problem::new(shape, space, 400, 8);
    let sigma = space.sigma(share);
    let whole = smoother(sigma, 0.8).label_weight(LABEL_WEIGHT).unwrap().tolerance(tolerance).unwrap();
    let exact = problem.smooth(&whole, EngineKind::Exact);
    let tiled = smooth(&Tiling {
        smoother: &whole,
        sigma,
        c: 0.8,
        label_weight: LABEL_WEIGHT,
        tolerance,
        targets: (&problem.targets, &problem.predictions),
        labelled: (&problem.labelled, &problem.labels),
        cells,
    })?;
    let (values, bounds) = (all(&tiled.smoothed), &tiled.smoothed.error_bound);
    for (row, value) in all(&exact).into_iter().enumerate() {
        let (off, bound) = ((values[row] - value).abs(), bounds[row]);
        let what = || format!("{shape:?} {space:?} {share} {tolerance:e} row {row}");
        assert!(off <= bound + exact.error_bound[row], "{}: {off:e} above its bound {bound:e}", what());
        assert!(bound <= tolerance * exact.range, "{}: bound {bound:e} above the tolerance", what());
    }
    Ok(tiled)
}

#[test]
fn every_row_keeps_the_tolerance_and_its_bound() {
    let mut tiles = 0;
    for shape in SHAPES {
        for space in SPACES {
            for share in [0.0003, 0.01, 0.3] {
                tiles += check(shape, space, share, 1e-6, Census::MOST_CELLS);
            }
        }
    }
    // Two at least where σ is small, parts of one where it is wide.
    assert!(tiles > 2 * 8 * 5 * 3, "{tiles} tiles");
}

#[test]
fn other_tolerances_and_coarse_cells_too() {
    for (tolerance, cells) in [(1e-2, 20), (1e-4, 1000), (1e-9, 50), (1e-11, Census::MOST_CELLS)] {
        for shape in [Shape::Uniform, Shape::CityAndHermits, Shape::FarOutliers] {
            for space in [Space::Metres, Space::Degrees] {
                check(shape, space, 0.004, tolerance, cells);
            }
        }
    }
}

/// More rows are within reach of each other than a tile holds.
#[test]
fn tile_groups_keep_the_tolerance_and_their_bounds() {
    let (mut groups, mut tiles, mut refused) = (0, 0, 0);
    for (shape, space) in SHAPES.into_iter().flat_map(|shape| SPACES.map(|space| (shape, space))) {
        for (share, tolerance, cells) in [(0.01, 1e-6, Census::MOST_CELLS), (0.003, 1e-9, 50), (0.05, 1e-3, 300)] {
            match compare(shape, space, share, tolerance, cells, |tiling| tiling.smooth_with_tile_groups(250)) {
                Ok(tiled) => (groups, tiles) = (groups + tiled.tile_groups, tiles + tiled.tiles),
                Err(error) => refused += usize::from(matches!(error, Error::Memory { .. })),
            }
        }
    }
    assert!(groups >= 60 && tiles > 10 * groups && refused <= 5, "{groups} groups, {tiles} tiles, {refused} refused");
}

/// Beyond a tile is what is small beside a row itself: without it that may be all there is.
#[test]
fn no_row_of_a_tile_is_left_out_of_its_own_average() {
    let sigma = Sigma::index(1.0).unwrap();
    let targets = Places::index(vec![vec![0.0, 20.0]]).unwrap();
    let smoother = smoother(sigma, 1.0).leave_one_out();
    let tiling = Tiling {
        smoother: &smoother,
        sigma,
        c: 1.0,
        label_weight: LABEL_WEIGHT,
        tolerance: 1e-6,
        targets: (&targets, &[1.0, 2.0]),
        labelled: (&Places::index(vec![vec![9.0]]).unwrap(), &[5.0]),
        cells: Census::MOST_CELLS,
    };
    assert!(tiling.smooth(4).is_err());
}
