//! A stable, parallel radix sort by some of the bits of each number: passes over eleven bits at a time, lowest first.

use rayon::prelude::*;

/// Bits that one pass sorts by. The write positions of its 2048 digits take 32 KiB and stay in the first-level cache.
const BITS: u32 = 11;
const DIGITS: usize = 1 << BITS;
/// The fewest numbers that one task takes: sixteen times the length of the table of counts that it fills.
const SHARE: usize = 1 << 15;

/// Sorts by the `bits` lowest bits of `key`. Numbers with equal keys keep their order, so that the result does not depend
/// on how many threads share the work.
pub(super) fn sort_by_bits(numbers: &mut Vec<u64>, bits: u32, key: impl Fn(u64) -> u64 + Sync) {
    let mut sorted = vec![0; numbers.len()];
    for low in (0..bits).step_by(BITS as usize) {
        let mask = (1 << BITS.min(bits - low)) - 1;
        if pass(numbers, &mut sorted, |number| (key(number) >> low & mask) as usize) {
            std::mem::swap(numbers, &mut sorted);
        }
    }
}

/// One pass from one buffer to the other. `false` if all digits are equal: then nothing is moved.
fn pass(from: &[u64], to: &mut [u64], digit: impl Fn(u64) -> usize + Sync) -> bool {
    let share = from.len().div_ceil(rayon::current_num_threads()).max(SHARE);
    let counts: Vec<Vec<usize>> = from.par_chunks(share).map(|share| digit_counts(share, &digit)).collect();
    if (0..DIGITS).any(|digit| counts.iter().map(|counts| counts[digit]).sum::<usize>() == from.len()) {
        return false;
    }
    let mut slots: Vec<Vec<&mut [u64]>> = counts.iter().map(|_| Vec::with_capacity(DIGITS)).collect();
    let mut rest = to;
    for digit in 0..DIGITS {
        for (slots, counts) in slots.iter_mut().zip(&counts) {
            slots.push(rest.split_off_mut(..counts[digit]).unwrap_or_default());
        }
    }
    from.par_chunks(share).zip(slots).for_each(|(share, mut slots)| {
        for &number in share {
            if let Some(next) = slots[digit(number)].split_off_first_mut() {
                *next = number;
            }
        }
    });
    true
}

/// How often each digit occurs.
fn digit_counts(numbers: &[u64], digit: impl Fn(u64) -> usize) -> Vec<usize> {
    let mut counts = vec![0_usize; DIGITS];
    for &number in numbers {
        counts[digit(number)] += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sort_is_stable_and_by_the_given_bits() {
        let mut numbers: Vec<u64> = (0..100_000_u64).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 7).collect();
        let mut expected = numbers.clone();
        expected.sort_by_key(|number| number >> 20 & 0xFF_FFFF);
        sort_by_bits(&mut numbers, 24, |number| number >> 20);
        assert_eq!(numbers, expected);
    }

    #[test]
    fn nothing_and_equal_numbers_stay_as_they_are() {
        for mut numbers in [vec![], vec![7; 10], vec![3]] {
            let expected = numbers.clone();
            sort_by_bits(&mut numbers, 40, |number| number);
            assert_eq!(numbers, expected);
        }
    }
}
