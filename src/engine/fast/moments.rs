//! Sources that come part by part, and targets after them: what sources give to the nodes of lattices adds up, in any number of places at once,
//! and nobody has to keep the rows.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Mutex;

use serde::{Deserialize, Serialize};

use super::globe::{PatchField, PatchMoments};
use super::lattice::{
    BlockGrid, BlockKey, BlockRun, BlockSums, PlanePoints, Reads, Route, Spreads, Transfer, cut, positions,
};
use super::plan::{LatticeKind, LatticePlan};
use super::sphere::ChartPoints;
use crate::engine::sums::Sums;
use crate::scene::Scene;

/// A lattice by its group and its chart.
type LatticeId = (u32, u32);

/// Moments of the sources so far: their sums at the nodes that they touch.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct NodeMoments {
    lattices: BTreeMap<LatticeId, LatticeMoments>,
    patches: PatchMoments,
}

/// The nodes of one lattice.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct LatticeMoments {
    /// Blocks of sources, and whether targets are among them.
    sources: BTreeMap<BlockKey, bool>,
    /// Where each block is whose nodes are touched.
    at: HashMap<BlockKey, usize>,
    blocks: Vec<Vec<f64>>,
}

impl NodeMoments {
    /// Adds sources that are laid out along the pattern's curve: mass first, then columns of `w·v`. Groups are named in the order of the scene.
    pub(crate) fn add(&mut self, plan: &LatticePlan, scene: &Scene, groups: &[u32], columns: &[&[f64]], targets: bool) {
        let cloud = &scene.layout.sources;
        for (group, places) in groups.iter().zip(&cloud.groups) {
            match &plan.kind {
                LatticeKind::Plane(block_grid, design) => {
                    let nodes = self.lattices.entry((*group, 0)).or_default();
                    let runs = block_grid.runs(cloud, places.clone());
                    nodes.note(&runs, targets);
                    nodes.add(&design.transfer(), &runs, &PlanePoints { block_grid, cloud, columns }, columns.len());
                }
                LatticeKind::Sphere(atlas, design) => {
                    let transfer = design.transfer();
                    let owners = if targets { atlas.owners(cloud, places.clone()) } else { Vec::new() };
                    for (chart, site) in (0..).zip(&atlas.charts) {
                        let laid = site.sources(&atlas.grid, cloud, places.clone());
                        if laid.runs.is_empty() {
                            continue;
                        }
                        let nodes = self.lattices.entry((*group, chart)).or_default();
                        nodes.note(&laid.runs, false);
                        if let Some(owned) = owners.get(chart as usize) {
                            nodes.note(&site.targets(&atlas.grid, cloud, owned).runs, true);
                        }
                        let sources = ChartPoints { grid: &atlas.grid, laid: &laid, columns };
                        nodes.add(&transfer, &laid.runs, &sources, columns.len());
                    }
                }
                LatticeKind::Globe(mesh) => self.patches.add(mesh, *group, cloud, places.clone(), columns, targets),
            }
        }
    }

    /// Adds what others have added up with the same pattern.
    pub(crate) fn join(&mut self, other: Self) {
        for (which, nodes) in other.lattices {
            self.lattices.entry(which).or_default().join(nodes);
        }
        self.patches.join(other.patches);
    }

    /// Bytes that they take.
    pub(crate) fn bytes(&self) -> u64 {
        let blocks = self.lattices.values().flat_map(|nodes| &nodes.blocks);
        blocks.map(|block| 8 * block.len() as u64 + BYTES_OF_A_BLOCK).sum::<u64>() + self.patches.bytes()
    }

    /// The sums at all nodes that targets read, from all sources.
    pub(crate) fn field(self, plan: &LatticePlan, columns: usize) -> NodeField {
        let design = match &plan.kind {
            LatticeKind::Plane(_, design) | LatticeKind::Sphere(_, design) => design,
            LatticeKind::Globe(mesh) => {
                return NodeField { lattices: BTreeMap::new(), patches: self.patches.field(mesh, columns) };
            }
        };
        let transfer = design.transfer();
        let field = |(which, nodes): (LatticeId, LatticeMoments)| (which, nodes.field(&transfer, columns));
        NodeField { lattices: self.lattices.into_iter().map(field).collect(), patches: PatchField::default() }
    }
}

/// Bytes of a block beside its nodes: where it is, twice.
const BYTES_OF_A_BLOCK: u64 = 160;

impl LatticeMoments {
    fn note(&mut self, runs: &[BlockRun], targets: bool) {
        for run in runs {
            *self.sources.entry(run.key).or_default() |= targets;
        }
    }

    fn add(&mut self, transfer: &Transfer, runs: &[BlockRun], sources: &impl Spreads, columns: usize) {
        let numbers = transfer.numbers(columns);
        for key in runs.iter().flat_map(|run| transfer.touched(run.key)) {
            self.at.entry(key).or_insert_with(|| {
                self.blocks.push(vec![0.0; numbers]);
                self.blocks.len() - 1
            });
        }
        let blocks: Vec<Mutex<&mut [f64]>> =
            self.blocks.iter_mut().map(|block| Mutex::new(block.as_mut_slice())).collect();
        transfer.spread(runs, sources, columns, &self.at, &blocks);
    }

    fn join(&mut self, other: Self) {
        for (key, targets) in other.sources {
            *self.sources.entry(key).or_default() |= targets;
        }
        let mut blocks = other.blocks;
        for (key, at) in other.at {
            let block = std::mem::take(&mut blocks[at]);
            if let Some(at) = self.at.get(&key) {
                self.blocks[*at].iter_mut().zip(block).for_each(|(sum, value)| *sum += value);
                continue;
            }
            self.at.insert(key, self.blocks.len());
            self.blocks.push(block);
        }
    }

    fn field(mut self, transfer: &Transfer, columns: usize) -> LatticeField {
        let sources: Vec<BlockKey> = self.sources.keys().copied().collect();
        let targets: Vec<BlockKey> =
            self.sources.iter().filter(|(_, targets)| **targets).map(|(key, _)| *key).collect();
        let route = Route::new(transfer.window(), &sources, &targets);
        let mut spread = Vec::with_capacity(route.stages[0].len() * transfer.numbers(columns));
        // Each block is gone as soon as it is copied: they are never there twice.
        for key in &route.stages[0] {
            spread.extend(std::mem::take(&mut self.blocks[self.at[key]]));
        }
        drop(self);
        LatticeField { values: transfer.convolve(&route, spread, columns), at: positions(route.last()) }
    }
}

/// What all sources give to the nodes that targets read.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct NodeField {
    lattices: BTreeMap<LatticeId, LatticeField>,
    patches: PatchField,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct LatticeField {
    at: HashMap<BlockKey, usize>,
    values: Vec<f64>,
}

impl NodeField {
    /// Bytes that it takes.
    pub(crate) fn bytes(&self) -> u64 {
        let bytes = |nodes: &LatticeField| 8 * nodes.values.len() as u64 + BYTES_OF_A_BLOCK * nodes.at.len() as u64;
        self.lattices.values().map(bytes).sum::<u64>() + self.patches.bytes()
    }

    /// The sums at targets that are laid out along the pattern's curve; none where no targets were said to be.
    pub(crate) fn sums(&self, plan: &LatticePlan, scene: &Scene, groups: &[u32], columns: usize) -> Sums {
        let reading = Reading { field: self, plan, scene, columns };
        let mut sums = Sums::zero(scene.target_places(), columns - 1);
        for (group, places) in groups.iter().zip(&scene.layout.targets.groups) {
            match &plan.kind {
                LatticeKind::Plane(block_grid, design) => {
                    reading.plane(*group, block_grid, &design.transfer(), places.clone(), &mut sums);
                }
                LatticeKind::Globe(mesh) => {
                    let cloud = &scene.layout.targets;
                    self.patches.read(mesh, *group, cloud, places.clone(), columns, |place, found| {
                        reading.write(place, found, &mut sums);
                    });
                }
                LatticeKind::Sphere(atlas, design) => {
                    let transfer = design.transfer();
                    for (chart, owned) in (0..).zip(atlas.owners(&scene.layout.targets, places.clone())) {
                        let laid = atlas.charts[chart as usize].targets(&atlas.grid, &scene.layout.targets, &owned);
                        // Charts need only the number of columns when they are read.
                        let of_columns = vec![&[][..]; columns];
                        let targets = ChartPoints { grid: &atlas.grid, laid: &laid, columns: &of_columns };
                        let runs = laid.runs.iter().flat_map(cut).collect::<Vec<BlockRun>>();
                        let place = |at: usize| laid.places[at] as usize;
                        reading.lattice((*group, chart), &transfer, &runs, &targets, place, &mut sums);
                    }
                }
            }
        }
        sums
    }
}

struct Reading<'a> {
    field: &'a NodeField,
    plan: &'a LatticePlan,
    scene: &'a Scene,
    columns: usize,
}

impl Reading<'_> {
    fn plane(&self, group: u32, block_grid: &BlockGrid, transfer: &Transfer, places: Range<usize>, sums: &mut Sums) {
        let cloud = &self.scene.layout.targets;
        let runs: Vec<BlockRun> = block_grid.runs(cloud, places).iter().flat_map(cut).collect();
        self.lattice(
            (group, 0),
            transfer,
            &runs,
            &PlanePoints { block_grid, cloud, columns: &[] },
            |place| place,
            sums,
        );
    }

    fn lattice(
        &self,
        which: LatticeId,
        transfer: &Transfer,
        runs: &[BlockRun],
        targets: &impl Reads,
        place: impl Fn(usize) -> usize,
        sums: &mut Sums,
    ) {
        let Some(LatticeField { at, values }) = self.field.lattices.get(&which) else { return };
        for BlockSums { places, values } in transfer.read(runs, targets, self.columns, at, values) {
            for (at, found) in places.zip(values.chunks_exact(self.columns)) {
                self.write(place(at), found, sums);
            }
        }
    }

    /// What was found for a target: mass first.
    fn write(&self, place: usize, found: &[f64], sums: &mut Sums) {
        sums.mass[place] = found[0];
        sums.error[place] = self.plan.bound.error(found[0]);
        for (column, value) in sums.values.iter_mut().zip(&found[1..]) {
            column[place] = *value;
        }
    }
}
