//! Charts of the sphere: plane maps in which the lattice can work.
//!
//! The stereographic chart about a centre takes a unit vector with part `h` along the centre and part `v` across it to
//! `z = 2v / (1 + h)`. With `a = |z|²/4` the chord between two places is, exactly,
//!
//! ```text
//! c² = |z₁ − z₂|² / ((1 + a₁)(1 + a₂))
//! ```
//!
//! The lattice measures z in units of σ times a middle scale A, and each place has its own scale `1 + α = (1 + a) / A`. What
//! becomes of the kernel then is in [`expansion`](super::expansion).

use pulp::{Simd, WithSimd};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::engine::fast::lattice::BlockKey;
use crate::kernel::LANES;
use crate::scene::Cloud;
use crate::simd::arch;
use crate::space::{Twofold, two_product, two_sum};

fn dot(a: &[f64; 3], b: &[f64; 3]) -> f64 {
    (0..3).map(|k| a[k] * b[k]).sum()
}

fn cross(a: &[f64; 3], b: &[f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// Places that one task locates. Chosen, not measured.
const PIECE: usize = 1 << 14;

/// How a chart is scaled and cut into blocks.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct ChartGrid {
    /// The middle scale A.
    pub(crate) scale: f64,
    /// Side of a block; few digits, so that corners of blocks are exact.
    pub(crate) side: f64,
    /// Nodes along one side.
    pub(crate) nodes: usize,
}

impl ChartGrid {
    /// The number of the block that a coordinate is in, and where in it, in nodes.
    #[inline(always)]
    fn divide(&self, z: Twofold) -> (f64, f64) {
        let (side, nodes) = (self.side, self.nodes as f64);
        let mut block = (z.hi / side).floor();
        let within = (z.hi - block * side) + z.lo;
        // With the low part, or after rounding, it may be the next block.
        block += if within < 0.0 { -1.0 } else { f64::from(u8::from(within >= side)) };
        let within = (z.hi - block * side) + z.lo;
        (block, (within / side * nodes).clamp(0.0, nodes * (1.0 - f64::EPSILON)))
    }

    /// α of a place in a block, its position given in nodes.
    #[inline(always)]
    pub(crate) fn scale_offset(&self, key: &BlockKey, position: [f64; 2]) -> f64 {
        let step = self.side / self.nodes as f64;
        let z: [f64; 2] = std::array::from_fn(|k| key[k + 1] as f64 * self.side + position[k] * step);
        (1.0 + 0.25 * (z[0] * z[0] + z[1] * z[1])) / self.scale - 1.0
    }
}

/// The axes of a chart.
///
/// They are perpendicular up to rounding, which changes chords by as many units in the last place.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Frame {
    across: [[f64; 3]; 2],
    centre: [f64; 3],
}

/// Where a place is in a chart: its block, and where in it, in nodes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ChartPosition {
    pub(super) block: [i32; 2],
    pub(super) position: [f64; 2],
}

impl ChartPosition {
    /// The number of its cell in the block, which has this many nodes along one side.
    pub(super) fn cell(&self, nodes: usize) -> usize {
        self.position[0] as usize * nodes + self.position[1] as usize
    }
}

impl Frame {
    pub(crate) fn about(centre: [f64; 3]) -> Self {
        let flattest = (0..3).min_by(|a, b| centre[*a].abs().total_cmp(&centre[*b].abs())).unwrap_or(0);
        let axis = std::array::from_fn(|k| if k == flattest { 1.0 } else { 0.0 });
        let first = cross(&centre, &axis);
        let length = dot(&first, &first).sqrt();
        let first = first.map(|x| x / length);
        Self { across: [first, cross(&centre, &first)], centre }
    }

    /// Where some places are in the blocks of the chart.
    pub(super) fn locate(&self, grid: &ChartGrid, cloud: &Cloud, places: &[u32]) -> Vec<ChartPosition> {
        let mut located = vec![ChartPosition::default(); places.len()];
        places.par_chunks(PIECE).zip(located.par_chunks_mut(PIECE)).for_each(|(places, located)| {
            arch().dispatch(Locate { frame: self, grid, cloud, places, located });
        });
        located
    }

    /// The two coordinates of a unit vector with low parts, in twice the usual precision.
    #[inline(always)]
    fn project(&self, place: &[f64; 6]) -> [Twofold; 2] {
        let height = product(&self.centre, place);
        let one_more = two_sum(1.0, height.hi);
        let below = Twofold { hi: one_more.hi, lo: one_more.lo + height.lo };
        // No closures here: they would be compiled without the CPU features, and an exact product would be a call.
        [quotient(product(&self.across[0], place), below), quotient(product(&self.across[1], place), below)]
    }
}

/// Twice a number divided by another.
#[inline(always)]
fn quotient(above: Twofold, below: Twofold) -> Twofold {
    let hi = 2.0 * above.hi / below.hi;
    let whole = two_product(hi, below.hi);
    let rest = (2.0 * above.hi - whole.hi) - whole.lo + (2.0 * above.lo - hi * below.lo);
    Twofold { hi, lo: rest / below.hi }
}

/// The part of a unit vector with low parts along a direction.
#[inline(always)]
fn product(direction: &[f64; 3], place: &[f64; 6]) -> Twofold {
    let (mut hi, mut lo) = (0.0, 0.0);
    for k in 0..3 {
        let term = two_product(direction[k], place[k]);
        let sum = two_sum(hi, term.hi);
        hi = sum.hi;
        lo += sum.lo + (term.lo + direction[k] * place[k + 3]);
    }
    Twofold { hi, lo }
}

struct Locate<'a> {
    frame: &'a Frame,
    grid: &'a ChartGrid,
    cloud: &'a Cloud,
    places: &'a [u32],
    located: &'a mut [ChartPosition],
}

impl WithSimd for Locate<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for (places, located) in self.places.chunks(LANES).zip(self.located.chunks_mut(LANES)) {
            let mut many = [[0.0; LANES]; 6];
            for (axis, lanes) in self.cloud.axes.iter().zip(&mut many) {
                lanes.iter_mut().zip(places).for_each(|(lane, place)| *lane = axis[*place as usize]);
            }
            let (mut blocks, mut positions) = ([[0.0; LANES]; 2], [[0.0; LANES]; 2]);
            for lane in 0..LANES {
                let [a, b, c, d, e, f] = &many;
                let z = self.frame.project(&[a[lane], b[lane], c[lane], d[lane], e[lane], f[lane]]);
                for k in 0..2 {
                    (blocks[k][lane], positions[k][lane]) = self.grid.divide(z[k]);
                }
            }
            for (lane, position) in located.iter_mut().enumerate() {
                position.block = [blocks[0][lane] as i32, blocks[1][lane] as i32];
                position.position = [positions[0][lane], positions[1][lane]];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::unit_vector;

    #[test]
    fn chords_can_be_read_off_a_chart() {
        let centre: [f64; 3] = std::array::from_fn(|k| unit_vector(35.0, 179.0)[k]);
        let frame = Frame::about(centre);
        for (latitude, longitude, apart) in
            [(35.0, 179.0, 1e-9), (60.0, -170.0, 1e-5), (89.999, 20.0, 1e-3), (10.0, 150.0, 8.0)]
        {
            let ends = [(latitude, longitude), (latitude - 0.7 * apart, longitude + apart)];
            let [one, two] = ends.map(|(latitude, longitude)| unit_vector(latitude, longitude));
            let chord: f64 = (0..3).map(|k| ((one[k] - two[k]) + (one[k + 3] - two[k + 3])).powi(2)).sum();
            let z = [one, two].map(|place| frame.project(&place));
            let scale = z.map(|z| 1.0 + 0.25 * (z[0].hi * z[0].hi + z[1].hi * z[1].hi));
            let plane: f64 = (0..2).map(|k| ((z[0][k].hi - z[1][k].hi) + (z[0][k].lo - z[1][k].lo)).powi(2)).sum();
            let found = plane / (scale[0] * scale[1]);
            assert!((found / chord - 1.0).abs() < 1e-14, "{latitude} {longitude}: {found} and {chord}");
        }
    }
}
