//! Escapes untrusted text (column names, file names) for HTML, SVG and file names.

use std::collections::HashSet;

use crate::text::harmless;

/// Escapes text, also for attributes in double quotes. Control characters, which XML forbids even when escaped, and
/// bidirectional overrides become �.
pub(super) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\n' | '\t' => safe.push(character),
            '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            other => safe.push(harmless(other)),
        }
    }
    safe
}

/// File names without extension, all different, also on file systems that ignore case.
pub(super) fn file_names<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut taken = HashSet::new();
    names.map(|name| unique(file_name(name), &mut taken)).collect()
}

/// The name, with a number if it is taken.
fn unique(base: String, taken: &mut HashSet<String>) -> String {
    let numbered = (2_usize..).map(|count| format!("{base}-{count}"));
    std::iter::once(base.clone()).chain(numbered).find(|name| taken.insert(name.to_lowercase())).unwrap_or(base)
}

/// A file name without special characters, short enough for any file system.
fn file_name(name: &str) -> String {
    let letters = name.chars().take(60);
    let name: String =
        letters.map(|letter| if letter.is_alphanumeric() || letter == '_' { letter } else { '-' }).collect();
    let words: Vec<&str> = name.split('-').filter(|word| !word.is_empty()).collect();
    if words.is_empty() { "figure".to_owned() } else { words.join("-") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_special_characters_are_escaped() {
        assert_eq!(
            escape("</script><b a=\"1\" c='2'>&amp;\u{0}\u{1b}\u{85}\u{ffff}\u{202e}\n"),
            "&lt;/script&gt;&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;amp;\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\n"
        );
        assert_eq!(escape("σ = 500 m, Größe 🏠"), "σ = 500 m, Größe 🏠");
    }

    #[test]
    fn file_names_are_safe_and_unique() {
        let names = ["map", "Map", "../../etc/passwd", "", "a b", "a/b", "..", "map-2"];
        assert_eq!(
            file_names(names.into_iter()),
            ["map", "Map-2", "etc-passwd", "figure", "a-b", "a-b-2", "figure-2", "map-2-2"]
        );
        assert_eq!(file_names(["é".repeat(300).as_str()].into_iter())[0].chars().count(), 60);
    }
}
