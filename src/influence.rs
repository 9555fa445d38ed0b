//! What one set of sources says at each target row, for any σ: the kernel sums by rows that the correct step, tuning and
//! diagnosis are written on. Laying out the places is done once, whatever number of σ follows.

use std::sync::Arc;

use rayon::prelude::*;

use crate::engine::{EngineKind, EngineOptions, Plan, RowSums, kernel_values};
use crate::error::Error;
use crate::points::Places;
use crate::scene::{Own, Scene};
use crate::space::Sigma;

/// Neighbours up to which a matrix makes passes of six columns quicker than sums without one: three times at 100, on 10,000
/// rows in towns at a tolerance of 5e-7, but a twelfth as quick at 600.
const FEW_NEIGHBOURS: f64 = 160.0;
/// Accuracy with which neighbours are counted.
const ROUGHLY: f64 = 1e-2;

/// Sources of one kind around targets, each of weight one.
#[derive(Debug)]
pub(crate) struct Influence {
    scene: Scene,
    rows: usize,
}

/// Kernel sums at each target row.
#[derive(Clone, Debug, Default)]
pub(crate) struct Field {
    /// `D`, without its power of two: 0 where there is no source, or none that matters next to the mass beside.
    pub(crate) mass: Vec<f64>,
    /// `N` of each column, likewise.
    pub(crate) values: Vec<Vec<f64>>,
    /// `E`: the error mass behind both, likewise.
    pub(crate) error: Vec<f64>,
    /// The power of two that a row's sums carry; 0 but for rows extremely far from every source.
    exponent: Vec<f64>,
}

impl Influence {
    /// Lays out sources around targets. For [`Own::LeftOut`] the sources must be the targets themselves.
    pub(crate) fn new(sigma: Sigma, targets: &Places, sources: &Places, own: Own) -> Result<Self, Error> {
        Ok(Self { scene: Scene::new(sigma, targets, &[(sources, 1.0)], own)?, rows: targets.len() })
    }

    /// The scene at the σ that it was laid out with.
    pub(crate) fn scene(&self) -> &Scene {
        &self.scene
    }

    /// The sums of columns of source values under a kernel of width σ: wrong by no more than the tolerance allows next to D and
    /// the mass that the caller will put beside it. The more that is, the less must be looked at.
    pub(crate) fn field(
        &self,
        sigma: Sigma,
        columns: &[&[f64]],
        beside: f64,
        options: &EngineOptions,
    ) -> Result<Field, Error> {
        Ok(self.kernel(sigma, beside, options)?.field(columns))
    }

    /// The mass of the squared kernel, `Σ K²`, at each row, with so much mass beside it.
    pub(crate) fn squared(&self, sigma: Sigma, beside: f64, options: &EngineOptions) -> Result<Field, Error> {
        let scene = Scene { beside, ..self.scene.with_sigma(sigma, 0.0).squared() };
        Ok(self.kernel_in(scene, options)?.field(&[]))
    }

    /// The kernel of one σ, planned for once and ready for any number of columns: what iterations are written on.
    pub(crate) fn kernel(&self, sigma: Sigma, beside: f64, options: &EngineOptions) -> Result<Kernel, Error> {
        self.kernel_in(self.scene.with_sigma(sigma, beside), options)
    }

    /// The same for very many passes: with a matrix if rows have so few neighbours that one is quicker.
    pub(crate) fn kernel_for_passes(&self, sigma: Sigma, options: &EngineOptions) -> Result<Kernel, Error> {
        // The kernel three times as wide counts about those sources that the narrow one must look at.
        let rough = options.with_tolerance_of_at_least(ROUGHLY);
        let around = self.field(sigma.scaled(3.0)?, &[], 0.0, &rough)?;
        let neighbours = (0..self.rows).map(|row| around.mass_at(row)).sum::<f64>() / self.rows.max(1) as f64;
        let quicker = if neighbours <= FEW_NEIGHBOURS { options.prefer(EngineKind::Sparse) } else { *options };
        match self.kernel(sigma, 0.0, &quicker) {
            // Nobody asked for a matrix: without one it takes longer.
            Err(Error::MatrixTooLarge { .. }) if quicker.engine != options.engine => self.kernel(sigma, 0.0, options),
            kernel => kernel,
        }
    }

    /// The kernel between one target row and every target row, at the σ that the scene was laid out with. The sources must be
    /// the targets themselves.
    pub(crate) fn kernel_of_row(&self, row: usize) -> Vec<f64> {
        let layout = &self.scene.layout;
        let values = kernel_values(&self.scene, layout.target_of_row[row] as usize);
        layout.target_of_row.iter().map(|&place| values[layout.home[place as usize] as usize]).collect()
    }

    fn kernel_in(&self, scene: Scene, options: &EngineOptions) -> Result<Kernel, Error> {
        let scene = Arc::new(scene);
        let (_, plan) = options.plan(scene.clone(), &())?;
        Ok(Kernel { scene, plan, rows: self.rows })
    }
}

/// A kernel between source rows and target rows.
pub(crate) struct Kernel {
    scene: Arc<Scene>,
    plan: Box<dyn Plan>,
    rows: usize,
}

impl Kernel {
    /// The sums of columns of source values at each target row.
    pub(crate) fn field(&self, columns: &[&[f64]]) -> Field {
        let scene = &self.scene;
        let gathered: Vec<Vec<f64>> = columns.iter().map(|values| scene.gather(&[values], |value| value)).collect();
        let sums = self.plan.sums(&gathered, &());
        let own = |row: usize, k: usize| if scene.layout.own == Own::LeftOut { columns[k][row] } else { 0.0 };
        let masses: Vec<RowSums> =
            (0..self.rows).into_par_iter().map(|row| RowSums::of(scene, row, &sums, None)).collect();
        let value = |k: usize| {
            let at = |row| RowSums::of(scene, row, &sums, Some((k, &gathered[k], own(row, k)))).value;
            (0..self.rows).into_par_iter().map(at).collect()
        };
        let part = |of: fn(&RowSums) -> f64| masses.iter().map(of).collect();
        Field {
            mass: part(|sums| sums.mass),
            values: (0..columns.len()).map(value).collect(),
            error: part(|sums| sums.error),
            exponent: part(|sums| sums.exponent),
        }
    }
}

impl Field {
    /// How much a row's sums are to be multiplied by: 1 for almost all.
    fn scale(&self, row: usize) -> f64 {
        if self.exponent[row] == 0.0 { 1.0 } else { self.exponent[row].exp2() }
    }

    /// The true kernel mass at a row; it may underflow to 0.
    pub(crate) fn mass_at(&self, row: usize) -> f64 {
        self.scale(row) * self.mass[row]
    }

    /// The true error mass at a row; it may underflow to 0.
    pub(crate) fn error_at(&self, row: usize) -> f64 {
        self.scale(row) * self.error[row]
    }

    /// The true sum of a column at a row; it may underflow to 0.
    pub(crate) fn value_at(&self, column: usize, row: usize) -> f64 {
        self.scale(row) * self.values[column][row]
    }

    /// The average of a column at a row, shrunk towards 0 as if there were `shrink` more mass of zeros; 0 without a source.
    pub(crate) fn shrunk(&self, column: usize, row: usize, shrink: f64) -> f64 {
        self.over_mass(self.values[column][row], row, shrink)
    }

    /// The error of [`shrunk`](Self::shrunk) in units of the largest difference between a value and the average.
    pub(crate) fn shrunk_error(&self, row: usize, shrink: f64) -> f64 {
        self.over_mass(self.error[row], row, shrink)
    }

    fn over_mass(&self, part: f64, row: usize, shrink: f64) -> f64 {
        let (mass, scale) = (self.mass[row], self.scale(row));
        if shrink > 0.0 {
            scale * part / (scale * mass + shrink)
        } else if mass == 0.0 {
            0.0
        } else {
            // The power of two cancels, so that the average is right however far the nearest source is.
            part / mass
        }
    }

    /// Puts the rows of another field behind those here.
    pub(crate) fn append(&mut self, other: Self) {
        if self.values.is_empty() {
            self.values = vec![Vec::new(); other.values.len()];
        }
        self.mass.extend(other.mass);
        self.error.extend(other.error);
        self.exponent.extend(other.exponent);
        for (all, more) in self.values.iter_mut().zip(other.values) {
            all.extend(more);
        }
    }
}
