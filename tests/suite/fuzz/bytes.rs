//! Reads numbers from arbitrary bytes. After the last byte everything is zero, so that any bytes are valid.

pub(crate) struct Bytes<'a>(pub(crate) &'a [u8]);

impl Bytes<'_> {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn byte(&mut self) -> u8 {
        self.take::<1>()[0]
    }

    pub(crate) fn take<const N: usize>(&mut self) -> [u8; N] {
        let (now, later) = self.0.split_at(N.min(self.0.len()));
        self.0 = later;
        std::array::from_fn(|at| now.get(at).copied().unwrap_or(0))
    }

    /// A number from a few digits and an exponent, so that a mutation changes only one of them; or any 64 bits.
    pub(crate) fn number(&mut self) -> f64 {
        match self.byte() as i8 {
            -1 => f64::from_bits(u64::from_le_bytes(self.take())),
            exponent => f64::from(i16::from_le_bytes(self.take())) / 256.0 * f64::from(exponent).exp2(),
        }
    }
}
