//! `geosmooth demo`: the whole story on real house sales that come with the program. It runs the very commands that it
//! prints, so that a reader can go on from there.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Parser as _;

use super::{Cli, run as run_command, terminal};
use crate::error::Error;
use crate::io::{Complete, Output};
use crate::job::sample::SAMPLE;
use crate::text::printable;

/// Tunes, smooths, compares and diagnoses the predictions of a real model for real house sales.
///
/// Sales in Lucas County, Ohio, priced by a model that knows the houses but not their location. The parameters are tuned on
/// 8,452 sales; then 8,452 others are smoothed together with 8,453 whose prices are known. Writes the sample, the results and
/// HTML pages into a folder.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Folder for the sample, the results and the pages; existing files are replaced
    #[arg(long, value_name = "DIR", default_value = "geosmooth-demo")]
    out: PathBuf,
}

const INTRODUCTION: &str = "\
House sales in Lucas County, Ohio, 1993 to 1998. A model (XGBoost) predicted their prices from size, age and so on, without
their location; prices are natural logarithms. Three sets of sales: 8,453 whose prices are known, 8,452 to choose the
parameters on, 8,452 to predict.
";

pub(super) fn run(args: &Args) -> Result<(), Error> {
    let out = &args.out;
    write_sample(out)?;
    terminal::print(INTRODUCTION)?;
    let folder = Folder { out };
    let train = folder.flag("--train", "train.parquet");
    let validation = folder.flag("--validation", "validation.parquet");
    let test = folder.flag("--test", "test.parquet");
    let tuned = folder.flag("--params", "tuned.json");
    let columns = ["--label", "log_price", "--prediction", "xgb", "--train-prediction", "xgb_oof"].map(OsString::from);

    follow(
        "Which parameters smooth best?",
        "tune",
        [&train[..], &validation, &columns, &folder.flag("-o", "tuned.json"), &folder.report("tuning")],
    )?;
    follow(
        "Smooth the other sales with them.",
        "smooth",
        [
            &train[..],
            &test,
            &tuned,
            &["--certificate".into()],
            &folder.flag("-o", "smoothed.parquet"),
            &folder.report("smoothing"),
        ],
    )?;
    follow(
        "Is the numerical error within its bound?",
        "compare",
        [&train[..], &test, &tuned, &folder.report("engines")],
    )?;
    follow("Why does it help?", "diagnose", [&train[..], &validation, &tuned, &folder.report("diagnosis")])?;
    let page = out.join("smoothing").join("index.html");
    terminal::print(&format!(
        "\nLook at it: open {} in a browser, and the pages beside it.\n",
        printable(&page.to_string_lossy())
    ))
}

fn write_sample(folder: &Path) -> Result<(), Error> {
    if let Err(source) = fs::create_dir_all(folder) {
        let (action, hint) = ("cannot make the folder", "choose another with --out");
        return Err(Error::Io { action, path: folder.to_owned(), source, hint });
    }
    let mut written = Vec::new();
    for (name, bytes) in SAMPLE {
        written.push(Output::create(&folder.join(name), true, &[])?.write_bytes(bytes)?);
    }
    Complete::name_all(written)
}

/// The folder of the demo, in arguments.
struct Folder<'a> {
    out: &'a PathBuf,
}

impl Folder<'_> {
    fn flag(&self, flag: &str, file: &str) -> [OsString; 2] {
        [flag.into(), self.out.join(file).into_os_string()]
    }

    fn report(&self, folder: &str) -> [OsString; 3] {
        let [flag, folder] = self.flag("--report", folder);
        [flag, folder, "--overwrite".into()]
    }
}

/// Prints a question and a command, then runs the command.
fn follow<const N: usize>(question: &str, subcommand: &str, arguments: [&[OsString]; N]) -> Result<(), Error> {
    let arguments: Vec<OsString> = arguments.concat();
    let words: Vec<String> = arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    terminal::print(&format!("\n{question}\n$ geosmooth {subcommand} {}\n", printable(&words.join(" "))))?;
    let line = ["geosmooth".into(), subcommand.into()].into_iter().chain(arguments);
    match Cli::try_parse_from(line) {
        Ok(cli) => run_command(cli.command),
        Err(error) => Err(Error::Contradiction {
            message: error.to_string(),
            hint: "choose another folder with --out".to_owned(),
        }),
    }
}
