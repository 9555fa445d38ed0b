//! Makes text from files and arguments safe to print: no control characters, no line breaks, no bidirectional overrides.

use std::fmt::Write as _;

/// The text on one line: each run of white space becomes one space, and control characters are replaced.
pub(crate) fn one_line(text: &str) -> String {
    printable(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The first `most` characters of a text that may be long, for one line of a message.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    let mut shown: String = text.chars().take(most).map(harmless).collect();
    if text.chars().nth(most).is_some() {
        shown.push('…');
    }
    shown
}

/// Part of a line, such as a column name. Characters that would break the line or control the terminal are replaced.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(harmless).collect()
}

/// Several lines: line breaks and tabs stay, other control characters are replaced.
pub(crate) fn printable_lines(text: &str) -> String {
    text.chars().map(|letter| if matches!(letter, '\n' | '\t') { letter } else { harmless(letter) }).collect()
}

/// JSON with the same meaning and no raw control characters: those that JSON allows unescaped in a string are escaped.
pub(crate) fn printable_json(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    for letter in json.chars() {
        // All of these fit in four hexadecimal digits. Serde has escaped those below U+0020; a line break is layout.
        if letter != '\n' && harmless(letter) != letter {
            let _ = write!(safe, "\\u{:04x}", u32::from(letter));
        } else {
            safe.push(letter);
        }
    }
    safe
}

/// Replaces a character that is not safe to print. Control characters, such as ESC and U+009B, break the line or control
/// the terminal. Bidirectional overrides change the order in which other text is shown.
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
