//! From the sums of places to the sums of rows: several rows may share a place, and leave-one-out differs between them.

use super::plan::Sums;
use crate::scene::{Own, Scene};

/// The sums at one target row; the true ones are those here times `2^exponent`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowSums {
    pub(crate) mass: f64,
    pub(crate) value: f64,
    pub(crate) error: f64,
    pub(crate) exponent: f64,
}

/// One column of values for leave-one-out: its number, its sums at the source places, the value of the row itself.
pub(crate) type OwnValue<'a> = (usize, &'a [f64], f64);

impl RowSums {
    /// The sums of a place, with those of one column of values.
    pub(crate) fn at(place: usize, sums: &Sums, column: Option<usize>) -> Self {
        Self {
            mass: sums.mass[place],
            value: column.map_or(0.0, |k| sums.values[k][place]),
            error: sums.error[place],
            exponent: sums.exponent[place],
        }
    }

    /// The sums of one row: those of its place, and under leave-one-out also those of other rows at its own place.
    pub(crate) fn of(scene: &Scene, row: usize, sums: &Sums, column: Option<OwnValue>) -> Self {
        let place = scene.layout.target_of_row[row] as usize;
        let at_place = Self::at(place, sums, column.map(|(k, _, _)| k));
        if scene.layout.own == Own::Counts {
            return at_place;
        }
        let home = scene.layout.home[place] as usize;
        if scene.layout.rows_of_source.at(home).len() == 1 {
            return at_place;
        }
        let own_weight = scene.parts[0].0;
        // The difference may round to zero, but the others have at least the least weight.
        let least = scene.parts.iter().map(|(weight, _)| *weight).fold(f64::INFINITY, f64::min);
        let others = (scene.mass[home] - own_weight).max(least);
        let scale = at_place.exponent.exp2();
        let beside = column.map_or(0.0, |(_, column, own)| column[home] - own_weight * own);
        let lost = f64::EPSILON * scene.mass[home];
        Self {
            mass: others + scale * at_place.mass,
            value: beside + scale * at_place.value,
            error: scale * at_place.error + lost,
            exponent: 0.0,
        }
    }
}
