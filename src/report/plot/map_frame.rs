//! Projects places onto a plane: latitude and longitude, to scale at the middle latitude and not cut at the date line.

use crate::space::{Metres, great_circle};

/// A flat box around places. Its unit is a degree of latitude, or the unit of the coordinates.
#[derive(Clone, Copy, Debug)]
pub(in crate::report) struct MapFrame {
    pub(in crate::report) west: f64,
    pub(in crate::report) north: f64,
    /// Width and height of the box, in the unit of the plane.
    pub(in crate::report) width: f64,
    pub(in crate::report) height: f64,
    /// The length of a degree of longitude relative to a degree of latitude.
    pub(in crate::report) squeeze: f64,
    geographic: bool,
}

impl MapFrame {
    /// The box around the places that can be drawn; `None` if there are none.
    pub(in crate::report) fn around(places: &[(f64, f64)], geographic: bool) -> Option<Self> {
        let seen: Vec<(f64, f64)> = places.iter().copied().filter(|&place| drawable(place, geographic)).collect();
        let (south, north) = ends(seen.iter().map(|place| place.0))?;
        let (west, east) = if geographic {
            around_the_globe(seen.iter().map(|place| place.1))?
        } else {
            ends(seen.iter().map(|place| place.1))?
        };
        let middle = f64::midpoint(south, north);
        let squeeze = if geographic { middle.to_radians().cos().max(0.01) } else { 1.0 };
        Some(Self { west, north, width: (east - west) * squeeze, height: north - south, squeeze, geographic }.widened())
    }

    /// Enlarges the box: a single place gets a box around it, and no box is thinner than a sixteenth of its length.
    fn widened(self) -> Self {
        let size = self.west.abs().max(self.north.abs());
        let least =
            (self.width.max(self.height) / 16.0).max(if self.geographic { 0.01 } else { 1e-9 * size.max(1e-290) });
        let (width, height) = (self.width.max(least), self.height.max(least));
        let west = self.west - (width - self.width) / 2.0 / self.squeeze;
        let north = self.north + (height - self.height) / 2.0;
        Self { west, north, width, height, ..self }
    }

    /// The position of a place, east and south of the north-western corner; `None` if it cannot be drawn.
    pub(in crate::report) fn at(&self, place: (f64, f64)) -> Option<(f64, f64)> {
        if !drawable(place, self.geographic) {
            return None;
        }
        // Longitudes are reduced to within 180° of the middle, so that rounding cannot move a place around the globe.
        let half = self.width / self.squeeze / 2.0;
        let from_middle = place.1 - (self.west + half);
        let turned = if self.geographic { (from_middle + 180.0).rem_euclid(360.0) - 180.0 } else { from_middle };
        Some(((turned + half) * self.squeeze, self.north - place.0))
    }

    /// The length of the plane's unit in metres, for geographic places.
    pub(in crate::report) fn metres(&self) -> Option<f64> {
        let middle = self.north - self.height / 2.0;
        let Metres(metres) = great_circle((middle, 0.0), (middle, 1e-3));
        self.geographic.then_some(metres / 1e-3 / self.squeeze)
    }
}

fn drawable((y, x): (f64, f64), geographic: bool) -> bool {
    if geographic { y.abs() <= 90.0 && x.abs() <= 720.0 } else { y.abs() < 1e290 && x.abs() < 1e290 }
}

fn ends(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let (low, high) =
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
    (low <= high).then_some((low, high))
}

/// The western and eastern end of longitudes: the globe is cut at the widest gap between them.
fn around_the_globe(longitudes: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let mut turned: Vec<f64> = longitudes.map(|longitude| (longitude + 180.0).rem_euclid(360.0) - 180.0).collect();
    turned.sort_by(f64::total_cmp);
    let (first, last) = (*turned.first()?, *turned.last()?);
    let across = (first + 360.0 - last, first, last);
    let gaps = turned.windows(2).map(|pair| (pair[1] - pair[0], pair[1], pair[0] + 360.0));
    let (_, west, east) = gaps.fold(across, |widest, gap| if gap.0 > widest.0 { gap } else { widest });
    Some((west, east))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fiji_is_one_piece() {
        let places = [(-17.0, 177.0), (-18.0, -179.0), (-16.5, 179.9), (-17.5, -178.5 - 360.0)];
        let plane = MapFrame::around(&places, true).unwrap();
        assert!((plane.west - 177.0).abs() < 1e-9 && plane.width < 4.5, "{plane:?}");
        let east = places.map(|place| plane.at(place).unwrap().0 / plane.squeeze);
        for (found, expected) in east.into_iter().zip([0.0, 4.0, 2.9, 4.5]) {
            assert!((found - expected).abs() < 1e-9, "{east:?}");
        }
    }

    #[test]
    fn places_lie_in_their_box() {
        let home = (41.65, -83.54);
        for (places, geographic) in [
            (vec![home], true),
            (vec![home, (41.65, -83.0)], true),
            (vec![(89.0, 0.0), (90.0, 180.0)], true),
            (vec![(5.0, 5.0), (5.0, 5.0)], false),
            (vec![(-1e280, 0.0), (1e280, 3.0)], false),
            ((-179..=180).map(|longitude| (0.0, f64::from(longitude))).collect(), true),
        ] {
            let plane = MapFrame::around(&places, geographic).unwrap();
            assert!(plane.width > 0.0 && plane.height > 0.0);
            for &place in &places {
                let (x, y) = plane.at(place).unwrap();
                for share in [x / plane.width, y / plane.height] {
                    assert!((-1e-9..=1.0 + 1e-9).contains(&share), "{place:?} {x} {y} {plane:?}");
                }
            }
        }
    }

    #[test]
    fn a_degree_of_latitude_has_111_kilometres() {
        let metres = MapFrame::around(&[(60.0, 5.0), (61.0, 6.0)], true).unwrap().metres().unwrap();
        assert!((metres - 111_195.0).abs() < 10.0, "{metres}");
        assert!(MapFrame::around(&[(60.0, 5.0)], false).unwrap().metres().is_none());
    }

    #[test]
    fn invalid_places_are_left_out() {
        let hostile = [(f64::NAN, 0.0), (0.0, f64::INFINITY), (91.0, 0.0)];
        assert!(MapFrame::around(&hostile, true).is_none());
        assert!(MapFrame::around(&[], false).is_none());
        let plane = MapFrame::around(&[(1.0, 2.0)], true).unwrap();
        assert!(hostile.iter().all(|&place| plane.at(place).is_none()));
    }
}
