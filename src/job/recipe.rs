//! What to smooth with: options and a file of tuned parameters together.

use std::path::{Path, PathBuf};

use super::caller::Caller;
use super::options::{DataArgs, missing};
use crate::correct::Correction;
use crate::engine::{EngineKind, EngineOptions};
use crate::error::Error;
use crate::parameters::Parameters;
use crate::smoother::Smoother;

/// How to smooth.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Smoothing")]
pub(crate) struct KernelArgs {
    /// Bandwidth with its unit: 500m, 2km, 1mi on the sphere; 0.01deg on plain degrees; a bare number with --index
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true)]
    sigma: Option<String>,
    /// Weight of a known label against a prediction, 1 if left out; 0 ignores labels
    #[arg(long, value_name = "WEIGHT", allow_hyphen_values = true)]
    label_weight: Option<f64>,
    /// Spread the errors at training rows first, with a kernel of this bandwidth; needs --train-prediction
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true)]
    correct_sigma: Option<String>,
    /// How much errors are shrunk: by as many errors of zero as this at each place, 1 if left out
    #[arg(long, value_name = "MASS", allow_hyphen_values = true)]
    correct_shrink: Option<f64>,
    /// Leave out the correct step of --params
    #[arg(long, conflicts_with_all = ["correct_sigma", "correct_shrink"])]
    no_correct: bool,
    /// Parameters that tune found; options given here as well go before them
    #[arg(long, value_name = "FILE")]
    params: Option<PathBuf>,
    #[command(flatten)]
    accuracy: AccuracyArgs,
}

/// How accurate.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Smoothing")]
pub(crate) struct AccuracyArgs {
    /// Largest error of any row, relative to the range of the values
    #[arg(long, value_name = "ERROR", default_value = "1e-6", allow_hyphen_values = true, conflicts_with = "cutoff")]
    pub(crate) tolerance: f64,
    /// Cut the kernel at so many sigma instead; the certificate then says what that cost
    #[arg(long, value_name = "SIGMAS", allow_hyphen_values = true)]
    pub(crate) cutoff: Option<f64>,
}

impl AccuracyArgs {
    pub(crate) fn options(&self, engine: EngineKind, memory: u64) -> Result<EngineOptions, Error> {
        let options = EngineOptions::default().engine(engine).memory_limit(memory);
        match self.cutoff {
            Some(sigmas) => options.cutoff(sigmas),
            None => options.tolerance(self.tolerance),
        }
    }

    /// The tolerance, unless the cut is made by hand.
    pub(crate) fn tolerance(&self) -> Option<f64> {
        self.cutoff.is_none().then_some(self.tolerance)
    }
}

/// What to smooth with, from options and parameter file together.
pub(crate) struct Recipe {
    /// σ as it was written.
    pub(crate) sigma: String,
    /// `None` where neither gave it.
    pub(crate) c: Option<f64>,
    pub(crate) label_weight: f64,
    pub(crate) correction: Option<Correction>,
    pub(crate) parameters: Option<Parameters>,
}

impl KernelArgs {
    /// Reads the parameter file, if there is one, and checks everything.
    pub(crate) fn recipe(&self, c: Option<f64>, data: &DataArgs, caller: &Caller) -> Result<Recipe, Error> {
        let parameters = self.params.as_deref().map(|path| read_parameters(path, caller)).transpose()?;
        let given = parameters.as_ref();
        let sigma = self.sigma.clone().or_else(|| given.map(|file| file.sigma.clone()));
        let sigma = sigma.ok_or_else(|| {
            missing("--sigma", "the bandwidth, such as --sigma 500m, or --params from geosmooth tune")
        })?;
        let label_weight = self.label_weight.or_else(|| given.map(|file| file.label_weight));
        if data.train.is_none() && label_weight.is_some_and(|weight| weight != 0.0) {
            return Err(missing("--train", "the labelled rows that the label weight is about, or --label-weight 0"));
        }
        let correction = self.correction(given)?;
        let c = c.or_else(|| given.map(|file| file.c));
        Smoother::new(sigma.parse()?, c.unwrap_or(0.0))?.label_weight(label_weight.unwrap_or(1.0))?;
        Ok(Recipe { sigma, c, label_weight: label_weight.unwrap_or(1.0), correction, parameters })
    }

    fn correction(&self, parameters: Option<&Parameters>) -> Result<Option<Correction>, Error> {
        let tuned = parameters.map_or(Ok(None), Parameters::correction)?.filter(|_| !self.no_correct);
        match (&self.correct_sigma, self.correct_shrink, tuned) {
            (Some(sigma), shrink, _) => Correction::new(sigma.parse()?, shrink.unwrap_or(1.0)).map(Some),
            (None, Some(shrink), Some(tuned)) => Correction::new(tuned.sigma(), shrink).map(Some),
            (None, Some(_), None) => Err(missing("--correct-sigma", "the bandwidth that errors are spread by")),
            (None, None, tuned) => Ok(tuned),
        }
    }

    pub(crate) fn accuracy(&self) -> &AccuracyArgs {
        &self.accuracy
    }
}

impl Recipe {
    /// The smoother; where predictions are corrected first, each step keeps half of the tolerance.
    pub(crate) fn smoother(&self, c: f64, options: EngineOptions) -> Result<Smoother, Error> {
        let options = if self.correction.is_some() { options.with_share(0.5) } else { options };
        Ok(Smoother::new(self.sigma.parse()?, c)?.label_weight(self.label_weight)?.engine_options(options))
    }
}

/// The correct step as it is shown.
#[derive(Clone, Debug, serde::Serialize)]
pub(crate) struct Correct {
    pub(crate) sigma: String,
    pub(crate) shrink: f64,
}

impl From<Correction> for Correct {
    fn from(correction: Correction) -> Self {
        Self { sigma: correction.sigma().to_string(), shrink: correction.shrink() }
    }
}

fn read_parameters(path: &Path, caller: &Caller) -> Result<Parameters, Error> {
    let text = caller.text(path)?;
    Parameters::from_json(&text).map_err(|problem| Error::File {
        path: path.to_owned(),
        problem,
        hint: "make it again with geosmooth tune".to_owned(),
    })
}
