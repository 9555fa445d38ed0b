//! Merges sorted rows into distinct places. Pieces are merged in parallel, each into its own part of the output.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::atomic::{self, AtomicU32};

use rayon::prelude::*;

use super::rows::Sorted;
use super::{Cloud, Layout, NOWHERE, Own, RowsAt};
use crate::space::Metric;

/// Numbers of targets and of sources.
#[derive(Clone, Copy, Default)]
struct PlaceCounts {
    targets: usize,
    sources: usize,
}

impl PlaceCounts {
    fn plus(self, other: Self) -> Self {
        Self { targets: self.targets + other.targets, sources: self.sources + other.sources }
    }
}

/// The result of merging a piece.
struct Merged {
    found: PlaceCounts,
    /// Each group in the piece, with the counts at its end.
    groups: Vec<(u32, PlaceCounts)>,
}

/// The end of each group among all places. A group may continue from one piece to the next.
fn ends_of_groups(merged: &[Merged]) -> Vec<PlaceCounts> {
    let mut ends: Vec<PlaceCounts> = Vec::with_capacity(merged.iter().map(|piece| piece.groups.len()).sum());
    let (mut before, mut last) = (PlaceCounts::default(), None);
    for piece in merged {
        for (group, found) in &piece.groups {
            let end = before.plus(*found);
            match ends.last_mut().filter(|_| last == Some(group)) {
                Some(same) => *same = end,
                None => ends.push(end),
            }
            last = Some(group);
        }
        before = before.plus(piece.found);
    }
    ends
}

/// Consecutive ranges, given by their ends.
fn between(ends: impl Iterator<Item = usize>) -> Vec<Range<usize>> {
    ends.scan(0, |start, end| Some(std::mem::replace(start, end)..end)).collect()
}

impl<const A: usize> Sorted<'_, A> {
    pub(super) fn layout(&self, metric: Metric, own: Own) -> Layout {
        let pieces = self.pieces();
        let rows: Vec<PlaceCounts> = pieces.par_iter().map(|piece| self.count_rows(piece.clone())).collect();
        let mut places = Room::<A>::new(self.rows.targets, rows.iter().map(|rows| rows.sources).sum());
        let slots = places.slots(&rows);
        let merged: Vec<Merged> =
            pieces.par_iter().zip(slots).map(|(piece, slot)| self.merge(piece.clone(), slot)).collect();
        let found: Vec<PlaceCounts> = merged.iter().map(|piece| piece.found).collect();
        places.close_gaps(&rows, &found);
        let ends = ends_of_groups(&merged);
        drop(merged);
        Layout {
            metric,
            own,
            curve: self.curve,
            targets: Cloud { axes: places.targets.into(), groups: between(ends.iter().map(|end| end.targets)) },
            sources: Cloud { axes: places.sources.into(), groups: between(ends.iter().map(|end| end.sources)) },
            home: places.home,
            target_of_row: places.target_of_row.into_iter().map(AtomicU32::into_inner).collect(),
            rows_of_source: places.rows,
        }
    }

    /// Counts the target rows and the source rows of a piece.
    fn count_rows(&self, piece: Range<usize>) -> PlaceCounts {
        self.order[piece].iter().fold(PlaceCounts::default(), |count, &entry| {
            let row = self.row(entry);
            PlaceCounts {
                targets: count.targets + usize::from(row < self.rows.targets),
                sources: count.sources + self.rows.as_sources(row).count(),
            }
        })
    }

    /// Writes the places of a piece, group by group.
    fn merge(&self, piece: Range<usize>, mut slot: PieceSlots<A>) -> Merged {
        let mut groups = Vec::new();
        for (group, entries) in self.groups_in(piece) {
            self.merge_group(entries, &mut slot);
            groups.push((group, slot.found));
        }
        Merged { found: slot.found, groups }
    }

    /// Writes the places of entries of one group.
    fn merge_group(&self, entries: Range<usize>, slot: &mut PieceSlots<A>) {
        // Looked up in a loop of its own, so that the CPU fetches many distant rows at the same time.
        let places: Vec<[f64; A]> =
            self.order[entries.clone()].iter().map(|&entry| self.coordinates[self.row(entry)]).collect();
        let mut places = places.as_slice();
        let mut cell_mates: Vec<(u64, [f64; A], usize)> = Vec::new();
        for cell in self.order[entries].chunk_by(|a, b| self.cell(*a) == self.cell(*b)) {
            let Some(places) = places.split_off(..cell.len()) else { break };
            if let ([entry], [place]) = (cell, places) {
                self.add(place, std::iter::once(self.row(*entry)), slot);
                continue;
            }
            cell_mates.clear();
            let rows = cell.iter().map(|&entry| self.row(entry));
            cell_mates.extend(places.iter().zip(rows).map(|(place, row)| (self.curve.key(place), *place, row)));
            // By the full key, then by coordinates, so that equal places are adjacent; then by row.
            cell_mates.sort_unstable_by(|a, b| {
                a.0.cmp(&b.0).then_with(|| by_coordinates(&a.1, &b.1)).then_with(|| a.2.cmp(&b.2))
            });
            for equal in cell_mates.chunk_by(|a, b| a.1 == b.1) {
                self.add(&equal[0].1, equal.iter().map(|mate| mate.2), slot);
            }
        }
    }

    /// Adds one place with all of its rows.
    #[inline]
    fn add(&self, place: &[f64; A], rows: impl Iterator<Item = usize>, slot: &mut PieceSlots<A>) {
        let before = slot.source_rows;
        let mut is_target = false;
        for row in rows {
            for source in self.rows.as_sources(row) {
                slot.rows[slot.source_rows] = source;
                slot.source_rows += 1;
            }
            if row < self.rows.targets {
                is_target = true;
                let target = slot.first.targets + slot.found.targets;
                slot.target_of_row[row].store(target as u32, atomic::Ordering::Relaxed);
            }
        }
        let is_source = slot.source_rows > before;
        if is_target {
            let (at, source) = (slot.found.targets, slot.first.sources + slot.found.sources);
            slot.targets.iter_mut().zip(place).for_each(|(axis, coordinate)| axis[at] = *coordinate);
            slot.home[at] = if is_source { source as u32 } else { NOWHERE };
            slot.found.targets += 1;
        }
        if is_source {
            let at = slot.found.sources;
            slot.sources.iter_mut().zip(place).for_each(|(axis, coordinate)| axis[at] = *coordinate);
            slot.ends[at] = (slot.first.sources + slot.source_rows) as u32;
            slot.found.sources += 1;
        }
    }
}

/// The lexicographic order of coordinates.
fn by_coordinates<const A: usize>(a: &[f64; A], b: &[f64; A]) -> Ordering {
    a.iter().zip(b).map(|(x, y)| x.total_cmp(y)).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

/// Output with room for as many places as there are rows. Each piece writes to its own part. Where rows were merged, gaps
/// remain between the parts until [`close_gaps`](Self::close_gaps) removes them.
struct Room<const A: usize> {
    targets: [Vec<f64>; A],
    sources: [Vec<f64>; A],
    home: Vec<u32>,
    rows: RowsAt,
    /// Indexed by row. Each element is written by one task, but the rows of a task are scattered.
    target_of_row: Vec<AtomicU32>,
}

/// The part of the output that one piece writes.
struct PieceSlots<'a, const A: usize> {
    /// The capacity of the parts before it.
    first: PlaceCounts,
    targets: [&'a mut [f64]; A],
    sources: [&'a mut [f64]; A],
    home: &'a mut [u32],
    ends: &'a mut [u32],
    rows: &'a mut [u32],
    target_of_row: &'a [AtomicU32],
    /// What was written so far.
    found: PlaceCounts,
    source_rows: usize,
}

impl<const A: usize> Room<A> {
    fn new(targets: usize, sources: usize) -> Self {
        Self {
            targets: std::array::from_fn(|_| vec![0.0; targets]),
            sources: std::array::from_fn(|_| vec![0.0; sources]),
            home: vec![0; targets],
            rows: RowsAt { ends: vec![0; sources], rows: vec![0; sources] },
            target_of_row: vec![0; targets].into_iter().map(AtomicU32::new).collect(),
        }
    }

    fn slots(&mut self, rows: &[PlaceCounts]) -> Vec<PieceSlots<'_, A>> {
        let mut targets = self.targets.each_mut().map(Vec::as_mut_slice);
        let mut sources = self.sources.each_mut().map(Vec::as_mut_slice);
        let (mut home, mut ends, mut rows_at) =
            (self.home.as_mut_slice(), self.rows.ends.as_mut_slice(), self.rows.rows.as_mut_slice());
        let mut first = PlaceCounts::default();
        let mut slots = Vec::with_capacity(rows.len());
        for rows in rows {
            slots.push(PieceSlots {
                first,
                targets: targets.each_mut().map(|axis| axis.split_off_mut(..rows.targets).unwrap_or_default()),
                sources: sources.each_mut().map(|axis| axis.split_off_mut(..rows.sources).unwrap_or_default()),
                home: home.split_off_mut(..rows.targets).unwrap_or_default(),
                ends: ends.split_off_mut(..rows.sources).unwrap_or_default(),
                rows: rows_at.split_off_mut(..rows.sources).unwrap_or_default(),
                target_of_row: &self.target_of_row,
                found: PlaceCounts::default(),
                source_rows: 0,
            });
            first = first.plus(*rows);
        }
        slots
    }

    /// Moves places together so that there are no gaps between the parts.
    fn close_gaps(&mut self, rows: &[PlaceCounts], found: &[PlaceCounts]) {
        let target_places = found.iter().map(|found| found.targets);
        let source_places = found.iter().map(|found| found.sources);
        let targets = gaps(rows.iter().map(|rows| rows.targets), target_places.clone());
        let sources = gaps(rows.iter().map(|rows| rows.sources), source_places.clone());
        if sources.last().is_some_and(|gap| gap.width > 0) {
            self.home.par_iter_mut().filter(|home| **home != NOWHERE).for_each(|home| *home -= before(&sources, *home));
        }
        if targets.last().is_some_and(|gap| gap.width > 0) {
            self.target_of_row
                .par_iter_mut()
                .for_each(|target| *target.get_mut() -= before(&targets, *target.get_mut()));
        }
        self.targets.iter_mut().for_each(|axis| close(axis, &targets, target_places.clone()));
        self.sources.iter_mut().for_each(|axis| close(axis, &sources, source_places.clone()));
        close(&mut self.home, &targets, target_places);
        close(&mut self.rows.ends, &sources, source_places);
    }
}

/// The start of a piece's part, and the total width of gaps before it.
#[derive(Clone, Copy)]
struct Gap {
    start: usize,
    width: usize,
}

/// The gaps before each part, from the capacity and the used length of each.
fn gaps(capacities: impl Iterator<Item = usize>, used: impl Iterator<Item = usize>) -> Vec<Gap> {
    let mut gap = Gap { start: 0, width: 0 };
    let mut gaps = Vec::new();
    for (capacity, used) in capacities.zip(used) {
        gaps.push(gap);
        gap = Gap { start: gap.start + capacity, width: gap.width + capacity - used };
    }
    gaps
}

/// The total width of gaps before a place.
fn before(gaps: &[Gap], place: u32) -> u32 {
    gaps[gaps.partition_point(|gap| gap.start <= place as usize) - 1].width as u32
}

/// Closes the gaps of one column.
fn close<T: Copy>(values: &mut Vec<T>, gaps: &[Gap], lengths: impl Iterator<Item = usize>) {
    let mut end = 0;
    for (gap, length) in gaps.iter().zip(lengths) {
        if gap.width > 0 {
            values.copy_within(gap.start..gap.start + length, gap.start - gap.width);
        }
        end = gap.start - gap.width + length;
    }
    if end < values.len() {
        values.truncate(end);
        values.shrink_to_fit();
    }
}
