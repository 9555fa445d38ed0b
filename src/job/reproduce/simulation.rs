//! A hidden process seen through noise: how close smoothing comes to the best that is possible.

use super::{Reproduce, Reproduced, finish, with_range};
use crate::error::Error;
use crate::experiment::simulation::{Checked, Estimator, Example, Simulation, SimulationResult};
use crate::job::caller::Caller;
use crate::job::pages::strings;
use crate::report::{Axis, Figure, Page, Plot, Section, Series, Table, short};

pub(super) fn perform(request: &Reproduce, simulation: &Simulation, caller: &Caller) -> Result<Reproduced, Error> {
    let report = request.prepare(&[], caller)?;
    let (lines, example) = (simulation.run(caller.phase("trials").as_ref())?, simulation.example()?);
    let results = serde_json::json!({ "settings": simulation, "lines": lines });
    finish(report, &page(simulation, &lines, &example), results)
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

fn lead(simulation: &Simulation, lines: &[SimulationResult]) -> String {
    let most = simulation.noise_x.iter().copied().fold(0.0, f64::max);
    let noisiest: Vec<&SimulationResult> = lines.iter().filter(|line| line.noise_x == most).collect();
    format!(
        "At the largest noise of x, σ_x = {most}, smoothing leaves {:.1} % of what the error of total least squares has above the bound, \
         and {:.1} % for ordinary least squares.",
        excess_left(&noisiest, Estimator::TotalLeastSquares),
        excess_left(&noisiest, Estimator::LeastSquares)
    )
}

/// What smoothing leaves of the error above the bound, in percent.
fn excess_left(lines: &[&SimulationResult], estimator: Estimator) -> f64 {
    let excess: Vec<[f64; 2]> = lines
        .iter()
        .filter(|line| line.estimator == estimator)
        .map(|line| [line.smoothed.mean - line.bound, line.unsmoothed.measured.mean - line.bound])
        .collect();
    let [after, before] = [0, 1].map(|when| excess.iter().map(|pair| pair[when]).sum::<f64>());
    100.0 * after / before
}

/// The cells that say which line it is.
fn keys(line: &SimulationResult) -> Vec<String> {
    vec![line.noise_x.to_string(), line.noise_y.to_string(), line.estimator.title().to_owned()]
}

fn table(lines: &[SimulationResult]) -> Table {
    let header = ["σ_x", "σ_y", "estimator", "unsmoothed", "P-ES", "S*", "bound σ_y²", "σ", "c"];
    Table {
        caption: "Mean squared errors".to_owned(),
        header: strings(header),
        rows: lines.iter().map(measured_cells).collect(),
    }
}

fn measured_cells(line: &SimulationResult) -> Vec<String> {
    let errors = [&line.unsmoothed.measured, &line.smoothed, &line.optimal.measured].map(with_range);
    let rest = [line.bound, line.sigma.mean, line.c.mean].map(short);
    keys(line).into_iter().chain(errors).chain(rest).collect()
}

fn theory(lines: &[SimulationResult]) -> Table {
    let header =
        ["σ_x", "σ_y", "estimator", "unsmoothed", "expected", "off", "limit", "S*", "expected", "off", "limit"];
    Table {
        caption: "Measured and expected".to_owned(),
        header: strings(header),
        rows: lines.iter().map(theory_cells).collect(),
    }
}

fn theory_cells(line: &SimulationResult) -> Vec<String> {
    keys(line).into_iter().chain(beside_theory(&line.unsmoothed)).chain(beside_theory(&line.optimal)).collect()
}

fn beside_theory(Checked { measured, expected, deviation, limit }: &Checked) -> [String; 4] {
    let off = format!("{:.1}", deviation.mean / deviation.standard_error);
    [short(measured.mean), short(*expected), off, short(*limit)]
}

/// Errors against the noise of x, at one noise of y.
fn by_noise(lines: &[SimulationResult], noise: f64) -> Figure {
    let lines: Vec<&SimulationResult> = lines.iter().filter(|line| line.noise_y == noise).collect();
    let (tls, ols) = (Estimator::TotalLeastSquares, Estimator::LeastSquares);
    let series = vec![
        curve("TLS", &lines, tls, |line| line.unsmoothed.measured.mean),
        curve("OLS", &lines, ols, |line| line.unsmoothed.measured.mean),
        curve("TLS with P-ES", &lines, tls, |line| line.smoothed.mean),
        curve("OLS with P-ES", &lines, ols, |line| line.smoothed.mean),
        curve("S*", &lines, tls, |line| line.optimal.measured.mean),
        curve("bound", &lines, tls, |line| line.bound),
    ];
    Figure {
        name: format!("errors-noise-{noise}"),
        title: format!("Errors at σ_y = {noise}"),
        caption: "Means over trials.".to_owned(),
        plot: Plot::Curves { x: Axis::linear("σ_x"), y: Axis::log("mean squared error"), series, mark: None },
    }
}

fn curve(
    name: &str,
    lines: &[&SimulationResult],
    estimator: Estimator,
    value: impl Fn(&SimulationResult) -> f64,
) -> Series {
    let lines = lines.iter().filter(|line| line.estimator == estimator);
    Series { name: name.to_owned(), points: lines.map(|line| (line.noise_x, value(line))).collect(), dots_only: false }
}

/// More dots than this hide each other.
const MOST_DOTS: usize = 250;

fn one_draw(Example { t, y, predicted, smoothed }: &Example) -> Figure {
    let stride = t.len().div_ceil(MOST_DOTS).max(1);
    Figure {
        name: "one-draw".to_owned(),
        title: "Predictions before and after".to_owned(),
        caption: "Total least squares at the largest noise of x and the least of y; some of the rows.".to_owned(),
        plot: Plot::Curves {
            x: Axis::linear("t"),
            y: Axis::linear("y"),
            series: vec![
                Series { name: "predicted".to_owned(), points: points(t, predicted, stride), dots_only: true },
                Series { name: "truth".to_owned(), points: points(t, y, stride), dots_only: true },
                Series { name: "after P-ES".to_owned(), points: points(t, smoothed, 1), dots_only: false },
            ],
            mark: None,
        },
    }
}

/// Every so many of the points.
fn points(t: &[f64], values: &[f64], stride: usize) -> Vec<(f64, f64)> {
    t.iter().copied().zip(values.iter().copied()).step_by(stride).collect()
}
