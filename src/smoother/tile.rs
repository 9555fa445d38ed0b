//! One tile as a pure function: what is in reach goes in, smoothed rows with their bounds come out, whoever keeps the rows.

use super::plan::check_values;
use super::{Smoothed, Smoother};
use crate::engine::Progress;
use crate::error::Error;
use crate::points::Places;
use crate::scene::Own;
use crate::span::Span;

/// Part of the tolerance that rows beyond the reach of a tile may use up.
pub(crate) const SHARE_BEYOND: f64 = 1.0 / 8.0;

/// Rows of a tile, with the values that they have as sources: predictions by column, or the label as the only column.
#[derive(Clone, Copy, Debug)]
pub struct TileRows<'a> {
    /// Where they are.
    pub places: &'a Places,
    /// Their values.
    pub columns: &'a [&'a [f64]],
}

/// What smoothing a tile needs to know.
#[derive(Clone, Copy, Debug)]
pub struct TileContents<'a> {
    /// Rows that the tile smooths.
    pub home: TileRows<'a>,
    /// Rows to predict of other tiles, within reach.
    pub guests: TileRows<'a>,
    /// Labelled rows within reach.
    pub labelled: Option<TileRows<'a>>,
    /// The lowest and the highest value of each column over *all* sources, labels among them, in this tile and elsewhere.
    pub ranges: &'a [(f64, f64)],
    /// What sources elsewhere carry to a row at most: their weight times the largest kernel beyond the reach of the tile.
    pub beyond: f64,
}

/// The rows that are at home in a tile, smoothed.
#[derive(Clone, Debug)]
pub struct SmoothedTile {
    /// The columns.
    pub columns: Vec<Smoothed>,
    /// Effective number of sources behind each row, if it was asked for.
    pub n_effective: Option<Vec<f64>>,
}

/// Smooths the rows that are at home in a tile of a [`Partition`](crate::partition::Partition). The promise is that of all rows together:
/// every value is within the tolerance of the exact one, relative to the whole range.
///
/// # Errors
/// If each row is to be left out of its own average, columns differ in number or length or have values that are not finite, σ does not fit the places, or the tile does not fit in
/// memory.
///
/// # Examples
/// ```
/// use geosmooth::{Places, Sigma, Smoother, TileContents, TileRows, smooth_tile};
///
/// let (home, guests) = (Places::index(vec![vec![1.0, 2.0]])?, Places::index(vec![vec![3.0]])?);
/// let tile = TileContents {
///     home: TileRows { places: &home, columns: &[&[10.0, 30.0]] },
///     guests: TileRows { places: &guests, columns: &[&[20.0]] },
///     labelled: None,
///     // Of rows elsewhere it is known that their predictions go up to 90, and that they carry nothing to speak of.
///     ranges: &[(10.0, 90.0)],
///     beyond: 1e-9,
/// };
/// let smoothed = smooth_tile(&Smoother::new(Sigma::index(1.0)?, 0.5)?, &tile, false, &())?;
/// let column = &smoothed.columns[0];
/// assert!(column.values[0].unwrap() > 10.0 && column.error_bound[0] < 1e-6 * 80.0);
/// # Ok::<(), geosmooth::Error>(())
/// ```
pub fn smooth_tile(
    smoother: &Smoother,
    tile: &TileContents,
    n_effective: bool,
    progress: &dyn Progress,
) -> Result<SmoothedTile, Error> {
    let TileContents { home, ranges, beyond, .. } = *tile;
    check_own(smoother.own)?;
    let labelled = tile.labelled.filter(|rows| smoother.label_weight > 0.0 && !rows.places.is_empty());
    let guests = Some(tile.guests).filter(|rows| !rows.places.is_empty());
    home.check("prediction", ranges.len())?;
    guests.map_or(Ok(()), |rows| rows.check("prediction", ranges.len()))?;
    labelled.map_or(Ok(()), |rows| rows.check("label", 1))?;
    let mut sources = vec![(home.places, 1.0)];
    sources.extend(guests.map(|rows| (rows.places, 1.0)));
    sources.extend(labelled.map(|rows| (rows.places, smoother.label_weight)));
    // What lies beyond the tile has its own part of the tolerance.
    let within = Smoother { engine: smoother.engine.with_share(1.0 - SHARE_BEYOND), ..smoother.clone() };
    let plan = within.plan_over(home.places, &sources, progress)?;
    let mut parts: Vec<Vec<&[f64]>> = Vec::new();
    for k in 0..ranges.len() {
        let predictions = std::iter::once(home.columns[k]).chain(guests.map(|rows| rows.columns[k]));
        parts.push(predictions.chain(labelled.map(|rows| rows.columns[0])).collect());
    }
    let spans: Vec<Span> = ranges.iter().map(|(low, high)| Span::between(*low, *high)).collect();
    let columns = plan.smooth_parts(&parts, &spans, beyond, progress);
    let n_effective = if n_effective { Some(plan.n_effective()?) } else { None };
    Ok(SmoothedTile { columns, n_effective })
}

/// What lies beyond a tile is small beside a row itself. Without the row, it may be all there is.
fn check_own(own: Own) -> Result<(), Error> {
    match own {
        Own::Counts => Ok(()),
        Own::LeftOut => Err(Error::Contradiction {
            message: "rows of a tile cannot be left out of their own averages".to_owned(),
            hint: "smooth all rows at once".to_owned(),
        }),
    }
}

impl TileRows<'_> {
    /// Checks that there are so many columns, each with one finite value for each row.
    pub(crate) fn check(&self, what: &'static str, columns: usize) -> Result<(), Error> {
        if self.columns.len() != columns {
            return Err(Error::Length { what: "the columns of a tile", found: self.columns.len(), expected: columns });
        }
        self.columns.iter().try_for_each(|values| check_values(what, values, self.places.len()))
    }
}
