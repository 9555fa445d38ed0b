//! One smoothing problem, laid out for the engines. Coincident rows are merged into places, places are sorted along a
//! space-filling curve, and the weights of merged rows are added up.
//!
//! Merging does more than save time: ten million flats at one address become one place of weight ten million.

mod curve;
mod memory;
mod merge;
mod radix;
mod rows;

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use crate::error::{Error, plain};
use crate::points::Places;
use crate::space::{Metric, Sigma, compensated};

pub(crate) use self::curve::Curve;
pub(crate) use self::memory::RowCounts;
use self::rows::AllRows;

/// Whether a row that is both source and target is part of its own sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Own {
    /// It is, as in post-estimation smoothing.
    Counts,
    /// It is not: leave-one-out.
    LeftOut,
}

/// Places whose rows one task gathers. Chosen, not measured.
const PIECE: usize = 1 << 13;

/// The index that means "no such place".
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

    /// The groups within a range of places, each with its places in that range.
    pub(crate) fn groups_within(&self, places: Range<usize>) -> impl Iterator<Item = (usize, Range<usize>)> {
        let first = self.groups.partition_point(|group| group.end <= places.start);
        let here = self.groups[first..].iter().take_while(move |group| group.start < places.end);
        let groups = (first..).zip(here).filter(|(_, group)| !group.is_empty());
        groups.map(move |(at, group)| (at, group.start.max(places.start)..group.end.min(places.end)))
    }

    /// The first `A` coordinates of a place.
    #[inline]
    pub(crate) fn place<const A: usize>(&self, place: usize) -> [f64; A] {
        std::array::from_fn(|k| self.axes[k][place])
    }
}

/// The rows at each place.
#[derive(Debug, Default)]
pub(crate) struct RowsAt {
    /// The end of each place's rows in `rows`.
    ends: Vec<u32>,
    rows: Vec<u32>,
}

impl RowsAt {
    #[inline]
    pub(crate) fn at(&self, place: usize) -> &[u32] {
        &self.rows[self.start(place)..self.ends[place] as usize]
    }

    #[inline]
    fn start(&self, place: usize) -> usize {
        if place == 0 { 0 } else { self.ends[place - 1] as usize }
    }
}

/// The positions of all places, independent of σ and of the weights.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) metric: Metric,
    pub(crate) own: Own,
    /// The curve that places are sorted along.
    pub(crate) curve: Curve,
    pub(crate) targets: Cloud,
    pub(crate) sources: Cloud,
    /// The source place that coincides with each target place, or [`NOWHERE`].
    pub(crate) home: Vec<u32>,
    pub(crate) target_of_row: Vec<u32>,
    pub(crate) rows_of_source: RowsAt,
}

/// Targets and weighted sources under one kernel, ready for an [`Engine`](crate::engine::Engine).
///
/// Sources come in parts, each with one weight: for instance the rows to predict with weight 1, and the labelled rows with
/// the label weight. Source rows are numbered through all parts in order.
#[derive(Debug)]
pub struct Scene {
    pub(crate) layout: Arc<Layout>,
    /// `−log₂ K = scale · d²`.
    pub(crate) scale: f64,
    /// Weight and number of rows of each part.
    pub(crate) parts: Vec<(f64, usize)>,
    /// Total weight at each source place.
    pub(crate) mass: Vec<f64>,
    /// Mass that the caller will add to the sums at every target. Errors need only be small relative to the total.
    pub(crate) beside: f64,
}

impl Scene {
    /// Lays out the problem. For [`Own::LeftOut`] the first part of the sources must be the targets themselves.
    ///
    /// # Errors
    /// If σ does not fit the places, the places are of different kinds, a weight is not positive and finite,
    /// or there are more rows than 32 bits count.
    pub fn new(sigma: Sigma, targets: &Places, sources: &[(&Places, f64)], own: Own) -> Result<Self, Error> {
        Self::along(None, sigma, targets, sources, own)
    }

    /// [`new`](Self::new) along a given curve, whose box may hold more places than these.
    pub(crate) fn along(
        curve: Option<Curve>,
        sigma: Sigma,
        targets: &Places,
        sources: &[(&Places, f64)],
        own: Own,
    ) -> Result<Self, Error> {
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
        let rows = AllRows::new(targets, sources)?;
        let layout = Arc::new(rows.layout(metric, own, curve));
        Ok(Self::over(layout, metric.decay_scale(sigma), rows.parts))
    }

    /// The counts that memory estimates need, before the problem is laid out.
    ///
    /// # Errors
    /// If σ does not fit the places.
    pub(crate) fn counts(sigma: Sigma, targets: &Places, sources: &[(&Places, f64)]) -> Result<RowCounts, Error> {
        let others = sources.iter().filter(|(places, _)| !std::ptr::eq(*places, targets));
        let all = (targets.len() + others.map(|(places, _)| places.len()).sum::<usize>()) as u64;
        let last_group = sources.iter().map(|(places, _)| places.last_group()).fold(targets.last_group(), u32::max);
        Ok(RowCounts {
            targets: targets.len() as u64,
            sources: sources.iter().map(|(places, _)| places.len() as u64).sum(),
            all,
            axes: targets.metric(sigma)?.axes() as u64,
            groups: all.min(u64::from(last_group) + 1),
        })
    }

    fn over(layout: Arc<Layout>, scale: f64, parts: Vec<(f64, usize)>) -> Self {
        let mut scene = Self { layout, scale, parts, mass: Vec::new(), beside: 0.0 };
        scene.mass = (0..scene.source_places()).into_par_iter().map(|place| scene.place_mass(place)).collect();
        scene
    }

    /// The total weight of the rows at a source place.
    fn place_mass(&self, place: usize) -> f64 {
        match self.layout.rows_of_source.at(place) {
            [row] => self.weight_of_row(*row as usize),
            rows => {
                // Counted first, so that a place of ten million rows weighs exactly ten million times one.
                self.ranges().map(|(part, weight)| weight * count_in(&part, rows) as f64).sum()
            }
        }
    }

    /// The source rows and the weight of each part.
    fn ranges(&self) -> impl Iterator<Item = (Range<usize>, f64)> {
        self.parts.iter().scan(0, |end, (weight, rows)| {
            *end += rows;
            Some((*end - rows..*end, *weight))
        })
    }

    /// The same places with kernel and weights squared: σ/√2 and w². The kernel sums of that scene are `Σ (w K)²`.
    #[must_use]
    pub fn squared(&self) -> Self {
        let parts = self.parts.iter().map(|(weight, rows)| (weight * weight, *rows)).collect();
        Self::over(self.layout.clone(), 2.0 * self.scale, parts)
    }

    /// The same places and weights with another σ, in the same metric, and with another mass `beside`.
    pub(crate) fn with_sigma(&self, sigma: Sigma, beside: f64) -> Self {
        let (layout, parts, mass) = (self.layout.clone(), self.parts.clone(), self.mass.clone());
        Self { layout, scale: self.layout.metric.decay_scale(sigma), parts, mass, beside }
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

    /// Adds weight times value over the rows of each source place. `parts` has one slice for each part; `value` transforms each
    /// value first.
    ///
    /// # Panics
    /// If the slices do not match the parts; the callers in this crate have checked their lengths.
    #[must_use]
    pub fn gather(&self, parts: &[&[f64]], value: impl Fn(f64) -> f64 + Sync) -> Vec<f64> {
        assert!(parts.iter().map(|part| part.len()).eq(self.parts.iter().map(|(_, rows)| *rows)));
        let rows_at = &self.layout.rows_of_source;
        let mut sums = vec![0.0; self.source_places()];
        sums.par_chunks_mut(PIECE).enumerate().for_each(|(piece, sums)| {
            let places = piece * PIECE..piece * PIECE + sums.len();
            let first = rows_at.start(places.start);
            // Looked up in a loop of its own, so that the CPU fetches many distant rows at the same time.
            let rows = rows_at.rows[first..rows_at.start(places.end)].iter();
            let terms: Vec<f64> = rows.map(|&row| self.weighted_value(parts, row, &value)).collect();
            for (sum, place) in sums.iter_mut().zip(places) {
                *sum = match &terms[rows_at.start(place) - first..rows_at.start(place + 1) - first] {
                    [term] => *term,
                    // Compensated: ten million rows at one place would otherwise lose seven digits.
                    terms => compensated(terms.iter().copied()),
                };
            }
        });
        sums
    }

    /// Weight times transformed value of a source row.
    #[inline]
    fn weighted_value(&self, parts: &[&[f64]], row: u32, value: impl Fn(f64) -> f64) -> f64 {
        let (mut row, mut part) = (row as usize, 0);
        while row >= self.parts[part].1 {
            row -= self.parts[part].1;
            part += 1;
        }
        self.parts[part].0 * value(parts[part][row])
    }

    /// The weight of a source row.
    pub(crate) fn weight_of_row(&self, row: usize) -> f64 {
        self.ranges().find(|(part, _)| part.contains(&row)).map_or(0.0, |(_, weight)| weight)
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
        Err(Error::Parameter { name: "weight of sources", value: plain(weight), expected: "positive and finite" })
    }
}

/// How many of the rows lie in a range.
fn count_in(part: &Range<usize>, rows: &[u32]) -> usize {
    rows.iter().filter(|&&row| part.contains(&(row as usize))).count()
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
        assert_eq!([0, 1, 2].map(|place| scene.layout.rows_of_source.at(place)), [&[1, 3][..], &[0, 2], &[4]]);
        assert_eq!(scene.layout.home, [0, 1]);
        assert_eq!(scene.gather(&[&[10.0, 20.0, 30.0], &[40.0, 50.0]], |value| value), [40.0, 40.0, 25.0]);
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
