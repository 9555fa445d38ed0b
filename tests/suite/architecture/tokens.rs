//! Rust source as the tokens that imports are made of, and as string literals; without comments and unit tests.

use std::iter::Peekable;
use std::str::Chars;

/// Words, `::` and single marks, in order. Items under `#[cfg(test)]` are left out.
pub(super) fn tokens(source: &str) -> Vec<String> {
    without_tests(&all_tokens(source)).into_iter().filter(|token| !token.starts_with('"')).collect()
}

/// The string literals as they are written, each with the quote that begins it. Those under `#[cfg(test)]` are left out.
pub(super) fn literals(source: &str) -> Vec<String> {
    without_tests(&all_tokens(source)).into_iter().filter(|token| token.starts_with('"')).collect()
}

fn all_tokens(source: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = source.chars().peekable();
    while let Some(char) = rest.next() {
        match char {
            '/' if rest.peek() == Some(&'/') => skip_line(&mut rest),
            '/' if rest.peek() == Some(&'*') => skip_block_comment(&mut rest),
            '"' => {
                let hashes = raw_hashes(&mut tokens);
                tokens.push(string(&mut rest, hashes));
            }
            '\'' => skip_quote(&mut rest),
            ':' if rest.next_if_eq(&':').is_some() => tokens.push("::".into()),
            _ if is_word(char) => tokens.push(word(char, &mut rest)),
            _ if char.is_whitespace() => {}
            _ => tokens.push(char.into()),
        }
    }
    tokens
}

fn is_word(char: char) -> bool {
    char.is_alphanumeric() || char == '_'
}

fn word(first: char, rest: &mut Peekable<Chars>) -> String {
    let mut word = String::from(first);
    while let Some(char) = rest.next_if(|char| is_word(*char)) {
        word.push(char);
    }
    word
}

fn skip_line(rest: &mut Peekable<Chars>) {
    rest.by_ref().find(|char| *char == '\n');
}

fn skip_block_comment(rest: &mut Peekable<Chars>) {
    let mut before = ' ';
    rest.by_ref().skip(1).find(|char| std::mem::replace(&mut before, *char) == '*' && *char == '/');
}

/// How many `#` end the string that begins here: `None` for one with escapes. Takes the prefix, such as `r#`, off again.
fn raw_hashes(tokens: &mut Vec<String>) -> Option<usize> {
    let hashes = tokens.iter().rev().take_while(|token| *token == "#").count();
    let prefix = tokens.len().checked_sub(hashes + 1).map(|at| tokens[at].as_str());
    if !matches!(prefix, Some("r" | "br" | "cr")) {
        return None;
    }
    tokens.truncate(tokens.len() - hashes - 1);
    Some(hashes)
}

/// The literal whose first quote is behind us, with that quote and without the last.
fn string(rest: &mut Peekable<Chars>, raw_hashes: Option<usize>) -> String {
    let mut text = String::from('"');
    while let Some(char) = rest.next() {
        match (char, raw_hashes) {
            ('\\', None) => text.extend([char].into_iter().chain(rest.next())),
            ('"', None) => break,
            ('"', Some(hashes)) if (0..hashes).all(|_| rest.next_if_eq(&'#').is_some()) => break,
            _ => text.push(char),
        }
    }
    text
}

/// Skips a character; of a lifetime, its tick.
fn skip_quote(rest: &mut Peekable<Chars>) {
    let mut ahead = rest.clone();
    let escaped = ahead.next() == Some('\\');
    if escaped {
        rest.nth(1);
        rest.find(|char| *char == '\'');
    } else if ahead.next() == Some('\'') {
        rest.nth(1);
    }
}

fn without_tests(tokens: &[String]) -> Vec<String> {
    const MARK: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if tokens[at..].len() >= MARK.len() && tokens[at..].iter().zip(MARK).all(|(token, mark)| token == mark) {
            at = end_of_item(tokens, at + MARK.len());
        } else {
            kept.push(tokens[at].clone());
            at += 1;
        }
    }
    kept
}

/// Where the item that begins at `start` ends: after its `;` or its block.
fn end_of_item(tokens: &[String], start: usize) -> usize {
    let mark =
        tokens[start..].iter().position(|token| token == ";" || token == "{").map_or(tokens.len(), |at| start + at);
    if tokens.get(mark).is_some_and(|token| token == "{") { end_of_block(tokens, mark) } else { mark + 1 }
}

/// Where the block that opens at `open` ends: after its last brace.
pub(super) fn end_of_block(tokens: &[String], open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        depth = match token.as_str() {
            "{" => depth + 1,
            "}" => depth - 1,
            _ => depth,
        };
        if depth == 0 {
            return at + 1;
        }
    }
    tokens.len()
}

#[test]
fn comments_literals_and_tests_are_left_out() {
    let source = r##"
        // use crate::comment;
        /* use crate::block; */
        use crate::kept; // after
        const TEXT: &str = "use crate::\"text";
        const RAW: &str = r#"use crate::"raw"#;
        fn borrowed<'a>(tick: &'a str) -> char { '\'' }
        #[cfg(test)]
        mod tests { use crate::tests; fn f() {} }
        #[cfg(test)]
        use crate::one_more;
        use crate::last;
    "##;
    assert_eq!(literals(source), [r#""use crate::\"text"#, r#""use crate::"raw"#]);
    let words = tokens(source);
    let after_crate = words.windows(3).filter(|words| words[0] == "crate").map(|words| words[2].as_str());
    assert_eq!(after_crate.collect::<Vec<_>>(), ["kept", "last"]);
}
