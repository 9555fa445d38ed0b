//! A curve through space that keeps neighbours together.

/// A Morton curve over the box that holds all places.
pub(super) struct Curve {
    low: [f64; 3],
    cells_per_unit: [f64; 3],
    dimensions: usize,
    bits: u32,
}

impl Curve {
    pub(super) fn around<const A: usize>(places: &[[f64; A]], dimensions: usize) -> Self {
        let bits = 63 / dimensions as u32;
        let mut curve = Self { low: [0.0; 3], cells_per_unit: [0.0; 3], dimensions, bits };
        for k in 0..dimensions {
            let low = places.iter().map(|p| p[k]).fold(f64::INFINITY, f64::min);
            let high = places.iter().map(|p| p[k]).fold(f64::NEG_INFINITY, f64::max);
            curve.low[k] = low;
            if high > low {
                curve.cells_per_unit[k] = ((1_u64 << bits) - 1) as f64 / (high - low);
            }
        }
        curve
    }

    pub(super) fn key<const A: usize>(&self, place: &[f64; A]) -> u64 {
        let cell = |k: usize| ((place[k] - self.low[k]) * self.cells_per_unit[k]) as u64;
        match self.dimensions {
            1 => cell(0),
            2 => spread_by_two(cell(0)) << 1 | spread_by_two(cell(1)),
            _ => (0..3).fold(0, |key, k| key << 1 | spread_by_three(cell(k).min((1 << self.bits) - 1))),
        }
    }
}

/// Puts a zero between the low 32 bits.
fn spread_by_two(x: u64) -> u64 {
    let mut x = x & 0xFFFF_FFFF;
    for (shift, mask) in [
        (16, 0x0000_FFFF_0000_FFFF),
        (8, 0x00FF_00FF_00FF_00FF),
        (4, 0x0F0F_0F0F_0F0F_0F0F),
        (2, 0x3333_3333_3333_3333),
        (1, 0x5555_5555_5555_5555),
    ] {
        x = (x | x << shift) & mask;
    }
    x
}

/// Puts two zeros between the low 21 bits.
fn spread_by_three(x: u64) -> u64 {
    let mut x = x & 0x1F_FFFF;
    for (shift, mask) in [
        (32, 0x001F_0000_0000_FFFF),
        (16, 0x001F_0000_FF00_00FF),
        (8, 0x100F_00F0_0F00_F00F),
        (4, 0x10C3_0C30_C30C_30C3),
        (2, 0x1249_2492_4924_9249),
    ] {
        x = (x | x << shift) & mask;
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curve_bits_interleave() {
        assert_eq!(spread_by_two(0b111), 0b1_0101);
        assert_eq!(spread_by_three(0b111), 0b100_1001);
        assert_eq!(spread_by_three((1 << 21) - 1).count_ones(), 21);
        assert_eq!(spread_by_two(u64::from(u32::MAX)).count_ones(), 32);
    }
}
