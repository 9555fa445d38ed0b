//! From rows to distinct places: all rows sorted once, equal ones merged.

use std::cmp::Ordering;

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
    fn with_a_source(&self) -> impl Fn(u32) -> bool + use<> {
        let targets = self.targets;
        let targets_are_sources =
            self.parts.iter().any(|(start, _, len)| *start == 0 && *len == targets && targets > 0);
        move |row| row as usize >= targets || targets_are_sources
    }

    fn locate(&self, row: usize) -> (&'a Places, usize) {
        let block = self.blocks.partition_point(|(_, start)| *start <= row) - 1;
        // An empty block shares its start with the next one, which then is the last with that start.
        let (places, start) = self.blocks[block];
        (places, row - start)
    }

    /// Sorts all rows by group, along the curve, then by coordinates, so that equal places are adjacent.
    pub(super) fn sort(&self, metric: Metric) -> Sorted {
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

pub(super) struct Sorted {
    coordinates: Vec<[f64; 6]>,
    order: Vec<Entry>,
}

impl Sorted {
    pub(super) fn into_layout(self, metric: Metric, own: Own, rows: &Rows) -> Layout {
        let is_source = rows.with_a_source();
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
