//! Assignments: which tiles the rows of a cell go to.

use serde::{Deserialize, Serialize};

use super::cut::TileDraft;
use super::role::{Role, TileRole};
use super::tile_group::TileGroup;

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

/// Where the rows of a cell go.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Assignment {
    /// The first of the tiles that smooth its rows to predict, and how many tiles these are dealt out among.
    home: u32,
    pub(super) parts: u32,
    /// Other tiles that need all of its rows.
    guest_of: Vec<u32>,
    /// The tile group that smooths its rows to predict, if no tile does, and all tile groups that need its rows.
    home_group: Option<u32>,
    tile_groups: Vec<u32>,
}

impl Assignment {
    /// Every tile that a row of the cell is in. Rows are dealt out by their turns: among the parts of a crowded cell for being smoothed, and among the
    /// tiles of a tile group altogether.
    pub(super) fn memberships(
        &self,
        row: usize,
        role: Role,
        turn: u64,
        tile_groups: &[TileGroup],
    ) -> impl Iterator<Item = Membership> {
        let membership = move |tile: u32, at_home: bool| Membership {
            row: row as u32,
            tile,
            role: match (role, at_home) {
                (Role::ToPredict, true) => TileRole::Home,
                (Role::ToPredict, false) => TileRole::Guest,
                (Role::Labelled, _) => TileRole::Labelled,
            },
        };
        let own = move |part: u32| membership(self.home + part, u64::from(part) == turn % u64::from(self.parts));
        let guest = self.guest_of.iter().map(move |tile| membership(*tile, false));
        let dealt = self
            .tile_groups
            .iter()
            .map(move |group| membership(tile_groups[*group as usize].tile(turn), self.home_group == Some(*group)));
        (0..self.parts).map(own).chain(guest).chain(dealt)
    }
}

/// Assigns the cells of a tile; its number is that of its first part.
pub(super) fn assign(draft: &TileDraft, first: u32, assignments: &mut [Assignment]) {
    let parts = draft.parts as u32;
    for cell in &draft.homes {
        let assignment = &mut assignments[*cell as usize];
        (assignment.home, assignment.parts) = (first, parts);
    }
    for cell in &draft.near {
        let assignment = &mut assignments[*cell as usize];
        let is_home = assignment.home == first && assignment.parts > 0;
        if !is_home {
            assignment.guest_of.extend(first..first + parts);
        }
    }
}

/// Assigns the cells of a tile group.
pub(super) fn assign_group(draft: &TileDraft, tile_group: u32, assignments: &mut [Assignment]) {
    for cell in &draft.homes {
        assignments[*cell as usize].home_group = Some(tile_group);
    }
    for cell in &draft.near {
        assignments[*cell as usize].tile_groups.push(tile_group);
    }
}
