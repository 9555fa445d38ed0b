//! Lattices that spread by Gaussian windows: the three steps of the plane and of the charts of the sphere.

use super::blocks::{BlockKey, Route, cube, readers};
use super::counted::{CountedRows, LatticeCost};
use super::steps::{LaidPlaces, LastBlocks, Lattice, NodeBlocks, Points, Sheets};
use super::terms::Terms;
use super::transfer::{Reads, Spreads, Transfer};
use super::window::{Load, Window};

/// What the plane and the charts of the sphere differ in, besides where places are.
pub(crate) trait Windowed: Sheets {
    /// Laid places with their windows.
    type Windows<'a>: Spreads + Reads
    where
        Self: 'a;

    fn window(&self) -> &Window;

    fn terms(&self) -> &Terms;

    fn windows<'a>(&'a self, points: &Points<'a>) -> Self::Windows<'a>;

    /// The blocks of sources and of targets on each sheet, ascending; `None` if they are too many to list.
    fn blocks(&self, counted: &CountedRows) -> Option<Vec<(Vec<BlockKey>, Vec<BlockKey>)>>;
}

impl<L: Windowed> Lattice for L {
    fn route(&self, sources: &[BlockKey], targets: &[BlockKey]) -> Route {
        let near = readers(self.window(), sources);
        let is_near = |key: &&BlockKey| near.binary_search(key).is_ok();
        let targets: Vec<BlockKey> = targets.iter().filter(is_near).copied().collect();
        Route::new(self.window(), sources, &targets)
    }

    fn window_and_load(&self) -> Option<(Window, Load)> {
        Some((*self.window(), self.terms().load()))
    }

    fn touched(&self, key: BlockKey) -> Vec<BlockKey> {
        cube(key, self.window().dimensions, self.window().blocks_touched()).collect()
    }

    fn numbers(&self, columns: usize) -> usize {
        transfer(self).numbers(columns)
    }

    fn spread(&self, sources: &Points, nodes: &NodeBlocks) {
        transfer(self).spread(&sources.laid.runs, &self.windows(sources), sources.columns.len(), nodes);
    }

    fn convolve(&self, route: &Route, nodes: Vec<f64>, columns: usize) -> Vec<f64> {
        transfer(self).convolve(route, nodes, columns)
    }

    fn read(&self, targets: &Points, nodes: &LastBlocks) -> Vec<f64> {
        transfer(self).read(&targets.laid.runs, &self.windows(targets), targets.columns.len(), nodes)
    }

    fn bytes(&self, _: &LaidPlaces, route: &Route) -> u64 {
        transfer(self).bytes(route)
    }

    fn cost(&self, counted: &CountedRows, limit: u64) -> Option<LatticeCost> {
        let (sheets, transfer) = (self.blocks(counted)?, transfer(self));
        // Where the blocks of sources alone are too many, the blocks that they reach are not listed.
        let least: u64 = sheets.iter().map(|(sources, _)| (8 * sources.len() * transfer.numbers(1)) as u64).sum();
        if least > limit {
            return None;
        }
        let routes: Vec<Route> = sheets.iter().map(|(sources, targets)| self.route(sources, targets)).collect();
        let Load { point, node } = self.terms().load();
        Some(LatticeCost {
            bytes: routes.iter().map(|route| transfer.bytes(route)).sum(),
            row: point * self.window().multiplications_at_a_point(),
            nodes: node * self.window().multiplications_in_a_block() * routes.iter().map(Route::passed).sum::<f64>(),
        })
    }
}

fn transfer(lattice: &impl Windowed) -> Transfer {
    Transfer::new(*lattice.window(), lattice.terms().clone())
}
