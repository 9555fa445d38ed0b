//! Checks delta-encoded lengths of text. The Parquet crate allocates memory for the count in the data, which may be any
//! number; it must not exceed the number of values of the page.

use super::thrift::{Broken, Thrift};

/// Whether `streams` lists of lengths, one after the other, have at most `values` each.
pub(super) fn is_sound(page: &[u8], streams: usize, values: u64) -> bool {
    let mut rest = page;
    (0..streams).all(|_| stream(rest, values).is_ok_and(|end| rest.get(end..).map(|after| rest = after).is_some()))
}

/// The end of a list of lengths, computed as the crate does.
fn stream(bytes: &[u8], most: u64) -> Result<usize, Broken> {
    let mut numbers = Thrift::new(bytes);
    let (block, parts, values) = (numbers.varint()?, numbers.varint()?, numbers.varint()?);
    numbers.integer()?;
    if parts == 0 || block / parts == 0 || values > most {
        return Err(Broken::Nonsense);
    }
    let (parts, in_part) = (usize::try_from(parts).map_err(|_| Broken::Nonsense)?, block / parts);
    let mut left = values.saturating_sub(1);
    while left > 0 {
        numbers.integer()?;
        let mut size = 0_u64;
        for &width in numbers.take(parts)? {
            if left > 0 {
                size = size.saturating_add((u64::from(width)).saturating_mul(in_part) / 8);
            }
            left = left.saturating_sub(in_part);
        }
        numbers.take(usize::try_from(size).map_err(|_| Broken::Nonsense)?)?;
    }
    Ok(bytes.len() - numbers.left())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three lengths: blocks of 128 in 4 parts, no bits for the differences.
    const THREE: &[u8] = &[0x80, 1, 4, 3, 0, 0, 0, 0, 0, 0];

    #[test]
    fn no_more_lengths_than_values() {
        assert!(is_sound(THREE, 1, 3));
        assert!(!is_sound(THREE, 1, 2));
        assert!(!is_sound(&THREE[..9], 1, 3));
        assert!(!is_sound(THREE, 2, 3));
        let two = [THREE, THREE].concat();
        assert!(is_sound(&two, 2, 3));
        assert!(!is_sound(&two, 2, 2));
    }

    #[test]
    fn empty_parts_end_the_loop() {
        assert!(!is_sound(&[1, 4, 3, 0, 0, 0, 0, 0, 0], 1, 3));
        assert!(!is_sound(&[0x80, 1, 0, 3, 0, 0], 1, 3));
    }
}
