//! Pages that name files or code, held against what exists.

use std::path::{Path, PathBuf};

/// Pages of the repository that link to its files.
const PAGES: [&str; 9] = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "docs",
    "python/README.md",
    "data-samples/README.md",
    "fuzz/README.md",
    "tests/README.md",
    "benches/results",
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn text_of(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn files_that_the_crate_documentation_names_exist() {
    let documentation = text_of("src/lib.rs");
    let named: Vec<&str> = documentation.split('`').filter(|code| code.starts_with("src/")).collect();
    assert!(!named.is_empty());
    let missing: Vec<&&str> = named.iter().filter(|path| !root().join(path).exists()).collect();
    assert!(missing.is_empty(), "src/lib.rs names {missing:?}");
}

#[test]
fn the_path_to_the_inner_loop_exists() {
    let documentation = text_of("src/lib.rs");
    let steps = documentation.lines().filter(|line| line.starts_with("//! ") && line.contains('→'));
    let named: Vec<&str> = steps.flat_map(str::split_whitespace).filter(|word| has_ending(word, &CODE)).collect();
    assert!(!named.is_empty());
    let files = sources(&root().join("src"), "/", &CODE);
    let missing: Vec<&&str> =
        named.iter().filter(|name| !files.iter().any(|file| file.ends_with(&format!("/{name}")))).collect();
    assert!(missing.is_empty(), "src/lib.rs leads through {missing:?}");
}

#[test]
fn files_of_the_source_that_pages_name_exist() {
    let pages: Vec<PathBuf> = PAGES.into_iter().flat_map(pages).collect();
    let texts: Vec<String> = pages.iter().map(|page| std::fs::read_to_string(page).expect("a page")).collect();
    let named: Vec<&str> = texts.iter().flat_map(|text| text.split('`')).filter(|code| is_of_source(code)).collect();
    assert!(!named.is_empty());
    let missing: Vec<&&str> = named.iter().filter(|path| !root().join(path).exists()).collect();
    assert!(missing.is_empty(), "pages name {missing:?}");
}

/// Whether text between backticks is a path below `src`, `tests`, `benches` or `python`.
fn is_of_source(code: &str) -> bool {
    let is_path = code.chars().all(|letter| letter.is_ascii_alphanumeric() || "/._-".contains(letter));
    is_path && ["src/", "tests/", "benches/", "python/"].iter().any(|folder| code.starts_with(folder))
}

#[test]
fn links_lead_to_files() {
    let broken: Vec<String> = PAGES.into_iter().flat_map(pages).flat_map(|page| broken_links(&page)).collect();
    assert!(broken.is_empty(), "links that lead nowhere:\n{}", broken.join("\n"));
}

/// A page, or the pages of a folder.
fn pages(path: &str) -> Vec<PathBuf> {
    if !root().join(path).is_dir() {
        return vec![root().join(path)];
    }
    let names = sources(&root().join(path), "", &["md"]);
    names.into_iter().map(|name| root().join(path).join(name)).collect()
}

fn broken_links(page: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(page).unwrap_or_else(|error| panic!("{}: {error}", page.display()));
    let links = text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
    let files = links.filter(|link| !link.is_empty() && !link.starts_with("http"));
    let broken = files.filter(|link| !page.with_file_name(link).exists());
    broken.map(|link| format!("{link} in {}", page.display())).collect()
}

#[test]
fn the_glossary_names_what_exists() {
    let glossary = text_of("docs/glossary.md");
    let rows = glossary.lines().filter(|line| line.starts_with("| ") && line.contains("`src/"));
    let wrong: Vec<String> = rows.flat_map(names_not_found).collect();
    assert!(wrong.is_empty(), "docs/glossary.md names what is not there:\n{}", wrong.join("\n"));
}

/// Of a row `| symbol | our name | literature | file |`: the names in code that the file does not contain, each with the file.
fn names_not_found(row: &str) -> Vec<String> {
    let row = row.replace("\\|", "");
    let cells: Vec<&str> = row.split('|').collect();
    let [_, _, names, _, file, _] = cells[..] else { return vec![format!("not four cells: {row}")] };
    let file = file.trim().trim_matches('`');
    let source = std::fs::read_to_string(root().join(file)).unwrap_or_default();
    let names = names.split('`').skip(1).step_by(2);
    let missing = names.filter(|name| source.is_empty() || !source.contains(*name));
    let mut wrong: Vec<String> = missing.map(|name| format!("{name} in {file}")).collect();
    if source.is_empty() {
        wrong.push(format!("the file {file}"));
    }
    wrong
}

/// Folders of tests, each with its section in `tests/README.md`.
const TESTS: [&str; 4] = ["tests/suite", "tests/golden", "tests/interop", "python/tests"];

#[test]
fn the_page_on_tests_lists_the_files_that_exist() {
    let page = text_of("tests/README.md");
    for name in TESTS {
        let section = page.split("\n## ").find(|section| section.starts_with(&format!("`{name}`")));
        let section = section.unwrap_or_else(|| panic!("tests/README.md has no section for {name}"));
        let listed: Vec<&str> = section.split('`').skip(1).step_by(2).filter(|code| has_ending(code, &CODE)).collect();
        let folder = root().join(name);
        let unlisted: Vec<String> =
            sources(&folder, "", &CODE).into_iter().filter(|file| !listed.contains(&file.as_str())).collect();
        assert!(unlisted.is_empty(), "tests/README.md lacks {unlisted:?} of {name}");
        let exists =
            |file: &str| [&folder, root(), &root().join("tests")].iter().any(|folder| folder.join(file).exists());
        let missing: Vec<&&str> = listed.iter().filter(|file| !exists(file)).collect();
        assert!(missing.is_empty(), "tests/README.md lists {missing:?} of {name}, which do not exist");
    }
}

const CODE: [&str; 2] = ["rs", "py"];

fn has_ending(name: &str, endings: &[&str]) -> bool {
    Path::new(name).extension().is_some_and(|extension| endings.iter().any(|ending| extension == *ending))
}

/// The files with such endings in a folder and those inside it, by their paths below it.
fn sources(folder: &Path, below: &str, endings: &[&str]) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let found = paths.flat_map(|path| {
        let name = format!("{below}{}", path.file_name().expect("a name").to_string_lossy());
        if path.is_dir() { sources(&path, &format!("{name}/"), endings) } else { vec![name] }
    });
    found.filter(|name| has_ending(name, endings)).collect()
}
