//! Which settings of each method are tried: those of the paper unless others are given.

use serde_json::Value;

use super::Method;
use crate::error::{Error, plain};
use crate::space::Sigma;
use crate::tune::not_empty;

/// One choice of everything that a method leaves open.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// Which column of predictions, for methods that use one.
    pub prediction: Option<usize>,
    /// The width of the kernel, for methods that have one.
    pub sigma: Option<Sigma>,
    /// The other values, each under the paper's name.
    pub knobs: Vec<(&'static str, f64)>,
    /// The setting of the method whose values this one smooths.
    pub before: Option<Box<Setting>>,
}

impl Setting {
    /// The value of a knob.
    ///
    /// # Panics
    /// If the method has no such knob.
    pub(super) fn knob(&self, name: &str) -> f64 {
        self.knobs.iter().find(|(known, _)| *known == name).map(|(_, value)| *value).expect("a knob of the method")
    }

    /// Names and values for people and files: numbers but for σ and the prediction.
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

/// The values to try. [`Grids::paper`] has those of the paper's table.
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
    /// α of LGC; the paper leaves LGC out, so these are 1 − η.
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
    /// None in truth: all of them are in range.
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

    /// These σ for every method that has one.
    #[must_use]
    pub fn with_sigmas(mut self, sigmas: &[Sigma]) -> Self {
        self.kernel_sigmas = sigmas.to_vec();
        self.sigmas = sigmas.to_vec();
        self.gpr_sigmas = sigmas.to_vec();
        self
    }

    /// Every list has values, all of them in range.
    ///
    /// # Errors
    /// If not.
    pub(super) fn check(&self) -> Result<(), Error> {
        let positive = "a positive number of a sane size";
        let sane = 1e-100..=1e100;
        let is_part = |value: f64| (0.0..=1.0).contains(&value);
        check_each("c", &self.c, "between 0 and 1", is_part)?;
        check_each("delta", &self.delta, "between 0 and 1", is_part)?;
        check_each("eta", &self.eta, "above 0 and at most 1", |value| value > 0.0 && is_part(value))?;
        check_each("alpha", &self.alpha, "at least 0 and below 1", |value| value < 1.0 && is_part(value))?;
        check_each("ridge", &self.ridge, positive, |value| sane.contains(&value))?;
        check_each("laplacian", &self.laplacian, "zero or a positive number of a sane size", |value| {
            value == 0.0 || sane.contains(&value)
        })?;
        check_each("constant", &self.constant, positive, |value| sane.contains(&value))?;
        check_each("noise", &self.noise, positive, |value| sane.contains(&value))?;
        [&self.kernel_sigmas, &self.sigmas, &self.gpr_sigmas].into_iter().try_for_each(|list| not_empty("sigma", list))
    }

    /// All settings of a method, those of one σ behind each other.
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
                let setting = |knobs: &Vec<_>| Setting { prediction, sigma, knobs: knobs.clone(), before: None };
                settings.extend(knobs.iter().map(setting));
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

/// Every value of each knob with every value of the others.
fn combinations(knobs: &[(&'static str, &[f64])]) -> Vec<Vec<(&'static str, f64)>> {
    let mut all = vec![Vec::new()];
    for (name, values) in knobs {
        let with = |known: &Vec<(&'static str, f64)>| {
            let more = |&value: &f64| known.iter().copied().chain([(*name, value)]).collect::<Vec<_>>();
            values.iter().map(more).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(with).collect();
    }
    all
}

/// Even steps from the first value to the last.
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
