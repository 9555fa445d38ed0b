//! Kernel sums by row, of one set of sources at any number of σ. The correct step, tuning, diagnosis and the baselines are
//! built on them. The places are laid out once for all σ.

use std::sync::Arc;

use rayon::prelude::*;

use crate::engine::{EngineKind, EngineOptions, Plan, RowSums, Sums, kernel_values};
use crate::error::Error;
use crate::points::Places;
use crate::scene::{Own, Scene};
use crate::space::Sigma;

/// Up to this number of neighbours the sparse engine's matrix is faster for repeated passes. Measured with passes of six
/// columns on 10,000 rows in towns at a tolerance of 5e-7: three times as fast at 100 neighbours, a twelfth as fast at 600.
const FEW_NEIGHBOURS: f64 = 160.0;
/// Tolerance for counting neighbours: 1 % is fine enough for a choice between 100 and 600. Chosen, not measured.
const ROUGHLY: f64 = 1e-2;

/// Targets and the sources around them, each source with weight one.
#[derive(Debug)]
pub(crate) struct Influence {
    scene: Scene,
    rows: usize,
}

/// Kernel sums at each target row. At a row extremely far from every source, sums may underflow to 0.
// Within the crate a row's sums may carry a power of two, so that its averages are right however far the sources are.
// `scaled` applies it before sums leave the crate.
#[derive(Clone, Debug, Default)]
pub struct KernelSums {
    /// `D = Σ K`; 0 where there is no source.
    pub mass: Vec<f64>,
    /// `N = Σ K v` for each column of values.
    pub values: Vec<Vec<f64>>,
    /// `E`: a bound on the error of the kernel mass. `|N / D − exact| ≤ R · E / D`, with R the range of the values.
    pub error: Vec<f64>,
    /// The power of two that a row's sums are to be multiplied by; 0 except for rows extremely far from every source.
    exponent: Vec<f64>,
}

impl Influence {
    /// Lays out sources and targets. For [`Own::LeftOut`] the sources must be the targets themselves.
    pub(crate) fn new(sigma: Sigma, targets: &Places, sources: &Places, own: Own) -> Result<Self, Error> {
        Ok(Self { scene: Scene::new(sigma, targets, &[(sources, 1.0)], own)?, rows: targets.len() })
    }

    /// The scene at the σ given to [`new`](Self::new).
    pub(crate) fn scene(&self) -> &Scene {
        &self.scene
    }

    /// The sums of columns of source values under a kernel of width σ. Errors stay within the tolerance, relative to D plus
    /// `beside`, the mass that the caller will add to D. A larger `beside` makes the sums cheaper.
    pub(crate) fn sums(
        &self,
        sigma: Sigma,
        columns: &[&[f64]],
        beside: f64,
        options: &EngineOptions,
    ) -> Result<KernelSums, Error> {
        Ok(self.kernel(sigma, beside, options)?.sums(columns))
    }

    /// The mass of the squared kernel, `Σ K²`, at each row; `beside` as in [`sums`](Self::sums).
    pub(crate) fn squared(&self, sigma: Sigma, beside: f64, options: &EngineOptions) -> Result<KernelSums, Error> {
        let scene = Scene { beside, ..self.scene.with_sigma(sigma, 0.0).squared() };
        Ok(self.kernel_in(scene, options)?.sums(&[]))
    }

    /// The kernel of one σ, planned once and used for any number of columns: for iterative solvers.
    pub(crate) fn kernel(&self, sigma: Sigma, beside: f64, options: &EngineOptions) -> Result<Kernel, Error> {
        self.kernel_in(self.scene.with_sigma(sigma, beside), options)
    }

    /// [`kernel`](Self::kernel) for very many passes: with a matrix if rows have few neighbours, so that one is faster.
    pub(crate) fn kernel_for_passes(&self, sigma: Sigma, options: &EngineOptions) -> Result<Kernel, Error> {
        // The mass of a kernel three times as wide is about the number of sources within reach of the narrow one.
        let rough = options.with_tolerance_of_at_least(ROUGHLY);
        let around = self.sums(sigma.scaled(3.0)?, &[], 0.0, &rough)?;
        let neighbours = (0..self.rows).map(|row| around.mass_at(row)).sum::<f64>() / self.rows.max(1) as f64;
        let quicker = if neighbours <= FEW_NEIGHBOURS { options.prefer(EngineKind::Sparse) } else { *options };
        match self.kernel(sigma, 0.0, &quicker) {
            // The caller did not ask for a matrix, so too little memory for one is no error.
            Err(Error::MatrixTooLarge { .. }) if quicker.engine != options.engine => self.kernel(sigma, 0.0, options),
            kernel => kernel,
        }
    }

    /// The kernel between one target row and every target row, at the σ given to [`new`](Self::new). The sources must be the
    /// targets themselves.
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

/// The planned kernel between source rows and target rows at one σ.
pub(crate) struct Kernel {
    scene: Arc<Scene>,
    plan: Box<dyn Plan>,
    rows: usize,
}

impl Kernel {
    /// The sums of columns of source values at each target row.
    pub(crate) fn sums(&self, columns: &[&[f64]]) -> KernelSums {
        let scene = &self.scene;
        let gathered: Vec<Vec<f64>> = columns.iter().map(|values| scene.gather(&[values], |value| value)).collect();
        let sums = self.plan.sums(&gathered, &());
        let masses: Vec<RowSums> =
            (0..self.rows).into_par_iter().map(|row| RowSums::of(scene, row, &sums, None)).collect();
        let values = columns.iter().zip(&gathered).enumerate();
        KernelSums {
            mass: masses.iter().map(|sums| sums.mass).collect(),
            values: values.map(|(k, (column, gathered))| self.row_values(&sums, k, column, gathered)).collect(),
            error: masses.iter().map(|sums| sums.error).collect(),
            exponent: masses.iter().map(|sums| sums.exponent).collect(),
        }
    }

    /// `N` of one column at each target row.
    fn row_values(&self, sums: &Sums, k: usize, column: &[f64], gathered: &[f64]) -> Vec<f64> {
        let is_left_out = self.scene.layout.own == Own::LeftOut;
        let rows = (0..self.rows).into_par_iter();
        rows.map(|row| {
            let own = if is_left_out { column[row] } else { 0.0 };
            RowSums::of(&self.scene, row, sums, Some((k, gathered, own))).value
        })
        .collect()
    }
}

impl KernelSums {
    /// The same sums with their powers of two applied.
    pub(crate) fn scaled(self) -> Self {
        let rows = 0..self.mass.len();
        Self {
            mass: rows.clone().map(|row| self.mass_at(row)).collect(),
            values: (0..self.values.len()).map(|k| rows.clone().map(|row| self.value_at(k, row)).collect()).collect(),
            error: rows.clone().map(|row| self.error_at(row)).collect(),
            exponent: vec![0.0; rows.len()],
        }
    }

    /// The factor of a row's sums: 1 for almost all rows.
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

    /// The average of a column at a row, shrunk towards 0 as if zeros of mass `shrink` were averaged too; 0 without a source.
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
            // The power of two cancels, so that the average is right however far away the nearest source is.
            part / mass
        }
    }

    /// Appends the rows of other sums.
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
