//! Post-estimation smoothing: plan for places, then apply to values.
//!
//! `smoothed = c · W ŷ + (1 − c) · ŷ`, where W averages over the rows to predict, with their predictions, and
//! the labelled rows, with their labels.

use std::sync::Arc;

use crate::engine::{
    Choice, Counts, Engine, EngineKind, Exact, Matrix, Plan, Progress, Sparse, Sums, Truncation, choose,
};
use crate::error::Error;
use crate::points::Places;
use crate::scene::{Own, Scene};
use crate::space::Sigma;

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
            return Err(Error::Parameter { name: "c", value: c.to_string(), expected: "between 0 and 1" });
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
        if !(weight >= 0.0 && weight.is_finite()) {
            return Err(Error::Parameter {
                name: "label weight",
                value: weight.to_string(),
                expected: "zero or positive, and finite",
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
            return Err(Error::Parameter { name: "tolerance", value: tolerance.to_string(), expected });
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
                value: sigmas.to_string(),
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
        let choice = self.choose(&scene);
        let plan = self.engine_of(choice.engine).plan(scene.clone(), progress)?;
        Ok(SmoothingPlan { smoother: self.clone(), scene, plan, choice })
    }

    fn choose(&self, scene: &Scene) -> Choice {
        if self.engine != EngineKind::Auto {
            return Choice { engine: self.engine, reason: "as asked" };
        }
        choose(&Counts {
            targets: scene.target_places() as u64,
            sources: scene.source_places() as u64,
            nonzeros: self.sparse().estimate_nonzeros(scene),
            memory_limit: self.memory_limit.unwrap_or(u64::MAX),
        })
    }

    fn sparse(&self) -> Sparse {
        Sparse { truncation: self.truncation, memory_limit: self.memory_limit }
    }

    fn engine_of(&self, kind: EngineKind) -> Box<dyn Engine> {
        match kind {
            EngineKind::Exact => Box::new(Exact),
            EngineKind::Sparse | EngineKind::Auto => Box::new(self.sparse()),
        }
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

/// Entries of W between rows: the target row, the source row (targets first, then labelled rows) and the weight.
#[derive(Clone, Debug, Default)]
pub struct WeightBatch {
    /// Target rows, ascending.
    pub rows: Vec<usize>,
    /// Source rows, ascending within a row.
    pub columns: Vec<usize>,
    /// Weights; those of a row sum to one.
    pub weights: Vec<f64>,
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

    /// W with one row for each target row and one column for each source row, merged places taken apart again, in
    /// batches of about a million entries.
    ///
    /// # Errors
    /// If the engine keeps no matrix, or taking merged places apart would make it larger than the memory limit.
    pub fn weights(&self) -> Result<impl Iterator<Item = WeightBatch>, Error> {
        let matrix =
            self.matrix().filter(|_| self.scene.layout.own == Own::Counts).ok_or_else(|| Error::Contradiction {
                message: "this plan keeps no weight matrix between rows".to_owned(),
                hint: "use the sparse engine, without leave-one-out".to_owned(),
            })?;
        let members = Members::of(&self.scene);
        let layout = &self.scene.layout;
        let size_of_place: Vec<u64> = (0..layout.targets.len())
            .map(|place| matrix.row(place).0.iter().map(|&source| members.at(source).len() as u64).sum())
            .collect();
        let nonzeros =
            layout.target_of_row.iter().map(|&place| size_of_place[place as usize]).fold(0, u64::saturating_add);
        let (need, limit) = (nonzeros.saturating_mul(24), self.smoother.memory_limit.unwrap_or(u64::MAX));
        if need > limit {
            return Err(Error::MatrixTooLarge { nonzeros, need, limit });
        }
        let rows = layout.target_of_row.len();
        let mut next = 0;
        Ok(std::iter::from_fn(move || {
            let mut batch = WeightBatch::default();
            while next < rows && batch.rows.len() < WeightBatch::ENOUGH {
                self.add_row(next, matrix, &members, &mut batch);
                next += 1;
            }
            (!batch.rows.is_empty()).then_some(batch)
        }))
    }

    fn add_row(&self, row: usize, matrix: &Matrix, members: &Members, batch: &mut WeightBatch) {
        let (places, weights) = matrix.row(self.scene.layout.target_of_row[row] as usize);
        let mut entries: Vec<(usize, f64)> = Vec::new();
        for (&place, weight) in places.iter().zip(weights) {
            let share = weight / self.scene.mass[place as usize];
            entries.extend(
                members
                    .at(place)
                    .iter()
                    .map(|&source| (source as usize, share * self.scene.weight_of_row(source as usize))),
            );
        }
        entries.sort_unstable_by_key(|(source, _)| *source);
        for (source, weight) in entries {
            batch.rows.push(row);
            batch.columns.push(source);
            batch.weights.push(weight);
        }
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
            .map(|(prediction, span)| {
                let units: Vec<Vec<f64>> = parts(prediction).iter().map(|part| span.to_units(part)).collect();
                self.scene.gather(&units.iter().map(Vec::as_slice).collect::<Vec<_>>())
            })
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
        let mut smoothed = Smoothed { values: Vec::new(), error_bound: Vec::new(), range: span.high - span.low };
        for (row, &prediction) in predictions.iter().enumerate() {
            let RowSums { mass, value, error, .. } =
                self.row_sums(row, sums, Some((&sums.values[k], column, span.to_unit(prediction))));
            let mean = (mass > 0.0).then(|| span.from_unit(value / mass));
            smoothed.values.push(mean.map(|mean| blend(c, mean, prediction)));
            // Where c or the range is zero the prediction comes back as it is.
            let exact = c == 0.0 || span.half == 0.0;
            smoothed.error_bound.push(if mass > 0.0 && !exact {
                c * span.range() * (error / mass) + rounding
            } else {
                0.0
            });
        }
        smoothed
    }

    /// The sums of one row: those of its place, and for leave-one-out what else is at its own place.
    fn row_sums(&self, row: usize, sums: &Sums, column: Option<(&[f64], &[f64], f64)>) -> RowSums {
        let place = self.scene.layout.target_of_row[row] as usize;
        let (mass, error) = (sums.mass[place], sums.error[place]);
        let value = column.map_or(0.0, |(values, _, _)| values[place]);
        let at_place = RowSums { mass, value, error, exponent: sums.exponent[place] };
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
            mass: others + scale * mass,
            value: beside + scale * value,
            error: scale * error + lost,
            exponent: 0.0,
        }
    }

    /// Effective number of sources behind each target's average: `D² / Σ (w K)²`; 0 where there is none.
    ///
    /// # Errors
    /// If the second plan that this needs would not fit in memory.
    pub fn n_effective(&self) -> Result<Vec<f64>, Error> {
        let squared = Arc::new(self.scene.squared());
        let plan = self.smoother.engine_of(self.choice.engine).plan(squared.clone(), &())?;
        let squared = Self { smoother: self.smoother.clone(), scene: squared, plan, choice: self.choice };
        let (first, second) = (self.plan.sums(&[], &()), squared.plan.sums(&[], &()));
        let effective = |row: usize| {
            let (d, squares) = (self.row_sums(row, &first, None), squared.row_sums(row, &second, None));
            let exponent = 2.0 * d.exponent - squares.exponent;
            if squares.mass > 0.0 { d.mass * d.mass / squares.mass * exponent.exp2() } else { 0.0 }
        };
        Ok((0..self.scene.layout.target_of_row.len()).map(effective).collect())
    }
}

impl WeightBatch {
    /// Entries after which a batch is handed on.
    const ENOUGH: usize = 1 << 20;
}

/// The source rows at each source place.
struct Members {
    starts: Vec<u32>,
    rows: Vec<u32>,
}

impl Members {
    fn of(scene: &Scene) -> Self {
        let place_of = &scene.layout.source_of_row;
        let mut starts = vec![0; scene.source_places() + 1];
        for &place in place_of {
            starts[place as usize + 1] += 1;
        }
        for place in 1..starts.len() {
            starts[place] += starts[place - 1];
        }
        let mut next = starts.clone();
        let mut rows = vec![0; place_of.len()];
        for (row, &place) in place_of.iter().enumerate() {
            rows[next[place as usize] as usize] = row as u32;
            next[place as usize] += 1;
        }
        Self { starts, rows }
    }

    fn at(&self, place: u32) -> &[u32] {
        &self.rows[self.starts[place as usize] as usize..self.starts[place as usize + 1] as usize]
    }
}

struct RowSums {
    mass: f64,
    value: f64,
    error: f64,
    exponent: f64,
}

/// The interval of the source values, and the way to units of it: centred and scaled so that sums neither overflow
/// nor lose a common offset, and a constant comes back bit for bit.
struct Span {
    low: f64,
    high: f64,
    half_centre: f64,
    half: f64,
}

impl Span {
    fn of(parts: &[&[f64]]) -> Self {
        let values = || parts.iter().flat_map(|part| part.iter().copied());
        let low = values().fold(f64::INFINITY, f64::min);
        let high = values().fold(f64::NEG_INFINITY, f64::max);
        Self { low, high, half_centre: 0.25 * low + 0.25 * high, half: 0.5 * high - 0.5 * low }
    }

    fn range(&self) -> f64 {
        2.0 * self.half
    }

    /// From −½ for the lowest value to ½ for the highest.
    fn to_unit(&self, value: f64) -> f64 {
        if self.half == 0.0 { 0.0 } else { (0.5 * value - self.half_centre) / self.half }
    }

    fn to_units(&self, values: &[f64]) -> Vec<f64> {
        values.iter().map(|value| self.to_unit(*value)).collect()
    }

    fn from_unit(&self, unit: f64) -> f64 {
        if self.half == 0.0 {
            return self.low;
        }
        (2.0 * (self.half_centre + self.half * unit)).clamp(self.low, self.high)
    }
}

/// `c·mean + (1 − c)·prediction`, exact where the two are equal or c is 0 or 1.
fn blend(c: f64, mean: f64, prediction: f64) -> f64 {
    if c == 1.0 {
        return mean;
    }
    let step = mean - prediction;
    if step.is_finite() { prediction + c * step } else { c * mean + (1.0 - c) * prediction }
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
