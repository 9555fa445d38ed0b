//! Numbers kept on disk for a while: records on numbered shelves, in one file that has no name, so that nothing is left of
//! it however the process ends.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::output;
use super::temporary;
use crate::error::Error;

/// Records of some numbers each, put on shelves one by one and taken from there a shelf at a time.
#[derive(Debug)]
pub(crate) struct Spill {
    folder: PathBuf,
    file: File,
    /// Where the file ends.
    end: u64,
    shelves: Vec<Shelf>,
    /// Bytes of a record.
    record: usize,
    /// Bytes that the buffers of all shelves may take, and that they do.
    most: usize,
    held: usize,
}

/// The records of a shelf: those in the file come first.
#[derive(Debug, Default)]
struct Shelf {
    records: usize,
    extents: Vec<Extent>,
    buffer: Vec<u8>,
}

/// A part of the file.
#[derive(Debug)]
struct Extent {
    start: u64,
    length: u64,
}

/// Bytes of a number.
const NUMBER: usize = size_of::<f64>();

/// Bytes to write at a time, as far as there is room for them, and to read: larger ones are no faster, and smaller ones
/// make a disk seek.
const BLOCK: usize = 1 << 20;

impl Spill {
    /// An empty one in a folder: so many shelves, so many numbers in a record, at most so many bytes of buffers.
    ///
    /// # Errors
    /// If no file can be made there.
    ///
    /// # Panics
    /// If there are no numbers in a record.
    pub(crate) fn create(folder: &Path, shelves: usize, width: usize, buffers: u64) -> Result<Self, Error> {
        assert!(width > 0, "a record has a number at least");
        let file = temporary::nameless(folder).map_err(|source| failed("cannot spill to", folder, source))?;
        Ok(Self {
            folder: folder.to_owned(),
            file,
            end: 0,
            shelves: (0..shelves).map(|_| Shelf::default()).collect(),
            record: width * NUMBER,
            most: usize::try_from(buffers).unwrap_or(usize::MAX),
            held: 0,
        })
    }

    /// Puts a record on a shelf.
    ///
    /// # Errors
    /// If the disk is full or fails.
    ///
    /// # Panics
    /// If there is no such shelf, or the record has another width.
    pub(crate) fn push(&mut self, shelf: usize, record: &[f64]) -> Result<(), Error> {
        assert_eq!(record.len() * NUMBER, self.record, "all records have one width");
        let buffer = &self.shelves[shelf].buffer;
        if buffer.capacity() - buffer.len() < self.record {
            self.make_room(shelf)?;
        }
        let Shelf { records, buffer, .. } = &mut self.shelves[shelf];
        *records += 1;
        for number in record {
            buffer.extend_from_slice(&number.to_ne_bytes());
        }
        Ok(())
    }

    /// All records of a shelf in the order they were pushed, column by column.
    ///
    /// # Errors
    /// If the disk fails.
    pub(crate) fn read(&self, shelf: usize) -> Result<Vec<Vec<f64>>, Error> {
        let Shelf { records, extents, buffer } = &self.shelves[shelf];
        let mut columns = vec![Vec::new(); self.record / NUMBER];
        for column in &mut columns {
            column.reserve_exact(*records);
        }
        let whole_records = self.record.max(BLOCK - BLOCK % self.record);
        let mut block = Vec::new();
        for Extent { start, length } in extents {
            for at in (*start..start + length).step_by(whole_records) {
                block.resize(whole_records.min((start + length - at) as usize), 0);
                let read = self.file.read_exact_at(&mut block, at);
                read.map_err(|source| failed("cannot read back what was spilled to", &self.folder, source))?;
                self.append(&block, &mut columns);
            }
        }
        self.append(buffer, &mut columns);
        Ok(columns)
    }

    fn append(&self, records: &[u8], columns: &mut [Vec<f64>]) {
        for record in records.chunks_exact(self.record) {
            let (numbers, _) = record.as_chunks();
            for (column, number) in columns.iter_mut().zip(numbers) {
                column.push(f64::from_ne_bytes(*number));
            }
        }
    }

    /// Makes room for a record in the buffer of a shelf: it grows to a block as far as all may grow, then it is written.
    fn make_room(&mut self, shelf: usize) -> Result<(), Error> {
        if self.shelves[shelf].buffer.len() >= BLOCK {
            self.write(shelf)?;
            self.shelves[shelf].buffer.clear();
            return Ok(());
        }
        if self.held + self.growth(shelf) > self.most {
            self.write_largest()?;
        }
        // The shelf itself may have been written.
        let growth = self.growth(shelf);
        let buffer = &mut self.shelves[shelf].buffer;
        let before = buffer.capacity();
        buffer.reserve_exact(before - buffer.len() + growth);
        self.held += buffer.capacity() - before;
        Ok(())
    }

    /// Bytes by which the buffer of a shelf grows next: it doubles.
    fn growth(&self, shelf: usize) -> usize {
        self.shelves[shelf].buffer.capacity().max(self.record)
    }

    /// Writes the largest buffers until half of the room is free: to look for them is dear, and must not happen often.
    fn write_largest(&mut self) -> Result<(), Error> {
        let mut order: Vec<usize> = (0..self.shelves.len()).collect();
        order.sort_unstable_by_key(|shelf| std::cmp::Reverse(self.shelves[*shelf].buffer.capacity()));
        for shelf in order {
            if self.held <= self.most / 2 {
                break;
            }
            self.write(shelf)?;
            self.held -= std::mem::take(&mut self.shelves[shelf].buffer).capacity();
        }
        Ok(())
    }

    /// Appends the buffer of a shelf to the file.
    fn write(&mut self, shelf: usize) -> Result<(), Error> {
        let Shelf { extents, buffer, .. } = &mut self.shelves[shelf];
        if buffer.is_empty() {
            return Ok(());
        }
        let written = self.file.write_all_at(buffer, self.end);
        written.map_err(|source| failed("cannot spill to", &self.folder, source))?;
        let length = buffer.len() as u64;
        match extents.last_mut().filter(|last| last.start + last.length == self.end) {
            Some(last) => last.length += length,
            None => extents.push(Extent { start: self.end, length }),
        }
        self.end += length;
        Ok(())
    }
}

fn failed(action: &'static str, folder: &Path, source: io::Error) -> Error {
    let hint = match source.kind() {
        ErrorKind::StorageFull => "the disk is full: make room, or choose another folder with `spill-dir`",
        ErrorKind::NotFound | ErrorKind::NotADirectory => {
            "the folder must exist: make it, or choose another with `spill-dir`"
        }
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "the folder must be writable: choose another with `spill-dir`"
        }
        other => output::way_out(other),
    };
    Error::Io { action, path: folder.to_owned(), source, hint }
}

/// Bytes that are free on the disk of a folder for this user, if the system tells.
pub(crate) fn free_space(folder: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(folder).ok()?;
    disk.f_bavail.checked_mul(disk.f_frsize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chance::Chance;
    use crate::io::TemporaryFolder;

    #[test]
    fn records_come_back_as_they_were_pushed() {
        let folder = TemporaryFolder::new().unwrap();
        for (shelves, width, buffers) in [(1, 1, 0), (5, 3, 100), (40, 2, 4000), (300, 5, 100_000), (3, 4, 1 << 24)] {
            check(&folder, shelves, width, buffers);
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "the file has no name");
    }

    /// Pushes onto shelves in no order, some far more often than others and the last never.
    fn check(folder: &TemporaryFolder, shelves: usize, width: usize, buffers: u64) {
        let mut chance = Chance::new(shelves as u64);
        let mut spill = Spill::create(folder.path(), shelves + 1, width, buffers).unwrap();
        let mut expected = vec![vec![Vec::new(); width]; shelves + 1];
        for turn in 0..60_000 {
            let shelf = chance.below(shelves).min(chance.below(shelves));
            let record: Vec<f64> = (0..width).map(|_| any_number(&mut chance)).collect();
            spill.push(shelf, &record).unwrap();
            expected[shelf].iter_mut().zip(&record).for_each(|(column, number)| column.push(number.to_bits()));
            assert!(spill.held <= (buffers as usize).max(spill.record), "{} of {buffers} bytes", spill.held);
            if turn % 20_000 == 0 {
                compare(&spill, shelf, &expected[shelf]);
            }
        }
        std::thread::scope(|scope| {
            for (shelf, expected) in expected.iter().enumerate() {
                let spill = &spill;
                scope.spawn(move || compare(spill, shelf, expected));
            }
        });
        assert_eq!(spill.shelves[shelves].records, 0);
    }

    /// Any bits at all: what is no number keeps them too.
    fn any_number(chance: &mut Chance) -> f64 {
        let [high, low] = [1 << 32; 2].map(|count| chance.below(count) as u64);
        f64::from_bits(if chance.below(4) == 0 { 0x7ff0 << 48 | low } else { high << 32 | low })
    }

    fn compare(spill: &Spill, shelf: usize, expected: &[Vec<u64>]) {
        assert_eq!(spill.shelves[shelf].records, expected[0].len());
        let read = spill.read(shelf).unwrap();
        let bits: Vec<Vec<u64>> =
            read.iter().map(|column| column.iter().map(|number| number.to_bits()).collect()).collect();
        assert!(bits == expected, "shelf {shelf}");
    }

    #[test]
    fn one_shelf_after_the_other_is_one_extent_each() {
        let folder = TemporaryFolder::new().unwrap();
        let mut spill = Spill::create(folder.path(), 2, 1, 1 << 21).unwrap();
        for row in 0..1_000_000 {
            spill.push(row / 500_000, &[row as f64]).unwrap();
        }
        assert!(spill.end > 1 << 22 && spill.shelves.iter().all(|shelf| shelf.extents.len() <= 2));
        assert_eq!(spill.read(1).unwrap()[0][499_999], 999_999.0);
    }

    #[test]
    fn a_folder_that_is_none_is_told_with_the_way_out() {
        let folder = TemporaryFolder::new().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        for wrong in [folder.path().join("missing"), file] {
            let error = Spill::create(&wrong, 1, 1, 0).unwrap_err();
            assert!(error.is_world() && error.to_string().starts_with("cannot spill to"), "{error}");
            assert!(!error.to_string().contains(" at path "), "{error}");
            assert!(error.hint().is_some_and(|hint| hint.contains("must exist") && hint.contains("spill_dir")));
        }
    }

    #[test]
    fn a_full_disk_is_told_with_the_way_out() {
        let folder = TemporaryFolder::new().unwrap();
        let mut spill = Spill::create(folder.path(), 1, 1, 0).unwrap();
        spill.file = File::options().write(true).open("/dev/full").unwrap();
        spill.push(0, &[1.0]).unwrap();
        let error = spill.push(0, &[1.0]).unwrap_err();
        assert!(matches!(&error, Error::Io { path, .. } if path == folder.path()), "{error}");
        assert!(error.hint().is_some_and(|hint| hint.starts_with("the disk is full") && hint.contains("spill_dir")));
    }

    #[test]
    fn the_disk_of_a_folder_has_room() {
        let folder = TemporaryFolder::new().unwrap();
        assert!(free_space(folder.path()).is_some_and(|free| free > 0));
        assert_eq!(free_space(&folder.path().join("missing")), None);
    }
}
