//! The rows that are tuned on: validation rows, or the training rows in their place.

use super::Tune;
use crate::error::Error;
use crate::job::bandwidth::Bandwidth;
use crate::job::caller::Caller;
use crate::job::data::Data;
use crate::job::dataset::Dataset;
use crate::job::inputs::{Inputs, refuse_same_file};
use crate::job::table::Table;
use crate::space::Sigma;
use crate::tune::{Fold, Trial};

/// Rows to score on.
#[derive(Clone, Debug)]
pub enum ScoredOn {
    /// Rows of their own. Right wherever neither the model nor its settings were chosen on them.
    Validation(Dataset),
    /// The training rows, each with its own label hidden. Right where the rows to predict lie among the training rows.
    LeaveOneOut,
    /// The training rows, cut into folds of whole blocks, each of which sees the labels of the others only. Right where the rows
    /// to predict lie elsewhere.
    Folds {
        /// How many.
        count: usize,
        /// Side of the blocks.
        block: Bandwidth,
    },
}

impl ScoredOn {
    /// What four options say, of which few go together; none where none is given.
    ///
    /// # Errors
    /// If they contradict each other.
    pub fn of(
        validation: Option<Dataset>,
        leave_one_out: bool,
        folds: Option<usize>,
        block: Option<&str>,
    ) -> Result<Option<Self>, Error> {
        match (validation, leave_one_out, folds, block) {
            (None, false, None, None) => Ok(None),
            (Some(rows), false, None, None) => Ok(Some(Self::Validation(rows))),
            (None, true, None, None) => Ok(Some(Self::LeaveOneOut)),
            (None, false, Some(count), Some(block)) => {
                let block = block.parse().map_err(|_| no_side(block))?;
                Ok(Some(Self::Folds { count, block }))
            }
            (None, false, Some(_), None) => Err(Error::missing("block", "the side of the blocks, such as `block 5km`")),
            (None, false, None, Some(_)) => Err(Error::missing("folds", "the number of folds, such as `folds 5`")),
            _ => Err(Error::Contradiction {
                message: "rows to score on are given in more than one way".to_owned(),
                hint: "give `validation`, or `leave-one-out`, or `folds` and `block`".to_owned(),
            }),
        }
    }

    /// The way that rows were chosen to score on, for people.
    fn describe(&self) -> String {
        match self {
            Self::Validation(_) => "validation rows".to_owned(),
            Self::Folds { count, block } => format!("{count} folds of blocks of {block}"),
            Self::LeaveOneOut => "leave-one-out over the training rows".to_owned(),
        }
    }
}

/// The rows that are tuned on.
pub(super) enum Rows {
    Validation(Data),
    /// The training rows stand in for those to predict.
    Training(Table),
}

impl Rows {
    pub(super) fn trials<'a>(&'a self, folds: &'a [Fold], is_corrected: bool) -> Vec<Trial<'a>> {
        let mut trials: Vec<Trial> = match self {
            Self::Validation(data) => vec![Trial {
                targets: &data.test.places,
                predictions: data.predictions(),
                truth: data.truth.as_deref().unwrap_or_default(),
                labelled: data.labelled(),
                hides_own_label: false,
            }],
            Self::Training(table) if folds.is_empty() => vec![Trial::leave_one_out(table.labelled())],
            Self::Training(_) => folds.iter().map(Fold::trial).collect(),
        };
        if !is_corrected {
            let labelled = trials.iter_mut().filter_map(|trial| trial.labelled.as_mut());
            labelled.for_each(|labelled| labelled.predictions.clear());
        }
        trials
    }
}

impl Tune {
    pub(super) fn open(&self, caller: &Caller) -> Result<Inputs, Error> {
        if self.data.label.is_none() {
            return Err(Error::missing("label", "the column with the truth"));
        }
        if self.label_weights.is_some() && self.data.train.is_none() {
            return Err(Error::missing("train", "the labelled rows that the label weight is about"));
        }
        match (&self.scored_on, &self.data.train) {
            (Some(ScoredOn::Validation(validation)), _) => {
                let inputs = self.data.open(validation, None, caller)?;
                if let Some(train) = &inputs.train {
                    refuse_same_file(("train", train), ("validation", &inputs.test))?;
                }
                Ok(inputs)
            }
            (Some(_), Some(train)) => self.data.open(train, None, caller),
            (Some(_), None) => Err(Error::missing("train", "the rows to tune on")),
            (None, _) => Err(Error::missing(
                "validation",
                "rows to score on; or tune on the training rows with `leave-one-out true` or `folds 5` and `block 5km`",
            )),
        }
    }

    pub(super) fn read(&self, inputs: &Inputs, caller: &Caller) -> Result<Rows, Error> {
        if let Some(ScoredOn::Validation(_)) = self.scored_on {
            let label = inputs.label.as_deref().unwrap_or_default();
            let data = self.data.read_with_truth(inputs, label, caller)?;
            data.warn_of_copies(caller);
            return Ok(Rows::Validation(data));
        }
        let out_of_fold =
            if inputs.train_predictions.is_empty() { &inputs.predictions } else { &inputs.train_predictions };
        self.data.read_labelled(inputs, out_of_fold, caller).map(Rows::Training)
    }

    /// The blocked folds, if they were asked for.
    pub(super) fn folds(&self, rows: &Rows) -> Result<Vec<Fold>, Error> {
        match (rows, &self.scored_on) {
            (Rows::Training(table), Some(ScoredOn::Folds { count, block })) => {
                Fold::blocked(&table.labelled(), *count, side(block, table)?)
            }
            _ => Ok(Vec::new()),
        }
    }

    /// The way that rows were chosen to score on, for people.
    pub(super) fn way(&self) -> String {
        self.scored_on.as_ref().map_or(String::new(), ScoredOn::describe)
    }
}

/// The side of blocks, in a unit that fits the places.
fn side(block: &Bandwidth, table: &Table) -> Result<Sigma, Error> {
    let side = block.sigma();
    table.places.metric(side).map(|_| side).map_err(|_| no_side(&block.to_string()))
}

fn no_side(text: &str) -> Error {
    Error::Block { text: crate::io::shortened(text, 80) }
}
