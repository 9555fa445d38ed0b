//! The settings of each method to try; by default those of the paper.

use serde_json::Value;

use super::Method;
use crate::error::{Error, plain};
use crate::space::Sigma;
use crate::tune::not_empty;

/// One combination of hyperparameters of a method.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The column of predictions, for methods that use one.
    pub prediction: Option<usize>,
    /// The bandwidth of the kernel, for methods that have one.
    pub sigma: Option<Sigma>,
    /// The other hyperparameters, each under the paper's name.
    pub knobs: Vec<(&'static str, f64)>,
    /// The setting of the method whose predictions are smoothed.
    pub before: Option<Box<Setting>>,
}

impl Setting {
    /// The value of a hyperparameter.
    ///
    /// # Panics
    /// If the method has no such hyperparameter.
    pub(super) fn knob(&self, name: &str) -> f64 {
        self.knobs
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| *value)
            .expect("a hyperparameter of the method")
    }

    /// Names and values for reports and files. All are numbers except for σ and the prediction.
    #[must_use]
    pub fn hyperparameters(&self, predictions: &[String]) -> Vec<(String, Value)> {
        let before = self.before.iter().flat_map(|before| before.hyperparameters(predictions));
        let before =
            before.map(|(name, value)| (if name == "prediction" { name } else { format!("hem_{name}") }, value));
        let prediction = self.prediction.filter(|_| self.before.is_none()).and_then(|at| predictions.get(at));
        let prediction = prediction.map(|name| ("prediction".to_owned(), Value::from(name.as_str())));
        let sigma = self.sigma.map(|sigma| ("sigma".to_owned(), Value::from(sigma.to_string())));
        let knobs = self.knobs.iter().map(|(name, value)| ((*name).to_owned(), Value::from(*value)));
        before.chain(prediction).chain(sigma).chain(knobs).collect()
    }
}

/// The values to try. [`Grids::paper`] returns those of the paper's table.
#[derive(Clone, Debug)]
pub struct Grids {
    /// σ of kernel regression.
    pub kernel_sigmas: Vec<Sigma>,
    /// σ of P-ES, HEM, LGC and LapRLS.
    pub sigmas: Vec<Sigma>,
    /// σ of Gaussian processes.
    pub gpr_sigmas: Vec<Sigma>,
    /// c of P-ES.
    pub c: Vec<f64>,
    /// δ of shrinkage.
    pub delta: Vec<f64>,
    /// η of HEM.
    pub eta: Vec<f64>,
    /// α of LGC; the paper has no values for LGC, so these are 1 − η.
    pub alpha: Vec<f64>,
    /// λ_ridge of LapRLS.
    pub ridge: Vec<f64>,
    /// λ_lap of LapRLS.
    pub laplacian: Vec<f64>,
    /// σ_const of Gaussian processes: the variance of the field.
    pub constant: Vec<f64>,
    /// α of Gaussian processes: the variance of the noise.
    pub noise: Vec<f64>,
}

impl Grids {
    /// The paper's values, σ in degrees.
    ///
    /// # Errors
    /// None in practice: all of them are in range.
    pub fn paper() -> Result<Self, Error> {
        let eta = linspace(0.01, 1.0, 6);
        Ok(Self {
            kernel_sigmas: degrees(-2.0, 0.0, 9)?,
            sigmas: degrees(-4.0, 0.0, 5)?,
            gpr_sigmas: degrees(-2.0, 2.0, 4)?,
            c: linspace(0.0, 1.0, 11),
            delta: linspace(0.0, 1.0, 11),
            alpha: eta.iter().map(|eta| 1.0 - eta).collect(),
            eta,
            ridge: logspace(-2.0, 4.0, 5),
            laplacian: logspace(-4.0, 2.0, 5),
            constant: logspace(-2.0, 2.0, 4),
            noise: logspace(-6.0, 0.0, 3),
        })
    }

    /// The same grids with these σ for every method that has one.
    #[must_use]
    pub fn with_sigmas(mut self, sigmas: &[Sigma]) -> Self {
        self.kernel_sigmas = sigmas.to_vec();
        self.sigmas = sigmas.to_vec();
        self.gpr_sigmas = sigmas.to_vec();
        self
    }

    /// Checks that every list has values, and that all of them are in range.
    pub(super) fn check(&self) -> Result<(), Error> {
        let positive = "between 1e-100 and 1e100";
        let (sane, part) = (1e-100..=1e100, 0.0..=1.0);
        check_each("c", &self.c, "between 0 and 1", |value| part.contains(&value))?;
        check_each("delta", &self.delta, "between 0 and 1", |value| part.contains(&value))?;
        check_each("eta", &self.eta, "above 0 and at most 1", |value| value > 0.0 && value <= 1.0)?;
        check_each("alpha", &self.alpha, "at least 0 and below 1", |value| (0.0..1.0).contains(&value))?;
        check_each("ridge", &self.ridge, positive, |value| sane.contains(&value))?;
        check_each("laplacian", &self.laplacian, "zero, or between 1e-100 and 1e100", |value| {
            value == 0.0 || sane.contains(&value)
        })?;
        check_each("constant", &self.constant, positive, |value| sane.contains(&value))?;
        check_each("noise", &self.noise, positive, |value| sane.contains(&value))?;
        [&self.kernel_sigmas, &self.sigmas, &self.gpr_sigmas].into_iter().try_for_each(|list| not_empty("sigma", list))
    }

    /// All settings of a method; those with the same σ are consecutive.
    pub(super) fn settings(&self, method: Method, predictions: usize) -> Vec<Setting> {
        let sigmas: &[Sigma] = match method {
            Method::Unsmoothed | Method::Shrinkage => &[],
            Method::KernelRegression => &self.kernel_sigmas,
            Method::Pes | Method::Hem | Method::HemPes | Method::Lgc | Method::LapRls => &self.sigmas,
            Method::Gpr => &self.gpr_sigmas,
        };
        let knobs: Vec<(&'static str, &[f64])> = match method {
            Method::Unsmoothed | Method::KernelRegression => vec![],
            Method::Shrinkage => vec![("delta", &self.delta)],
            Method::Pes | Method::HemPes => vec![("c", &self.c)],
            Method::Hem => vec![("eta", &self.eta)],
            Method::Lgc => vec![("alpha", &self.alpha)],
            Method::LapRls => vec![("ridge", &self.ridge), ("laplacian", &self.laplacian)],
            Method::Gpr => vec![("constant", &self.constant), ("noise", &self.noise)],
        };
        let columns = if method.uses_predictions() { (0..predictions).map(Some).collect() } else { vec![None] };
        let sigmas: Vec<Option<Sigma>> =
            if sigmas.is_empty() { vec![None] } else { sigmas.iter().copied().map(Some).collect() };
        let knobs = combinations(&knobs);
        let mut settings = Vec::new();
        for &sigma in &sigmas {
            for &prediction in &columns {
                let of_knobs = knobs.iter().cloned();
                settings.extend(of_knobs.map(|knobs| Setting { prediction, sigma, knobs, before: None }));
            }
        }
        settings
    }
}

fn check_each(
    name: &'static str,
    values: &[f64],
    expected: &'static str,
    is_right: impl Fn(f64) -> bool,
) -> Result<(), Error> {
    not_empty(name, values)?;
    match values.iter().find(|value| !is_right(**value)) {
        None => Ok(()),
        Some(value) => Err(Error::Parameter { name, value: plain(*value), expected }),
    }
}

/// All combinations of values.
fn combinations(knobs: &[(&'static str, &[f64])]) -> Vec<Vec<(&'static str, f64)>> {
    let mut all: Vec<Vec<(&'static str, f64)>> = vec![Vec::new()];
    for (name, values) in knobs {
        let mut longer = Vec::with_capacity(all.len() * values.len());
        for known in &all {
            longer.extend(values.iter().map(|&value| [known.as_slice(), &[(*name, value)]].concat()));
        }
        all = longer;
    }
    all
}

/// Evenly spaced values from the first to the last.
pub(crate) fn linspace(low: f64, high: f64, count: usize) -> Vec<f64> {
    (0..count).map(|step| low + (high - low) * step as f64 / (count - 1) as f64).collect()
}

/// Powers of ten.
fn logspace(low: f64, high: f64, count: usize) -> Vec<f64> {
    linspace(low, high, count).into_iter().map(|power| 10_f64.powf(power)).collect()
}

/// Powers of ten as σ in degrees.
pub(crate) fn degrees(low: f64, high: f64, count: usize) -> Result<Vec<Sigma>, Error> {
    logspace(low, high, count).into_iter().map(Sigma::degrees).collect()
}
