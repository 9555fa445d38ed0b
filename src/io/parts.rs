//! Splits an input into parts that fit in memory. Each part is an [`Input`] with some of the rows.

use std::iter;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::RecordBatch;

use super::budget::Budget;
use super::input::{ArrowTable, Input, Piece, Source};

impl Input {
    /// Consecutive parts of at most `most_rows` rows each: whole row groups, or rows of one that has more. Together they are
    /// the input. Each part has its own budget. Parts are created lazily: the row counts in the footers are not checked yet
    /// and may be huge.
    pub(crate) fn parts<'a>(
        &'a self,
        most_rows: usize,
        budget: impl Fn() -> Budget + 'a,
    ) -> impl Iterator<Item = Self> + 'a {
        let mut next_row = self.first_row;
        shares(self.lengths(), most_rows).map(move |share| {
            let first_row = next_row;
            next_row += share.iter().map(|(_, rows)| rows.len()).sum::<usize>();
            Self { source: self.source.only(&share), budget: budget(), first_row, name: self.name.clone() }
        })
    }

    /// Rows of each row group or batch.
    fn lengths(&self) -> Vec<usize> {
        match &self.source {
            Source::Files(_, pieces) => pieces.iter().map(|piece| piece.rows.len()).collect(),
            Source::Memory(table) => table.batches.iter().map(RecordBatch::num_rows).collect(),
        }
    }
}

/// Rows of some row groups or batches, each given by its position.
type Share = Vec<(usize, Range<usize>)>;

impl Source {
    fn only(&self, share: &Share) -> Self {
        match self {
            Self::Files(files, pieces) => {
                let pieces = share.iter().map(|(at, rows)| pieces[*at].only(rows));
                Self::Files(Arc::clone(files), pieces.collect())
            }
            Self::Memory(ArrowTable { schema, batches }) => {
                let batches = share.iter().map(|(at, rows)| batches[*at].slice(rows.start, rows.len()));
                Self::Memory(ArrowTable { schema: schema.clone(), batches: batches.collect() })
            }
        }
    }
}

impl Piece {
    fn only(&self, rows: &Range<usize>) -> Self {
        let start = self.rows.start;
        Self { file: self.file, group: self.group, rows: start + rows.start..start + rows.end }
    }
}

/// Shares of at most `most` rows: as many whole lengths as fit, or about equal cuts of one that is too long.
fn shares(lengths: Vec<usize>, most: usize) -> impl Iterator<Item = Share> {
    let most = most.max(1);
    let (mut at, mut row) = (0, 0);
    iter::from_fn(move || {
        let left = lengths.get(at)? - row;
        if lengths[at] > most {
            let cut = row..row + left.div_ceil(left.div_ceil(most));
            let share = vec![(at, cut.clone())];
            (at, row) = if cut.end == lengths[at] { (at + 1, 0) } else { (at, cut.end) };
            return Some(share);
        }
        let mut room = most;
        let fits = |length: &&usize| room.checked_sub(**length).map(|left| room = left).is_some();
        let count = lengths[at..].iter().take_while(fits).count();
        let share = (at..at + count).map(|at| (at, 0..lengths[at])).collect();
        at += count;
        Some(share)
    })
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::FileExt;

    use arrow::array::{ArrayRef, BinaryArray};
    use parquet::file::properties::WriterVersion;

    use super::*;
    use crate::io::fixture::{self, FileLayout};
    use crate::io::{CoordinateRequest, Groups, Origin, TemporaryFolder};

    const ONE_GROUP: FileLayout = FileLayout {
        rows_in_group: usize::MAX,
        rows_in_page: 7,
        version: WriterVersion::PARQUET_1_0,
        has_dictionary: true,
    };

    #[test]
    fn shares_hold_all_rows_in_order_and_at_most_as_many_as_allowed() {
        assert_eq!(shared(&[3, 0, 2, 4], 5), [vec![(0, 0..3), (1, 0..0), (2, 0..2)], vec![(3, 0..4)]]);
        assert_eq!(
            shared(&[2, 7, 2], 3),
            [vec![(0, 0..2)], vec![(1, 0..3)], vec![(1, 3..5)], vec![(1, 5..7)], vec![(2, 0..2)]]
        );
        assert_eq!(shared(&[], 3), Vec::<Share>::new());
        assert_eq!(shared(&[2], 0), [vec![(0, 0..1)], vec![(0, 1..2)]]);
        // A file may claim any number of rows; the first parts are created all the same.
        assert_eq!(shares(vec![usize::MAX; 2], 10).take(1000).count(), 1000);
        assert_eq!(shared(&[usize::MAX; 2], usize::MAX).len(), 2);
    }

    fn shared(lengths: &[usize], most: usize) -> Vec<Share> {
        shares(lengths.to_vec(), most).collect()
    }

    /// Everything that can be read from an input, as bits.
    #[derive(Debug, Default, PartialEq)]
    struct Everything {
        numbers: Vec<Vec<u64>>,
        groups: [Vec<u32>; 3],
        nulls: Vec<usize>,
    }

    impl Everything {
        fn read(inputs: &[Input]) -> Self {
            let (mut all, mut groups) = (Self::default(), Default::default());
            for input in inputs {
                all.add(input, &mut groups);
            }
            all
        }

        fn add(&mut self, input: &Input, groups: &mut [Groups; 3]) {
            assert_eq!(input.first_row(), self.numbers.first().map_or(0, Vec::len));
            let mut columns = input.numbers(&["integer", "lat", "lon"]).unwrap();
            for name in ["wkb", "point"] {
                let request = CoordinateRequest::Geometry(name.to_owned());
                columns.extend(input.coordinates(&request, &mut Origin::default()).unwrap().axes);
            }
            self.numbers.resize(columns.len(), Vec::new());
            for (all, column) in self.numbers.iter_mut().zip(&columns) {
                assert_eq!(column.values.len(), input.rows());
                all.extend(column.values.iter().map(|value| value.to_bits()));
            }
            for (at, name) in ["name", "kind", "integer"].into_iter().enumerate() {
                let column = input.groups(name, &mut groups[at]).unwrap();
                self.groups[at].extend(column.ids);
                self.nulls.extend(column.first_null.map(|row| input.first_row() + row).filter(|row| *row == 3));
            }
        }
    }

    /// Reads an input whole, and in parts of any size.
    fn check(input: &Input) {
        let rows = input.rows();
        let whole = Everything::read(&input.parts(rows, Budget::unlimited).collect::<Vec<_>>());
        assert_eq!(whole.nulls, [3; 3], "the first null is in row 3");
        for most in 1..=rows + 1 {
            let parts: Vec<Input> = input.parts(most, Budget::unlimited).collect();
            assert!(parts.iter().all(|part| part.rows() <= most));
            assert!(Everything::read(&parts) == whole, "in parts of {most} rows");
        }
    }

    #[test]
    fn parts_of_row_groups_are_the_whole() {
        for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
            for has_dictionary in [true, false] {
                for rows_in_group in [10, usize::MAX] {
                    let layout = FileLayout { rows_in_group, version, has_dictionary, ..ONE_GROUP };
                    let folder = TemporaryFolder::new().unwrap();
                    let input = fixture::input(&folder, &[38], layout);
                    let whole = Everything::read(&[Input::open(folder.path(), &Budget::unlimited()).unwrap()]);
                    let parts: Vec<Input> = input.parts(38, Budget::unlimited).collect();
                    assert_eq!(Everything::read(&parts), whole, "{layout:?}");
                    check(&input);
                }
            }
        }
    }

    #[test]
    fn parts_of_files_and_of_tables_are_the_whole() {
        let folder = TemporaryFolder::new().unwrap();
        let layout = FileLayout { rows_in_group: 12, ..ONE_GROUP };
        check(&fixture::input(&folder, &[25, 25, 26, 40], layout));
        let batches = vec![fixture::batch(0..20), fixture::batch(20..20), fixture::batch(20..33)];
        let table = ArrowTable { schema: batches[0].schema(), batches };
        check(&Input::in_memory("table", table));
    }

    #[test]
    fn parts_of_parts_count_from_the_first_row() {
        let folder = TemporaryFolder::new().unwrap();
        let input = fixture::input(&folder, &[40], ONE_GROUP);
        let half = input.parts(20, Budget::unlimited).nth(1).unwrap();
        let quarter = half.parts(10, Budget::unlimited).nth(1).unwrap();
        assert_eq!((quarter.first_row(), quarter.rows()), (30, 10));
        let [quarter, whole] = [&quarter, &input].map(|input| input.numbers(&["lat"]).unwrap().remove(0).values);
        assert_eq!(quarter, whole[30..]);
    }

    #[test]
    fn errors_number_rows_through_the_whole_input() {
        let points: BinaryArray = (0..30).map(|row| (row == 27).then_some(b"no point")).collect();
        let batch = RecordBatch::try_from_iter([("wkb", Arc::new(points) as ArrayRef)]).unwrap();
        let input = Input::in_memory("table", ArrowTable { schema: batch.schema(), batches: vec![batch] });
        let part = input.parts(10, Budget::unlimited).nth(2).unwrap();
        let error =
            part.coordinates(&CoordinateRequest::Geometry("wkb".to_owned()), &mut Origin::default()).unwrap_err();
        assert!(error.to_string().contains("is not valid WKB at row 27"), "{error}");
    }

    #[test]
    fn each_part_has_its_own_budget() {
        let folder = TemporaryFolder::new().unwrap();
        let layout = FileLayout { rows_in_page: 1000, has_dictionary: false, ..ONE_GROUP };
        let input = fixture::input(&folder, &[100_000], layout);
        let limit = 1_000_000;
        let whole = input.parts(usize::MAX, || Budget::new(limit)).next().unwrap();
        assert!(matches!(whole.numbers(&["lat"]), Err(crate::error::Error::Memory { .. })));
        for part in input.parts(1000, || Budget::new(limit)) {
            part.numbers(&["lat"]).unwrap();
        }
    }

    #[test]
    fn pages_before_a_part_are_not_unpacked() {
        let folder = TemporaryFolder::new().unwrap();
        let input = fixture::input(&folder, &[21], ONE_GROUP);
        let index = input.files()[0].parquet().offset_index().unwrap();
        let (page, path) = (&index[0][0].page_locations[0], input.paths().next().unwrap());
        let end = page.offset as u64 + page.compressed_page_size as u64;
        File::options().write(true).open(path).unwrap().write_all_at(&[0xff; 8], end - 8).unwrap();
        let read: Vec<bool> = input.parts(7, Budget::unlimited).map(|part| part.numbers(&["lat"]).is_ok()).collect();
        assert_eq!(read, [false, true, true]);
    }
}
