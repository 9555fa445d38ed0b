//! What the manifest says of the compiler holds for everything that is built with it.

use std::process::Command;

use serde_json::Value;

/// Major and minor version.
fn version(text: &str) -> (u32, u32) {
    let mut parts = text.split('.').map(|part| part.parse().expect("a number"));
    (parts.next().expect("a major version"), parts.next().unwrap_or(0))
}

#[test]
fn no_dependency_needs_a_newer_compiler_than_we_state() {
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--manifest-path"])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
        .output()
        .expect("cargo runs");
    let metadata: Value = serde_json::from_slice(&metadata.stdout).expect("JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    let stated = version(env!("CARGO_PKG_RUST_VERSION"));
    let needs = |package: &&Value| package["rust_version"].as_str().is_some_and(|needed| version(needed) > stated);
    let newer: Vec<&Value> = packages.iter().filter(needs).map(|package| &package["name"]).collect();
    assert!(packages.len() > 100 && newer.is_empty(), "{newer:?} need more than {stated:?}");
}
