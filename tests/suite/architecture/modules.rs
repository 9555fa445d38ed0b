//! The modules of the crate and what each refers to, found as the compiler finds them: by following `mod` from the root.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::tokens::{end_of_block, tokens};

/// Segments from the root of the crate.
type ModulePath = Vec<String>;

/// A module: a file, or a block inside one.
#[derive(Default)]
struct Module {
    /// Relative to `src`.
    file: PathBuf,
    children: Vec<String>,
    /// Names that `use` binds here, with what they stand for.
    imports: BTreeMap<String, ModulePath>,
    /// Paths outside of `use` whose first segment may be a module or an import.
    paths: Vec<ModulePath>,
}

/// All modules under one root, such as `lib.rs`.
pub(super) struct Modules {
    source: PathBuf,
    modules: BTreeMap<ModulePath, Module>,
}

impl Modules {
    /// Reads a crate from its root file in the folder `source`.
    pub(super) fn of(source: &Path, root: &str) -> Self {
        let mut modules = Modules { source: source.to_owned(), modules: BTreeMap::new() };
        modules.read_file(Vec::new(), PathBuf::from(root));
        modules
    }

    /// Each file with the files of the crate that it imports from. What a module passes on by `use` counts for the file
    /// that defines it.
    pub(super) fn imports(&self) -> BTreeMap<PathBuf, Vec<PathBuf>> {
        let mut imports = BTreeMap::<_, Vec<_>>::new();
        for (path, module) in &self.modules {
            let used = module
                .imports
                .values()
                .cloned()
                .chain(module.paths.iter().filter_map(|used| self.absolute(path, used)));
            let files = used.filter_map(|used| self.file_of(&used)).filter(|file| *file != module.file);
            imports.entry(module.file.clone()).or_default().extend(files);
        }
        for files in imports.values_mut() {
            files.sort();
            files.dedup();
        }
        imports
    }

    /// The files, without those of unit tests.
    pub(super) fn files(&self) -> BTreeSet<&Path> {
        self.modules.values().map(|module| module.file.as_path()).collect()
    }

    fn read_file(&mut self, path: ModulePath, file: PathBuf) {
        let source = self.source.join(&file);
        let text = fs::read_to_string(&source).unwrap_or_else(|error| panic!("{}: {error}", source.display()));
        self.read_tokens(path, file, &tokens(&text));
    }

    fn read_tokens(&mut self, path: ModulePath, file: PathBuf, tokens: &[String]) {
        let mut module = Module { file, ..Module::default() };
        let mut at = 0;
        while at < tokens.len() {
            at = match [tokens[at].as_str(), tokens.get(at + 2).map_or("", String::as_str)] {
                ["mod", ";" | "{"] => self.read_child(&path, &mut module, tokens, at + 1),
                ["use", _] if tokens[at + 1] != "<" => module.read_use(&path, tokens, at + 1),
                [_, _] if tokens.get(at + 1).is_some_and(|next| next == "::") => module.read_path(tokens, at),
                _ => at + 1,
            };
        }
        self.modules.insert(path, module);
    }

    /// Reads the module whose name is at `name`; gives where its declaration ends.
    fn read_child(&mut self, path: &[String], module: &mut Module, tokens: &[String], name: usize) -> usize {
        let child = [path, &[tokens[name].clone()]].concat();
        module.children.push(tokens[name].clone());
        if tokens[name + 1] == "{" {
            let end = end_of_block(tokens, name + 1);
            self.read_tokens(child, module.file.clone(), &tokens[name + 2..end - 1]);
            return end;
        }
        let folder: PathBuf = child.iter().collect();
        let nested = folder.join("mod.rs");
        let file = if self.source.join(&nested).exists() { nested } else { folder.with_extension("rs") };
        self.read_file(child, file);
        name + 2
    }

    /// A path as it is written in a module, from the root; `None` for one that leads out of the crate.
    fn absolute(&self, module: &[String], written: &[String]) -> Option<ModulePath> {
        let here = &self.modules[module];
        let first = &written[0];
        if here.children.contains(first) {
            return Some([module, written].concat());
        }
        let import = here.imports.get(first).filter(|import| *import != written);
        import.map(|import| [import, &written[1..]].concat()).or_else(|| from_root(module, written))
    }

    /// The file that defines what a path from the root leads to; `None` for a module itself.
    fn file_of(&self, path: &[String]) -> Option<PathBuf> {
        let depth = (0..=path.len()).rev().find(|depth| self.modules.contains_key(&path[..*depth]))?;
        let (module, rest) = (&self.modules[&path[..depth]], &path[depth..]);
        let passed_on =
            rest.first().and_then(|name| module.imports.get(name)).filter(|import| !path.starts_with(import));
        match (rest, passed_on) {
            ([], _) => None,
            (_, Some(import)) => self.file_of(&[import, &rest[1..]].concat()),
            (_, None) => Some(module.file.clone()),
        }
    }
}

impl Module {
    /// Reads the names that `use` binds, from its first token on; gives where it ends.
    fn read_use(&mut self, path: &[String], tokens: &[String], start: usize) -> usize {
        let end = start + tokens[start..].iter().position(|token| token == ";").expect("a use ends");
        for (name, written) in use_tree(&tokens[start..end]) {
            let child = self.children.contains(&written[0]).then(|| [path, &written].concat());
            self.imports.extend(child.or_else(|| from_root(path, &written)).map(|import| (name, import)));
        }
        end + 1
    }

    fn read_path(&mut self, tokens: &[String], start: usize) -> usize {
        let mut end = start + 1;
        while end + 1 < tokens.len()
            && tokens[end] == "::"
            && tokens[end + 1].starts_with(|c: char| c.is_alphabetic() || c == '_')
        {
            end += 2;
        }
        self.paths.push(tokens[start..end].iter().step_by(2).cloned().collect());
        end
    }
}

/// A path that begins with `crate`, `self` or `super`, from the root.
fn from_root(module: &[String], written: &[String]) -> Option<ModulePath> {
    let supers = written.iter().take_while(|segment| *segment == "super").count();
    match written[0].as_str() {
        "crate" => Some(written[1..].to_vec()),
        "self" => Some([module, &written[1..]].concat()),
        "super" => Some([&module[..module.len() - supers], &written[supers..]].concat()),
        _ => None,
    }
}

/// The names that the tree of a `use` binds, with the paths that they stand for.
fn use_tree(tokens: &[String]) -> Vec<(String, ModulePath)> {
    let list = tokens.iter().position(|token| token == "{");
    let Some(open) = list else { return use_leaf(tokens).into_iter().collect() };
    let prefix: ModulePath = tokens[..open].iter().filter(|token| *token != "::").cloned().collect();
    let branches = branches(&tokens[open + 1..end_of_block(tokens, open) - 1]);
    let leaves = branches.into_iter().flat_map(use_tree);
    leaves.map(|(name, path)| under(&prefix, name, &path)).collect()
}

fn under(prefix: &[String], name: String, path: &[String]) -> (String, ModulePath) {
    if path == ["self"] {
        let name = if name == "self" { prefix[prefix.len() - 1].clone() } else { name };
        return (name, prefix.to_vec());
    }
    (name, [prefix, path].concat())
}

/// The parts of a list that commas divide, not those of lists inside it.
fn branches(list: &[String]) -> Vec<&[String]> {
    let mut depth = 0_i32;
    let parts = list.split(|token| {
        depth += i32::from(token == "{") - i32::from(token == "}");
        depth == 0 && token == ","
    });
    parts.filter(|part| !part.is_empty()).collect()
}

/// `a::b`, `a::b as c`, or `a::*`, which binds no name of its own.
fn use_leaf(tokens: &[String]) -> Option<(String, ModulePath)> {
    let renamed = tokens.iter().position(|token| token == "as");
    let path: ModulePath =
        tokens[..renamed.unwrap_or(tokens.len())].iter().filter(|token| *token != "::").cloned().collect();
    let name = tokens.last()?;
    // Several imports may be renamed to `_`: each needs a key of its own.
    let name = if name == "_" || name == "*" { path.join("::") } else { name.clone() };
    Some((name, path))
}

#[test]
fn use_trees_are_read() {
    let bound = |text: &str| {
        let mut names: Vec<String> =
            use_tree(&tokens(text)).into_iter().map(|(name, path)| format!("{name}={}", path.join("/"))).collect();
        names.sort();
        names.join(" ")
    };
    assert_eq!(bound("crate::a::B"), "B=crate/a/B");
    assert_eq!(bound("super::{a::{self, B}, c as d}"), "B=super/a/B a=super/a d=super/c");
    assert_eq!(bound("crate::a::*"), "crate::a::*=crate/a/*");
}
