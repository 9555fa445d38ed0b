//! Which sources the targets of a chart need.

use std::ops::Range;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::known::{Cap, KnownPlaces, squared_chord};
use crate::engine::bounds::Bounds;
use crate::engine::fast::lattice::BlockRun;
use crate::scene::Cloud;

/// Runs of sources that a task takes at least.
const RUNS_AT_ONCE: usize = 64;

/// Where the sources of a chart are.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct SourceReach {
    cap: Cap,
    /// Largest squared chord from the centre: the chart is designed for no more.
    from_centre: f64,
    /// The box around the targets: it excludes much that the round cap includes.
    bounds: Bounds,
    /// Largest squared chord from there.
    from_bounds: f64,
}

impl SourceReach {
    /// For some targets within a cap. A source farther than the halo from the cap or from the box is so from each target.
    pub(super) fn new(targets: &KnownPlaces, cap: Cap, halo: f64) -> Self {
        let bounds = Bounds::around(targets.cloud, 3, &targets.places);
        let from_bounds = targets.farther(squared_chord(halo));
        Self { cap, from_centre: squared_chord(cap.radius + halo), bounds, from_bounds }
    }

    /// The sources within reach, of those in some runs of blocks, whose side is given.
    pub(super) fn sources(&self, cloud: &Cloud, runs: &[BlockRun], side: f64) -> Vec<u32> {
        let diagonal = 3.0_f64.sqrt() * side;
        let runs = runs.par_iter().with_min_len(RUNS_AT_ONCE);
        runs.flat_map_iter(|run| self.sources_of_run(cloud, run.places.clone(), diagonal)).collect()
    }

    /// The same for one run, whose places are no farther than this from each other.
    fn sources_of_run(&self, cloud: &Cloud, run: Range<usize>, diagonal: f64) -> impl Iterator<Item = u32> {
        let (centre, bounds) = self.squares(cloud, run.start);
        let [centre, bounds] = [centre.sqrt() - self.from_centre.sqrt(), bounds.sqrt() - self.from_bounds.sqrt()];
        let farther = centre.max(bounds);
        let (all, none) = (farther + diagonal < 0.0, farther - diagonal > 0.0);
        let places = if none { 0..0 } else { run };
        places.filter(move |place| all || self.holds(cloud, *place)).map(|place| place as u32)
    }

    fn holds(&self, cloud: &Cloud, place: usize) -> bool {
        let (centre, bounds) = self.squares(cloud, place);
        centre <= self.from_centre && bounds <= self.from_bounds
    }

    /// Squared chords from the centre and from the box.
    fn squares(&self, cloud: &Cloud, place: usize) -> (f64, f64) {
        let here = Bounds::at(&cloud.place::<3>(place));
        (self.cap.squared_chord(cloud, place), self.bounds.squared_distance(&here))
    }
}
