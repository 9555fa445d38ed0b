//! Moments: what rows add up to at the nodes of lattices, part by part; and the field that they make, off which results are read.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::checksum::Checksums;
use super::role::TileRole;
use super::rows::SourceRows;
use super::tile_group::TileGroup;
use crate::engine::{MOST_PARTS, NodeField, NodeMoments, RowSums, Sums};
use crate::error::Error;
use crate::smoother::{Blending, SmoothedTile, effective_sources};

/// What rows of a [`TileGroup`] add up to, so far. Parts may be added up anywhere, and [joined](Self::join).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct GroupMoments {
    sums: NodeMoments,
    squares: NodeMoments,
    /// Parts that came one after the other: how often something was added to a node.
    parts: usize,
    rows: Checksums,
    /// Rows at home, by tile.
    homes: BTreeMap<u32, Checksums>,
}

impl GroupMoments {
    /// Adds rows of one of the tiles.
    ///
    /// # Errors
    /// If columns differ in number or length or have values that are not finite, σ does not fit the places, or the rows come in more than 16,384 parts.
    pub fn add(&mut self, group: &TileGroup, tile: u32, role: TileRole, rows: &SourceRows) -> Result<(), Error> {
        let problem = &group.problem;
        let (weight, columns, what) = match role {
            TileRole::Home | TileRole::Guest => (1.0, problem.ranges.len(), "prediction"),
            TileRole::Labelled => (problem.label_weight, 1, "label"),
        };
        rows.check(columns, what)?;
        if weight == 0.0 || rows.is_empty() {
            return Ok(());
        }
        self.parts = check_parts(self.parts + 1)?;
        self.rows.add(role.role(), rows);
        if role == TileRole::Home {
            self.homes.entry(tile).or_default().add(role.role(), rows);
        }
        self.add_to_nodes(group, role, weight, rows)
    }

    fn add_to_nodes(&mut self, group: &TileGroup, role: TileRole, weight: f64, rows: &SourceRows) -> Result<(), Error> {
        let (places, lattices, targets) = (rows.places(), &group.lattices, role == TileRole::Home);
        let (nowhere, groups) = (places.select(&[]), rows.groups());
        let scene = group.scene(&lattices.sums, &nowhere, &[(places, weight)])?;
        // A label is a source of every column.
        let columns = group.spans().zip(rows.values().iter().cycle());
        let gathered: Vec<Vec<f64>> =
            columns.map(|(span, values)| scene.gather(&[*values], |value| span.to_unit(value))).collect();
        let all: Vec<&[f64]> = std::iter::once(&scene.mass).chain(&gathered).map(Vec::as_slice).collect();
        self.sums.add(&lattices.sums, &scene, &groups, &all, targets);
        if let Some(plan) = &lattices.squares {
            let scene = group.scene(plan, &nowhere, &[(places, weight * weight)])?;
            self.squares.add(plan, &scene, &groups, &[&scene.mass], targets);
        }
        Ok(())
    }

    /// Adds what others have added up for the same group.
    ///
    /// # Errors
    /// If the rows come in more than 16,384 parts.
    pub fn join(&mut self, other: Self) -> Result<(), Error> {
        self.parts = check_parts(self.parts.max(other.parts) + 1)?;
        self.sums.join(other.sums);
        self.squares.join(other.squares);
        self.rows.join(other.rows);
        for (tile, rows) in other.homes {
            self.homes.entry(tile).or_default().join(rows);
        }
        Ok(())
    }

    /// Bytes that they take.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.sums.bytes() + self.squares.bytes()
    }

    /// What all sources together give wherever there are rows to predict.
    ///
    /// # Errors
    /// If the rows that were added are not those that were counted.
    pub fn field(self, group: &TileGroup) -> Result<GroupField, Error> {
        self.rows.check(group.counted())?;
        let lattices = &group.lattices;
        Ok(GroupField {
            squares: lattices.squares.as_ref().map(|plan| self.squares.field(plan, 1)),
            sums: self.sums.field(&lattices.sums, 1 + group.problem.ranges.len()),
            homes: self.homes,
        })
    }
}

fn check_parts(parts: usize) -> Result<usize, Error> {
    if parts <= MOST_PARTS {
        return Ok(parts);
    }
    Err(Error::Parameter {
        name: "number of parts that rows come in",
        value: parts.to_string(),
        expected: "at most 16384: join some before they are added",
    })
}

/// What the sources of a [`TileGroup`] give to the nodes that rows to predict read.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GroupField {
    sums: NodeField,
    squares: Option<NodeField>,
    homes: BTreeMap<u32, Checksums>,
}

impl GroupField {
    /// Bytes that it takes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.sums.bytes() + self.squares.as_ref().map_or(0, NodeField::bytes)
    }

    /// Checks that rows to predict are those that were added as rows at home in a tile.
    ///
    /// # Errors
    /// If they are not.
    pub fn check(&self, tile: u32, rows: &Checksums) -> Result<(), Error> {
        rows.check(&self.homes.get(&tile).copied().unwrap_or_default())
    }

    /// Smooths some of the rows to predict.
    ///
    /// # Errors
    /// If columns differ in number or length or have values that are not finite, σ does not fit the places, or a row is where none was added.
    pub fn smooth(&self, group: &TileGroup, c: f64, rows: &SourceRows) -> Result<SmoothedTile, Error> {
        rows.check(group.problem.ranges.len(), "prediction")?;
        let (places, groups, plan) = (rows.places(), rows.groups(), &group.lattices.sums);
        let scene = group.scene(plan, places, &[])?;
        let mut sums = self.sums.sums(plan, &scene, &groups, 1 + rows.values().len());
        sums.error.iter_mut().for_each(|error| *error += group.beyond);
        let place_of_row = &scene.layout.target_of_row;
        // Every row is a source of weight one itself: less means that it was not among them.
        if let Some(row) = place_of_row.iter().position(|place| sums.mass[*place as usize] < 0.5) {
            return Err(Error::Uncounted { row });
        }
        let columns = rows.values().iter().zip(group.spans()).enumerate();
        let columns = columns.map(|(k, (values, span))| Blending::new(c, &span).rows(values, place_of_row, &sums, k));
        let n_effective = self.squares.as_ref().zip(group.lattices.squares.as_ref()).map(|(field, plan)| {
            let scene = group.scene(plan, places, &[])?;
            let squares = field.sums(plan, &scene, &groups, 1);
            // Both scenes have one place for equal rows, but perhaps not in the same order.
            let both = place_of_row.iter().zip(&scene.layout.target_of_row);
            let of = |(place, squared)| effective_sources(at(&sums, place), at(&squares, squared), group.rows as f64);
            Ok(both.map(of).collect())
        });
        Ok(SmoothedTile { columns: columns.collect(), n_effective: n_effective.transpose()? })
    }
}

fn at(sums: &Sums, place: &u32) -> RowSums {
    RowSums::at(*place as usize, sums, None)
}
