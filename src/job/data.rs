//! The rows of a run, read: to predict, labelled, and their truth.

use std::collections::HashSet;

use super::caller::Caller;
use super::dataset::Dataset;
use super::inputs::{Inputs, coordinates};
use super::options::DataOptions;
use super::recipe::Recipe;
use super::table::Table;
use crate::correct::{Corrected, Correction, LabelledRows};
use crate::engine::{EngineOptions, Progress};
use crate::error::Error;
use crate::io::Input;
use crate::points::Places;
use crate::smoother::{Smoothed, SmoothingPlan};

/// Share of rows that may by chance have the place and the label of a training row, such as flats in one tower.
const MANY_COPIES: f64 = 0.2;

/// Everything read.
pub(crate) struct Data {
    pub(crate) test: Table,
    pub(crate) train: Option<Table>,
    /// The label of each test row that takes part, NaN where unknown, if the test rows have labels at all.
    pub(crate) truth: Option<Vec<f64>>,
}

impl Data {
    pub(crate) fn predictions(&self) -> Vec<&[f64]> {
        self.test.columns.iter().map(Vec::as_slice).collect()
    }

    pub(crate) fn labels(&self) -> Option<&[f64]> {
        self.train.as_ref().map(|train| train.columns[0].as_slice())
    }

    /// Says if many of the rows seem to be training rows too, so that labels would leak.
    pub(crate) fn warn_of_copies(&self, caller: &Caller) {
        if let (Some(train), Some(truth)) = (&self.train, &self.truth) {
            warn_of_copies(train.with_label(), (&self.test.places, truth), "validation", caller);
        }
    }

    /// The labelled rows, with their out-of-fold predictions if those were read.
    pub(crate) fn labelled(&self) -> Option<LabelledRows<'_>> {
        self.train.as_ref().map(Table::labelled)
    }

    /// What the correct step makes of the predictions, if it is asked for.
    pub(crate) fn corrected(
        &self,
        correction: Option<Correction>,
        options: &EngineOptions,
    ) -> Result<Option<Vec<Corrected>>, Error> {
        let (Some(correction), Some(labelled)) = (correction, self.labelled()) else { return Ok(None) };
        correction.apply(&self.test.places, &self.predictions(), &labelled, options).map(Some)
    }

    /// Smooths the predictions, or what the correct step made of them. Both steps together keep the tolerance.
    pub(crate) fn smooth(
        &self,
        plan: &SmoothingPlan,
        corrected: Option<&[Corrected]>,
        progress: &dyn Progress,
    ) -> Result<Vec<Smoothed>, Error> {
        let Some(corrected) = corrected else {
            return plan.apply_with(&self.predictions(), self.labels(), progress);
        };
        let columns: Vec<&[f64]> = corrected.iter().map(|column| column.values.as_slice()).collect();
        let mut smoothed = plan.apply_with(&columns, self.labels(), progress)?;
        for (column, corrected) in smoothed.iter_mut().zip(corrected) {
            plan.pass_on(&corrected.error_bound, column)?;
        }
        Ok(smoothed)
    }
}

impl DataOptions {
    /// Reads all rows; the truth of the rows to predict where they have it.
    pub(crate) fn read(&self, inputs: &Inputs, caller: &Caller) -> Result<Data, Error> {
        let mut reader = self.reader(&inputs.coordinates, &inputs.places, caller);
        let predictions: Vec<&str> = inputs.predictions.iter().map(String::as_str).collect();
        let test = reader.read(&inputs.test, &predictions)?;
        let train = reader.train(inputs)?;
        let label = inputs.label.as_deref().unwrap_or_default();
        let truth = truth(&inputs.test, label, caller).map(|values| test.keep(values));
        Ok(Data { test, train, truth })
    }

    /// Reads rows that must have their truth: the last column of `test` becomes it.
    pub(crate) fn read_with_truth(&self, inputs: &Inputs, label: &str, caller: &Caller) -> Result<Data, Error> {
        let mut reader = self.reader(&inputs.coordinates, &inputs.places, caller);
        let columns: Vec<&str> = inputs.predictions.iter().map(String::as_str).chain([label]).collect();
        let mut test = reader.read(&inputs.test, &columns)?;
        let train = reader.train(inputs)?;
        let truth = test.columns.pop();
        Ok(Data { test, train, truth })
    }

    /// Reads the labelled rows alone, with these columns beside the label.
    pub(crate) fn read_labelled(&self, inputs: &Inputs, columns: &[String], caller: &Caller) -> Result<Table, Error> {
        let names: Vec<&str> = inputs.label.iter().chain(columns).map(String::as_str).collect();
        self.reader(&inputs.coordinates, &inputs.places, caller).read(&inputs.test, &names)
    }

    /// Reads several inputs, each with columns of its own. Groups mean the same in all.
    pub(crate) fn read_tables(
        &self,
        inputs: &Inputs,
        wanted: &[(&Input, &[&str])],
        caller: &Caller,
    ) -> Result<Vec<Table>, Error> {
        let mut reader = self.reader(&inputs.coordinates, &inputs.places, caller);
        wanted.iter().map(|(input, columns)| reader.read(input, columns)).collect()
    }

    /// Reads the places alone: of the rows to predict and of the labelled rows.
    pub(crate) fn read_places(
        &self,
        rows: &Dataset,
        recipe: &Recipe,
        caller: &Caller,
    ) -> Result<(Table, Option<Table>), Error> {
        let test = caller.open(rows)?;
        let train = self.open_train(caller)?;
        let places = self.place_columns(recipe.parameters.as_ref())?;
        let coordinates = coordinates(&places, &test)?;
        let mut reader = self.reader(&coordinates, &places, caller);
        Ok((reader.read(&test, &[])?, train.map(|train| reader.read(&train, &[])).transpose()?))
    }
}

/// Says if many of the rows seem to be training rows too: places and labels of both.
pub(crate) fn warn_of_copies(train: (&Places, &[f64]), rows: (&Places, &[f64]), which: &str, caller: &Caller) {
    let known: HashSet<Vec<u64>> = fingerprints(train).collect();
    let copies = fingerprints(rows).filter(|print| known.contains(print)).count();
    let count = rows.1.len();
    if copies as f64 > MANY_COPIES * count as f64 {
        caller.warn(&format!(
            "{copies} of {count} {which} rows have the place and the label of a training row: if they are the same rows, labels leak"
        ));
    }
}

fn fingerprints<'a>((places, labels): (&'a Places, &'a [f64])) -> impl Iterator<Item = Vec<u64>> + 'a {
    labels.iter().enumerate().map(|(row, &label)| places.fingerprint(row, label))
}

/// Labels among the test rows only score: they are never sources, and need not be complete.
fn truth(test: &Input, label: &str, caller: &Caller) -> Option<Vec<f64>> {
    if !test.has(label) {
        return None;
    }
    match test.numbers(&[label]) {
        Ok(mut columns) => columns.pop().map(|column| column.values),
        Err(error) => {
            caller.warn(&format!("no scores: {error}"));
            None
        }
    }
}
