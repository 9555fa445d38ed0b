//! Post-estimation smoothing: plan for places, then apply to values.
//!
//! `smoothed = c · W ŷ + (1 − c) · ŷ`, where W averages over the rows to predict, with their predictions, and
//! the labelled rows, with their labels.

mod plan;
mod span;
mod weights;

use std::sync::Arc;

use crate::engine::{Choice, Counts, Engine, EngineKind, Exact, Fast, Plan, Progress, Sparse, Truncation, choose};
use crate::error::{Error, plain};
use crate::points::Places;
use crate::scene::{Own, Scene};
use crate::space::Sigma;

pub use self::plan::{Smoothed, SmoothingPlan};
pub use self::weights::WeightBatch;

/// What to smooth with. Build one, [`plan`](Self::plan) for some places, [`apply`](SmoothingPlan::apply) to values.
///
/// # Examples
/// ```
/// use geosmooth::{Places, Sigma, Smoother};
///
/// // Two houses to price, 100 m apart, and a sale between them.
/// let houses = Places::lat_lon(vec![41.6500, 41.6509], vec![-83.54, -83.54])?;
/// let sales = Places::lat_lon(vec![41.6504], vec![-83.54])?;
///
/// let plan = Smoother::new(Sigma::metres(500.0)?, 0.6)?.plan(&houses, Some(&sales))?;
/// let smoothed = plan.apply(&[&[100.0, 140.0]], Some(&[120.0]))?;
///
/// let prices = &smoothed[0].values;
/// assert!(prices[0].unwrap() > 100.0 && prices[1].unwrap() < 140.0);
/// assert!(smoothed[0].error_bound[0] < 1e-6 * 40.0); // proven, in the unit of the prices
/// # Ok::<(), geosmooth::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Smoother {
    sigma: Sigma,
    c: f64,
    label_weight: f64,
    own: Own,
    engine: EngineKind,
    truncation: Truncation,
    memory_limit: Option<u64>,
}

impl Smoother {
    /// The tolerance unless another is asked for: a millionth of the range of the values.
    pub const DEFAULT_TOLERANCE: f64 = 1e-6;

    /// A smoother with bandwidth σ and mixing weight c: 0 leaves predictions alone, 1 replaces them by averages.
    ///
    /// # Errors
    /// If c is not within 0 and 1.
    pub fn new(sigma: Sigma, c: f64) -> Result<Self, Error> {
        if !(0.0..=1.0).contains(&c) {
            return Err(Error::Parameter { name: "c", value: plain(c), expected: "between 0 and 1" });
        }
        Ok(Self {
            sigma,
            c,
            label_weight: 1.0,
            own: Own::Counts,
            engine: EngineKind::Auto,
            truncation: Truncation::Tolerance(Self::DEFAULT_TOLERANCE),
            memory_limit: None,
        })
    }

    /// How much a label weighs against a prediction; 1 as in the paper, 0 for predictions only.
    ///
    /// # Errors
    /// If it is negative or not finite.
    pub fn label_weight(mut self, weight: f64) -> Result<Self, Error> {
        if weight != 0.0 && !(1e-100..=1e100).contains(&weight) {
            return Err(Error::Parameter {
                name: "label weight",
                value: plain(weight),
                expected: "zero, or between 1e-100 and 1e100",
            });
        }
        self.label_weight = weight;
        Ok(self)
    }

    /// Leaves each row's own prediction out of its average. A row without any other source has no value then.
    #[must_use]
    pub fn leave_one_out(mut self) -> Self {
        self.own = Own::LeftOut;
        self
    }

    /// Which engine computes the sums.
    #[must_use]
    pub fn engine(mut self, engine: EngineKind) -> Self {
        self.engine = engine;
        self
    }

    /// Largest error of any row, relative to the range of the values.
    ///
    /// # Errors
    /// If it is above 1 or below what 64-bit numbers can keep.
    pub fn tolerance(mut self, tolerance: f64) -> Result<Self, Error> {
        if !(Sparse::SMALLEST_TOLERANCE..=1.0).contains(&tolerance) {
            let expected = "between 1e-12, what 64-bit numbers can keep, and 1";
            return Err(Error::Parameter { name: "tolerance", value: plain(tolerance), expected });
        }
        self.truncation = Truncation::Tolerance(tolerance);
        Ok(self)
    }

    /// Cuts the kernel at so many σ instead of by tolerance; the certificate then says what that cost.
    ///
    /// # Errors
    /// If it is not positive, or so large that the kernel vanishes before it.
    pub fn cutoff(mut self, sigmas: f64) -> Result<Self, Error> {
        if !(sigmas > 0.0 && sigmas <= 37.0) {
            return Err(Error::Parameter {
                name: "cutoff",
                value: plain(sigmas),
                expected: "positive and at most 37 sigma, where the kernel vanishes",
            });
        }
        self.truncation = Truncation::Cutoff(sigmas);
        Ok(self)
    }

    /// Bytes that a weight matrix may take.
    #[must_use]
    pub fn memory_limit(mut self, bytes: u64) -> Self {
        self.memory_limit = Some(bytes);
        self
    }

    /// Prepares to smooth the targets, together with labelled places if there are any.
    ///
    /// # Errors
    /// If σ does not fit the places, or the plan would not fit in memory.
    pub fn plan(&self, targets: &Places, labelled: Option<&Places>) -> Result<SmoothingPlan, Error> {
        self.plan_with(targets, labelled, &())
    }

    /// [`plan`](Self::plan) that tells how far it has come.
    ///
    /// # Errors
    /// As [`plan`](Self::plan).
    pub fn plan_with(
        &self,
        targets: &Places,
        labelled: Option<&Places>,
        progress: &dyn Progress,
    ) -> Result<SmoothingPlan, Error> {
        let labelled = labelled.filter(|_| self.label_weight > 0.0);
        let mut sources = vec![(targets, 1.0)];
        sources.extend(labelled.map(|places| (places, self.label_weight)));
        let scene = Arc::new(Scene::new(self.sigma, targets, &sources, self.own)?);
        let (choice, plan) = self.plan_scene(scene.clone(), progress)?;
        Ok(SmoothingPlan { smoother: self.clone(), scene, plan, choice })
    }

    fn plan_scene(&self, scene: Arc<Scene>, progress: &dyn Progress) -> Result<(Choice, Box<dyn Plan>), Error> {
        let choice = match self.engine {
            EngineKind::Auto => choose(&Counts {
                targets: scene.target_places() as u64,
                sources: scene.source_places() as u64,
                cutoff: matches!(self.truncation, Truncation::Cutoff(_)),
            }),
            engine => Choice { engine, reason: "as asked" },
        };
        let plan = match choice.engine {
            EngineKind::Exact => Exact.plan(scene, progress),
            EngineKind::Sparse => self.sparse().plan(scene, progress),
            EngineKind::Fast | EngineKind::Auto => self.fast()?.plan(scene, progress),
        };
        Ok((choice, plan?))
    }

    fn fast(&self) -> Result<Fast, Error> {
        match self.truncation {
            Truncation::Tolerance(tolerance) => Ok(Fast { tolerance }),
            Truncation::Cutoff(_) => Err(Error::Contradiction {
                message: "the fast engine keeps a tolerance; it has no cutoff".to_owned(),
                hint: "leave --cutoff out, or use --engine sparse".to_owned(),
            }),
        }
    }

    fn sparse(&self) -> Sparse {
        Sparse { truncation: self.truncation, memory_limit: self.memory_limit }
    }
}

/// Smooths one column of predictions in one call; see [`Smoother`] for more.
///
/// # Errors
/// As [`Smoother::plan`] and [`SmoothingPlan::apply`].
///
/// # Examples
/// ```
/// use geosmooth::{Places, Sigma, smooth};
///
/// let frames = Places::index(vec![vec![0.0, 1.0, 2.0, 3.0]])?;
/// let smoothed = smooth(&frames, &[1.0, 5.0, 1.0, 5.0], None, Sigma::index(2.0)?, 0.8)?;
/// assert!(smoothed.iter().all(|x| (2.0..4.0).contains(x)));
/// # Ok::<(), geosmooth::Error>(())
/// ```
pub fn smooth(
    targets: &Places,
    predictions: &[f64],
    labelled: Option<(&Places, &[f64])>,
    sigma: Sigma,
    c: f64,
) -> Result<Vec<f64>, Error> {
    let plan = Smoother::new(sigma, c)?.plan(targets, labelled.map(|(places, _)| places))?;
    let smoothed = plan.apply(&[predictions], labelled.map(|(_, labels)| labels))?;
    // Without leave-one-out a row always has a source: itself.
    Ok(smoothed.into_iter().flat_map(|column| column.values).flatten().collect())
}
