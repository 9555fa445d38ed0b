//! Decodes definition levels, which tell which values of a page are null: runs of one level, or bit-packed groups of eight.

use super::thrift::Thrift;

/// How many of the first `values` levels are `highest`, which means that there is a value; `None` if there are fewer levels.
pub(super) fn present(levels: &[u8], highest: u16, values: u64) -> Option<u64> {
    let width = (u16::BITS - highest.leading_zeros()) as usize;
    let (mut runs, mut left, mut present) = (Thrift::new(levels), values, 0);
    while left > 0 {
        let head = runs.varint().ok()?;
        let is_packed = head & 1 == 1;
        let count = (head >> 1).saturating_mul(if is_packed { 8 } else { 1 }).min(left);
        if is_packed {
            // Some writers omit the unused end of the last group.
            let needed = usize::try_from(count).ok()?.checked_mul(width)?.div_ceil(8);
            let whole = usize::try_from(head >> 1).ok()?.checked_mul(width)?;
            let group = runs.take(whole.min(runs.left()).max(needed)).ok()?;
            present += (0..count as usize).filter(|at| packed(group, at * width, width) == highest).count() as u64;
        } else {
            let level =
                runs.take(width.div_ceil(8)).ok()?.iter().rev().fold(0, |level, &byte| level << 8 | u16::from(byte));
            present += if level == highest { count } else { 0 };
        }
        left -= count;
    }
    Some(present)
}

/// The number of `width` bits that starts at bit `start`.
fn packed(bytes: &[u8], start: usize, width: usize) -> u16 {
    (start..start + width).rev().fold(0, |number, bit| number << 1 | u16::from(bytes[bit / 8] >> (bit % 8) & 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_and_groups() {
        // Five values, then three nulls.
        assert_eq!(present(&[10, 1, 6, 0], 1, 8), Some(5));
        assert_eq!(present(&[10, 1, 6, 0], 1, 6), Some(5));
        // Two groups of eight, of which ten levels count; levels of two bits, in which 3 means a value.
        assert_eq!(present(&[5, 0b1011_0001, 0b11], 1, 10), Some(6));
        assert_eq!(present(&[3, 0b1110_0111, 0b0000_0001], 3, 5), Some(2));
        // A run of levels of nine bits.
        assert_eq!(present(&[6, 0, 1], 256, 3), Some(3));
    }

    #[test]
    fn levels_that_end_too_soon() {
        for levels in [&[][..], &[10], &[10, 1], &[5, 0xff], &[0, 1]] {
            assert_eq!(present(levels, 1, 11), None, "{levels:?}");
        }
        // The unused end of the last group may be missing.
        assert_eq!(present(&[5, 0xff], 1, 8), Some(8));
    }
}
