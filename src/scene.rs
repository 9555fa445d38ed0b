//! One smoothing problem laid out for the engines: coincident rows merged into places, places sorted along a
//! curve that keeps neighbours together, the weights of merged rows added up.
//!
//! Merging matters beyond speed: ten million flats at one address are one place of weight ten million.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use crate::error::Error;
use crate::points::Places;
use crate::space::{Metric, Sigma, two_sum};

/// Whether a row that is both source and target counts in its own sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Own {
    /// It does, as in post-estimation smoothing.
    Counts,
    /// It does not: leave-one-out.
    LeftOut,
}

/// Stands for "no such place".
pub(crate) const NOWHERE: u32 = u32::MAX;

/// Distinct places of one role, sorted by group and then along a space-filling curve.
#[derive(Debug, Default)]
pub(crate) struct Cloud {
    /// One column for each axis of the metric.
    pub(crate) axes: Vec<Vec<f64>>,
    /// The places of each group, in the order of the groups.
    pub(crate) groups: Vec<Range<usize>>,
}

impl Cloud {
    pub(crate) fn len(&self) -> usize {
        self.axes[0].len()
    }

    /// The first `A` coordinates of a place.
    #[inline]
    pub(crate) fn place<const A: usize>(&self, place: usize) -> [f64; A] {
        std::array::from_fn(|k| self.axes[k][place])
    }
}

/// Where everything is, whatever σ and the weights are.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) metric: Metric,
    pub(crate) own: Own,
    pub(crate) targets: Cloud,
    pub(crate) sources: Cloud,
    /// The source place that coincides with each target place, or [`NOWHERE`].
    pub(crate) home: Vec<u32>,
    pub(crate) target_of_row: Vec<u32>,
    pub(crate) source_of_row: Vec<u32>,
}

/// Targets and weighted sources under one kernel, ready for an [`Engine`](crate::engine::Engine).
///
/// Sources come in parts, each with one weight: the rows to predict with weight 1 and the labelled rows with
/// the label weight, say. Source rows are counted through all parts in order.
#[derive(Debug)]
pub struct Scene {
    pub(crate) layout: Arc<Layout>,
    /// `−log₂ K = scale · d²`.
    pub(crate) scale: f64,
    /// Weight and number of rows of each part.
    pub(crate) parts: Vec<(f64, usize)>,
    /// Total weight at each source place.
    pub(crate) mass: Vec<f64>,
}

impl Scene {
    /// Lays out the problem. For [`Own::LeftOut`] the first part of the sources must be the targets themselves.
    ///
    /// # Errors
    /// If σ does not fit the places, the places are of different kinds, a weight is not positive and finite,
    /// or there are more rows than 32 bits count.
    pub fn new(sigma: Sigma, targets: &Places, sources: &[(&Places, f64)], own: Own) -> Result<Self, Error> {
        let metric = targets.metric(sigma)?;
        for (places, weight) in sources {
            check_part(places, *weight, sigma, metric)?;
        }
        if own == Own::LeftOut && !sources.first().is_some_and(|(first, _)| std::ptr::eq(*first, targets)) {
            return Err(Error::Contradiction {
                message: "leave-one-out needs the targets as the first part of the sources".to_owned(),
                hint: "pass the same places as targets and as first source".to_owned(),
            });
        }
        let rows = Rows::new(targets, sources)?;
        let layout = Arc::new(rows.sort(metric).into_layout(metric, own, &rows));
        let parts = rows.parts.iter().map(|(_, weight, len)| (*weight, *len)).collect();
        Ok(Self::over(layout, metric.decay_scale(sigma), parts))
    }

    fn over(layout: Arc<Layout>, scale: f64, parts: Vec<(f64, usize)>) -> Self {
        let mut scene = Self { layout, scale, parts, mass: Vec::new() };
        let ones: Vec<Vec<f64>> = scene.parts.iter().map(|(_, rows)| vec![1.0; *rows]).collect();
        scene.mass = scene.gather(&ones.iter().map(Vec::as_slice).collect::<Vec<_>>());
        scene
    }

    /// The same places with kernel and weights squared: σ/√2 and w². Its sums are `Σ (w K)²`.
    #[must_use]
    pub fn squared(&self) -> Self {
        let parts = self.parts.iter().map(|(weight, rows)| (weight * weight, *rows)).collect();
        Self::over(self.layout.clone(), 2.0 * self.scale, parts)
    }

    /// Number of distinct target places.
    #[must_use]
    pub fn target_places(&self) -> usize {
        self.layout.targets.len()
    }

    /// Number of distinct source places.
    #[must_use]
    pub fn source_places(&self) -> usize {
        self.layout.sources.len()
    }

    /// Adds weight times value over the rows of each source place, one slice for each part.
    ///
    /// # Panics
    /// If the slices do not match the parts; the callers in this crate have checked their lengths.
    #[must_use]
    pub fn gather(&self, parts: &[&[f64]]) -> Vec<f64> {
        assert!(parts.iter().map(|part| part.len()).eq(self.parts.iter().map(|(_, rows)| *rows)));
        let values = parts.iter().zip(&self.parts).flat_map(|(part, (weight, _))| part.iter().map(move |v| v * weight));
        let mut sums = vec![0.0; self.source_places()];
        // Compensated: ten million rows at one place would otherwise lose seven digits.
        let mut lost = vec![0.0; self.source_places()];
        for (value, &place) in values.zip(&self.layout.source_of_row) {
            let sum = two_sum(sums[place as usize], value);
            sums[place as usize] = sum.hi;
            lost[place as usize] += sum.lo;
        }
        for (sum, lost) in sums.iter_mut().zip(lost) {
            *sum += lost;
        }
        sums
    }

    /// The weight of a source row.
    pub(crate) fn weight_of_row(&self, row: usize) -> f64 {
        let mut end = 0;
        let part = self.parts.iter().find(|(_, rows)| {
            end += rows;
            row < end
        });
        part.map_or(0.0, |(weight, _)| *weight)
    }

    /// Total weight of the sources in a group.
    pub(crate) fn group_mass(&self, group: usize) -> f64 {
        self.mass[self.layout.sources.groups[group].clone()].iter().sum()
    }
}

fn check_part(places: &Places, weight: f64, sigma: Sigma, metric: Metric) -> Result<(), Error> {
    if places.metric(sigma)? != metric {
        return Err(Error::Contradiction {
            message: "targets and sources have different numbers of index columns".to_owned(),
            hint: "use the same columns for both".to_owned(),
        });
    }
    if weight > 0.0 && weight.is_finite() {
        Ok(())
    } else {
        Err(Error::Parameter { name: "weight of sources", value: weight.to_string(), expected: "positive and finite" })
    }
}

/// All rows of a problem: the targets first, then the parts of the sources that are not the targets again.
struct Rows<'a> {
    blocks: Vec<(&'a Places, usize)>,
    /// First row of each part of the sources, which may be that of the targets.
    parts: Vec<(usize, f64, usize)>,
    targets: usize,
    len: usize,
}

impl<'a> Rows<'a> {
    fn new(targets: &'a Places, sources: &[(&'a Places, f64)]) -> Result<Self, Error> {
        let mut rows =
            Self { blocks: vec![(targets, 0)], parts: Vec::new(), targets: targets.len(), len: targets.len() };
        for (places, weight) in sources {
            let start = if std::ptr::eq(*places, targets) {
                0
            } else {
                rows.blocks.push((places, rows.len));
                rows.len += places.len();
                rows.len - places.len()
            };
            rows.parts.push((start, *weight, places.len()));
        }
        if rows.len >= NOWHERE as usize {
            return Err(Error::Parameter {
                name: "number of rows",
                value: rows.len.to_string(),
                expected: "below 4294967295",
            });
        }
        Ok(rows)
    }

    fn locate(&self, row: usize) -> (&'a Places, usize) {
        let block = self.blocks.partition_point(|(_, start)| *start <= row) - 1;
        // An empty block shares its start with the next one, which then is the last with that start.
        let (places, start) = self.blocks[block];
        (places, row - start)
    }

    /// Sorts all rows by group, along the curve, then by coordinates, so that equal places are adjacent.
    fn sort(&self, metric: Metric) -> Sorted {
        let coordinates: Vec<[f64; 6]> = (0..self.len)
            .into_par_iter()
            .map(|row| {
                let (places, row) = self.locate(row);
                places.coordinates(row, metric)
            })
            .collect();
        let curve = Curve::around(&coordinates, metric.dimensions());
        let mut order: Vec<Entry> = (0..self.len)
            .into_par_iter()
            .map(|row| {
                let (places, local) = self.locate(row);
                Entry { key: curve.key(&coordinates[row]), group: places.group(local), row: row as u32 }
            })
            .collect();
        order.par_sort_unstable_by(|a, b| a.compare(b, &coordinates));
        Sorted { coordinates, order }
    }
}

#[derive(Clone, Copy)]
struct Entry {
    key: u64,
    group: u32,
    row: u32,
}

impl Entry {
    fn compare(&self, other: &Self, coordinates: &[[f64; 6]]) -> Ordering {
        let by_place = || {
            let (a, b) = (&coordinates[self.row as usize], &coordinates[other.row as usize]);
            a.iter().zip(b).map(|(x, y)| x.total_cmp(y)).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
        };
        (self.group, self.key).cmp(&(other.group, other.key)).then_with(by_place).then(self.row.cmp(&other.row))
    }
}

/// A Morton curve over the box that holds all places.
struct Curve {
    low: [f64; 3],
    cells_per_unit: [f64; 3],
    dimensions: usize,
    bits: u32,
}

impl Curve {
    fn around(places: &[[f64; 6]], dimensions: usize) -> Self {
        let bits = 63 / dimensions as u32;
        let mut curve = Self { low: [0.0; 3], cells_per_unit: [0.0; 3], dimensions, bits };
        for k in 0..dimensions {
            let low = places.iter().map(|p| p[k]).fold(f64::INFINITY, f64::min);
            let high = places.iter().map(|p| p[k]).fold(f64::NEG_INFINITY, f64::max);
            curve.low[k] = low;
            if high > low {
                curve.cells_per_unit[k] = ((1_u64 << bits) - 1) as f64 / (high - low);
            }
        }
        curve
    }

    fn key(&self, place: &[f64; 6]) -> u64 {
        let cell = |k: usize| ((place[k] - self.low[k]) * self.cells_per_unit[k]) as u64;
        match self.dimensions {
            1 => cell(0),
            2 => spread_by_two(cell(0)) << 1 | spread_by_two(cell(1)),
            _ => (0..3).fold(0, |key, k| key << 1 | spread_by_three(cell(k).min((1 << self.bits) - 1))),
        }
    }
}

/// Puts a zero between the low 32 bits.
fn spread_by_two(x: u64) -> u64 {
    let mut x = x & 0xFFFF_FFFF;
    for (shift, mask) in [
        (16, 0x0000_FFFF_0000_FFFF),
        (8, 0x00FF_00FF_00FF_00FF),
        (4, 0x0F0F_0F0F_0F0F_0F0F),
        (2, 0x3333_3333_3333_3333),
        (1, 0x5555_5555_5555_5555),
    ] {
        x = (x | x << shift) & mask;
    }
    x
}

/// Puts two zeros between the low 21 bits.
fn spread_by_three(x: u64) -> u64 {
    let mut x = x & 0x1F_FFFF;
    for (shift, mask) in [
        (32, 0x001F_0000_0000_FFFF),
        (16, 0x001F_0000_FF00_00FF),
        (8, 0x100F_00F0_0F00_F00F),
        (4, 0x10C3_0C30_C30C_30C3),
        (2, 0x1249_2492_4924_9249),
    ] {
        x = (x | x << shift) & mask;
    }
    x
}

struct Sorted {
    coordinates: Vec<[f64; 6]>,
    order: Vec<Entry>,
}

impl Sorted {
    fn into_layout(self, metric: Metric, own: Own, rows: &Rows) -> Layout {
        let is_source = self.rows_with_a_source(rows);
        let (mut targets, mut sources) = (Gathering::new(metric.axes()), Gathering::new(metric.axes()));
        let mut home = Vec::new();
        let mut target_of = vec![NOWHERE; rows.targets];
        let mut source_of = vec![NOWHERE; rows.len];
        let mut rest = self.order.as_slice();
        let mut group = None;
        while let Some(first) = rest.first() {
            let place = &self.coordinates[first.row as usize];
            let count = rest
                .iter()
                .take_while(|e| e.group == first.group && &self.coordinates[e.row as usize] == place)
                .count();
            let (here, after) = rest.split_at(count);
            rest = after;
            if group.replace(first.group) != Some(first.group) {
                targets.start_group();
                sources.start_group();
            }
            let source = here.iter().any(|e| is_source(e.row)).then(|| sources.push(place));
            let target = here.iter().any(|e| (e.row as usize) < rows.targets).then(|| targets.push(place));
            if target.is_some() {
                home.push(source.unwrap_or(NOWHERE));
            }
            for entry in here {
                if (entry.row as usize) < rows.targets {
                    target_of[entry.row as usize] = target.unwrap_or(NOWHERE);
                }
                source_of[entry.row as usize] = source.unwrap_or(NOWHERE);
            }
        }
        let source_of_row =
            rows.parts.iter().flat_map(|(start, _, len)| source_of[*start..start + len].iter().copied()).collect();
        Layout {
            metric,
            own,
            targets: targets.finish(),
            sources: sources.finish(),
            home,
            target_of_row: target_of,
            source_of_row,
        }
    }

    fn rows_with_a_source(&self, rows: &Rows) -> impl Fn(u32) -> bool + use<> {
        let targets = rows.targets;
        let targets_are_sources =
            rows.parts.iter().any(|(start, _, len)| *start == 0 && *len == targets && targets > 0);
        move |row| row as usize >= targets || targets_are_sources
    }
}

/// A cloud while it is being filled.
struct Gathering {
    cloud: Cloud,
}

impl Gathering {
    fn new(axes: usize) -> Self {
        Self { cloud: Cloud { axes: vec![Vec::new(); axes], groups: Vec::new() } }
    }

    fn start_group(&mut self) {
        let at = self.cloud.len();
        if let Some(last) = self.cloud.groups.last_mut() {
            last.end = at;
        }
        self.cloud.groups.push(at..at);
    }

    fn push(&mut self, place: &[f64; 6]) -> u32 {
        for (axis, coordinate) in self.cloud.axes.iter_mut().zip(place) {
            axis.push(*coordinate);
        }
        (self.cloud.len() - 1) as u32
    }

    fn finish(mut self) -> Cloud {
        let len = self.cloud.len();
        if let Some(last) = self.cloud.groups.last_mut() {
            last.end = len;
        }
        self.cloud
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scene(own: Own) -> Scene {
        let targets = Places::index(vec![vec![5.0, 1.0, 5.0], vec![0.0, 0.0, 0.0]]).unwrap();
        let labels = Places::index(vec![vec![1.0, 9.0], vec![0.0, 0.0]]).unwrap();
        Scene::new(Sigma::index(1.0).unwrap(), &targets, &[(&targets, 1.0), (&labels, 0.5)], own).unwrap()
    }

    #[test]
    fn coincident_rows_become_one_weighted_place() {
        let scene = scene(Own::Counts);
        assert_eq!(scene.layout.targets.axes[0], [1.0, 5.0]);
        assert_eq!(scene.layout.sources.axes[0], [1.0, 5.0, 9.0]);
        assert_eq!(scene.mass, [1.5, 2.0, 0.5]);
        assert_eq!(scene.layout.target_of_row, [1, 0, 1]);
        assert_eq!(scene.layout.source_of_row, [1, 0, 1, 0, 2]);
        assert_eq!(scene.layout.home, [0, 1]);
        assert_eq!(scene.gather(&[&[10.0, 20.0, 30.0], &[40.0, 50.0]]), [40.0, 40.0, 25.0]);
    }

    #[test]
    fn groups_keep_places_apart() {
        let targets = Places::index(vec![vec![1.0, 1.0, 2.0]]).unwrap().with_groups(vec![7, 3, 3]).unwrap();
        let labels = Places::index(vec![vec![1.0]]).unwrap().with_groups(vec![5]).unwrap();
        let scene =
            Scene::new(Sigma::index(1.0).unwrap(), &targets, &[(&targets, 1.0), (&labels, 1.0)], Own::Counts).unwrap();
        assert_eq!(scene.layout.targets.groups, [0..2, 2..2, 2..3]);
        assert_eq!(scene.layout.sources.groups, [0..2, 2..3, 3..4]);
    }

    #[test]
    fn curve_bits_interleave() {
        assert_eq!(spread_by_two(0b111), 0b1_0101);
        assert_eq!(spread_by_three(0b111), 0b100_1001);
        assert_eq!(spread_by_three((1 << 21) - 1).count_ones(), 21);
        assert_eq!(spread_by_two(u64::from(u32::MAX)).count_ones(), 32);
    }

    #[test]
    fn labels_alone_and_bad_weights() {
        let targets = Places::index(vec![vec![1.0]]).unwrap();
        let labels = Places::index(vec![vec![4.0]]).unwrap();
        let sigma = Sigma::index(1.0).unwrap();
        let scene = Scene::new(sigma, &targets, &[(&labels, 1.0)], Own::Counts).unwrap();
        assert_eq!((scene.target_places(), scene.source_places(), scene.layout.home[0]), (1, 1, NOWHERE));
        for weight in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Scene::new(sigma, &targets, &[(&labels, weight)], Own::Counts).is_err());
        }
        assert!(Scene::new(sigma, &targets, &[(&labels, 1.0)], Own::LeftOut).is_err());
    }
}
