//! Assignments: which tiles the rows of a cell go to.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::role::{Role, TileRole};

/// One row in one tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Membership {
    /// The row, as it stands among the places.
    pub row: u32,
    /// The tile.
    pub tile: u32,
    /// What the row is there.
    pub role: TileRole,
}

/// Where the rows of a cell go: consecutive tiles for each draft that has the cell within its halo.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Assignment(Vec<Destination>);

/// Consecutive tiles that need the rows of a cell.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Destination {
    pub(super) tiles: Range<u32>,
    /// Whether they smooth the rows to predict, each of them some.
    pub(super) is_home: bool,
    /// Whether each row goes to one of them, which form a [`TileGroup`](super::TileGroup), or to all, which are the parts of a crowded tile.
    pub(super) to_one: bool,
}

impl Assignment {
    pub(super) fn push(&mut self, destination: Destination) {
        self.0.push(destination);
    }

    /// Whether rows are dealt out among several tiles.
    pub(super) fn deals(&self) -> bool {
        self.0.iter().any(|destination| destination.tiles.len() > 1)
    }

    /// Every tile that a row of the cell is in. Rows are dealt out by their turns.
    pub(super) fn memberships(&self, row: usize, role: Role, turn: u64) -> impl Iterator<Item = Membership> {
        self.0.iter().flat_map(move |Destination { tiles, is_home, to_one }| {
            let own = tiles.start + (turn % tiles.len() as u64) as u32;
            let tiles = if *to_one { own..own + 1 } else { tiles.clone() };
            tiles.map(move |tile| Membership { row: row as u32, tile, role: role.in_tile(*is_home && tile == own) })
        })
    }
}
