//! A parser of Thrift's compact encoding that trusts no count and no depth. It accepts only the given field types. The Parquet
//! crate identifies fields by their numbers alone; the check of types makes sure that it sees the same counts as we do.

/// Why parsing failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Broken {
    /// The bytes end too soon.
    Short,
    /// The encoding is invalid.
    Nonsense,
}

type Walk<T> = Result<T, Broken>;

/// The type of a field.
#[derive(Debug)]
pub(super) enum FieldType {
    Flag,
    Byte,
    /// Of 16, 32 or 64 bits: all have the same encoding.
    Integer,
    Double,
    Bytes,
    List(&'static FieldType),
    Struct(&'static [FieldSpec]),
}

/// A field of a struct: its number, its name for the visitor, and its type.
#[derive(Debug)]
pub(super) struct FieldSpec(pub(super) i16, pub(super) &'static str, pub(super) FieldType);

/// Receives the values that the parser finds.
pub(super) trait Visitor {
    /// A flag or an integer.
    fn number(&mut self, _name: &'static str, _value: i64) {}
    /// A list of `size` elements begins.
    fn list(&mut self, _name: &'static str, _size: usize) {}
    /// A struct begins, alone or as the next element of a list.
    fn structure(&mut self, _name: &'static str) {}
}

/// Ignores all values: only checks that the encoding is valid.
impl Visitor for () {}

/// The deepest nesting of unknown fields, as in the Parquet crate.
const MOST_UNKNOWN_LEVELS: usize = 64;

/// The bytes to parse.
pub(super) struct Thrift<'a> {
    bytes: &'a [u8],
}

impl<'a> Thrift<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// Bytes not yet parsed.
    pub(super) fn left(&self) -> usize {
        self.bytes.len()
    }

    /// Parses a struct with these fields. Fields must be in the order of their numbers, as all writers write them.
    pub(super) fn structure(&mut self, fields: &[FieldSpec], visitor: &mut dyn Visitor) -> Walk<()> {
        let mut last = 0;
        while let Some((id, kind)) = self.field(last)? {
            match fields.iter().find(|FieldSpec(known, ..)| *known == id) {
                Some(FieldSpec(_, name, expected)) => self.value(name, expected, kind, visitor)?,
                None => self.skip(kind, MOST_UNKNOWN_LEVELS)?,
            }
            last = id;
        }
        Ok(())
    }

    fn value(&mut self, name: &'static str, expected: &FieldType, kind: u8, visitor: &mut dyn Visitor) -> Walk<()> {
        match (expected, kind) {
            (FieldType::Flag, 1 | 2) => visitor.number(name, i64::from(kind == 1)),
            (FieldType::Byte, 3) => visitor.number(name, i64::from(self.byte()? as i8)),
            (FieldType::Integer, 4..=6) => visitor.number(name, self.integer()?),
            (FieldType::Double, 7) => drop(self.take(8)?),
            (FieldType::Bytes, 8) => self.skip_bytes()?,
            (FieldType::List(element), 9) => {
                let (kind, size) = self.list()?;
                visitor.list(name, size);
                for _ in 0..size {
                    self.value(name, element, kind, visitor)?;
                }
            }
            (FieldType::Struct(fields), 12) => {
                visitor.structure(name);
                self.structure(fields, visitor)?;
            }
            _ => return Err(Broken::Nonsense),
        }
        Ok(())
    }

    /// The number and the type of the next field of a struct; `None` at its end.
    fn field(&mut self, last: i16) -> Walk<Option<(i16, u8)>> {
        let byte = self.byte()?;
        let (step, kind) = (i16::from(byte >> 4), byte & 0xf);
        if kind == 0 {
            return Ok(None);
        }
        let id = match step {
            0 => i16::try_from(self.integer()?).ok(),
            _ => last.checked_add(step),
        };
        id.filter(|id| *id > last).map(|id| Some((id, kind))).ok_or(Broken::Nonsense)
    }

    /// The type and the number of elements of a list. Each element takes at least one byte.
    fn list(&mut self) -> Walk<(u8, usize)> {
        let byte = self.byte()?;
        let size = if byte >> 4 == 15 { self.varint()? } else { u64::from(byte >> 4) };
        match usize::try_from(size) {
            Ok(size) if size <= self.left() => Ok((byte & 0xf, size)),
            _ => Err(Broken::Short),
        }
    }

    /// Skips an unknown field. Sets, maps and lists of flags do not occur in Parquet's footers and headers.
    fn skip(&mut self, kind: u8, levels: usize) -> Walk<()> {
        let levels = levels.checked_sub(1).ok_or(Broken::Nonsense)?;
        match kind {
            1 | 2 => {}
            3 => drop(self.byte()?),
            4..=6 => drop(self.varint()?),
            7 => drop(self.take(8)?),
            8 => self.skip_bytes()?,
            9 => {
                let (kind, size) = self.list()?;
                if size > 0 && matches!(kind, 1 | 2) {
                    return Err(Broken::Nonsense);
                }
                for _ in 0..size {
                    self.skip(kind, levels)?;
                }
            }
            12 => {
                while let Some((_, kind)) = self.field(0)? {
                    self.skip(kind, levels)?;
                }
            }
            _ => return Err(Broken::Nonsense),
        }
        Ok(())
    }

    fn skip_bytes(&mut self) -> Walk<()> {
        let length = usize::try_from(self.varint()?).map_err(|_| Broken::Short)?;
        self.take(length).map(drop)
    }

    pub(super) fn take(&mut self, count: usize) -> Walk<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(count).ok_or(Broken::Short)?;
        self.bytes = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Walk<u8> {
        Ok(self.take(1)?[0])
    }

    /// A number in groups of seven bits, the lowest first.
    pub(super) fn varint(&mut self) -> Walk<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Broken::Nonsense)
    }

    /// A number whose lowest bit is its sign.
    pub(super) fn integer(&mut self) -> Walk<i64> {
        let value = self.varint()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk(bytes: &[u8]) -> Walk<()> {
        let fields =
            [FieldSpec(1, "number", FieldType::Integer), FieldSpec(2, "list", FieldType::List(&FieldType::Integer))];
        Thrift::new(bytes).structure(&fields, &mut ())
    }

    #[test]
    fn expected_and_unknown_fields_are_accepted() {
        assert_eq!(walk(&[0x15, 2, 0x19, 0x25, 2, 4, 0]), Ok(()));
        // An unknown struct in an unknown field.
        assert_eq!(walk(&[0x9c, 0x15, 2, 0, 0]), Ok(()));
    }

    #[test]
    fn invalid_encodings_are_refused() {
        // Text instead of a number; the second field before the first; a list of flags. Below: a number of eleven bytes.
        for bytes in [&[0x18, 1, 65, 0][..], &[0x29, 0x15, 2, 0x05, 2, 2, 0], &[0x99, 0x11, 1, 0]] {
            assert_eq!(walk(bytes), Err(Broken::Nonsense), "{bytes:x?}");
        }
        assert_eq!(walk(&[&[0x15][..], &[0xff; 11], &[0]].concat()), Err(Broken::Nonsense));
        assert_eq!(walk(&[0x9c; 100]), Err(Broken::Nonsense), "too deep");
    }

    #[test]
    fn counts_beyond_the_end_are_refused() {
        for bytes in [&[0x29, 0xf5, 0xff, 0xff, 0xff, 0x7f, 2, 0][..], &[0x98, 9, 65, 0], &[0x15, 2]] {
            assert_eq!(walk(bytes), Err(Broken::Short), "{bytes:x?}");
        }
    }
}
