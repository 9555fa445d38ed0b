//! Comma lists of values to try.

use crate::error::Error;

/// The items of a comma list; blanks around them do not count.
pub(crate) fn items(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(str::trim).filter(|item| !item.is_empty())
}

/// The numbers of a comma list.
pub(crate) fn numbers(flag: &str, list: &str) -> Result<Vec<f64>, Error> {
    let number = |text: &str| {
        text.parse::<f64>().map_err(|_| Error::Contradiction {
            message: format!("{flag}: '{}' is not a number", crate::io::shortened(text, 80)),
            hint: "separate numbers by commas, such as 0,0.5,1".to_owned(),
        })
    };
    items(list).map(number).collect()
}
