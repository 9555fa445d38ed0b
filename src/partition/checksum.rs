//! Checksums: whether rows are the same each time that they are read, in whatever order they come.

use serde::{Deserialize, Serialize};

use super::role::Role;
use super::rows::SourceRows;
use crate::error::Error;

/// How many rows there are, and the sum of their hashes modulo 2⁶⁴.
///
/// A row that changes in a single number always has another hash. Of all other changes one in 2⁶⁴, 5·10⁻²⁰, goes unnoticed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checksum {
    rows: u64,
    sum: u64,
}

impl Checksum {
    /// Rows that were added.
    #[must_use]
    pub fn rows(self) -> u64 {
        self.rows
    }

    /// Their hashes, added up modulo 2⁶⁴.
    #[must_use]
    pub fn sum(self) -> u64 {
        self.sum
    }

    /// Adds a row by its hash.
    pub(super) fn add(&mut self, hash: u64) {
        self.join(Self { rows: 1, sum: hash });
    }

    fn join(&mut self, other: Self) {
        self.rows += other.rows;
        self.sum = self.sum.wrapping_add(other.sum);
    }
}

/// Checksums of rows to predict and of labelled rows, and so the number of each.
///
/// # Examples
/// ```
/// use geosmooth::Places;
/// use geosmooth::partition::{Checksums, Role, SourceRows};
///
/// let seen = |places: &Places, predictions: &[f64]| {
///     let mut seen = Checksums::default();
///     seen.add(Role::ToPredict, &SourceRows::new(places, &[predictions]));
///     seen
/// };
/// let counted = seen(&Places::index(vec![vec![1.0, 2.0]])?, &[10.0, 20.0]);
/// let elsewhere = Places::index(vec![vec![2.0, 1.0]])?;
/// assert!(seen(&elsewhere, &[20.0, 10.0]).check(&counted).is_ok(), "the order of rows does not matter");
/// assert!(seen(&elsewhere, &[10.0, 20.0]).check(&counted).is_err(), "values have changed places");
/// # Ok::<(), geosmooth::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checksums([Checksum; 2]);

impl Checksums {
    /// Those of rows of one role, and of none of the other.
    pub(super) fn only(role: Role, rows: Checksum) -> Self {
        let mut all = Self::default();
        all.0[role as usize] = rows;
        all
    }

    /// Adds rows.
    pub fn add(&mut self, role: Role, rows: &SourceRows) {
        self.join(Self::only(role, Checksum { rows: rows.len() as u64, sum: rows.sum_of_hashes() }));
    }

    /// Adds the rows of others.
    pub fn join(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(rows, more)| rows.join(more));
    }

    /// That of one role.
    #[must_use]
    pub fn of(&self, role: Role) -> Checksum {
        self.0[role as usize]
    }

    /// Rows of both roles.
    pub(super) fn rows(self) -> u64 {
        self.0.iter().map(|checksum| checksum.rows).sum()
    }

    pub(super) fn to_predict(self) -> u64 {
        self.of(Role::ToPredict).rows
    }

    /// What the rows weigh, with this weight for a label.
    pub(super) fn weight(self, label_weight: f64) -> f64 {
        self.to_predict() as f64 + label_weight * self.of(Role::Labelled).rows as f64
    }

    /// What takes part with this label weight: labels of weight zero are not read.
    #[must_use]
    pub fn with_label_weight(self, weight: f64) -> Self {
        if weight > 0.0 { self } else { Self::only(Role::ToPredict, self.of(Role::ToPredict)) }
    }

    /// Checks that these are the rows that were counted.
    ///
    /// # Errors
    /// If they are not: they were changed meanwhile, or they are computed and differ each time.
    pub fn check(&self, counted: &Self) -> Result<(), Error> {
        Role::ALL.into_iter().try_for_each(|role| self.check_role(role, counted))
    }

    /// The same for one role.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub fn check_role(&self, role: Role, counted: &Self) -> Result<(), Error> {
        let (found, counted) = (self.of(role), counted.of(role));
        if found == counted {
            return Ok(());
        }
        let what = match role {
            Role::ToPredict => "rows to predict",
            Role::Labelled => "labelled rows",
        };
        Err(Error::Changed { what, found: found.rows, counted: counted.rows })
    }
}

impl<'a> FromIterator<&'a Checksums> for Checksums {
    fn from_iter<I: IntoIterator<Item = &'a Checksums>>(parts: I) -> Self {
        let mut all = Self::default();
        parts.into_iter().for_each(|rows| all.join(*rows));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::points::Places;

    const ROWS: usize = 3 * (1 << 12) + 7;

    fn columns() -> [Vec<f64>; 3] {
        [0.754_877_666, 0.569_840_291, 1.0].map(|factor| (0..ROWS).map(|i| (i as f64 * factor).fract()).collect())
    }

    fn seen([x, y, value]: &[Vec<f64>; 3], groups: Option<Vec<u32>>) -> Checksums {
        let places = Places::index(vec![x.clone(), y.clone()]).unwrap();
        let places = match groups {
            Some(groups) => places.with_groups(groups).unwrap(),
            None => places,
        };
        let mut seen = Checksums::default();
        seen.add(Role::Labelled, &SourceRows::new(&places, &[value]));
        seen
    }

    #[test]
    fn every_number_of_a_row_counts_and_their_order_too() {
        let (sound, groups) = (columns(), |row: usize| (0..ROWS).map(|at| u32::from(at == row)).collect::<Vec<_>>());
        let (counted, grouped) = (seen(&sound, None), seen(&sound, Some(groups(ROWS))));
        assert!(seen(&sound, None).check(&counted).is_ok() && grouped.check(&counted).is_err());
        for row in [0, 1 << 12, ROWS - 1] {
            for column in 0..3 {
                let mut changed = sound.clone();
                changed[column][row] = f64::from_bits(changed[column][row].to_bits() ^ 1);
                let error = seen(&changed, None).check(&counted).unwrap_err();
                assert!(matches!(error, Error::Changed { what: "labelled rows", .. }), "{error}");
                let mut swapped = sound.clone();
                swapped[column].swap(row, ROWS / 2);
                assert_eq!(seen(&swapped, None).check(&counted).is_err(), column < 2, "values are all alike");
            }
            assert!(seen(&sound, Some(groups(row))).check(&grouped).is_err());
        }
        let [x, y, value] = sound;
        assert!(seen(&[y, x, value], None).check(&counted).is_err(), "axes are not alike");
    }

    #[test]
    fn rows_that_are_added_twice_or_not_at_all_are_missed() {
        let (all, nothing) = (seen(&columns(), None), Checksums::default());
        let mut twice = all;
        twice.join(all);
        for (found, counted) in [(twice, all), (nothing, all), (all, nothing)] {
            assert!(found.check(&counted).is_err() && found.check_role(Role::ToPredict, &counted).is_ok());
        }
        assert_eq!(all.with_label_weight(0.0), nothing);
        assert_eq!(all.with_label_weight(0.1), all);
        assert_eq!(all.of(Role::Labelled).rows(), ROWS as u64);
    }

    #[test]
    fn keys_stand_for_groups_whose_numbers_mean_nothing() {
        let places = |groups: [u32; 2]| Places::index(vec![vec![1.0, 2.0]]).unwrap().with_groups(groups.into());
        let (here, there) = (places([0, 1]).unwrap(), places([7, 3]).unwrap());
        let with =
            |places, keys: [u64; 2]| SourceRows::new(places, &[]).with_group_keys(keys.into()).unwrap().sum_of_hashes();
        assert_eq!(with(&here, [5, 9]), with(&there, [5, 9]));
        assert_ne!(with(&here, [5, 9]), with(&here, [9, 5]));
        assert!(SourceRows::new(&here, &[]).with_group_keys(vec![1]).is_err());
    }
}
