//! Comma lists of values to try, as people write them.

use std::str::FromStr;

use crate::error::Error;

/// The items of a comma list; blanks around them do not count.
pub fn items(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(str::trim).filter(|item| !item.is_empty())
}

/// The numbers of a comma list that is the value of an option.
///
/// # Errors
/// If one is no number.
pub fn numbers(option: &str, list: &str) -> Result<Vec<f64>, Error> {
    items(list).map(|text| text.parse::<f64>().map_err(|_| no_number(option, text))).collect()
}

fn no_number(option: &str, text: &str) -> Error {
    Error::Contradiction {
        message: format!("{option}: '{}' is not a number", crate::io::shortened(text, 80)),
        hint: "separate numbers by commas, such as 0,0.5,1".to_owned(),
    }
}

/// The items of a comma list, each parsed: bandwidths, engines or methods.
///
/// # Errors
/// If one does not parse.
pub fn parsed<T: FromStr<Err = Error>>(list: &str) -> Result<Vec<T>, Error> {
    items(list).map(str::parse).collect()
}
