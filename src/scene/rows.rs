//! From rows to distinct places: all rows sorted once, equal ones merged.

use std::ops::Range;

use rayon::prelude::*;

use super::curve::Curve;
use super::{Cloud, Layout, NOWHERE, Own, RowsAt};
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

    fn locate(&self, row: usize) -> (&'a Places, usize) {
        let block = self.blocks.partition_point(|(_, start)| *start <= row) - 1;
        // An empty block shares its start with the next one, which then is the last with that start.
        let (places, start) = self.blocks[block];
        (places, row - start)
    }

    /// The numbers of a row among the source rows, which count through all parts.
    fn as_sources(&self, row: usize) -> impl Iterator<Item = u32> {
        let mut before = 0;
        self.parts.iter().filter_map(move |(start, _, len)| {
            let first = before;
            before += len;
            (*start..start + len).contains(&row).then(|| (first + row - start) as u32)
        })
    }

    /// Merges all rows into places.
    pub(super) fn layout(&self, metric: Metric, own: Own) -> Layout {
        match metric.axes() {
            1 => self.sorted::<1>(metric).layout(metric, own),
            2 => self.sorted::<2>(metric).layout(metric, own),
            3 => self.sorted::<3>(metric).layout(metric, own),
            _ => self.sorted::<6>(metric).layout(metric, own),
        }
    }

    /// Sorts all rows by group, along the curve, then by coordinates, so that equal places are adjacent.
    fn sorted<const A: usize>(&self, metric: Metric) -> Sorted<'_, A> {
        let all = || (0..self.len).into_par_iter().map(|row| (row, self.locate(row)));
        let coordinates: Vec<[f64; A]> = all().map(|(_, (places, row))| places.coordinates(row, metric)).collect();
        let curve = Curve::around(&coordinates, metric.dimensions());
        let entry = |(row, (places, local)): (usize, (&Places, usize))| {
            Entry::new(places.group(local), curve.key(&coordinates[row]), row)
        };
        let mut order: Vec<Entry> = all().map(entry).collect();
        order.par_sort_unstable();
        order.par_chunk_by_mut(Entry::same_cell).for_each(|cell| sort_cell(cell, &coordinates));
        // Looked up once in the order of the curve: from here on memory is walked through from end to end.
        let places = order.par_iter().map(|entry| coordinates[entry.row()]).collect();
        Sorted { rows: self, curve, order, places }
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
struct Sorted<'a, const A: usize> {
    rows: &'a Rows<'a>,
    curve: Curve,
    order: Vec<Entry>,
    places: Vec<[f64; A]>,
}

/// Rows that one task merges.
const PIECE: usize = 1 << 13;

impl<const A: usize> Sorted<'_, A> {
    fn layout(&self, metric: Metric, own: Own) -> Layout {
        let groups = self.groups();
        let pieces: Vec<Range<usize>> = groups.iter().flat_map(|group| self.pieces(group.clone())).collect();
        let merged: Vec<Piece> = pieces.par_iter().map(|piece| self.merge(piece.clone())).collect();
        let mut targets = Merged::with_room_for(merged.iter().map(|piece| &piece.targets));
        let mut sources = Merged::with_room_for(merged.iter().map(|piece| &piece.sources));
        let mut home = Vec::with_capacity(targets.first.capacity());
        let mut starts = Vec::new();
        for (range, piece) in pieces.iter().zip(&merged) {
            starts.push((range.start, targets.first.len(), sources.first.len()));
            let before = sources.first.len() as u32;
            home.extend(piece.home.iter().map(|&at| if at == NOWHERE { at } else { at + before }));
            targets.append(&piece.targets);
            sources.append(&piece.sources);
        }
        starts.push((self.order.len(), targets.first.len(), sources.first.len()));
        let bounds = |group: &Range<usize>, which: fn(&(usize, usize, usize)) -> usize| {
            let at = |entry: usize| which(&starts[starts.partition_point(|start| start.0 < entry)]);
            at(group.start)..at(group.end)
        };
        let target_groups = groups.iter().map(|group| bounds(group, |start| start.1)).collect();
        let source_groups = groups.iter().map(|group| bounds(group, |start| start.2)).collect();
        let mut target_of_row = vec![NOWHERE; self.rows.targets];
        for place in 0..targets.first.len() {
            targets.rows.at(place).iter().for_each(|&row| target_of_row[row as usize] = place as u32);
        }
        Layout {
            metric,
            own,
            curve: self.curve,
            targets: Cloud { axes: self.axes_of(&targets.first), groups: target_groups },
            sources: Cloud { axes: self.axes_of(&sources.first), groups: source_groups },
            home,
            target_of_row,
            rows_of_source: sources.rows,
        }
    }

    /// The entries of each group.
    fn groups(&self) -> Vec<Range<usize>> {
        let mut groups = Vec::new();
        let mut start = 0;
        while start < self.order.len() {
            let group = self.order[start].group();
            let end = start + self.order[start..].partition_point(|entry| entry.group() <= group);
            groups.push(start..end);
            start = end;
        }
        groups
    }

    /// Cuts a group into pieces that share no place.
    fn pieces(&self, group: Range<usize>) -> Vec<Range<usize>> {
        let mut pieces = Vec::new();
        let mut start = group.start;
        while start < group.end {
            let end = self.end_of_place((start + PIECE).min(group.end) - 1, group.end);
            pieces.push(start..end);
            start = end;
        }
        pieces
    }

    /// The first entry after `at` that is elsewhere.
    fn end_of_place(&self, at: usize, end: usize) -> usize {
        (at + 1..end).find(|&next| self.places[next] != self.places[at]).unwrap_or(end)
    }

    fn merge(&self, piece: Range<usize>) -> Piece {
        let mut merged = Piece::default();
        let mut start = piece.start;
        while start < piece.end {
            let end = self.end_of_place(start, piece.end);
            for entry in &self.order[start..end] {
                let row = entry.row();
                merged.sources.rows.rows.extend(self.rows.as_sources(row));
                if row < self.rows.targets {
                    merged.targets.rows.rows.push(row as u32);
                }
            }
            let first = start as u32;
            let source = merged.sources.close(first);
            if merged.targets.close(first).is_some() {
                merged.home.push(source.unwrap_or(NOWHERE));
            }
            start = end;
        }
        merged
    }

    /// The coordinates of places given by one entry each, one column for each axis.
    fn axes_of(&self, entries: &[u32]) -> Vec<Vec<f64>> {
        let mut axes: [Vec<f64>; A] = std::array::from_fn(|_| vec![0.0; entries.len()]);
        let mut chunks = axes.each_mut().map(|axis| axis.chunks_mut(PIECE));
        let jobs: Vec<(&[u32], [&mut [f64]; A])> = entries
            .chunks(PIECE)
            .map(|entries| (entries, chunks.each_mut().map(|axis| axis.next().unwrap_or_default())))
            .collect();
        jobs.into_par_iter().for_each(|(entries, mut axes)| {
            for (at, &entry) in entries.iter().enumerate() {
                let place = &self.places[entry as usize];
                axes.iter_mut().zip(place).for_each(|(axis, coordinate)| axis[at] = *coordinate);
            }
        });
        axes.into()
    }
}

/// What one task made of its rows; `home` counts the sources of the piece.
#[derive(Default)]
struct Piece {
    targets: Merged,
    sources: Merged,
    home: Vec<u32>,
}

/// Places of one role: an entry at each, for its coordinates, and all rows of the role there.
#[derive(Default)]
struct Merged {
    first: Vec<u32>,
    rows: RowsAt,
}

impl Merged {
    fn with_room_for<'a>(parts: impl Iterator<Item = &'a Self>) -> Self {
        let (places, rows) = parts.fold((0, 0), |(p, r), part| (p + part.first.len(), r + part.rows.rows.len()));
        let rows = RowsAt { ends: Vec::with_capacity(places), rows: Vec::with_capacity(rows) };
        Self { first: Vec::with_capacity(places), rows }
    }

    /// Makes the rows since the last place a place; gives its number unless there are none.
    fn close(&mut self, first: u32) -> Option<u32> {
        let end = self.rows.rows.len() as u32;
        (self.rows.ends.last().copied().unwrap_or(0) < end).then(|| {
            self.rows.ends.push(end);
            self.first.push(first);
            self.first.len() as u32 - 1
        })
    }

    fn append(&mut self, other: &Self) {
        let before = self.rows.rows.len() as u32;
        self.first.extend(&other.first);
        self.rows.rows.extend(&other.rows.rows);
        self.rows.ends.extend(other.rows.ends.iter().map(|end| end + before));
    }
}
