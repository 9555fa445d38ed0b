//! Formats results as text, figures and HTML pages. Nothing is computed here.

mod escape;
mod figure;
mod live_maps;
mod page;
mod plain;
mod plot;

pub use figure::{Axis, Figure, Interval, Mark, Plot, Scale, Series};
pub use page::{Page, Section, Table};

use crate::text::printable;

/// Lines of a name and a text each, aligned.
#[derive(Debug, Default)]
pub struct Lines {
    lines: Vec<(String, String)>,
}

impl Lines {
    /// Adds a line. Control characters in the name and in the text are replaced.
    pub fn line(&mut self, name: &str, text: &str) {
        self.lines.push((printable(name), printable(text)));
    }

    /// All lines as one text.
    #[must_use]
    pub fn finish(self) -> String {
        let width = self.lines.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        let lines: Vec<String> = self.lines.iter().map(|(name, text)| format!("{name:<width$}  {text}\n")).collect();
        lines.concat()
    }
}

/// A table with aligned columns: the first to the left, the others to the right. Control characters are replaced.
#[must_use]
pub fn table(header: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut all: Vec<Vec<String>> = vec![header.iter().map(|name| printable(name)).collect()];
    all.extend(rows.map(|cells| cells.iter().map(|cell| printable(cell)).collect()));
    let widths: Vec<usize> =
        (0..header.len()).map(|column| all.iter().map(|row| row[column].chars().count()).max().unwrap_or(0)).collect();
    all.iter().map(|row| aligned(row, &widths)).collect()
}

fn aligned(row: &[String], widths: &[usize]) -> String {
    let cells = row.iter().zip(widths).enumerate();
    let cells: Vec<String> = cells
        .map(|(at, (cell, &width))| if at == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") })
        .collect();
    cells.join("  ") + "\n"
}

/// A count with thousands separators.
#[must_use]
pub fn number(count: usize) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A value with about five significant digits.
#[must_use]
pub fn short(value: f64) -> String {
    let size = value.abs();
    if (size > 0.0 && size < 1e-3) || (size >= 1e10 && size.is_finite()) {
        return format!("{value:.3e}");
    }
    let before_point = if size < 1.0 { 1 } else { size.log10() as usize + 1 };
    format!("{value:.*}", 5_usize.saturating_sub(before_point))
}

/// A fraction with two significant digits.
#[must_use]
pub fn share(part: f64) -> String {
    if part == 0.0 { "0".to_owned() } else { format!("{part:.1e}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_separated() {
        assert_eq!([0, 12, 999, 1000, 8_452, 1_234_567].map(number), ["0", "12", "999", "1,000", "8,452", "1,234,567"]);
    }

    #[test]
    fn values_are_short() {
        assert_eq!(
            [0.0, 0.81359, -0.0845, 12.3456, 83_644.676, 1e9, -1.7e308, 0.000_012].map(short),
            ["0.0000", "0.8136", "-0.0845", "12.346", "83645", "1000000000", "-1.700e308", "1.200e-5"]
        );
    }

    #[test]
    fn columns_line_up() {
        let rows = [vec!["exact".to_owned(), "0.1".to_owned()], vec!["x".to_owned(), "12.25".to_owned()]];
        assert_eq!(table(&["engine", "s"], rows.into_iter()), "engine      s\nexact     0.1\nx       12.25\n");
    }
}
