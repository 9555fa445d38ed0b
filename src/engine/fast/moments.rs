//! Sums of streamed sources: they come part by part, and targets after them.
//!
//! The first step of the lattice runs for each part of the sources, in any number of processes at once; what it gives adds up. The other two
//! steps run as they do in memory. No row is kept.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use super::any_lattice::LatticePlan;
use super::lattice::{BlockKey, LaidPlaces, LastBlocks, Lattice, NodeBlocks, Points, add_compensated, positions};
use crate::engine::plan::Sums;
use crate::scene::Scene;

/// A sheet of a lattice: the number of its group and its own.
type SheetId = (u32, u32);

/// Sums of the sources so far at the nodes that they touch.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct NodeMoments {
    sheets: BTreeMap<SheetId, SheetMoments>,
}

/// The same for the nodes of one sheet.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct SheetMoments {
    /// Blocks of sources, and whether targets are among them.
    sources: BTreeMap<BlockKey, bool>,
    /// Where each block is whose nodes are touched.
    at: HashMap<BlockKey, usize>,
    blocks: Vec<Vec<f64>>,
    /// Whether the second half of a block is the rounding error of the first.
    compensated: bool,
}

impl NodeMoments {
    /// Adds sources that are sorted along the curve of the plan: mass first, then columns of `w·v`. `groups` are the numbers of the groups of
    /// the scene; `targets` says whether the sources are targets, too.
    pub(crate) fn add(&mut self, plan: &LatticePlan, scene: &Scene, groups: &[u32], columns: &[&[f64]], targets: bool) {
        let (lattice, cloud) = (&*plan.lattice, &scene.layout.sources);
        for (group, places) in groups.iter().zip(&cloud.groups) {
            let runs = lattice.runs(cloud, places.clone());
            let owned = if targets { lattice.owned(cloud, places.clone()) } else { Vec::new() };
            for sheet in 0..lattice.sheets() {
                let laid = lattice.sources(sheet, cloud, &runs);
                if laid.runs.is_empty() {
                    continue;
                }
                let nothing = || SheetMoments::new(lattice.is_compensated());
                let moments = self.sheets.entry((*group, sheet as u32)).or_insert_with(nothing);
                // The only sheet owns all places that are on it.
                moments.note(&laid, targets && lattice.sheets() == 1);
                if lattice.sheets() > 1 {
                    let owned = owned.iter().filter(|(owner, _)| *owner == sheet);
                    owned.for_each(|(_, places)| moments.note(&lattice.targets(sheet, cloud, places.clone()), true));
                }
                moments.add(lattice, &Points { cloud, laid: &laid, columns });
            }
        }
    }

    /// Adds the moments of other sources under the same plan.
    pub(crate) fn join(&mut self, other: Self) {
        for (sheet, moments) in other.sheets {
            self.sheets.entry(sheet).or_insert_with(|| SheetMoments::new(moments.compensated)).join(moments);
        }
    }

    /// Bytes that they take.
    pub(crate) fn bytes(&self) -> u64 {
        let blocks = self.sheets.values().flat_map(|moments| &moments.blocks);
        blocks.map(|block| 8 * block.len() as u64 + BYTES_OF_A_BLOCK).sum()
    }

    /// The sums at all nodes that targets read, from all sources.
    pub(crate) fn field(self, plan: &LatticePlan, columns: usize) -> NodeField {
        let field = |(sheet, moments): (SheetId, SheetMoments)| (sheet, moments.field(&*plan.lattice, columns));
        NodeField { sheets: self.sheets.into_iter().map(field).collect() }
    }
}

/// Bytes of a block besides its numbers: its key and where it is, in two maps that may be half empty. Estimated, not measured.
const BYTES_OF_A_BLOCK: u64 = 160;

impl SheetMoments {
    fn new(compensated: bool) -> Self {
        Self { sources: BTreeMap::new(), at: HashMap::new(), blocks: Vec::new(), compensated }
    }

    fn note(&mut self, laid: &LaidPlaces, targets: bool) {
        for run in &laid.runs {
            *self.sources.entry(run.key).or_default() |= targets;
        }
    }

    fn add(&mut self, lattice: &dyn Lattice, sources: &Points) {
        let numbers = lattice.numbers(sources.columns.len());
        for key in sources.laid.runs.iter().flat_map(|run| lattice.touched(run.key)) {
            self.at.entry(key).or_insert_with(|| {
                self.blocks.push(vec![0.0; numbers]);
                self.blocks.len() - 1
            });
        }
        lattice.spread(sources, &NodeBlocks::new(&self.at, self.blocks.iter_mut().map(Vec::as_mut_slice)));
    }

    fn join(&mut self, other: Self) {
        for (key, targets) in other.sources {
            *self.sources.entry(key).or_default() |= targets;
        }
        let mut blocks = other.blocks;
        for (key, at) in other.at {
            let block = std::mem::take(&mut blocks[at]);
            if let Some(at) = self.at.get(&key) {
                add_block(&mut self.blocks[*at], &block, self.compensated);
            } else {
                self.at.insert(key, self.blocks.len());
                self.blocks.push(block);
            }
        }
    }

    fn field(mut self, lattice: &dyn Lattice, columns: usize) -> SheetField {
        let sources: Vec<BlockKey> = self.sources.keys().copied().collect();
        let targets: Vec<BlockKey> =
            self.sources.iter().filter(|(_, targets)| **targets).map(|(key, _)| *key).collect();
        let route = lattice.route(&sources, &targets);
        let mut nodes = Vec::with_capacity(route.stages[0].len() * lattice.numbers(columns));
        // Each block is freed as soon as it is copied: no two copies of all blocks exist.
        for key in &route.stages[0] {
            nodes.extend(std::mem::take(&mut self.blocks[self.at[key]]));
        }
        drop(self);
        SheetField { values: lattice.convolve(&route, nodes, columns), at: positions(route.last()) }
    }
}

/// Adds a block to another.
fn add_block(block: &mut [f64], other: &[f64], compensated: bool) {
    let sums = if compensated { other.len() / 2 } else { 0 };
    if compensated {
        add_compensated(block, &other[..sums]);
    }
    block[sums..].iter_mut().zip(&other[sums..]).for_each(|(sum, value)| *sum += value);
}

/// The sums at the nodes that targets read, from all sources.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct NodeField {
    sheets: BTreeMap<SheetId, SheetField>,
}

/// The same for the nodes of one sheet.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct SheetField {
    at: HashMap<BlockKey, usize>,
    values: Vec<f64>,
}

impl NodeField {
    /// The sums at targets that are sorted along the curve of the plan; zeros where no targets were noted.
    pub(crate) fn sums(&self, plan: &LatticePlan, scene: &Scene, groups: &[u32], columns: usize) -> Sums {
        let (lattice, cloud) = (&*plan.lattice, &scene.layout.targets);
        let mut sums = Sums::zero(scene.target_places(), columns - 1);
        // Targets need only the number of columns.
        let empty = vec![&[][..]; columns];
        for (group, places) in groups.iter().zip(&cloud.groups) {
            for (sheet, owns) in lattice.owned(cloud, places.clone()) {
                let Some(SheetField { at, values }) = self.sheets.get(&(*group, sheet as u32)) else { continue };
                let laid = lattice.targets(sheet, cloud, owns.clone());
                let points = Points { cloud, laid: &laid, columns: &empty };
                let found = lattice.read(&points, &LastBlocks { at, values });
                for (at, found) in found.chunks_exact(columns).enumerate() {
                    let place = laid.places.get(at).map_or(owns.start + at, |place| *place as usize);
                    sums.write(place, found.iter().copied(), plan.bound.error(found[0]), 0.0);
                }
            }
        }
        sums
    }
}
