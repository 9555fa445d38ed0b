//! Reads tables one after the other, such that groups and index columns mean the same in all of them.

use super::caller::Caller;
use super::inputs::Inputs;
use super::options::{DataOptions, OnInvalid};
use super::table::{Table, Wanted};
use crate::engine::Progress;
use crate::error::{Error, Subject};
use crate::io::{CoordinateRequest, Groups, Input, Origin};
use crate::parameters::PlaceColumns;

/// Reads tables whose groups are to mean the same, and whose index columns are counted from the same.
pub(crate) struct Reader<'a> {
    coordinates: &'a CoordinateRequest,
    group: Option<&'a str>,
    pub(crate) on_invalid: OnInvalid,
    groups: Groups,
    origin: Origin,
    caller: &'a Caller<'a>,
    /// Inputs that a warning was given for.
    noted: Vec<Subject>,
    _phase: Option<Box<dyn Progress + 'a>>,
}

impl DataOptions {
    /// For parts of inputs, one after the other, without a phase of its own.
    pub(crate) fn reader_of<'a>(&self, inputs: &'a Inputs, caller: &'a Caller) -> Reader<'a> {
        self.reader_in(None, &inputs.coordinates, &inputs.places, caller)
    }

    pub(super) fn reader<'a>(
        &self,
        coordinates: &'a CoordinateRequest,
        places: &'a PlaceColumns,
        caller: &'a Caller,
    ) -> Reader<'a> {
        self.reader_in(Some(caller.phase("read")), coordinates, places, caller)
    }

    fn reader_in<'a>(
        &self,
        phase: Option<Box<dyn Progress + 'a>>,
        coordinates: &'a CoordinateRequest,
        places: &'a PlaceColumns,
        caller: &'a Caller,
    ) -> Reader<'a> {
        Reader {
            coordinates,
            group: places.group.as_deref(),
            on_invalid: self.on_invalid,
            groups: Groups::default(),
            origin: Origin::default(),
            caller,
            noted: Vec::new(),
            _phase: phase,
        }
    }
}

impl Reader<'_> {
    pub(crate) fn read(&mut self, input: &Input, columns: &[&str]) -> Result<Table, Error> {
        let wanted = Wanted { coordinates: self.coordinates, group: self.group, columns, on_invalid: self.on_invalid };
        let table = Table::read(input, &wanted, &mut self.groups, &mut self.origin);
        // Columns are read one after the other: those of a file that was written to meanwhile do not belong together.
        input.check_unchanged()?;
        let table = table?;
        if let Some(note) = table.note.as_ref().filter(|_| !self.noted.iter().any(|name| name == input.name())) {
            self.noted.push(input.name().clone());
            self.caller.warn(&format!("{}: {note}", input.name()));
        }
        Ok(table)
    }

    /// Memory that the keys of groups take.
    pub(crate) fn bytes_of_keys(&self) -> u64 {
        self.groups.bytes()
    }

    /// The labelled rows: the label, then the out-of-fold predictions.
    pub(super) fn train(&mut self, inputs: &Inputs) -> Result<Option<Table>, Error> {
        let label = inputs.label.iter().map(String::as_str);
        let columns: Vec<&str> = label.chain(inputs.train_predictions.iter().map(String::as_str)).collect();
        inputs.train.as_ref().map(|input| self.read(input, &columns)).transpose()
    }
}
