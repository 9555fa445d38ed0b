//! Post-estimation smoothing: plan for places, then apply to values.
//!
//! `smoothed = c · W ŷ + (1 − c) · ŷ`, where W averages over the rows to predict, with their predictions, and
//! the labelled rows, with their labels.

mod span;
mod weights;

use std::sync::Arc;

use rayon::prelude::*;

use crate::engine::{
    Choice, Counts, Engine, EngineKind, Exact, Fast, Matrix, Plan, Progress, Sparse, Sums, Truncation, choose,
};
use crate::error::{Error, plain};
use crate::points::Places;
use crate::scene::{Own, Scene};
use crate::space::Sigma;

use self::span::{Span, blend};
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

/// A smoother that knows its places.
pub struct SmoothingPlan {
    smoother: Smoother,
    scene: Arc<Scene>,
    plan: Box<dyn Plan>,
    choice: Choice,
}

/// One smoothed column.
#[derive(Clone, Debug)]
pub struct Smoothed {
    /// The smoothed value of each target; `None` only where leave-one-out leaves no source at all.
    pub values: Vec<Option<f64>>,
    /// How far each value can be from the exact one, in the unit of the values: approximation and rounding.
    pub error_bound: Vec<f64>,
    /// R: the largest source value minus the smallest.
    pub range: f64,
}

impl Smoothed {
    /// The error bounds relative to the range; all zero for a constant column.
    pub fn relative_bounds(&self) -> impl Iterator<Item = f64> {
        self.error_bound.iter().map(|bound| if self.range > 0.0 { bound / self.range } else { 0.0 })
    }
}

impl SmoothingPlan {
    /// The engine that was chosen, and why.
    #[must_use]
    pub fn choice(&self) -> Choice {
        self.choice
    }

    /// The weight matrix between places, if the engine keeps one.
    #[must_use]
    pub fn matrix(&self) -> Option<&Matrix> {
        self.plan.matrix()
    }

    /// The places that the plan is made for.
    #[must_use]
    pub fn scene(&self) -> &Scene {
        &self.scene
    }

    /// Smooths each column of predictions, together with the labels if the plan has labelled places.
    ///
    /// # Errors
    /// If a column has the wrong length or a value that is not finite, or labels are missing or unexpected.
    pub fn apply(&self, predictions: &[&[f64]], labels: Option<&[f64]>) -> Result<Vec<Smoothed>, Error> {
        self.apply_with(predictions, labels, &())
    }

    /// [`apply`](Self::apply) that tells how far it has come.
    ///
    /// # Errors
    /// As [`apply`](Self::apply).
    pub fn apply_with(
        &self,
        predictions: &[&[f64]],
        labels: Option<&[f64]>,
        progress: &dyn Progress,
    ) -> Result<Vec<Smoothed>, Error> {
        let labels = labels.filter(|_| self.smoother.label_weight > 0.0);
        for prediction in predictions {
            self.check("prediction", prediction, 0)?;
        }
        match labels {
            Some(labels) => self.check("label", labels, 1)?,
            None => self.check("label", &[], 1)?,
        }
        let parts = |prediction| std::iter::once(prediction).chain(labels).collect::<Vec<&[f64]>>();
        let spans: Vec<Span> = predictions.iter().map(|prediction| Span::of(&parts(prediction))).collect();
        let columns: Vec<Vec<f64>> = predictions
            .iter()
            .zip(&spans)
            .map(|(prediction, span)| self.scene.gather(&parts(prediction), |value| span.to_unit(value)))
            .collect();
        let sums = self.plan.sums(&columns, progress);
        let smooth = |k: usize| self.smooth_column(predictions[k], &spans[k], &columns[k], &sums, k);
        Ok((0..predictions.len()).map(smooth).collect())
    }

    fn check(&self, what: &'static str, values: &[f64], part: usize) -> Result<(), Error> {
        let expected = self.scene.parts.get(part).map_or(0, |(_, rows)| *rows);
        if values.len() != expected {
            return Err(Error::Length { what, found: values.len(), expected });
        }
        match values.iter().position(|value| !value.is_finite()) {
            None => Ok(()),
            Some(row) => Err(Error::Value { what, value: values[row], row }),
        }
    }

    fn smooth_column(&self, predictions: &[f64], span: &Span, column: &[f64], sums: &Sums, k: usize) -> Smoothed {
        let c = self.smoother.c;
        let rounding = 4.0 * f64::EPSILON * span.low.abs().max(span.high.abs());
        // Where c or the range is zero the prediction comes back as it is.
        let exact = c == 0.0 || span.half == 0.0;
        let mean_and_bound = |RowSums { mass, value, error, .. }: RowSums| {
            (mass > 0.0).then(|| {
                let bound = if exact { 0.0 } else { c * span.range() * (error / mass).min(1.0) + rounding };
                (span.value_at(value / mass), bound)
            })
        };
        let blended = |prediction: f64, mean: Option<(f64, f64)>| {
            (mean.map(|(mean, _)| blend(c, mean, prediction)), mean.map_or(0.0, |(_, bound)| bound))
        };
        let (mut values, mut error_bound) = (Vec::new(), Vec::new());
        if self.scene.layout.own == Own::Counts {
            // One average for each place, in the order of the places, then one look at it for each row.
            let places = 0..self.scene.target_places();
            let means: Vec<Option<(f64, f64)>> =
                places.into_par_iter().map(|place| mean_and_bound(RowSums::at(place, sums, Some(k)))).collect();
            let rows = predictions.par_iter().zip(&self.scene.layout.target_of_row);
            let row = |(&prediction, &place): (&f64, &u32)| blended(prediction, means[place as usize]);
            rows.map(row).unzip_into_vecs(&mut values, &mut error_bound);
        } else {
            let row = |(row, &prediction): (usize, &f64)| {
                let own = span.to_unit(prediction);
                blended(prediction, mean_and_bound(self.row_sums(row, sums, Some((k, column, own)))))
            };
            predictions.par_iter().enumerate().map(row).unzip_into_vecs(&mut values, &mut error_bound);
        }
        Smoothed { values, error_bound, range: span.high - span.low }
    }

    /// The sums of one row: those of its place, and for leave-one-out what else is at its own place.
    fn row_sums(&self, row: usize, sums: &Sums, column: Option<(usize, &[f64], f64)>) -> RowSums {
        let place = self.scene.layout.target_of_row[row] as usize;
        let at_place = RowSums::at(place, sums, column.map(|(k, _, _)| k));
        if self.scene.layout.own == Own::Counts {
            return at_place;
        }
        let home = self.scene.layout.home[place] as usize;
        let own_weight = self.scene.parts[0].0;
        let others = self.scene.mass[home] - own_weight;
        if others <= 0.0 {
            return at_place;
        }
        let scale = at_place.exponent.exp2();
        let beside = column.map_or(0.0, |(_, column, own)| column[home] - own_weight * own);
        let lost = f64::EPSILON * self.scene.mass[home];
        RowSums {
            mass: others + scale * at_place.mass,
            value: beside + scale * at_place.value,
            error: scale * at_place.error + lost,
            exponent: 0.0,
        }
    }

    /// Effective number of sources behind each target's average: `D² / Σ (w K)²`; 0 where there is none.
    ///
    /// # Errors
    /// If the second plan that this needs would not fit in memory.
    pub fn n_effective(&self) -> Result<Vec<f64>, Error> {
        let squared = Arc::new(self.scene.squared());
        let (_, plan) = self.smoother.clone().engine(self.choice.engine).plan_scene(squared.clone(), &())?;
        let squared = Self { smoother: self.smoother.clone(), scene: squared, plan, choice: self.choice };
        let (first, second) = (self.plan.sums(&[], &()), squared.plan.sums(&[], &()));
        let effective = |row: usize| {
            let (d, squares) = (self.row_sums(row, &first, None), squared.row_sums(row, &second, None));
            // By logarithms: for far rows the square of D would underflow.
            let log2 = |sums: &RowSums| sums.mass.log2() + sums.exponent;
            if squares.mass > 0.0 { (2.0 * log2(&d) - log2(&squares)).exp2() } else { 0.0 }
        };
        Ok((0..self.scene.layout.target_of_row.len()).map(effective).collect())
    }
}

struct RowSums {
    mass: f64,
    value: f64,
    error: f64,
    exponent: f64,
}

impl RowSums {
    /// The sums of a place, with those of one column of values.
    fn at(place: usize, sums: &Sums, column: Option<usize>) -> Self {
        Self {
            mass: sums.mass[place],
            value: column.map_or(0.0, |k| sums.values[k][place]),
            error: sums.error[place],
            exponent: sums.exponent[place],
        }
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
