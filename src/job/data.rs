//! The rows of a run: which files and columns are asked for, and what is in them.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::caller::Caller;
use super::options::{DataArgs, OnInvalid, missing};
use super::recipe::Recipe;
use super::table::{Table, Wanted};
use crate::correct::{Corrected, Correction, LabelledRows, one_for_each};
use crate::engine::{EngineOptions, Progress};
use crate::error::Error;
use crate::io::{CoordinateRequest, Groups, Input, Origin};
use crate::parameters::{Parameters, PlaceColumns};
use crate::points::Places;
use crate::smoother::{Smoothed, SmoothingPlan};
use crate::space::{Metric, Sigma};

/// The inputs, opened but not read.
pub(crate) struct Inputs {
    /// Names of the prediction columns.
    pub(crate) predictions: Vec<String>,
    /// Names of the out-of-fold columns; empty where nothing is to be corrected.
    pub(crate) train_predictions: Vec<String>,
    pub(crate) label: Option<String>,
    pub(crate) places: PlaceColumns,
    pub(crate) coordinates: CoordinateRequest,
    pub(crate) test: Input,
    pub(crate) train: Option<Input>,
}

impl Inputs {
    pub(crate) fn all(&self) -> Vec<&Input> {
        std::iter::once(&self.test).chain(&self.train).collect()
    }

    pub(crate) fn rows(&self) -> usize {
        self.all().iter().map(|input| input.rows()).sum()
    }

    pub(crate) fn labelled_rows(&self) -> usize {
        self.train.as_ref().map_or(0, Input::rows)
    }

    /// The metric that σ picks, unless it turns out not to fit the places.
    pub(crate) fn metric(&self, sigma: Sigma) -> Metric {
        match (sigma, &self.coordinates) {
            (Sigma::Sphere(_), _) => Metric::Sphere,
            (Sigma::Index(_), CoordinateRequest::Index(columns)) => Metric::Plane(columns.len()),
            (Sigma::LatLon(_) | Sigma::Index(_), _) => Metric::Plane(2),
        }
    }
}

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
}

impl Data {
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

impl DataArgs {
    /// Opens the rows to predict and the labelled rows; what the options leave out comes from the parameter file.
    pub(crate) fn open(&self, rows: &Path, recipe: Option<&Recipe>, caller: &Caller) -> Result<Inputs, Error> {
        let parameters = recipe.and_then(|recipe| recipe.parameters.as_ref());
        let test = caller.open(rows)?;
        let train = self.train.as_deref().map(|path| caller.open(path)).transpose()?;
        let label =
            self.label.clone().or_else(|| parameters.filter(|_| train.is_some()).map(|file| file.label.clone()));
        match (&label, &train) {
            (Some(label), None) => drop(test.column(label)?),
            (None, Some(_)) => return Err(missing("--label", "the column with the truth in the training rows")),
            _ => {}
        }
        let predictions = match (self.prediction.as_slice(), parameters) {
            ([], None) => return Err(missing("--prediction", "the columns to smooth")),
            ([], Some(file)) => vec![file.prediction.clone()],
            (given, _) => listed("--prediction", given, &test)?,
        };
        let places = self.place_columns(parameters);
        let coordinates = coordinates(&places, &test)?;
        let others = parameters.map_or(Vec::new(), |file| others(&predictions, &file.prediction));
        for other in &others {
            caller.warn(&format!("the parameters were tuned for another prediction than '{other}'"));
        }
        let train_predictions = self.train_predictions(recipe, train.as_ref(), others.is_empty())?;
        if !train_predictions.is_empty() {
            one_for_each(predictions.len(), train_predictions.len())?;
        }
        Ok(Inputs { predictions, train_predictions, label, places, coordinates, test, train })
    }

    /// The out-of-fold columns: none where a recipe corrects nothing.
    fn train_predictions(
        &self,
        recipe: Option<&Recipe>,
        train: Option<&Input>,
        as_tuned: bool,
    ) -> Result<Vec<String>, Error> {
        let corrects = recipe.is_none_or(|recipe| recipe.correction.is_some());
        let parameters = recipe.and_then(|recipe| recipe.parameters.as_ref());
        // Residuals of one model say nothing about another.
        let from_file = parameters.and_then(|file| file.correct.as_ref()).filter(|_| as_tuned);
        let given = self.train_prediction.as_slice();
        // Without a recipe there is nothing that must be corrected.
        if !corrects || (recipe.is_none() && given.is_empty()) {
            return Ok(Vec::new());
        }
        let train = train.ok_or_else(|| {
            missing("--train", "the labelled rows that the correct step learns from, or --no-correct")
        })?;
        match (given, from_file) {
            ([_, ..], _) => listed("--train-prediction", given, train),
            ([], Some(file)) => Ok(vec![file.train_prediction.clone()]),
            ([], None) => Err(missing(
                "--train-prediction",
                "the out-of-fold predictions that the correct step learns from, or --no-correct",
            )),
        }
    }

    fn place_columns(&self, parameters: Option<&Parameters>) -> PlaceColumns {
        let PlaceColumns { lat, lon, geometry, index, group } =
            parameters.map(|file| file.places.clone()).unwrap_or_default();
        let group = self.group.clone().or(group);
        if self.lat.is_some() || self.geometry.is_some() || !self.index.is_empty() {
            let (lat, lon, geometry) = (self.lat.clone(), self.lon.clone(), self.geometry.clone());
            return PlaceColumns { lat, lon, geometry, index: self.index.clone(), group };
        }
        PlaceColumns { lat, lon, geometry, index, group }
    }

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
        rows: &Path,
        recipe: &Recipe,
        caller: &Caller,
    ) -> Result<(Table, Option<Table>), Error> {
        let test = caller.open(rows)?;
        let train = self.train.as_deref().map(|path| caller.open(path)).transpose()?;
        let places = self.place_columns(recipe.parameters.as_ref());
        let coordinates = coordinates(&places, &test)?;
        let mut reader = self.reader(&coordinates, &places, caller);
        Ok((reader.read(&test, &[])?, train.map(|train| reader.read(&train, &[])).transpose()?))
    }

    /// For parts of inputs, one after the other, within a phase of somebody else's.
    pub(crate) fn reader_of<'a>(&self, inputs: &'a Inputs, caller: &'a Caller) -> Reader<'a> {
        self.reader_in(None, &inputs.coordinates, &inputs.places, caller)
    }

    fn reader<'a>(
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

/// What to look for as places.
fn coordinates(places: &PlaceColumns, test: &Input) -> Result<CoordinateRequest, Error> {
    Ok(match places {
        PlaceColumns { lat: Some(lat), lon: Some(lon), .. } => CoordinateRequest::LatLon(lat.clone(), lon.clone()),
        PlaceColumns { geometry: Some(column), .. } => CoordinateRequest::Geometry(column.clone()),
        PlaceColumns { index, .. } if index.is_empty() => CoordinateRequest::Find,
        PlaceColumns { index, .. } => CoordinateRequest::Index(listed("--index", index, test)?),
    })
}

/// Reads tables whose groups are to mean the same, and whose index columns are counted from the same.
pub(crate) struct Reader<'a> {
    coordinates: &'a CoordinateRequest,
    group: Option<&'a str>,
    pub(crate) on_invalid: OnInvalid,
    groups: Groups,
    origin: Origin,
    caller: &'a Caller<'a>,
    /// Inputs that something was said about.
    noted: Vec<PathBuf>,
    _phase: Option<Box<dyn Progress + 'a>>,
}

impl Reader<'_> {
    pub(crate) fn read(&mut self, input: &Input, columns: &[&str]) -> Result<Table, Error> {
        let wanted = Wanted { coordinates: self.coordinates, group: self.group, columns, on_invalid: self.on_invalid };
        let table = Table::read(input, &wanted, &mut self.groups, &mut self.origin);
        // Columns are read one after the other: those of a file that was written to meanwhile do not belong together.
        input.check_unchanged()?;
        let table = table?;
        if let Some(note) = table.note.as_ref().filter(|_| !self.noted.iter().any(|path| path == input.path())) {
            self.noted.push(input.path().to_owned());
            self.caller.warn(&format!("{}: {note}", input.path().display()));
        }
        Ok(table)
    }

    /// Memory that the keys of groups take.
    pub(crate) fn bytes_of_keys(&self) -> u64 {
        self.groups.bytes()
    }

    /// The labelled rows: the label, then the out-of-fold predictions.
    fn train(&mut self, inputs: &Inputs) -> Result<Option<Table>, Error> {
        let label = inputs.label.iter().map(String::as_str);
        let columns: Vec<&str> = label.chain(inputs.train_predictions.iter().map(String::as_str)).collect();
        inputs.train.as_ref().map(|input| self.read(input, &columns)).transpose()
    }
}

/// Says if many of the rows seem to be training rows too: places and labels of both.
pub(crate) fn warn_of_copies(train: (&Places, &[f64]), rows: (&Places, &[f64]), which: &str, caller: &Caller) {
    let prints = |(places, labels): (&Places, &[f64])| -> Vec<Vec<u64>> {
        labels.iter().enumerate().map(|(row, &label)| places.fingerprint(row, label)).collect()
    };
    let known: HashSet<Vec<u64>> = prints(train).into_iter().collect();
    let copies = prints(rows).iter().filter(|print| known.contains(*print)).count();
    let count = rows.1.len();
    if copies as f64 > MANY_COPIES * count as f64 {
        caller.warn(&format!(
            "{copies} of {count} {which} rows have the place and the label of a training row: if they are the same rows, labels leak"
        ));
    }
}

/// Rows that score must not be among those that were learned from or chosen on: two inputs, each with its flag.
pub(crate) fn refuse_same_file(first: (&str, &Input), second: (&str, &Input)) -> Result<(), Error> {
    let real = |path: &Path| path.canonicalize().ok();
    let known: Vec<_> = first.1.paths().filter_map(real).collect();
    match second.1.paths().find(|path| real(path).is_some_and(|path| known.contains(&path))) {
        None => Ok(()),
        Some(path) => Err(Error::Contradiction {
            message: format!("{} is both {} and {}, so that labels would leak", path.display(), first.0, second.0),
            hint: "give other rows; tune can score on training rows with --leave-one-out and out-of-fold predictions"
                .to_owned(),
        }),
    }
}

/// The predictions that are not the one that parameters were tuned for, as they are shown.
fn others(predictions: &[String], tuned: &str) -> Vec<String> {
    predictions.iter().filter(|name| *name != tuned).map(|name| crate::io::shortened(name, 80)).collect()
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

/// Column names from a comma list; a name that itself holds a comma is taken as it is if there is such a column.
fn listed(flag: &str, given: &[String], input: &Input) -> Result<Vec<String>, Error> {
    let mut names: Vec<String> = Vec::new();
    for text in given {
        let parts: Vec<&str> = if input.has(text) { vec![text] } else { text.split(',').collect() };
        for name in parts {
            if names.iter().any(|known| known == name) {
                return Err(Error::Contradiction {
                    message: format!("{flag} names '{}' twice", crate::io::shortened(name, 80)),
                    hint: "name each column once".to_owned(),
                });
            }
            names.push(name.to_owned());
        }
    }
    Ok(names)
}
