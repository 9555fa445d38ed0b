//! Pages of results. They are also written to `target/tmp`; `tests/interop/test_report.py` opens them in a browser.

use std::fs;
use std::path::Path;

use geosmooth::report::{Axis, Figure, Interval, Mark, Page, Plot, Scale, Section, Series, Table};
use proptest::collection::vec;
use proptest::num::f64::ANY;
use proptest::prelude::*;

fn axis(label: &str, log: bool) -> Axis {
    Axis { label: label.to_owned(), log }
}

fn figure(name: &str, plot: Plot) -> Figure {
    let words = |what: &str| format!("{what} of {name}");
    Figure { name: name.to_owned(), title: words("Title"), caption: words("The caption"), plot }
}

fn page(sections: Vec<Section>) -> Page {
    Page { title: "A sample page".to_owned(), lead: "Every kind of figure once.".to_owned(), sections }
}

fn write(page: &Page, folder: &str) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
    // Earlier runs may have written other figures.
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let files = page.render();
    for (name, text) in &files {
        fs::write(folder.join(name), text).unwrap();
    }
    files
}

/// A house with its place, true price, and predictions before and after smoothing.
struct House {
    place: (f64, f64),
    truth: f64,
    before: f64,
    after: f64,
}

/// Houses around a centre, denser in the middle: a quasi-random sequence by multiples of irrational numbers.
fn town(houses: u32, centre: (f64, f64)) -> Vec<House> {
    (1..=houses).map(|at| house(at, centre)).collect()
}

fn house(at: u32, centre: (f64, f64)) -> House {
    let [turn, distance, first, second] =
        [0.618_034, 0.754_878, 0.569_840, 0.324_718].map(|step: f64| (f64::from(at) * step).fract());
    let (angle, radius) = (std::f64::consts::TAU * turn, 0.2 * distance.powi(2));
    let place = (centre.0 + radius * angle.sin(), centre.1 + 1.6 * radius * angle.cos());
    let truth = 12.0 - 6.0 * radius + 0.4 * (3.0 * angle).sin();
    let noise = first + second - 1.0;
    House { place, truth, before: truth + 0.5 * noise + 0.3 * (2.0 * angle).cos(), after: truth + 0.3 * noise }
}

fn error_map(houses: &[House]) -> Plot {
    let errors = |value: fn(&House) -> f64| houses.iter().map(|house| value(house) - house.truth).collect();
    Plot::Maps {
        places: houses.iter().map(|house| house.place).collect(),
        geographic: true,
        panels: vec![
            ("Before".to_owned(), errors(|house| house.before)),
            ("After".to_owned(), errors(|house| house.after)),
        ],
        scale: Scale::Diverging { limit: 0.6 },
        unit: "predicted minus true log price".to_owned(),
    }
}

fn price_map(houses: &[House]) -> Plot {
    let prices = |value: fn(&House) -> f64| houses.iter().map(value).collect();
    Plot::Maps {
        places: houses.iter().map(|house| (house.place.0 * 1e5, house.place.1 * 1e5)).collect(),
        geographic: false,
        panels: vec![
            ("True".to_owned(), prices(|house| house.truth)),
            ("Predicted".to_owned(), prices(|house| house.before)),
            ("Smoothed".to_owned(), prices(|house| house.after)),
        ],
        scale: Scale::Sequential { low: 10.5, high: 12.5 },
        unit: "log price".to_owned(),
    }
}

fn scatter(houses: &[House]) -> Plot {
    let pairs = |value: fn(&House) -> f64| houses.iter().map(|house| (house.truth, value(house))).collect();
    let panels =
        vec![("Before".to_owned(), pairs(|house| house.before)), ("After".to_owned(), pairs(|house| house.after))];
    Plot::Scatter { x: axis("true log price", false), y: axis("predicted log price", false), panels }
}

fn score(sigma: f64, c: f64) -> f64 {
    0.81 + 0.16 * c * (1.1 - c) * (-(sigma / 110.0).ln().powi(2)).exp()
}

const SIGMAS: [f64; 8] = [20.0, 35.0, 60.0, 100.0, 180.0, 300.0, 500.0, 900.0];

fn score_curves() -> Plot {
    let curve = |c: f64| {
        let points = SIGMAS.iter().map(|&sigma| (sigma, score(sigma, c))).collect();
        Series { name: format!("c = {c}"), points, dots_only: false }
    };
    Plot::Curves {
        x: axis("σ in m", true),
        y: axis("R²", false),
        series: [0.2, 0.5, 0.8].map(curve).to_vec(),
        mark: Some(Mark { x: 100.0, y: score(100.0, 0.5), text: "σ = 100 m, c = 0.5".to_owned() }),
    }
}

fn bars() -> Plot {
    let bars = [("p-es", 0.53), ("hem", 0.54), ("kernel", -0.1), ("gpr", f64::NAN)];
    Plot::Bars { x: axis("R²", false), bars: bars.map(|(name, value)| (name.to_owned(), value)).to_vec() }
}

fn ranges() -> Plot {
    let interval = |middle: f64| Some(Interval { low: middle - 0.01, middle, high: middle + 0.02 });
    Plot::Ranges {
        x: axis("R²", false),
        rows: ["ridge", "trees"].map(str::to_owned).to_vec(),
        series: vec![
            ("before".to_owned(), vec![interval(0.72), interval(0.81)]),
            ("after".to_owned(), vec![interval(0.8), None]),
        ],
    }
}

fn score_grid() -> Plot {
    let columns: Vec<f64> = (0..=10).map(|tenth| f64::from(tenth) / 10.0).collect();
    let mut values: Vec<Vec<f64>> =
        SIGMAS.iter().map(|&sigma| columns.iter().map(|&c| score(sigma, c)).collect()).collect();
    values[7][10] = f64::NAN;
    Plot::HeatMap {
        x: axis("c", false),
        y: axis("σ in m", true),
        columns,
        rows: SIGMAS.to_vec(),
        values,
        chosen: Some((3, 5)),
        unit: "R² on the validation rows".to_owned(),
    }
}

fn histogram(houses: &[House]) -> Plot {
    let edges: Vec<f64> = (0..=24).map(|at| -0.6 + 0.05 * f64::from(at)).collect();
    let inside =
        |ends: &[f64]| houses.iter().filter(|house| (ends[0]..ends[1]).contains(&(house.after - house.truth))).count();
    let counts = edges.windows(2).map(inside).collect();
    Plot::Histogram { x: axis("predicted minus true log price", false), edges, counts }
}

#[test]
fn a_page_of_eight_thousand_rows_is_small() {
    let houses = town(8000, (41.65, -83.54));
    let rows = [["xgb", "0.8136", "0.8552"], ["ridge", "0.7423", "0.8317"]].map(|row| row.map(str::to_owned).to_vec());
    let header = ["prediction", "R² before", "R² after"].map(str::to_owned).to_vec();
    let maps = Section {
        heading: "Where it was wrong".to_owned(),
        text: vec!["Two towns, one of them on the date line.".to_owned()],
        tables: vec![Table { caption: "Scores".to_owned(), header, rows: rows.to_vec() }],
        figures: vec![
            figure("errors", error_map(&houses)),
            figure("prices", price_map(&houses)),
            figure("date line", error_map(&town(8000, (-17.0, 180.0)))),
        ],
    };
    let rest = Section {
        heading: "How well, and why".to_owned(),
        figures: vec![
            figure("scatter", scatter(&houses)),
            figure("histogram", histogram(&houses)),
            figure("curves", score_curves()),
            figure("grid", score_grid()),
        ],
        ..Section::default()
    };
    let files = write(&page(vec![maps, rest]), "report");
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    let figures =
        ["errors.svg", "prices.svg", "date-line.svg", "scatter.svg", "histogram.svg", "curves.svg", "grid.svg"];
    assert_eq!(names, [&["index.html"], &figures[..]].concat());
    assert!(files[0].1.len() < 1_500_000, "{}", files[0].1.len());
    assert!(files[1..].iter().all(|(_, svg)| svg.len() < 300_000));
}

/// Text that would run a script if it were not escaped.
const HOSTILE: &str = "</script></style></title><b>\"'&<script>window.taken = true</script>\u{0}\u{1b}[31m";

/// Every text of a figure.
fn words(figure: &mut Figure) -> Vec<&mut String> {
    let mut words = vec![&mut figure.name, &mut figure.title, &mut figure.caption];
    match &mut figure.plot {
        Plot::Curves { x, y, series, mark } => {
            words.extend([&mut x.label, &mut y.label]);
            words.extend(series.iter_mut().map(|one| &mut one.name));
            words.extend(mark.iter_mut().map(|mark| &mut mark.text));
        }
        Plot::Maps { panels, unit, .. } => words.extend(panels.iter_mut().map(|panel| &mut panel.0).chain([unit])),
        Plot::HeatMap { x, y, unit, .. } => words.extend([&mut x.label, &mut y.label, unit]),
        Plot::Scatter { x, y, panels } => {
            words.extend(panels.iter_mut().map(|panel| &mut panel.0).chain([&mut x.label, &mut y.label]));
        }
        Plot::Bars { x, bars } => words.extend(bars.iter_mut().map(|bar| &mut bar.0).chain([&mut x.label])),
        Plot::Histogram { x, .. } => words.push(&mut x.label),
        Plot::Ranges { x, rows, series } => {
            words.extend(series.iter_mut().map(|one| &mut one.0).chain(rows).chain([&mut x.label]));
        }
    }
    words
}

#[test]
fn bars_have_their_names_and_values() {
    let svg = figure("bars", bars()).svg();
    for text in ["p-es: 0.53", "hem: 0.54", "kernel: −0.1", "gpr: –"] {
        assert!(svg.contains(&format!("<title>{text}</title>")), "{text} in {svg}");
    }
    let none = Plot::Bars { x: axis("seconds", true), bars: vec![("gpr".to_owned(), 0.0)] };
    assert!(figure("none", none).svg().contains("nothing to show"));
}

#[test]
fn ranges_have_tooltips_with_their_ends() {
    let svg = figure("ranges", ranges()).svg();
    for text in ["ridge, before\n0.72, from 0.71 to 0.74", "ridge, after\n0.8, from 0.79 to 0.82"] {
        assert!(svg.contains(&format!("<title>{text}</title>")), "{text} in {svg}");
    }
    assert!(svg.contains(">trees<") && !svg.contains("trees, after"));
}

#[test]
fn hostile_text_is_escaped() {
    let hostile = || HOSTILE.to_owned();
    let houses = town(300, (0.0, 0.0));
    let plots =
        [error_map(&houses), scatter(&houses), histogram(&houses), score_curves(), score_grid(), bars(), ranges()];
    let mut figures = plots.map(|plot| figure("", plot)).to_vec();
    figures.iter_mut().flat_map(words).for_each(|word| *word = hostile());
    let table = Table { caption: hostile(), header: vec![hostile()], rows: vec![vec![hostile(); 3], vec![]] };
    let section = Section { heading: hostile(), text: vec![hostile()], tables: vec![table], figures };
    let page = Page { title: hostile(), lead: hostile(), sections: vec![section] };
    for (name, text) in write(&page, "report-hostile") {
        assert!(!text.contains("<b>") && !text.contains("<script>window"), "{name}");
        assert!(!text.contains(['\u{0}', '\u{1b}']), "{name}");
        assert!(name.chars().all(|letter| letter.is_alphanumeric() || "-_.".contains(letter)), "{name}");
    }
}

/// All kinds of plots of the same numbers.
fn plots_of(values: &[f64], log: bool) -> Vec<Plot> {
    let pairs: Vec<(f64, f64)> = values.iter().zip(values.iter().rev()).map(|(&x, &y)| (x, y)).collect();
    let first = values.first().copied().unwrap_or(f64::NAN);
    let ends = || (axis("x", log), axis("y", log));
    let maps = |scale| Plot::Maps {
        places: pairs.clone(),
        geographic: log,
        panels: vec![("a".to_owned(), values.to_vec()), ("b".to_owned(), vec![])],
        scale,
        unit: String::new(),
    };
    let (x, y) = ends();
    let series = vec![Series { name: "a".to_owned(), points: pairs.clone(), dots_only: false }];
    let mark = Some(Mark { x: first, y: first, text: "here".to_owned() });
    let curves = Plot::Curves { x, y, series, mark };
    let (x, y) = ends();
    let heat_map = Plot::HeatMap {
        x,
        y,
        columns: values.to_vec(),
        rows: values.to_vec(),
        values: vec![values.to_vec(), vec![]],
        chosen: Some((3, 5)),
        unit: String::new(),
    };
    let (x, y) = ends();
    let scatter = Plot::Scatter { x, y, panels: vec![("a".to_owned(), pairs.clone()), ("b".to_owned(), vec![])] };
    let counts = values.iter().map(|&value| value as usize).collect();
    let histogram = Plot::Histogram { x: axis("x", log), edges: values.to_vec(), counts };
    let interval = |(low, &middle): (&f64, &f64)| Some(Interval { low: *low, middle, high: first });
    let intervals = values.iter().zip(values.iter().rev()).map(interval).collect();
    let rows = values.iter().map(f64::to_string).collect();
    let ranges = Plot::Ranges { x: axis("x", log), rows, series: vec![("a".to_owned(), intervals)] };
    let scales = [Scale::Diverging { limit: first }, Scale::Sequential { low: first, high: -first }];
    [scales.map(maps).to_vec(), vec![curves, heat_map, scatter, histogram, ranges]].concat()
}

fn assert_well_drawn(values: &[f64], log: bool) {
    let figures = plots_of(values, log).into_iter().map(|plot| figure("plot", plot)).collect();
    for (name, text) in page(vec![Section { figures, ..Section::default() }]).render() {
        for attribute in ["x", "y", "x1", "y1", "x2", "y2", "cx", "cy", "width", "height", "d", "viewBox"] {
            for lengths in text.split(&format!(" {attribute}=\"")).skip(1).filter_map(|rest| rest.split('"').next()) {
                assert!(are_lengths(lengths), "{name} has {attribute}=\"{lengths}\" for {values:?}");
            }
        }
    }
}

/// Whether these are numbers of a plausible size in pixels, perhaps with the commands of a path.
fn are_lengths(text: &str) -> bool {
    let mut numbers = text.split(|letter: char| "MLHhvz ".contains(letter)).filter(|number| !number.is_empty());
    numbers.all(|number| number.parse::<f64>().is_ok_and(|length| length.abs() < 5000.0))
}

#[test]
fn numbers_of_any_kind_can_be_drawn() {
    let (nan, infinite) = (f64::NAN, f64::INFINITY);
    for values in [&[][..], &[nan], &[infinite, -infinite], &[0.0], &[5.0; 7], &[f64::MAX, f64::MIN], &[1e-320, 2e-320]]
    {
        for log in [false, true] {
            assert_well_drawn(values, log);
        }
    }
}

/// The text in the page's script for an empty panel, which is in every page.
const SCRIPTED: &str = "write(\"nothing to show\"";

#[test]
fn an_empty_plot_says_nothing_to_show() {
    let no_panels = Plot::Scatter { x: axis("x", false), y: axis("y", false), panels: vec![] };
    let mut no_maps = error_map(&town(9, (0.0, 0.0)));
    if let Plot::Maps { panels, .. } = &mut no_maps {
        panels.clear();
    }
    for plot in plots_of(&[f64::NAN, f64::INFINITY], false).into_iter().chain([no_panels, no_maps]) {
        let section = Section { figures: vec![figure("plot", plot)], ..Section::default() };
        for (name, text) in page(vec![section]).render() {
            assert!(text.replace(SCRIPTED, "").contains("nothing to show"), "{name}");
        }
    }
}

#[test]
fn long_names_are_cut() {
    let long = "a_very_long_column_name_".repeat(20);
    let mut plot = score_curves();
    if let Plot::Curves { x, series, .. } = &mut plot {
        x.label.clone_from(&long);
        series[0].name.clone_from(&long);
    }
    let svg = figure("curves", plot).svg();
    let drawn = svg.split("<text").skip(1).filter_map(|text| text.split_once('>')?.1.split('<').next());
    assert!(drawn.max_by_key(|text| text.len()).unwrap().len() < 80);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_numbers_can_be_drawn(values in vec(ANY, 0..12), log in any::<bool>()) {
        assert_well_drawn(&values, log);
    }

    #[test]
    fn common_numbers_can_be_drawn(values in vec(-200.0..200.0, 0..40), log in any::<bool>()) {
        assert_well_drawn(&values, log);
    }
}
