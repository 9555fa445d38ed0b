//! A tile group is smoothed in two passes over its rows: in the first they are added up, in the second the results are read off. The rows are in the input
//! files, if the group holds all of them, or in tiles on disk.

use std::collections::BTreeMap;

use super::spilled::SpilledTiles;
use super::{Counted, SHARE_OF_NODES, Streamed};
use crate::engine::Progress;
use crate::error::Error;
use crate::job::smooth::results::Results;
use crate::partition::{Checksums, GroupMoments, Role, SourceRows, TileGroup, TileRole};

/// Rows that are at hand together.
pub(super) struct Batch<'a> {
    tile: u32,
    role: TileRole,
    /// Their numbers in the input.
    numbers: &'a [f64],
    rows: &'a SourceRows<'a>,
}

/// What the rows are read for: to be added up, or for the results of those at home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    AddUp,
    ReadOff,
}

/// What is done with each batch.
pub(super) type Work<'a> = &'a mut dyn FnMut(&Batch) -> Result<(), Error>;

impl Streamed<'_> {
    /// Smooths the rows of a tile group, which `each` hands over batch by batch in each pass. Gives the bytes that their moments took.
    pub(super) fn smooth_group(
        &self,
        group: &TileGroup,
        each: impl Fn(Pass, Work) -> Result<(), Error>,
        results: &mut Results,
    ) -> Result<u64, Error> {
        let mut moments = GroupMoments::default();
        each(Pass::AddUp, &mut |batch| {
            moments.add(group, batch.tile, batch.role, batch.rows)?;
            // Groups of rows may have more nodes between them than was planned.
            self.check_share("the nodes of lattices", moments.bytes(), SHARE_OF_NODES)
        })?;
        let node_bytes = moments.bytes();
        // Rows in files were compared with the counts when they were read.
        let field = self.blaming_the_disk(moments.field(group))?;
        let mut read: BTreeMap<u32, Checksums> = BTreeMap::new();
        each(Pass::ReadOff, &mut |batch| {
            read.entry(batch.tile).or_default().add(batch.role.role(), batch.rows);
            results.add(batch.numbers, &field.smooth(group, self.job.c, batch.rows)?)
        })?;
        self.blaming_the_disk(read.iter().try_for_each(|(tile, rows)| field.check(*tile, rows)))?;
        Ok(node_bytes)
    }

    /// All rows, from the input files.
    pub(super) fn each_in_files(&self, counted: &Counted, pass: Pass, work: Work) -> Result<(), Error> {
        let (name, rows, roles) = match pass {
            Pass::AddUp => ("moments", self.job.inputs.rows(), &Role::ALL[..]),
            Pass::ReadOff => ("smooth", self.job.inputs.test.rows(), &[Role::ToPredict][..]),
        };
        let phase = self.job.caller.phase(name);
        phase.start(rows as u64);
        self.read_again(counted, roles, &*phase, |table, rows, first_row, role| {
            let numbers: Vec<f64> = (0..table.places.len()).map(|at| (first_row + table.row(at)) as f64).collect();
            let role = if role == Role::ToPredict { TileRole::Home } else { TileRole::Labelled };
            work(&Batch { tile: 0, role, numbers: &numbers, rows })
        })
    }

    /// The rows of the tiles of a group, from disk.
    pub(super) fn each_in_tiles(
        &self,
        spilled: &SpilledTiles,
        group: &TileGroup,
        progress: &dyn Progress,
        pass: Pass,
        work: Work,
    ) -> Result<(), Error> {
        let roles = if pass == Pass::AddUp { &TileRole::ALL[..] } else { &[TileRole::Home] };
        for (tile, role) in group.tiles().flat_map(|tile| roles.iter().map(move |role| (tile, *role))) {
            let rows = self.spilled_rows(spilled, tile as usize, role)?;
            work(&Batch { tile, role, numbers: &rows.numbers, rows: &rows.sources() })?;
            if pass == Pass::ReadOff {
                progress.advance(rows.numbers.len() as u64);
            }
        }
        Ok(())
    }
}
