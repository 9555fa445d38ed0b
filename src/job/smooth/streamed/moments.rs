//! By moments: rows go by twice. What they add up to at the nodes of lattices is kept in memory, and no row goes to disk.

use super::{Counted, StreamedRun, Streamed};
use crate::error::Error;
use crate::job::smooth::results::Results;
use crate::partition::{Blueprint, Field, Moments, Role};

/// Part of the memory for nodes; the rest is for rows on their way.
const SHARE_OF_NODES: u64 = 2;

impl Streamed<'_> {
    /// The lattices, if there are any that certify all rows and fit.
    pub(super) fn blueprint(&self, counted: &Counted) -> Result<Option<Blueprint>, Error> {
        let Some(tolerance) = self.args.kernel.accuracy.tolerance() else { return Ok(None) };
        let sigma = self.recipe.sigma.sigma();
        let (census, limit) = (&counted.census, self.memory / SHARE_OF_NODES);
        let weight = self.recipe.label_weight;
        let blueprint = Blueprint::new(census, sigma, weight, tolerance, &counted.ranges, limit);
        Ok(if self.args.certificate { blueprint.and_then(|it| it.with_n_effective(census, limit)) } else { blueprint })
    }

    /// Smooths all rows by what they add up to.
    pub(super) fn smooth_by_moments(
        &self,
        counted: &Counted,
        blueprint: &Blueprint,
    ) -> Result<(Results, StreamedRun), Error> {
        let spilled_bytes = self.bytes_of_results(counted);
        self.check_space(spilled_bytes)?;
        let moments = self.add_up(counted, blueprint)?;
        let node_bytes = moments.bytes();
        let results = self.read_off(counted, blueprint, &moments.field(blueprint))?;
        Ok((results, StreamedRun::Moments { node_bytes, spilled_bytes }))
    }

    fn add_up(&self, counted: &Counted, blueprint: &Blueprint) -> Result<Moments, Error> {
        let phase = self.caller.phase("moments");
        phase.start(self.inputs.rows() as u64);
        let mut moments = Moments::default();
        self.each_row(counted, &*phase, &[Role::ToPredict, Role::Labelled], |table, _, role| {
            let columns: Vec<&[f64]> = table.columns.iter().map(Vec::as_slice).collect();
            moments.add(blueprint, &table.places, role, &columns)?;
            self.check_nodes(&moments)
        })?;
        Ok(moments)
    }

    /// Groups may have more nodes between them than was thought.
    pub(super) fn check_nodes(&self, moments: &Moments) -> Result<(), Error> {
        let (need, limit) = (moments.bytes(), self.memory / SHARE_OF_NODES);
        if need > limit {
            return Err(Error::Memory { what: "the nodes of lattices".to_owned(), need, limit });
        }
        Ok(())
    }

    fn read_off(&self, counted: &Counted, blueprint: &Blueprint, field: &Field) -> Result<Results, Error> {
        let phase = self.caller.phase("smooth");
        phase.start(self.inputs.test.rows() as u64);
        let mut results = self.results()?;
        self.each_row(counted, &*phase, &[Role::ToPredict], |table, first_row, _| {
            let columns: Vec<&[f64]> = table.columns.iter().map(Vec::as_slice).collect();
            let smoothed = field.smooth(blueprint, self.c, &table.places, &columns)?;
            let rows: Vec<f64> = (0..table.places.len()).map(|at| (first_row + table.row(at)) as f64).collect();
            results.add(&rows, &smoothed)
        })?;
        Ok(results)
    }
}
