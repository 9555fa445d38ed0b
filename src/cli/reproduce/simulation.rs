//! `geosmooth reproduce simulation`.

use super::{StudyArgs, finish, with_range};
use crate::cli::options::Outcome;
use crate::error::Error;
use crate::experiment::simulation::{Checked, Estimator, Example, Simulation, SimulationResult};
use crate::job::caller::Caller;
use crate::job::pages::strings;
use crate::report::{Axis, Figure, Page, Plot, Section, Series, Table, short};

/// A hidden process seen through noise: how close smoothing comes to the best that is possible.
///
/// Half of the rows train a slope by total or ordinary least squares, the other half is predicted and smoothed, with σ and c
/// chosen on it as in the paper. Beside it stand S*, the best linear smoother if all distributions are known, the bound σ_y²
/// that none can beat, and what theory expects.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Rows of a trial; half of them train
    #[arg(long, value_name = "N", default_value_t = 2000)]
    rows: usize,
    /// Standard deviations of the noise of x to try, separated by commas
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "0.1,0.25,0.5,1",
        allow_hyphen_values = true
    )]
    noise_x: Vec<f64>,
    /// Standard deviations of the noise of y to try, separated by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "0.1,0.5,1", allow_hyphen_values = true)]
    noise_y: Vec<f64>,
    /// Random draws at each pair of noises
    #[arg(long, value_name = "N", default_value_t = 10)]
    trials: usize,
    #[command(flatten)]
    pub(super) study: StudyArgs,
}

pub(super) fn perform(args: &Args, caller: &Caller) -> Result<Outcome, Error> {
    let report = args.study.start(&[], caller)?;
    let simulation = Simulation {
        rows: args.rows,
        noise_x: args.noise_x.clone(),
        noise_y: args.noise_y.clone(),
        trials: args.trials,
        seed: args.study.seed,
        ..Simulation::default()
    };
    let (lines, example) = (simulation.run(caller.phase("trials").as_ref())?, simulation.example()?);
    let results = serde_json::json!({ "settings": simulation, "lines": lines });
    finish(report, &page(&simulation, &lines, &example), &results)
}

fn page(simulation: &Simulation, lines: &[SimulationResult], example: &Example) -> Page {
    let errors = [
        "Mean squared errors on the evaluated half: the mean over trials with the least and the largest. σ and c are means too. S* is the \
         best linear smoother there is, which knows every distribution; no smoother of x gets below the bound on average.",
        "TLS is total least squares in units of the noises, which is consistent; plain TLS takes x and y as they stand and is consistent \
         only where both noises are equal; OLS is ordinary least squares, which noise of x makes too shallow.",
    ];
    let expected = "Expected: in closed form, given the hidden processes that were drawn and the slopes that were learned. Off: how far the mean of \
                    the measurements is from that, in standard errors. Limit: over all processes and for ever more rows, as the paper has it.";
    let sections = vec![
        Section {
            heading: "Errors by noise".to_owned(),
            figures: simulation
                .noise_y
                .iter()
                .map(|&noise| by_noise(lines, noise))
                .chain([one_draw(example)])
                .collect(),
            ..Section::default()
        },
        Section {
            heading: "Every estimator at every noise".to_owned(),
            text: strings(errors),
            tables: vec![table(lines)],
            figures: Vec::new(),
        },
        Section {
            heading: "Beside theory".to_owned(),
            text: vec![expected.to_owned()],
            tables: vec![theory(lines)],
            figures: Vec::new(),
        },
    ];
    Page { title: "A hidden process behind noise".to_owned(), lead: lead(simulation, lines), sections }
}

/// How much of the error that can be avoided is left after smoothing, at the largest noise of x.
fn lead(simulation: &Simulation, lines: &[SimulationResult]) -> String {
    let most = simulation.noise_x.iter().copied().fold(0.0, f64::max);
    let left = |estimator: Estimator| {
        let of = |value: fn(&SimulationResult) -> f64| {
            let lines = lines.iter().filter(|line| line.noise_x == most && line.estimator == estimator);
            lines.map(|line| value(line) - line.bound).sum::<f64>()
        };
        100.0 * of(|line| line.smoothed.mean) / of(|line| line.unsmoothed.measured.mean)
    };
    format!(
        "At the largest noise of x, σ_x = {most}, smoothing leaves {:.1} % of what the error of total least squares has above the bound, \
         and {:.1} % for ordinary least squares.",
        left(Estimator::TotalLeastSquares),
        left(Estimator::LeastSquares)
    )
}

/// The cells that say which line it is.
fn keys(line: &SimulationResult) -> Vec<String> {
    vec![line.noise_x.to_string(), line.noise_y.to_string(), line.estimator.title().to_owned()]
}

fn table(lines: &[SimulationResult]) -> Table {
    let header = ["σ_x", "σ_y", "estimator", "unsmoothed", "P-ES", "S*", "bound σ_y²", "σ", "c"];
    let row = |line: &SimulationResult| {
        let errors = [&line.unsmoothed.measured, &line.smoothed, &line.optimal.measured].map(with_range);
        let rest = [line.bound, line.sigma.mean, line.c.mean].map(short);
        keys(line).into_iter().chain(errors).chain(rest).collect()
    };
    let caption = "Mean squared errors".to_owned();
    Table { caption, header: strings(header), rows: lines.iter().map(row).collect() }
}

fn theory(lines: &[SimulationResult]) -> Table {
    let header =
        ["σ_x", "σ_y", "estimator", "unsmoothed", "expected", "off", "limit", "S*", "expected", "off", "limit"];
    let beside = |Checked { measured, expected, deviation, limit }: &Checked| {
        let off = format!("{:.1}", deviation.mean / deviation.standard_error);
        [short(measured.mean), short(*expected), off, short(*limit)]
    };
    let row = |line: &SimulationResult| {
        keys(line).into_iter().chain(beside(&line.unsmoothed)).chain(beside(&line.optimal)).collect()
    };
    let caption = "Measured and expected".to_owned();
    Table { caption, header: strings(header), rows: lines.iter().map(row).collect() }
}

/// Errors against the noise of x, at one noise of y.
fn by_noise(lines: &[SimulationResult], noise: f64) -> Figure {
    let of = |estimator: Estimator, name: &str, value: fn(&SimulationResult) -> f64| {
        let lines = lines.iter().filter(|line| line.estimator == estimator && line.noise_y == noise);
        Series {
            name: name.to_owned(),
            points: lines.map(|line| (line.noise_x, value(line))).collect(),
            dots_only: false,
        }
    };
    let (tls, ols) = (Estimator::TotalLeastSquares, Estimator::LeastSquares);
    let series = vec![
        of(tls, "TLS", |line| line.unsmoothed.measured.mean),
        of(ols, "OLS", |line| line.unsmoothed.measured.mean),
        of(tls, "TLS with P-ES", |line| line.smoothed.mean),
        of(ols, "OLS with P-ES", |line| line.smoothed.mean),
        of(tls, "S*", |line| line.optimal.measured.mean),
        of(tls, "bound", |line| line.bound),
    ];
    Figure {
        name: format!("errors-noise-{noise}"),
        title: format!("Errors at σ_y = {noise}"),
        caption: "Means over trials.".to_owned(),
        plot: Plot::Curves {
            x: Axis { label: "σ_x".to_owned(), log: false },
            y: Axis { label: "mean squared error".to_owned(), log: true },
            series,
            mark: None,
        },
    }
}

/// More dots than this hide each other.
const MOST_DOTS: usize = 250;

fn one_draw(Example { t, y, predicted, smoothed }: &Example) -> Figure {
    let stride = t.len().div_ceil(MOST_DOTS).max(1);
    let series = |name: &str, values: &[f64], dots_only| Series {
        name: name.to_owned(),
        points: t.iter().copied().zip(values.iter().copied()).step_by(if dots_only { stride } else { 1 }).collect(),
        dots_only,
    };
    Figure {
        name: "one-draw".to_owned(),
        title: "Predictions before and after".to_owned(),
        caption: "Total least squares at the largest noise of x and the least of y; some of the rows.".to_owned(),
        plot: Plot::Curves {
            x: Axis { label: "t".to_owned(), log: false },
            y: Axis { label: "y".to_owned(), log: false },
            series: vec![
                series("predicted", predicted, true),
                series("truth", y, true),
                series("after P-ES", smoothed, false),
            ],
            mark: None,
        },
    }
}
