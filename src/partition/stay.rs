//! Where the rows of a cell go: home, and to the tiles that they are guests of.

use serde::{Deserialize, Serialize};

use super::census::Role;
use super::crowd::Crowd;
use super::cut::Draft;

/// One row in one tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visit {
    /// The row, as it stands among the places.
    pub row: u32,
    /// The tile.
    pub tile: u32,
    /// Whether the tile smooths it; otherwise it is only a source there.
    pub at_home: bool,
}

/// Where the rows of a cell go.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Stay {
    /// The tile that smooths its rows to predict, and the tiles after it among which they are shared out.
    home: u32,
    pub(super) parts: u32,
    /// Other tiles that need all of its rows.
    guest_of: Vec<u32>,
    /// The crowd that smooths its rows to predict, if no tile does, and all crowds that need its rows.
    home_crowd: Option<u32>,
    crowds: Vec<u32>,
}

impl Stay {
    /// Every tile that a row of the cell is in. Rows are dealt out by their turns: among the parts of a crowded cell for being smoothed, and among the
    /// tiles of a crowd altogether.
    pub(super) fn visits(&self, row: usize, role: Role, turn: u64, crowds: &[Crowd]) -> impl Iterator<Item = Visit> {
        let visit = move |tile: u32, at_home: bool| Visit {
            row: row as u32,
            tile,
            at_home: at_home && role == Role::ToPredict,
        };
        let own = move |part: u32| visit(self.home + part, u64::from(part) == turn % u64::from(self.parts));
        let guest = self.guest_of.iter().map(move |tile| visit(*tile, false));
        let dealt = self
            .crowds
            .iter()
            .map(move |crowd| visit(crowds[*crowd as usize].tile(turn), self.home_crowd == Some(*crowd)));
        (0..self.parts).map(own).chain(guest).chain(dealt)
    }
}

/// Notes where the rows of a tile's cells go; its number is that of its first part.
pub(super) fn settle(draft: &Draft, first: u32, stays: &mut [Stay]) {
    let parts = draft.parts as u32;
    for cell in &draft.homes {
        let stay = &mut stays[*cell as usize];
        (stay.home, stay.parts) = (first, parts);
    }
    for cell in &draft.near {
        let stay = &mut stays[*cell as usize];
        let is_home = stay.home == first && stay.parts > 0;
        if !is_home {
            stay.guest_of.extend(first..first + parts);
        }
    }
}

/// Notes where the rows of a crowd's cells go.
pub(super) fn settle_crowd(draft: &Draft, crowd: u32, stays: &mut [Stay]) {
    for cell in &draft.homes {
        stays[*cell as usize].home_crowd = Some(crowd);
    }
    for cell in &draft.near {
        stays[*cell as usize].crowds.push(crowd);
    }
}
