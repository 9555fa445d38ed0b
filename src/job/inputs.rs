//! Which files and columns a run reads: found and opened, but not read.

use std::path::Path;

use super::caller::Caller;
use super::dataset::Dataset;
use super::options::DataOptions;
use super::recipe::Recipe;
use crate::correct::one_for_each;
use crate::error::Error;
use crate::io::{CoordinateRequest, Input};
use crate::parameters::{Parameters, PlaceColumns};
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

impl DataOptions {
    /// Opens the rows to predict and the labelled rows; what the options leave out comes from the parameter file.
    pub(crate) fn open(&self, rows: &Dataset, recipe: Option<&Recipe>, caller: &Caller) -> Result<Inputs, Error> {
        let parameters = recipe.and_then(|recipe| recipe.parameters.as_ref());
        let test = caller.open(rows)?;
        let train = self.open_train(caller)?;
        let label =
            self.label.clone().or_else(|| parameters.filter(|_| train.is_some()).map(|file| file.label.clone()));
        match (&label, &train) {
            (Some(label), None) => drop(test.column(label)?),
            (None, Some(_)) => return Err(Error::missing("label", "the column with the truth in the training rows")),
            _ => {}
        }
        let predictions = match (self.prediction.as_slice(), parameters) {
            ([], None) => return Err(Error::missing("prediction", "the columns to smooth")),
            ([], Some(file)) => vec![file.prediction.clone()],
            (given, _) => listed("prediction", given, &test)?,
        };
        let places = self.place_columns(parameters)?;
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
            Error::missing("train", "the labelled rows that the correct step learns from, or `no-correct true`")
        })?;
        match (given, from_file) {
            ([_, ..], _) => listed("train-prediction", given, train),
            ([], Some(file)) => Ok(vec![file.train_prediction.clone()]),
            ([], None) => Err(Error::missing(
                "train-prediction",
                "the out-of-fold predictions that the correct step learns from, or `no-correct true`",
            )),
        }
    }

    /// The labelled rows, if there are any.
    pub(super) fn open_train(&self, caller: &Caller) -> Result<Option<Input>, Error> {
        self.train.as_ref().map(|train| caller.open(train)).transpose()
    }

    /// The columns of places: those that are named here, or those of the parameters.
    pub(super) fn place_columns(&self, parameters: Option<&Parameters>) -> Result<PlaceColumns, Error> {
        let given = &self.places;
        check_places(given)?;
        let tuned = parameters.map(|file| file.places.clone()).unwrap_or_default();
        let group = given.group.clone().or(tuned.group.clone());
        let is_named = given.lat.is_some() || given.geometry.is_some() || !given.index.is_empty();
        Ok(PlaceColumns { group, ..if is_named { given.clone() } else { tuned } })
    }
}

/// Places are given in one way.
fn check_places(places: &PlaceColumns) -> Result<(), Error> {
    match (&places.lat, &places.lon) {
        (Some(_), None) => return Err(Error::missing("lon", "the column of longitudes beside that of latitudes")),
        (None, Some(_)) => return Err(Error::missing("lat", "the column of latitudes beside that of longitudes")),
        _ => {}
    }
    let ways = [places.lat.is_some(), places.geometry.is_some(), !places.index.is_empty()];
    if ways.into_iter().filter(|way| *way).count() > 1 {
        return Err(Error::Contradiction {
            message: "places are given in more than one way".to_owned(),
            hint: "give `lat` and `lon`, or `geometry`, or `index`".to_owned(),
        });
    }
    Ok(())
}

/// What to look for as places.
pub(super) fn coordinates(places: &PlaceColumns, test: &Input) -> Result<CoordinateRequest, Error> {
    Ok(match places {
        PlaceColumns { lat: Some(lat), lon: Some(lon), .. } => CoordinateRequest::LatLon(lat.clone(), lon.clone()),
        PlaceColumns { geometry: Some(column), .. } => CoordinateRequest::Geometry(column.clone()),
        PlaceColumns { index, .. } if index.is_empty() => CoordinateRequest::Find,
        PlaceColumns { index, .. } => CoordinateRequest::Index(listed("index", index, test)?),
    })
}

/// Rows that score must not be among those that were learned from or chosen on: two inputs, each with its option.
pub(crate) fn refuse_same_file(first: (&'static str, &Input), second: (&'static str, &Input)) -> Result<(), Error> {
    let known: Vec<_> = first.1.paths().filter_map(real).collect();
    match second.1.paths().find(|path| real(path).is_some_and(|path| known.contains(&path))) {
        None => Ok(()),
        Some(path) => Err(Error::Leak { path: path.to_owned(), options: [first.0, second.0] }),
    }
}

fn real(path: &Path) -> Option<std::path::PathBuf> {
    path.canonicalize().ok()
}

/// The predictions that are not the one that parameters were tuned for, as they are shown.
fn others(predictions: &[String], tuned: &str) -> Vec<String> {
    predictions.iter().filter(|name| *name != tuned).map(|name| crate::io::shortened(name, 80)).collect()
}

/// Column names from a comma list; a name that itself holds a comma is taken as it is if there is such a column.
fn listed(option: &'static str, given: &[String], input: &Input) -> Result<Vec<String>, Error> {
    let mut names: Vec<String> = Vec::new();
    for text in given {
        let parts: Vec<&str> = if input.has(text) { vec![text] } else { text.split(',').collect() };
        for name in parts {
            if names.iter().any(|known| known == name) {
                return Err(Error::Twice { option, name: crate::io::shortened(name, 80) });
            }
            names.push(name.to_owned());
        }
    }
    Ok(names)
}
