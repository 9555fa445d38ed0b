//! From rows to distinct places: all rows sorted once, equal ones merged.

use rayon::prelude::*;

use super::curve::Curve;
use super::{Cloud, Layout, NOWHERE, Own};
use crate::error::Error;
use crate::points::Places;
use crate::space::Metric;

/// All rows of a problem: the targets first, then the parts of the sources that are not the targets again.
pub(super) struct Rows<'a> {
    blocks: Vec<(&'a Places, usize)>,
    /// First row of each part of the sources, which may be that of the targets.
    pub(super) parts: Vec<(usize, f64, usize)>,
    targets: usize,
    len: usize,
}

impl<'a> Rows<'a> {
    pub(super) fn new(targets: &'a Places, sources: &[(&'a Places, f64)]) -> Result<Self, Error> {
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

    /// Whether a row is a source.
    fn with_a_source(&self) -> impl Fn(usize) -> bool + use<> {
        let targets = self.targets;
        let targets_are_sources =
            self.parts.iter().any(|(start, _, len)| *start == 0 && *len == targets && targets > 0);
        move |row| row >= targets || targets_are_sources
    }

    fn locate(&self, row: usize) -> (&'a Places, usize) {
        let block = self.blocks.partition_point(|(_, start)| *start <= row) - 1;
        // An empty block shares its start with the next one, which then is the last with that start.
        let (places, start) = self.blocks[block];
        (places, row - start)
    }

    /// Merges all rows into places.
    pub(super) fn layout(&self, metric: Metric, own: Own) -> Layout {
        match metric.axes() {
            1 => self.sorted::<1>(metric).layout(metric, own, self),
            2 => self.sorted::<2>(metric).layout(metric, own, self),
            3 => self.sorted::<3>(metric).layout(metric, own, self),
            _ => self.sorted::<6>(metric).layout(metric, own, self),
        }
    }

    /// Sorts all rows by group, along the curve, then by coordinates, so that equal places are adjacent.
    fn sorted<const A: usize>(&self, metric: Metric) -> Sorted<A> {
        let all = || (0..self.len).into_par_iter().map(|row| (row, self.locate(row)));
        let coordinates: Vec<[f64; A]> = all().map(|(_, (places, row))| places.coordinates(row, metric)).collect();
        let curve = Curve::around(&coordinates, metric.dimensions());
        let entry = |(row, (places, local)): (usize, (&Places, usize))| {
            Entry::new(places.group(local), curve.key(&coordinates[row]), row)
        };
        let mut order: Vec<Entry> = all().map(entry).collect();
        order.par_sort_unstable();
        order.par_chunk_by_mut(Entry::same_cell).for_each(|cell| sort_cell(cell, &coordinates));
        let places = order.par_iter().map(|entry| coordinates[entry.row()]).collect();
        Sorted { order, places }
    }
}

/// Group, position on the curve and row packed into one number, which sorts faster than three.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry(u128);

impl Entry {
    fn new(group: u32, key: u64, row: usize) -> Self {
        Self(u128::from(group) << 96 | u128::from(key) << 32 | row as u128)
    }

    fn group(self) -> u32 {
        (self.0 >> 96) as u32
    }

    fn row(self) -> usize {
        self.0 as u32 as usize
    }

    fn same_cell(&self, other: &Self) -> bool {
        self.0 >> 32 == other.0 >> 32
    }
}

/// Brings equal places of one cell of the curve together.
fn sort_cell<const A: usize>(cell: &mut [Entry], coordinates: &[[f64; A]]) {
    if cell.len() > 1 {
        let place = |entry: &Entry| &coordinates[entry.row()];
        let by_place = |a: &Entry, b: &Entry| {
            place(a).iter().zip(place(b)).map(|(x, y)| x.total_cmp(y)).find(|order| order.is_ne())
        };
        cell.sort_unstable_by(|a, b| by_place(a, b).unwrap_or_else(|| a.cmp(b)));
    }
}

/// Rows along the curve, and the place of each.
struct Sorted<const A: usize> {
    order: Vec<Entry>,
    places: Vec<[f64; A]>,
}

impl<const A: usize> Sorted<A> {
    fn layout(&self, metric: Metric, own: Own, rows: &Rows) -> Layout {
        let is_source = rows.with_a_source();
        let is_target = |entry: &Entry| entry.row() < rows.targets;
        let (mut targets, mut sources) = (Gathering::new(A), Gathering::new(A));
        let mut home = Vec::new();
        let mut target_of_row = vec![NOWHERE; rows.targets];
        let mut source_of = vec![NOWHERE; rows.len];
        let mut group = None;
        let mut start = 0;
        while start < self.order.len() {
            let end = self.end_of_place(start);
            let (here, place) = (&self.order[start..end], &self.places[start]);
            if group.replace(here[0].group()) != Some(here[0].group()) {
                targets.start_group();
                sources.start_group();
            }
            let source = here.iter().any(|entry| is_source(entry.row())).then(|| sources.push(place));
            let target = here.iter().any(is_target).then(|| targets.push(place));
            if target.is_some() {
                home.push(source.unwrap_or(NOWHERE));
            }
            for entry in here {
                if is_target(entry) {
                    target_of_row[entry.row()] = target.unwrap_or(NOWHERE);
                }
                source_of[entry.row()] = source.unwrap_or(NOWHERE);
            }
            start = end;
        }
        let parts = rows.parts.iter().map(|(start, _, len)| &source_of[*start..start + len]);
        let source_of_row = parts.collect::<Vec<_>>().concat();
        Layout { metric, own, targets: targets.finish(), sources: sources.finish(), home, target_of_row, source_of_row }
    }

    /// The first row after `start` that is elsewhere.
    fn end_of_place(&self, start: usize) -> usize {
        let same =
            |at: &usize| self.places[*at] == self.places[start] && self.order[*at].group() == self.order[start].group();
        (start + 1..self.order.len()).find(|at| !same(at)).unwrap_or(self.order.len())
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

    fn push(&mut self, place: &[f64]) -> u32 {
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
