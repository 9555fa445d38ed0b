//! Crowds: tiles that share their sources are added up one after the other, then each is read off.

use super::Streamed;
use super::tiles::Shelves;
use crate::engine::Progress;
use crate::error::Error;
use crate::job::smooth::results::Results;
use crate::partition::{Checksums, Field, Moments, Role, TileGroup};

impl Streamed<'_> {
    /// Smooths the tiles of a crowd.
    pub(super) fn smooth_crowd(
        &self,
        shelves: &Shelves,
        crowd: &TileGroup,
        results: &mut Results,
        progress: &dyn Progress,
    ) -> Result<(), Error> {
        let field = self.field_of(shelves, crowd)?;
        for tile in crowd.tiles() {
            let home = self.take(shelves.home.read(tile as usize)?)?;
            let smoothed = field.smooth(crowd.blueprint(), self.c, &home.places, &home.columns())?;
            results.add(&home.rows, &smoothed)?;
            progress.advance(home.rows.len() as u64);
        }
        Ok(())
    }

    /// What the rows of all its tiles add up to.
    fn field_of(&self, shelves: &Shelves, crowd: &TileGroup) -> Result<Field, Error> {
        let (mut moments, mut rows, blueprint) = (Moments::default(), Checksums::default(), crowd.blueprint());
        for tile in crowd.tiles() {
            let home = self.take(shelves.home.read(tile as usize)?)?;
            moments.add(blueprint, &home.places, Role::ToPredict, &home.columns())?;
            let guests = self.take(shelves.guests.read(tile as usize)?)?;
            moments.add_guests(blueprint, &guests.places, &guests.columns())?;
            let labelled = self.take(shelves.labelled.read(tile as usize)?)?;
            moments.add(blueprint, &labelled.places, Role::Labelled, &labelled.columns())?;
            home.note(Role::ToPredict, &mut rows);
            guests.note(Role::ToPredict, &mut rows);
            labelled.note(Role::Labelled, &mut rows);
            self.check_nodes(&moments)?;
        }
        self.told_as_disk(rows.check(crowd.counted()))?;
        Ok(moments.field(blueprint))
    }
}
