//! Any bytes as a Parquet file: every column is read completely, or there is an error; and a copied file can be read again.

use std::borrow::Cow;
use std::io::Write;

use geosmooth::io::{Budget, CoordinateRequest, Groups, Input, NewColumn, Origin, Output};

/// The most columns that are read: a file may claim any number.
const COLUMNS: usize = 8;
/// The memory limit: a few bytes may claim any number of rows.
const MEMORY: u64 = 16 << 20;
/// The most rows that are copied, and the name of the new column.
const COPIED_ROWS: usize = 10_000;
const ADDED: &str = "smoothed";

/// Reads the bytes as a file.
pub(crate) fn check(data: &[u8]) {
    let mut file = tempfile::Builder::new().suffix(".parquet").tempfile().expect("a folder to write to");
    file.write_all(&dressed(data)).expect("a file to write to");
    let Ok(input) = Input::open(file.path(), &Budget::new(MEMORY)) else { return };
    let rows = input.rows();
    let names: Vec<String> = input.schema().fields().iter().take(COLUMNS).map(|field| field.name().clone()).collect();
    for name in &names {
        if let Ok(numbers) = input.numbers(&[name]) {
            assert_eq!(numbers[0].values.len(), rows, "{name}");
        }
        if let Ok(groups) = input.groups(name, &mut Groups::default()) {
            assert_eq!(groups.ids.len(), rows, "{name}");
        }
    }
    let as_index = names.iter().map(|name| CoordinateRequest::Index(vec![name.clone()]));
    let as_points = names.iter().cloned().map(CoordinateRequest::Geometry);
    let requests = as_index.chain(as_points).chain([CoordinateRequest::Find]);
    for request in requests {
        if let Ok(coordinates) = input.coordinates(&request, &mut Origin::default()) {
            assert!(coordinates.axes.iter().all(|axis| axis.values.len() == rows), "{request:?}");
        }
    }
    if rows <= COPIED_ROWS && !input.has(ADDED) {
        check_copy(&input);
    }
}

/// An output has the rows and columns of its input, and the new column.
fn check_copy(input: &Input) {
    let folder = tempfile::tempdir().expect("a folder to write to");
    let path = folder.path().join("out.parquet");
    let added = NewColumn { name: ADDED.to_owned(), values: (0..input.rows()).map(|row| Some(row as f64)).collect() };
    let output = Output::create(&path, false, &[]).expect("a folder to write to");
    let Ok(complete) = output.write(input, std::slice::from_ref(&added)) else { return };
    complete.name().expect("a free name");
    let copy = Input::open(&path, &Budget::unlimited()).expect("what was written");
    let fields = input.schema().fields();
    assert_eq!((copy.rows(), &copy.schema().fields()[..fields.len()]), (input.rows(), &fields[..]));
    let numbers = copy.numbers(&[ADDED]).expect("what was written");
    assert!(numbers[0].values.iter().copied().map(Some).eq(added.values));
}

/// A complete file is used unchanged. Other bytes are the length of the pages, the pages and a footer, to which the rest of a
/// file is added: in this form a footer stays valid when a mutation changes its length.
fn dressed(data: &[u8]) -> Cow<'_, [u8]> {
    if data.len() < 2 || data.starts_with(b"PAR1") {
        return data.into();
    }
    let (pages, rest) = data.split_at(2);
    let (pages, footer) = rest.split_at(rest.len().min(usize::from(u16::from_le_bytes([pages[0], pages[1]]))));
    [b"PAR1", pages, footer, &(footer.len() as u32).to_le_bytes(), b"PAR1"].concat().into()
}
