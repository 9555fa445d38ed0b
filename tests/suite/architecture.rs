//! The table of rooms in `src/lib.rs`, held against the imports in `src`.
//!
//! A room is a folder or a file directly in `src`. It may import only from rooms that the table lists before it. Inside a
//! room, neither files nor the folders beside each other may import each other in a cycle. Unit tests may import from anywhere.
//!
//! Messages outside the command line name no flag: each interface spells options in its own way.

mod modules;
mod tokens;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use modules::Modules;

/// Files with the files that they import from.
type Imports = BTreeMap<PathBuf, Vec<PathBuf>>;

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// Imports of the library and of the program on top of it.
fn imports() -> Imports {
    let mut imports = Modules::of(&source(), "lib.rs").imports();
    let library = PathBuf::from("lib.rs");
    imports.remove(&library);
    imports.extend(Modules::of(&source(), "main.rs").imports());
    assert!(
        edges(&imports).count() > 2 * imports.len(),
        "files import more than that: the reader of imports is broken"
    );
    imports
}

/// The folder or file directly in `src` that a file belongs to.
fn room(file: &Path) -> String {
    let first = file.components().next().expect("a file has a name");
    Path::new(&first).file_stem().expect("a file has a name").to_string_lossy().into_owned()
}

/// The rooms of the table in the documentation of the crate, from the bottom up.
fn rooms() -> Vec<String> {
    let documentation = std::fs::read_to_string(source().join("lib.rs")).expect("src/lib.rs can be read");
    let after_title = documentation.split("//! # Rooms").nth(1).expect("src/lib.rs has a section 'Rooms'");
    let section = after_title.split("//! # ").next().unwrap_or_default();
    let rows = section.lines().filter_map(|line| line.strip_prefix("//! | "));
    let names = rows.filter_map(|row| row.split('|').next()?.split('`').nth(1).map(str::to_owned));
    names.collect()
}

#[test]
fn the_table_lists_every_room_once() {
    let entries = std::fs::read_dir(source()).expect("src can be read").map(|entry| entry.expect("an entry").path());
    let mut on_disk: Vec<String> =
        entries.map(|path| room(path.strip_prefix(source()).expect("in src"))).filter(|room| room != "lib").collect();
    let mut in_table = rooms();
    on_disk.sort();
    in_table.sort();
    assert_eq!(in_table, on_disk, "the table in src/lib.rs against the files and folders of src");
}

#[test]
fn no_room_imports_from_a_later_room() {
    let height: BTreeMap<String, usize> =
        rooms().into_iter().enumerate().map(|(height, room)| (room, height)).collect();
    let wrong: Vec<String> = edges(&imports())
        .filter(|(from, to)| height.get(&room(to)) > height.get(&room(from)))
        .map(|(from, to)| format!("{} imports from {}", from.display(), to.display()))
        .collect();
    assert!(wrong.is_empty(), "against the order of the table in src/lib.rs:\n{}", wrong.join("\n"));
}

#[test]
fn no_files_of_the_numerical_rooms_import_each_other_in_a_cycle() {
    let imports = imports();
    for inside in ["engine", "partition"] {
        assert_no_cycle(&imports, inside);
    }
}

#[test]
fn no_folders_inside_a_room_import_each_other_in_a_cycle() {
    let folders = between_siblings(&imports());
    for room in rooms() {
        assert_no_cycle(&folders, &room);
    }
}

fn assert_no_cycle(imports: &Imports, inside: &str) {
    let cyclic = on_cycles(imports, inside);
    let lines: Vec<String> =
        cyclic.iter().map(|(from, to)| format!("{} imports from {}", from.display(), to.display())).collect();
    assert!(cyclic.is_empty(), "imports in a cycle:\n{}", lines.join("\n"));
}

/// Imports between the files and folders that lie beside each other in one folder: all that a folder holds counts for it. A
/// `mod.rs` belongs to the folder that it opens, and may import from its files.
fn between_siblings(imports: &Imports) -> Imports {
    let mut folders = Imports::new();
    for (from, to) in edges(imports) {
        if let Some((from, to)) = siblings(from, to) {
            folders.entry(from).or_default().push(to);
        }
    }
    folders
}

/// The folders or files that two files belong to, in the smallest folder that holds both.
fn siblings(from: &Path, to: &Path) -> Option<(PathBuf, PathBuf)> {
    let common = from.components().zip(to.components()).take_while(|(from, to)| from == to).count();
    let beside = |file: &Path| file.components().take(common + 1).collect::<PathBuf>();
    let (from, to) = (beside(from), beside(to));
    (!from.ends_with("mod.rs") && !to.ends_with("mod.rs")).then_some((from, to))
}

/// Issue 16, point 4: the library says what is wrong, and each interface names the option in its own words.
#[test]
fn no_message_outside_the_command_line_names_a_flag() {
    let python = source().join("../python/src");
    for (source, root) in [(source(), "lib.rs"), (source(), "main.rs"), (python, "lib.rs")] {
        for file in Modules::of(&source, root).files() {
            let text = std::fs::read_to_string(source.join(file)).expect("a file that was read before");
            let flags: Vec<String> =
                tokens::literals(&text).into_iter().filter(|literal| names_a_flag(literal)).collect();
            let may_name_flags = file.starts_with("cli") || file == Path::new("face.rs");
            assert!(may_name_flags || flags.is_empty(), "{}: {flags:#?}", file.display());
        }
    }
}

/// Whether a text has two hyphens before a letter.
fn names_a_flag(text: &str) -> bool {
    text.match_indices("--").any(|(at, _)| text[at + 2..].starts_with(|next: char| next.is_ascii_alphabetic()))
}

#[test]
fn a_flag_is_found() {
    let source = r#"fn hint() -> &'static str { "use a smaller --cutoff" } // not "--sigma"
        #[cfg(test)] mod tests { const SHOWN: &str = "--tolerance"; }"#;
    assert_eq!(tokens::literals(source), ["\"use a smaller --cutoff"]);
    assert!(names_a_flag("use a smaller --cutoff") && !names_a_flag("a -- b, ---: and 1--2"));
}

fn edges(imports: &Imports) -> impl Iterator<Item = (&PathBuf, &PathBuf)> {
    imports.iter().flat_map(|(from, files)| files.iter().map(move |to| (from, to)))
}

/// The imports inside a room that lie on a cycle: those whose end leads back to their beginning.
fn on_cycles<'a>(imports: &'a Imports, inside: &str) -> Vec<(&'a PathBuf, &'a PathBuf)> {
    let within = |file: &Path| file.starts_with(inside);
    edges(imports).filter(|(from, to)| within(from) && within(to) && reaches(imports, to, from)).collect()
}

fn reaches(imports: &Imports, from: &PathBuf, to: &PathBuf) -> bool {
    let mut seen = BTreeSet::new();
    let mut open = vec![from];
    while let Some(file) = open.pop() {
        if seen.insert(file) {
            open.extend(imports.get(file).into_iter().flatten());
        }
    }
    seen.contains(to)
}

#[test]
fn a_cycle_is_found() {
    let file = |name: &str| PathBuf::from(format!("engine/{name}.rs"));
    let imports =
        |pairs: &[(&str, &str)]| -> Imports { pairs.iter().map(|(from, to)| (file(from), vec![file(to)])).collect() };
    assert_eq!(on_cycles(&imports(&[("a", "b"), ("b", "c"), ("c", "b")]), "engine").len(), 2);
    assert!(on_cycles(&imports(&[("a", "b"), ("b", "c")]), "engine").is_empty());
    // No file leads back to itself here, but the folders do.
    let apart = imports(&[("a/one", "b/one"), ("b/two", "a/two"), ("a/mod", "a/one"), ("mod", "a/one")]);
    assert!(on_cycles(&apart, "engine").is_empty());
    let [a, b] = [PathBuf::from("engine/a"), PathBuf::from("engine/b")];
    assert_eq!(on_cycles(&between_siblings(&apart), "engine"), [(&a, &b), (&b, &a)]);
}
