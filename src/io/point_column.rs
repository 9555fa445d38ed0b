//! Decodes columns of points: WKB, or structs of x and y.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::Float64Type;
use geo_traits::{CoordTrait, GeometryTrait, GeometryType, PointTrait};

use super::input::Input;
use super::read::{CoordinateColumns, Numbers};
use super::shortened;
use crate::error::Error;

/// Collects points while they are read: x is longitude, y is latitude.
#[derive(Default)]
pub(super) struct Points {
    x: Vec<f64>,
    y: Vec<f64>,
    first_row: usize,
    first_null: Option<usize>,
    /// Whether some points have a z, which is ignored.
    pub(super) has_z: bool,
}

impl Points {
    /// No points yet; `first_row` is the number of the first row, for messages.
    pub(super) fn starting_at(first_row: usize) -> Self {
        Self { first_row, ..Self::default() }
    }

    /// Allocates memory for all rows of an input.
    pub(super) fn make_room(&mut self, input: &Input) -> Result<(), Error> {
        let rows = input.rows();
        input.budget.take(16 * rows as u64, || input.reading())?.keep(u64::MAX);
        self.x.reserve_exact(rows);
        self.y.reserve_exact(rows);
        Ok(())
    }

    pub(super) fn add_wkb(&mut self, array: &ArrayRef) -> Result<(), String> {
        for bytes in array.as_binary::<i64>() {
            let point = bytes.map(|bytes| self.parse(bytes)).transpose()?;
            self.push(point.flatten());
        }
        Ok(())
    }

    /// Parses one WKB geometry; `None` for an empty point.
    fn parse(&mut self, bytes: &[u8]) -> Result<Option<(f64, f64)>, String> {
        let row = self.first_row + self.x.len();
        let geometry =
            wkb::reader::read_wkb(bytes).map_err(|error| format!("is not valid WKB at row {row}: {error}"))?;
        let GeometryType::Point(point) = geometry.as_type() else {
            return Err(format!("holds a geometry that is not a point at row {row}"));
        };
        self.has_z |= point.dim().size() > 2;
        Ok(point.coord().map(|coord| (coord.x(), coord.y())))
    }

    pub(super) fn add_struct(&mut self, array: &ArrayRef) -> Result<(), String> {
        let points = array.as_struct();
        let [Some(x), Some(y)] = ["x", "y"].map(|name| points.column_by_name(name)?.as_primitive_opt::<Float64Type>())
        else {
            return Err("has points whose x and y are not doubles".to_owned());
        };
        for row in 0..points.len() {
            let valid = points.is_valid(row) && x.is_valid(row) && y.is_valid(row);
            self.push(valid.then(|| (x.value(row), y.value(row))));
        }
        Ok(())
    }

    fn push(&mut self, point: Option<(f64, f64)>) {
        if point.is_none() {
            self.first_null.get_or_insert(self.x.len());
        }
        let (x, y) = point.unwrap_or((f64::NAN, f64::NAN));
        self.x.push(x);
        self.y.push(y);
    }

    pub(super) fn into_columns(self, column: &str) -> CoordinateColumns {
        let axes = [self.y, self.x];
        let axes = axes.map(|values| Numbers { name: column.to_owned(), values, first_null: self.first_null });
        CoordinateColumns {
            axes: axes.into(),
            is_index: false,
            note: self.has_z.then(|| format!("the z values of '{}' are ignored", shortened(column, 80))),
        }
    }
}
