//! Moments: what rows add up to at the nodes of lattices, part by part; and the field that they make, off which results are read.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::cells::GroupLattice;
use super::checksum::Checksums;
use super::role::TileRole;
use super::rows::SourceRows;
use super::tile_group::TileGroup;
use crate::engine::{MOST_PARTS, NodeField, NodeMoments, RowSums, Sums};
use crate::error::Error;
use crate::scene::Scene;
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
        rows.in_tile().check(what, columns)?;
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
        let (nowhere, groups, targets) = (rows.places.select(&[]), rows.groups(), role == TileRole::Home);
        let scene = group.scene(&group.sums, &nowhere, &[(rows.places, weight)])?;
        // A label is a source of every column.
        let columns = group.spans().zip(rows.values.iter().cycle());
        let gathered: Vec<Vec<f64>> =
            columns.map(|(span, values)| scene.gather(&[*values], |value| span.to_unit(value))).collect();
        let all: Vec<&[f64]> = std::iter::once(&scene.mass).chain(&gathered).map(Vec::as_slice).collect();
        self.sums.add(&group.sums.plan, &scene, &groups, &all, targets);
        if let Some(lattice) = &group.squares {
            let scene = group.scene(lattice, &nowhere, &[(rows.places, weight * weight)])?;
            self.squares.add(&lattice.plan, &scene, &groups, &[&scene.mass], targets);
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
        Ok(GroupField {
            squares: group.squares.as_ref().map(|lattice| self.squares.field(&lattice.plan, 1)),
            sums: self.sums.field(&group.sums.plan, 1 + group.problem.ranges.len()),
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
        rows.in_tile().check("prediction", group.problem.ranges.len())?;
        let (scene, mut sums) = read(&self.sums, group, &group.sums, rows, 1 + rows.values.len())?;
        sums.error.iter_mut().for_each(|error| *error += group.beyond);
        let place_of_row = &scene.layout.target_of_row;
        // Every row is a source of weight one itself: less means that it was not among them.
        if let Some(row) = place_of_row.iter().position(|place| sums.mass[*place as usize] < 0.5) {
            return Err(Error::Uncounted { row });
        }
        let columns = rows.values.iter().zip(group.spans()).enumerate();
        let columns = columns.map(|(k, (values, span))| Blending::new(c, &span).rows(values, place_of_row, &sums, k));
        let columns = columns.collect();
        let (Some(field), Some(lattice)) = (&self.squares, &group.squares) else {
            return Ok(SmoothedTile { columns, n_effective: None });
        };
        let (scene_of_squares, squares) = read(field, group, lattice, rows, 1)?;
        // Both scenes have one place for equal rows, but perhaps not in the same order.
        let both = place_of_row.iter().zip(&scene_of_squares.layout.target_of_row);
        let most = group.counted().rows() as f64;
        let n_effective =
            both.map(|(place, squared)| effective_sources(at(&sums, *place), at(&squares, *squared), most));
        Ok(SmoothedTile { columns, n_effective: Some(n_effective.collect()) })
    }
}

/// Rows laid out as targets of a lattice, and the sums of so many columns at their places.
fn read(
    field: &NodeField,
    group: &TileGroup,
    lattice: &GroupLattice,
    rows: &SourceRows,
    columns: usize,
) -> Result<(Scene, Sums), Error> {
    let scene = group.scene(lattice, rows.places, &[])?;
    let sums = field.sums(&lattice.plan, &scene, &rows.groups(), columns);
    Ok((scene, sums))
}

fn at(sums: &Sums, place: u32) -> RowSums {
    RowSums::at(place as usize, sums, None)
}
