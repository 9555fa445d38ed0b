//! Post-estimation smoothing: [`Smoother`] plans for places, [`SmoothingPlan`] applies the plan to values.
//!
//! `smoothed = c · W ŷ + (1 − c) · ŷ`. W averages over the rows to predict, with their predictions, and over the labelled
//! rows, with their labels.

mod plan;
mod tile;
mod weights;

use std::sync::Arc;

use crate::engine::{EngineKind, EngineOptions, Progress};
use crate::error::{Error, plain};
use crate::points::Places;
use crate::scene::{Own, RowCounts, Scene};
use crate::space::{Metric, Sigma};

pub(crate) use self::plan::{Blending, effective_sources};
pub use self::plan::{Smoothed, SmoothingPlan};
pub(crate) use self::tile::SHARE_BEYOND;
pub use self::tile::{SmoothedTile, TileContents, TileRows, smooth_tile};
pub use self::weights::WeightBatch;

/// The parameters of smoothing. [`plan`](Self::plan) it for some places, then [`apply`](SmoothingPlan::apply) it to values.
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
    engine: EngineOptions,
    /// Engine plans that share the memory: two if effective sources are computed, otherwise one.
    plans: u64,
}

/// Bytes of results for each row to predict, one column at a time: four sums and a gathered value (40), an optional average
/// with its bound at the place (24), the same for the row (24), and 8 to spare.
const BYTES_OF_A_RESULT: u64 = 96;

impl Smoother {
    /// The default tolerance: a millionth of the range of the values.
    pub const DEFAULT_TOLERANCE: f64 = EngineOptions::DEFAULT_TOLERANCE;

    /// A smoother with bandwidth σ and mixing weight c: 0 keeps the predictions, 1 replaces them by averages.
    ///
    /// # Errors
    /// If c is not within 0 and 1.
    pub fn new(sigma: Sigma, c: f64) -> Result<Self, Error> {
        check_c(c)?;
        Ok(Self { sigma, c, label_weight: 1.0, own: Own::Counts, engine: EngineOptions::default(), plans: 1 })
    }

    /// The weight λ of a label relative to a prediction; 1 as in the paper, 0 to ignore the labels.
    ///
    /// # Errors
    /// If it is negative or not finite.
    pub fn label_weight(mut self, weight: f64) -> Result<Self, Error> {
        check_label_weight(weight)?;
        self.label_weight = weight;
        Ok(self)
    }

    /// Leaves each row's own prediction out of its average. A row without any other source then has no value.
    #[must_use]
    pub fn leave_one_out(mut self) -> Self {
        self.own = Own::LeftOut;
        self
    }

    /// Which engine computes the sums.
    #[must_use]
    pub fn engine(mut self, engine: EngineKind) -> Self {
        self.engine = self.engine.engine(engine);
        self
    }

    /// Sets engine, accuracy and memory limit at once.
    #[must_use]
    pub fn engine_options(mut self, options: EngineOptions) -> Self {
        self.engine = options;
        self
    }

    /// The largest error of any row, relative to the range of the values.
    ///
    /// # Errors
    /// If it is above 1 or below what 64-bit numbers can guarantee.
    pub fn tolerance(mut self, tolerance: f64) -> Result<Self, Error> {
        self.engine = self.engine.tolerance(tolerance)?;
        Ok(self)
    }

    /// Cuts the kernel off at this many σ instead of by tolerance. The error bounds include the error of the cutoff.
    ///
    /// # Errors
    /// If it is not positive, or so large that the kernel underflows before it.
    pub fn cutoff(mut self, sigmas: f64) -> Result<Self, Error> {
        self.engine = self.engine.cutoff(sigmas)?;
        Ok(self)
    }

    /// The memory limit in bytes for scene, engine and sums together. Places and values passed by the caller do not count.
    #[must_use]
    pub fn memory_limit(mut self, bytes: u64) -> Self {
        self.engine = self.engine.memory_limit(bytes);
        self
    }

    /// Reserves memory for the second plan that [`n_effective`](SmoothingPlan::n_effective) makes.
    #[must_use]
    pub(crate) fn with_room_for_n_effective(mut self) -> Self {
        self.plans = 2;
        self
    }

    /// Estimates, before rows are read, whether they will fit in memory.
    ///
    /// # Errors
    /// If they will probably not fit.
    pub(crate) fn expect(&self, targets: usize, labelled: usize, metric: Metric) -> Result<(), Error> {
        let (targets, labelled) = (targets as u64, if self.label_weight > 0.0 { labelled as u64 } else { 0 });
        let all = targets + labelled;
        let rows = RowCounts { targets, sources: all, all, axes: metric.axes() as u64, groups: 1 };
        let plans = self.plans * self.engine.usual_need(&rows, metric);
        self.engine_beside(&rows)?.beside(plans, 0, || smoothing(&rows)).map(drop)
    }

    /// The engine options with the memory that the scene and the results leave.
    fn engine_beside(&self, rows: &RowCounts) -> Result<EngineOptions, Error> {
        let results = rows.targets.saturating_mul(BYTES_OF_A_RESULT);
        // The temporary memory of the layout is free again before there are results.
        let before = rows.meanwhile().saturating_sub(results);
        self.engine.beside(rows.kept().saturating_add(results), before, || smoothing(rows))
    }

    /// Plans to smooth the targets, together with labelled places if there are any.
    ///
    /// # Errors
    /// If σ does not fit the places, or the plan would not fit in memory.
    pub fn plan(&self, targets: &Places, labelled: Option<&Places>) -> Result<SmoothingPlan, Error> {
        self.plan_with(targets, labelled, &())
    }

    /// [`plan`](Self::plan) with progress reports.
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
        self.plan_over(targets, &sources, progress)
    }

    /// Plans to smooth the targets over sources with a weight each; the targets are the first of them.
    fn plan_over(
        &self,
        targets: &Places,
        sources: &[(&Places, f64)],
        progress: &dyn Progress,
    ) -> Result<SmoothingPlan, Error> {
        let engine = self.engine_beside(&Scene::counts(self.sigma, targets, sources)?)?.shared_by(self.plans);
        let smoother = Self { engine, ..self.clone() };
        let scene = Arc::new(Scene::new(self.sigma, targets, sources, self.own)?);
        let (choice, plan) = smoother.engine.plan(scene.clone(), progress)?;
        Ok(SmoothingPlan { smoother, scene, plan, choice })
    }
}

fn smoothing(rows: &RowCounts) -> String {
    format!("smoothing {} rows", rows.all)
}

pub(crate) fn check_c(c: f64) -> Result<(), Error> {
    if (0.0..=1.0).contains(&c) {
        return Ok(());
    }
    Err(Error::Parameter { name: "c", value: plain(c), expected: "between 0 and 1" })
}

pub(crate) fn check_label_weight(weight: f64) -> Result<(), Error> {
    if weight == 0.0 || (1e-100..=1e100).contains(&weight) {
        return Ok(());
    }
    let expected = "zero, or between 1e-100 and 1e100";
    Err(Error::Parameter { name: "label weight", value: plain(weight), expected })
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
