//! What to smooth with: options and tuned parameters together.

use super::bandwidth::Bandwidth;
use super::caller::Caller;
use super::options::{DataOptions, KernelOptions, ParameterSource};
use crate::correct::Correction;
use crate::engine::EngineOptions;
use crate::error::{Error, Subject};
use crate::parameters::Parameters;
use crate::smoother::Smoother;

/// What to smooth with, from options and tuned parameters together.
pub(crate) struct Recipe {
    pub(crate) sigma: Bandwidth,
    /// `None` where neither gave it.
    pub(crate) c: Option<f64>,
    pub(crate) label_weight: f64,
    pub(crate) correction: Option<Correction>,
    pub(crate) parameters: Option<Parameters>,
}

impl KernelOptions {
    /// Reads the tuned parameters, if there are any, and checks everything.
    pub(crate) fn recipe(&self, c: Option<f64>, data: &DataOptions, caller: &Caller) -> Result<Recipe, Error> {
        let parameters = self.params.as_ref().map(|source| source.parameters(caller)).transpose()?;
        let tuned = parameters.as_ref();
        let sigma = match (&self.sigma, tuned) {
            (Some(sigma), _) => sigma.clone(),
            (None, Some(tuned)) => tuned.sigma.parse()?,
            (None, None) => {
                return Err(Error::missing(
                    "sigma",
                    "the bandwidth, such as `sigma 500m`, or `params` that tune found",
                ));
            }
        };
        let label_weight = self.label_weight.or_else(|| tuned.map(|tuned| tuned.label_weight));
        if data.train.is_none() && label_weight.is_some_and(|weight| weight != 0.0) {
            let what = "the labelled rows that the label weight is about, or `label-weight 0`";
            return Err(Error::missing("train", what));
        }
        let correction = self.correction(tuned)?;
        let c = c.or_else(|| tuned.map(|tuned| tuned.c));
        Smoother::new(sigma.sigma(), c.unwrap_or(0.0))?.label_weight(label_weight.unwrap_or(1.0))?;
        Ok(Recipe { sigma, c, label_weight: label_weight.unwrap_or(1.0), correction, parameters })
    }

    fn correction(&self, parameters: Option<&Parameters>) -> Result<Option<Correction>, Error> {
        if self.no_correct && (self.correct_sigma.is_some() || self.correct_shrink.is_some()) {
            return Err(Error::Contradiction {
                message: "the correct step is both asked for and left out".to_owned(),
                hint: "leave out `no-correct`, or `correct-sigma` and `correct-shrink`".to_owned(),
            });
        }
        let tuned = parameters.map_or(Ok(None), Parameters::correction)?.filter(|_| !self.no_correct);
        match (self.correct_sigma, self.correct_shrink, tuned) {
            (Some(sigma), shrink, _) => Correction::new(sigma, shrink.unwrap_or(1.0)).map(Some),
            (None, Some(shrink), Some(tuned)) => Correction::new(tuned.sigma(), shrink).map(Some),
            (None, Some(_), None) => Err(Error::missing("correct-sigma", "the bandwidth that errors are spread by")),
            (None, None, tuned) => Ok(tuned),
        }
    }
}

impl ParameterSource {
    /// Parameters from the object that a file would hold, and the argument that it is for messages.
    ///
    /// # Errors
    /// If a field is missing, unknown or out of range.
    pub fn from_value(argument: &str, value: serde_json::Value) -> Result<Self, Error> {
        match Parameters::from_value(value) {
            Ok(parameters) => Ok(Self::Values(Box::new(parameters))),
            Err(problem) => Err(no_parameters(Subject::Argument(argument.to_owned()), problem)),
        }
    }

    fn parameters(&self, caller: &Caller) -> Result<Parameters, Error> {
        match self {
            Self::Values(parameters) => Ok(parameters.as_ref().clone()),
            Self::File(path) => {
                let text = caller.text(path)?;
                Parameters::from_json(&text).map_err(|problem| no_parameters(path.into(), problem))
            }
        }
    }
}

/// The error of parameters that do not make sense.
fn no_parameters(subject: Subject, problem: String) -> Error {
    Error::File { subject, problem, hint: "make it again with geosmooth tune".to_owned() }
}

impl Recipe {
    /// The smoother; where predictions are corrected first, each step keeps half of the tolerance.
    pub(crate) fn smoother(&self, c: f64, options: EngineOptions) -> Result<Smoother, Error> {
        let options = if self.correction.is_some() { options.with_share(0.5) } else { options };
        Ok(Smoother::new(self.sigma.sigma(), c)?.label_weight(self.label_weight)?.engine_options(options))
    }
}

/// The correct step of a run.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct CorrectStep {
    /// The bandwidth that errors are spread by.
    pub sigma: String,
    /// κ, how much they are shrunk.
    pub shrink: f64,
}

impl From<Correction> for CorrectStep {
    fn from(correction: Correction) -> Self {
        Self { sigma: correction.sigma().to_string(), shrink: correction.shrink() }
    }
}
