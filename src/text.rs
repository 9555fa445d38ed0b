//! Text from files and arguments, made fit to be printed for people.

use std::fmt::Write as _;

/// One line: white space of any kind becomes a space, and what a terminal would obey is replaced.
pub(crate) fn one_line(text: &str) -> String {
    printable(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The beginning of a text that may be kilobytes long, for a line of a message.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    let mut shown: String = text.chars().take(most).map(harmless).collect();
    if text.chars().nth(most).is_some() {
        shown.push('…');
    }
    shown
}

/// A part of a line, such as the name of a column: what would break the line or command the terminal is replaced.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(harmless).collect()
}

/// Several lines, where some text may have got in that is not fit for one.
pub(crate) fn printable_lines(text: &str) -> String {
    text.chars().map(|letter| if matches!(letter, '\n' | '\t') { letter } else { harmless(letter) }).collect()
}

/// JSON with the same meaning in which a terminal finds nothing to obey: what JSON allows in a text without escaping it is escaped.
pub(crate) fn printable_json(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    for letter in json.chars() {
        // All of these have four digits, and serde has escaped those below the space; a line break is of the layout.
        if letter != '\n' && harmless(letter) != letter {
            let _ = write!(safe, "\\u{:04x}", u32::from(letter));
        } else {
            safe.push(letter);
        }
    }
    safe
}

/// Control characters would break the line, or command the terminal: escape, and U+009B which does the same. Overrides of the
/// direction of writing would show other text in another order.
pub(crate) fn harmless(letter: char) -> char {
    let breaks = letter.is_control() || matches!(letter, '\u{2028}' | '\u{2029}');
    let turns = matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if breaks || turns { char::REPLACEMENT_CHARACTER } else { letter }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WILD: &str = "a\u{1b}[2J\nb\u{9b}K\u{7f}\u{202e}c\u{2066}\u{2028}d\u{85}\tσ é 🏠";

    /// Issue 15, point 8.
    #[test]
    fn nothing_commands_the_terminal() {
        assert_eq!(printable(WILD), "a�[2J�b�K��c��d��σ é 🏠");
        assert_eq!(one_line(WILD), "a�[2J b�K��c� d σ é 🏠");
        assert_eq!(printable_lines("one\u{1b}\ntwo"), "one�\ntwo");
        assert_eq!(shortened(WILD, 6), "a�[2J�…");
    }

    #[test]
    fn json_keeps_its_meaning() {
        let json = serde_json::to_string(&[WILD]).unwrap();
        let safe = printable_json(&json);
        assert_eq!(serde_json::from_str::<Vec<String>>(&safe).unwrap(), [WILD]);
        assert!(safe.chars().all(|letter| harmless(letter) == letter), "{safe}");
        assert_eq!(printable_json("[\"é\"]\n"), "[\"é\"]\n");
    }
}
