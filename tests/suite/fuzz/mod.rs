//! Fuzz tests: arbitrary bytes as files, parameters and problems. Here each target runs on its corpus and on seeded mutations
//! of it; `fuzz/` has the same targets for a coverage-guided fuzzer.

mod bytes;
mod engines;
mod layout;
mod parameters;
mod read;
mod tables;

use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use crate::problem::Random;

/// Mutations that each test tries, unless `GEOSMOOTH_FUZZ_RUNS` sets another number. Chosen so that the suite stays quick.
const RUNS: u64 = 3000;
/// The longest input in bytes; the targets generate many rows from a few bytes.
const LONGEST: usize = 4096;

#[test]
fn any_bytes_are_a_file_or_an_error() {
    fuzz("read", read::check);
}

#[test]
fn any_text_is_a_parameter_or_an_error() {
    fuzz("parameters", parameters::check);
}

#[test]
fn any_values_are_groups_and_places_or_an_error() {
    fuzz("tables", tables::check);
}

#[test]
fn any_numbers_keep_the_promise() {
    fuzz("engines", engines::check);
}

/// Runs a target on its corpus and on mutations of it. Every input that breaks it is saved and listed at the end.
fn fuzz(target: &str, check: fn(&[u8])) {
    let number = |name: &str, usual| std::env::var(name).map_or(usual, |text| text.parse().expect("a whole number"));
    let (runs, mut random) = (number("GEOSMOOTH_FUZZ_RUNS", RUNS), Random(number("GEOSMOOTH_FUZZ_SEED", 1)));
    let corpus = corpus(target);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let running = folder.join(format!("{target}-running"));
    let breaks = |input: &[u8]| {
        // Written first, so that an input that kills the whole process is saved, too.
        std::fs::write(&running, input).expect("a folder to write to");
        catch_unwind(|| check(input)).is_err()
    };
    let mut broken: Vec<PathBuf> =
        corpus.iter().filter(|(_, input)| breaks(input)).map(|(path, _)| path.clone()).collect();
    for run in 0..runs {
        let input = mutated(&corpus, &mut random);
        if breaks(&input) {
            broken.push(folder.join(format!("{target}-{run}")));
            std::fs::rename(&running, &broken[broken.len() - 1]).expect("the same folder");
        }
    }
    assert!(broken.is_empty(), "{target} breaks on {broken:?}; once fixed, keep them in fuzz/corpus/{target}");
}

fn corpus(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let files = std::fs::read_dir(&folder).expect("a corpus").map(|entry| entry.expect("a file").path());
    let mut corpus: Vec<_> = files.map(|path| (path.clone(), std::fs::read(path).expect("a file"))).collect();
    corpus.sort();
    assert!(!corpus.is_empty(), "{} is empty", folder.display());
    corpus
}

/// An input of the corpus with a few changes.
fn mutated(corpus: &[(PathBuf, Vec<u8>)], random: &mut Random) -> Vec<u8> {
    let mut below = |limit: usize| (random.next() % limit.max(1) as u64) as usize;
    let mut input = corpus[below(corpus.len())].1.clone();
    for _ in 0..=below(6) {
        let (at, length) = (below(input.len()), 1 + below(16));
        let end = input.len().min(at + length);
        match below(7) {
            0 => input[at..end].iter_mut().for_each(|byte| *byte ^= 1 << below(8)),
            1 => input[at..end].iter_mut().for_each(|byte| *byte = below(256) as u8),
            2 => input[at..end].fill([0, 1, 127, 128, 254, 255][below(6)]),
            3 => drop(input.drain(at..end)),
            4 => drop(input.splice(at..at, (0..length).map(|_| below(256) as u8))),
            5 => drop(input.splice(at..at, input[at..end].to_vec())),
            _ => {
                let other = &corpus[below(corpus.len())].1;
                let from = below(other.len());
                drop(input.splice(at..end, other[from..].iter().copied().take(length)));
            }
        }
    }
    input.truncate(LONGEST);
    input
}
