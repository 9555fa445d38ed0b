//! `geosmooth demo`: the whole story on real house sales that come with the program. It runs the very commands that it
//! prints, so that a reader can go on from there.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Parser as _;

use super::{Cli, run as run_command, terminal};
use crate::error::Error;
use crate::io::{Input, Output};
use crate::report::{MapPanel, draw_maps};

/// Smooths the predictions of real models for real house sales, and shows what it gained.
///
/// 8,452 sales in Lucas County, Ohio, priced by models that know the houses but not where they stand, are smoothed together
/// with 8,453 sales whose prices are known. Writes the sample, the result and a map into a folder.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Folder for the sample, the result and the picture; files of the same name are replaced
    #[arg(long, value_name = "DIR", default_value = "geosmooth-demo")]
    out: PathBuf,
}

const TRAIN: &[u8] = include_bytes!("../../data-samples/train.parquet");
const TEST: &[u8] = include_bytes!("../../data-samples/test.parquet");

const INTRODUCTION: &str = "\
House sales in Lucas County, Ohio: 8,452 to predict, 8,453 whose prices are known. Three models priced them
by size, age and so on, without knowing where they stand. All prices are natural logarithms.
";

/// Chosen on the validation rows for `xgb` (`data-samples/tune_by_hand.py`).
const SIGMA: &str = "100m";
const C: &str = "0.46";
const LABEL_WEIGHT: &str = "32";

pub(super) fn run(args: &Args) -> Result<(), Error> {
    let out = &args.out;
    let failed = |source| Error::Io {
        action: "cannot make the folder",
        path: out.clone(),
        source,
        hint: "choose another with --out",
    };
    fs::create_dir_all(out).map_err(failed)?;
    let (train, test, smoothed, map) =
        (out.join("train.parquet"), out.join("test.parquet"), out.join("smoothed.parquet"), out.join("map.svg"));
    Output::create(&train, true, &[])?.write_bytes(TRAIN)?;
    Output::create(&test, true, &[])?.write_bytes(TEST)?;

    terminal::print(INTRODUCTION)?;
    let data = ["--train".as_ref(), train.as_os_str(), "--test".as_ref(), test.as_os_str()].map(OsString::from);
    let request = |predictions: &str| {
        let kernel = [
            "--label",
            "log_price",
            "--prediction",
            predictions,
            "--sigma",
            SIGMA,
            "--label-weight",
            LABEL_WEIGHT,
            "--c",
            C,
        ];
        data.iter().cloned().chain(kernel.map(OsString::from)).collect::<Vec<_>>()
    };
    let mut smooth = request("xgb,ridge,rff");
    smooth.extend(["--certificate".into(), "--overwrite".into(), "-o".into(), smoothed.clone().into_os_string()]);
    follow("smooth", &smooth)?;
    follow("compare", &request("xgb"))?;

    Output::create(&map, true, &[])?.write_bytes(draw(&smoothed)?.as_bytes())?;
    terminal::print(&format!("\nA map of the errors before and after is in {}\n", map.display()))
}

/// Prints a command and runs it.
fn follow(subcommand: &str, arguments: &[OsString]) -> Result<(), Error> {
    let words: Vec<String> = arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    terminal::print(&format!("\n$ geosmooth {subcommand} {}\n", words.join(" ")))?;
    let line = ["geosmooth".into(), subcommand.into()].into_iter().chain(arguments.iter().cloned());
    match Cli::try_parse_from(line) {
        Ok(cli) => run_command(cli.command),
        Err(error) => Err(Error::Contradiction {
            message: error.to_string(),
            hint: "choose another folder with --out".to_owned(),
        }),
    }
}

/// The errors of `xgb` on the map, before and after.
fn draw(smoothed: &Path) -> Result<String, Error> {
    let mut columns = Input::open(smoothed)?
        .numbers(&["latitude", "longitude", "log_price", "xgb", "xgb_smoothed"])?
        .into_iter()
        .map(|column| column.values);
    let mut next = || columns.next().unwrap_or_default();
    let places: Vec<(f64, f64)> = next().into_iter().zip(next()).collect();
    let truth = next();
    let errors = |values: Vec<f64>| values.iter().zip(&truth).map(|(value, truth)| value - truth).collect();
    let panels = [
        MapPanel { title: "Errors of the model's predictions".to_owned(), places: &places, values: errors(next()) },
        MapPanel { title: "Errors after smoothing".to_owned(), places: &places, values: errors(next()) },
    ];
    draw_maps(&panels, 0.6, "predicted minus true log price, mean of each square: blue too low, red too high")
}
