//! How a run went whose rows did not fit into memory.

use serde::Serialize;

use crate::error::bytes;
use crate::report::number;

/// How a streamed run went.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(tag = "by", rename_all = "lowercase")]
pub enum StreamedRun {
    /// Tile by tile.
    Tiles {
        /// Number of tiles.
        tiles: usize,
        /// Groups of tiles that were smoothed by their moments.
        tile_groups: usize,
        /// Rows in all tiles, guests among them, relative to the rows that there are.
        copies: f64,
        /// Bytes on disk.
        spilled_bytes: u64,
    },
    /// By the moments of all rows, in two passes.
    Moments {
        /// Bytes of the nodes between the passes.
        node_bytes: u64,
        /// Bytes on disk.
        spilled_bytes: u64,
    },
}

impl StreamedRun {
    pub(super) fn for_people(self) -> String {
        match self {
            Self::Tiles { tiles, tile_groups, copies, spilled_bytes } => {
                let (size, tiles) = (bytes(spilled_bytes), number(tiles));
                let all = format!("{size} in {tiles} tiles, {copies:.2} copies of each row");
                if tile_groups > 0 { format!("{all}; tile groups: {}", number(tile_groups)) } else { all }
            }
            Self::Moments { node_bytes, spilled_bytes } => {
                format!("{} of results; nodes took {}", bytes(spilled_bytes), bytes(node_bytes))
            }
        }
    }
}
