//! The real binary on the sample data, as a user runs it.

use std::path::Path;
use std::process::Output;

use assert_cmd::Command;
use serde_json::Value;

fn geosmooth(arguments: &[&str], folder: &Path) -> Output {
    Command::cargo_bin("geosmooth").unwrap().args(arguments).current_dir(folder).output().unwrap()
}

fn sample(name: &str) -> String {
    format!("{}/data-samples/{name}.parquet", env!("CARGO_MANIFEST_DIR"))
}

/// Runs a subcommand on the sample's training and test rows.
fn on_sample(subcommand: &str, test: &str, prediction: &str, folder: &Path, more: &[&str]) -> Output {
    let (train, test) = (sample("train"), sample(test));
    let data = [subcommand, "--train", &train, "--test", &test, "--label", "log_price", "--prediction", prediction];
    geosmooth(&[&data[..], more].concat(), folder)
}

fn smooth_sample(folder: &Path, more: &[&str]) -> Output {
    on_sample("smooth", "test", "xgb", folder, &[&["-o", "out.parquet"], more].concat())
}

fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn smoothing_the_sample_raises_r2_as_computed_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let summary = json(&smooth_sample(folder.path(), &["--sigma", "120m", "--c", "0.53", "--json"]));
    let scores = &summary["scores"][0];
    // From data-samples/tune_by_hand.py, dense sums in numpy.
    assert!((scores["before"]["r2"].as_f64().unwrap() - 0.8136).abs() < 5e-5);
    assert!((scores["after"]["r2"].as_f64().unwrap() - 0.8552).abs() < 5e-5);
    assert!(summary["error_bound"]["max"].as_f64().unwrap() <= 1e-6);
    assert_eq!(
        (&summary["sigma"], &summary["rows"]["train"], &summary["rows"]["skipped"]),
        (&"120m".into(), &8453.into(), &0.into())
    );
    assert!(summary["peak_memory_bytes"].as_u64().unwrap() > 1_000_000);
    let keys: Vec<&String> = summary.as_object().unwrap().keys().collect();
    for key in ["engine", "c", "label_weight", "tolerance", "seconds"] {
        assert!(keys.iter().any(|known| *known == key), "{key}");
    }
}

#[test]
fn the_output_is_written_whole_and_kept_unless_told() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.parquet");
    assert!(smooth_sample(folder.path(), &["--sigma", "120m", "--c", "0.5"]).status.success());
    let first = std::fs::read(&out).unwrap();
    let again = smooth_sample(folder.path(), &["--sigma", "90m", "--c", "0.5"]);
    assert_eq!(again.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&again.stderr).contains("--overwrite"));
    assert_eq!(std::fs::read(&out).unwrap(), first);
    assert!(smooth_sample(folder.path(), &["--sigma", "90m", "--c", "0.5", "--overwrite"]).status.success());
    assert_ne!(std::fs::read(&out).unwrap(), first);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing but the output is left");
}

#[test]
fn any_number_of_threads_writes_the_same_file() {
    let folder = tempfile::tempdir().unwrap();
    let run = |threads: &str| {
        let output = smooth_sample(
            folder.path(),
            &["--sigma", "200m", "--c", "0.5", "--certificate", "--overwrite", "--threads", threads],
        );
        assert!(output.status.success());
        std::fs::read(folder.path().join("out.parquet")).unwrap()
    };
    assert_eq!(run("1"), run("3"));
}

#[test]
fn geoparquet_gives_the_same_result_as_latitude_and_longitude() {
    let folder = tempfile::tempdir().unwrap();
    let more = ["--sigma", "120m", "--c", "0.5", "--json", "--overwrite", "-o", "out.parquet"];
    let after = |test: &str| json(&on_sample("smooth", test, "xgb,ridge", folder.path(), &more))["scores"].clone();
    assert_eq!(after("test"), after("test_geo"));
}

#[test]
fn compare_shows_both_engines() {
    let folder = tempfile::tempdir().unwrap();
    let comparison = json(&on_sample("compare", "test", "xgb", folder.path(), &["--sigma", "0.002deg", "--json"]));
    assert_eq!(comparison["reference"], "exact");
    let engines = comparison["engines"].as_array().unwrap();
    assert_eq!(
        engines.iter().map(|line| line["engine"].as_str().unwrap()).collect::<Vec<_>>(),
        ["exact", "sparse", "fast"]
    );
    let sparse = &engines[1];
    assert!(sparse["max_error"].as_f64().unwrap() <= sparse["bound"].as_f64().unwrap());
    assert!(sparse["nonzeros"].as_u64().unwrap() > 8452 && sparse["within_tolerance"].as_bool().unwrap());
    let fast = &engines[2];
    assert!(fast["max_error"].as_f64().unwrap() <= fast["bound"].as_f64().unwrap());
    assert!(fast["nonzeros"].is_null() && fast["within_tolerance"].as_bool().unwrap());
}

#[test]
fn the_demo_tells_its_story() {
    let folder = tempfile::tempdir().unwrap();
    // Twice: the second run replaces the files of the first.
    for _ in 0..2 {
        let output = geosmooth(&["demo"], folder.path());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        for words in ["geosmooth tune", "geosmooth smooth", "geosmooth compare", "geosmooth diagnose"] {
            assert!(text.contains(words), "{words}: {text}");
        }
        // The whole story must be better than the first step of it: 0.8683 with the label weight alone.
        let after = text.split("0.8136 -> ").nth(1).and_then(|rest| rest[..6].parse::<f64>().ok());
        assert!(after.is_some_and(|r2| r2 > 0.885), "{text}");
        assert!(!text.contains("NO"), "{text}");
    }
    let demo = folder.path().join("geosmooth-demo");
    for page in ["tuning", "smoothing", "engines", "diagnosis"] {
        assert!(demo.join(page).join("index.html").is_file(), "{page}");
    }
    let map = std::fs::read_to_string(demo.join("smoothing/errors.svg")).unwrap();
    assert!(map.matches("h4v4h-4z").count() > 1000);
}

#[test]
fn help_teaches_and_completions_complete() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, expected) in [
        (&["--help"][..], "geosmooth demo"),
        (&["smooth", "--help"], "--sigma 500m --c 0.6"),
        (&["compare", "--help"], "--tolerance 1e-4"),
        (&["completions", "bash"], "_geosmooth"),
        (&["completions", "zsh"], "#compdef geosmooth"),
        (&["--version"], env!("CARGO_PKG_VERSION")),
    ] {
        let output = geosmooth(arguments, folder.path());
        assert!(output.status.success());
        assert!(String::from_utf8_lossy(&output.stdout).contains(expected), "{arguments:?}");
    }
}
