//! What a row is: to be predicted or labelled, and what it is in a tile.

use serde::{Deserialize, Serialize};

/// What a row is: to be predicted, or labelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// Its prediction is smoothed, and a source.
    ToPredict,
    /// Its label is a source.
    Labelled,
}

/// What a row is in a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TileRole {
    /// The tile smooths its prediction, which is also a source.
    Home,
    /// Another tile smooths its prediction, which is a source here too.
    Guest,
    /// Its label is a source.
    Labelled,
}

impl Role {
    /// Both.
    pub const ALL: [Self; 2] = [Self::ToPredict, Self::Labelled];

    /// What a row of this role is in a tile, which is its home or is not.
    pub(super) fn in_tile(self, is_home: bool) -> TileRole {
        match self {
            Self::ToPredict if is_home => TileRole::Home,
            Self::ToPredict => TileRole::Guest,
            Self::Labelled => TileRole::Labelled,
        }
    }
}

impl TileRole {
    /// All three.
    pub const ALL: [Self; 3] = [Self::Home, Self::Guest, Self::Labelled];

    /// What the row is apart from the tile.
    #[must_use]
    pub fn role(self) -> Role {
        match self {
            Self::Home | Self::Guest => Role::ToPredict,
            Self::Labelled => Role::Labelled,
        }
    }
}
