//! Generates places from arbitrary bytes: a list of clusters of one or many rows, in any metric.

use geosmooth::{Error, Places, Sigma};

use super::bytes::Bytes;
use crate::problem::Random;

/// The most rows: enough for the fast engine to use its lattice in one and two dimensions, and just enough in three.
const MOST_ROWS: usize = 3000;
/// The approximate length of a degree in metres.
const METRES: f64 = 111_195.0;

/// The kind of coordinates and of σ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    Degrees,
    Metres,
    Index(usize),
}

impl Space {
    pub(crate) fn of(byte: u8) -> Self {
        match byte % 5 {
            0 => Self::Degrees,
            1 => Self::Metres,
            axes => Self::Index(axes as usize - 1),
        }
    }

    fn axes(self) -> usize {
        match self {
            Self::Degrees | Self::Metres => 2,
            Self::Index(axes) => axes,
        }
    }

    pub(crate) fn sigma(self, value: f64) -> Result<Sigma, Error> {
        match self {
            Self::Degrees => Sigma::degrees(value),
            Self::Metres => Sigma::metres(value),
            Self::Index(_) => Sigma::index(value),
        }
    }

    /// σ in the unit of the coordinates.
    pub(crate) fn step(self, sigma: f64) -> f64 {
        if self == Self::Metres { sigma / METRES } else { sigma }
    }

    /// The coordinate, moved into the allowed range.
    fn allowed(self, axis: usize, value: f64, sigma: f64) -> f64 {
        let most = match (self, axis) {
            (Self::Index(_), _) => 1e150 * sigma.min(1.0),
            (_, 0) => 90.0,
            (_, _) => 180.0,
        };
        let value = finite(value);
        if value.abs() <= most { value } else { value % most }
    }
}

/// The value; if it is not finite, the same bits with a smaller exponent.
pub(crate) fn finite(value: f64) -> f64 {
    if value.is_finite() { value } else { f64::from_bits(value.to_bits() & !(1 << 62)) }
}

/// Rows with a place, a group and a value each.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rows {
    axes: Vec<Vec<f64>>,
    groups: Vec<u32>,
    pub(crate) values: Vec<f64>,
}

impl Rows {
    pub(crate) fn places(&self, space: Space, groups: bool) -> Result<Places, Error> {
        let places = match space {
            Space::Index(_) => Places::index(self.axes.clone())?,
            _ => Places::lat_lon(self.axes[0].clone(), self.axes[1].clone())?,
        };
        if groups { places.with_groups(self.groups.clone()) } else { Ok(places) }
    }

    /// The coordinates of a row, and its group.
    pub(crate) fn place(&self, row: usize) -> (Vec<f64>, u32) {
        (self.axes.iter().map(|axis| axis[row]).collect(), self.groups[row])
    }

    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }
}

/// Generates the rows of clusters.
pub(crate) struct Drawing {
    pub(crate) space: Space,
    /// Whether only valid rows are generated.
    pub(crate) valid: bool,
    /// The factor for coordinates.
    pub(crate) unit: f64,
    pub(crate) sigma: f64,
    /// The mean of the values, and the size of their noise.
    pub(crate) value: (f64, f64),
    pub(crate) random: Random,
}

impl Drawing {
    /// Targets and labelled rows.
    pub(crate) fn rows(&mut self, bytes: &mut Bytes) -> [Rows; 2] {
        let none = || Rows { axes: vec![Vec::new(); self.space.axes()], ..Rows::default() };
        let mut rows = [none(), none()];
        while !bytes.is_empty() && rows[0].len() + rows[1].len() < MOST_ROWS {
            self.cluster(bytes, &mut rows);
        }
        rows
    }

    fn cluster(&mut self, bytes: &mut Bytes, rows: &mut [Rows; 2]) {
        let (kind, group) = (bytes.byte(), bytes.byte());
        let count = usize::from(bytes.byte()) * if kind & 8 == 0 { 1 } else { 8 };
        let rows = &mut rows[usize::from(kind >> 7)];
        let centre: Vec<f64> = (0..self.space.axes()).map(|_| bytes.number() * self.unit).collect();
        let spread = bytes.number() * self.unit;
        let value = if kind & 16 == 0 { self.value.0 } else { bytes.number() };
        for row in 0..=count {
            for (axis, centre) in centre.iter().enumerate() {
                let place = self.coordinate(kind & 7, (axis, row), *centre, spread);
                rows.axes[axis].push(if self.valid { self.space.allowed(axis, place, self.sigma) } else { place });
            }
            let value = value + self.value.1 * self.random.normal();
            rows.groups.push(u32::from(group) + if kind & 32 == 0 { 0 } else { row as u32 % 3 });
            rows.values.push(if self.valid { finite(value) } else { value });
        }
    }

    fn coordinate(&mut self, kind: u8, (axis, row): (usize, usize), centre: f64, spread: f64) -> f64 {
        match kind {
            0 => centre,
            1 => centre + spread * self.random.unit(),
            2 => centre + spread * self.random.normal(),
            // Along a line, on a grid, at exponentially growing distances, and differing in the last bits.
            3 => centre + if axis == 0 { spread * row as f64 } else { 0.0 },
            4 => centre + spread * (row / 16_usize.pow(axis as u32) % 16) as f64,
            5 => centre + spread * (row as f64 * if axis == 0 { 0.5 } else { -0.25 }).exp2(),
            6 => f64::from_bits(centre.to_bits().wrapping_add(self.random.next() % 4)),
            _ => f64::from_bits(self.random.next()),
        }
    }
}
