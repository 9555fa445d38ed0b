//! Every method against its dense definition, on every engine; and settings whose equations cannot be solved.

use faer::Mat;
use faer::linalg::solvers::Solve;
use geosmooth::baseline::{Contest, Grids, Method, Outcome, Rows};
use geosmooth::engine::EngineKind;
use geosmooth::{EngineOptions, Measure, Places, Sigma};

use crate::problem::Random;

const SIGMA: f64 = 0.3;

/// Rows in a town: two of them coincide, one is far from all others.
struct Town {
    at: Vec<[f64; 2]>,
    places: Places,
    labels: Vec<f64>,
    prediction: Vec<f64>,
    features: Vec<Vec<f64>>,
}

impl Town {
    fn new(count: usize, seed: u64) -> Self {
        let mut random = Random(seed);
        let mut at: Vec<[f64; 2]> =
            (0..count).map(|_| [40.0 + 2.0 * random.unit(), -80.0 + 2.0 * random.unit()]).collect();
        at[1] = at[0];
        at[2] = [47.0, -70.0];
        let field = |[lat, lon]: &[f64; 2]| 50.0 + 3.0 * lat.sin() + 2.0 * (2.0 * lon).cos();
        let labels: Vec<f64> = at.iter().map(|place| field(place) + 0.3 * random.normal()).collect();
        let prediction = labels.iter().map(|label| label + random.normal()).collect();
        let features = (0..3).map(|_| labels.iter().map(|label| 0.5 * label + random.normal()).collect()).collect();
        let (latitude, longitude) = at.iter().map(|[latitude, longitude]| (*latitude, *longitude)).unzip();
        Self { places: Places::lat_lon(latitude, longitude).unwrap(), at, labels, prediction, features }
    }

    fn rows(&self, with_predictions: bool) -> Rows<'_> {
        let predictions = if with_predictions { vec![self.prediction.as_slice()] } else { vec![] };
        let features = self.features.iter().map(Vec::as_slice).collect();
        Rows { places: &self.places, labels: &self.labels, predictions, features }
    }
}

/// One setting for each method.
fn grids(sigma: f64) -> Grids {
    Grids {
        c: vec![0.7],
        delta: vec![0.3],
        eta: vec![0.05],
        alpha: vec![0.95],
        ridge: vec![2.0],
        laplacian: vec![0.5],
        constant: vec![4.0],
        noise: vec![0.02],
        ..Grids::paper().unwrap()
    }
    .with_sigmas(&[Sigma::degrees(sigma).unwrap()])
}

fn run(method: Method, train: &Town, test: &Town, grids: Grids, options: EngineOptions) -> Outcome {
    let validation = Town::new(30, 99);
    let contest = Contest {
        train: train.rows(false),
        validation: validation.rows(true),
        test: test.rows(true),
        measure: Measure::Rmse,
        grids,
        options,
    };
    contest.run(&[method], &()).unwrap().remove(0)
}

fn kernel(from: &[[f64; 2]], to: &[[f64; 2]], sigma: f64) -> Mat<f64> {
    let squared = |a: [f64; 2], b: [f64; 2]| (a[0] - b[0]).powi(2) + (a[1] - b[1]).powi(2);
    Mat::from_fn(from.len(), to.len(), |i, j| (-squared(from[i], to[j]) / (2.0 * sigma * sigma)).exp())
}

fn column(values: &[f64]) -> Mat<f64> {
    Mat::from_fn(values.len(), 1, |row, _| values[row])
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn row_sum(matrix: &Mat<f64>, row: usize) -> f64 {
    (0..matrix.ncols()).map(|k| matrix[(row, k)]).sum()
}

/// The definition of each method, with the values of [`grids`].
fn dense(method: Method, train: &Town, test: &Town) -> Vec<f64> {
    let (labels, predictions) = (&train.labels, &test.prediction);
    let (across, among) = (kernel(&test.at, &train.at, SIGMA), kernel(&test.at, &test.at, SIGMA));
    let mass = |row: usize| row_sum(&across, row) + row_sum(&among, row);
    let rows = 0..test.labels.len();
    let pes = |values: &[f64]| -> Vec<f64> {
        let sums = &among * column(values) + &across * column(labels);
        rows.clone().map(|row| 0.7 * sums[(row, 0)] / mass(row) + 0.3 * values[row]).collect()
    };
    let hem = || {
        let matrix =
            Mat::from_fn(rows.len(), rows.len(), |i, j| f64::from(u8::from(i == j)) - 0.95 * among[(i, j)] / mass(i));
        let known = &across * column(labels);
        let right = Mat::from_fn(rows.len(), 1, |i, _| 0.95 * known[(i, 0)] / mass(i) + 0.05 * predictions[i]);
        matrix.partial_piv_lu().solve(&right).col(0).iter().copied().collect::<Vec<f64>>()
    };
    match method {
        Method::Unsmoothed => predictions.clone(),
        Method::Shrinkage => predictions.iter().map(|value| 0.3 * mean(predictions) + 0.7 * value).collect(),
        Method::KernelRegression => {
            let sums = &across * column(labels);
            rows.map(|row| sums[(row, 0)] / row_sum(&across, row)).collect()
        }
        Method::Pes => pes(predictions),
        Method::Hem => hem(),
        Method::HemPes => pes(&hem()),
        Method::Lgc => dense_lgc(train, test),
        Method::LapRls => dense_laprls(train, test),
        Method::Gpr => dense_gpr(train, test, SIGMA, 0.02 / 4.0),
    }
}

fn dense_lgc(train: &Town, test: &Town) -> Vec<f64> {
    let all = [train.at.as_slice(), &test.at].concat();
    let kernel = kernel(&all, &all, SIGMA);
    let mass = |row: usize| row_sum(&kernel, row) - 1.0;
    let centre = mean(&train.labels);
    let start: Vec<f64> = train.labels.iter().chain(&test.prediction).map(|value| value - centre).collect();
    let matrix = Mat::from_fn(all.len(), all.len(), |i, j| {
        let tied = i != j && mass(i) >= 1e-4 && mass(j) >= 1e-4;
        f64::from(u8::from(i == j)) - if tied { 0.95 * kernel[(i, j)] / (mass(i) * mass(j)).sqrt() } else { 0.0 }
    });
    let solution = matrix.partial_piv_lu().solve(&column(&start));
    (train.at.len()..all.len()).map(|row| centre + 0.05 * solution[(row, 0)]).collect()
}

fn dense_laprls(train: &Town, test: &Town) -> Vec<f64> {
    let standardised = |k: usize, town: &Town| -> Vec<f64> {
        let (known, centre) = (&train.features[k], mean(&train.features[k]));
        let deviation = mean(&known.iter().map(|value| (value - centre).powi(2)).collect::<Vec<_>>()).sqrt();
        town.features[k].iter().map(|value| (value - centre) / deviation).collect()
    };
    let features = |town: &Town| {
        let columns: Vec<Vec<f64>> = (0..3).map(|k| standardised(k, town)).collect();
        Mat::from_fn(town.at.len(), 3, |row, k| columns[k][row])
    };
    let (known, other) = (features(train), features(test));
    let all_at = [train.at.as_slice(), &test.at].concat();
    let all = Mat::from_fn(all_at.len(), 3, |row, k| {
        if row < train.at.len() { known[(row, k)] } else { other[(row - train.at.len(), k)] }
    });
    let kernel = kernel(&all_at, &all_at, SIGMA);
    let laplacian = Mat::from_fn(all_at.len(), all_at.len(), |i, j| {
        if i == j { row_sum(&kernel, i) - kernel[(i, i)] } else { -kernel[(i, j)] }
    });
    let rough = all.transpose() * laplacian * &all;
    let gram = known.transpose() * &known;
    let matrix = Mat::from_fn(3, 3, |i, j| gram[(i, j)] + 2.0 * f64::from(u8::from(i == j)) + 0.5 * rough[(i, j)]);
    let centre = mean(&train.labels);
    let centred: Vec<f64> = train.labels.iter().map(|label| label - centre).collect();
    let weights = matrix.partial_piv_lu().solve(&(known.transpose() * column(&centred)));
    let fitted = other * weights;
    (0..test.at.len()).map(|row| centre + fitted[(row, 0)]).collect()
}

fn dense_gpr(train: &Town, test: &Town, sigma: f64, ratio: f64) -> Vec<f64> {
    let mut matrix = kernel(&train.at, &train.at, sigma);
    (0..train.at.len()).for_each(|row| matrix[(row, row)] += ratio);
    let centre = mean(&train.labels);
    let centred: Vec<f64> = train.labels.iter().map(|label| label - centre).collect();
    let weights = matrix.partial_piv_lu().solve(&column(&centred));
    let field = kernel(&test.at, &train.at, sigma) * weights;
    (0..test.at.len()).map(|row| centre + field[(row, 0)]).collect()
}

fn assert_close(found: &[f64], expected: &[f64], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let size = expected.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
    for (row, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!((found - expected).abs() <= 1e-8 * size, "{what}, row {row}: {found} instead of {expected}");
    }
}

#[test]
fn methods_equal_their_dense_definitions() {
    let (train, test) = (Town::new(120, 1), Town::new(90, 2));
    for engine in [EngineKind::Exact, EngineKind::Sparse, EngineKind::Fast] {
        let options = EngineOptions::default().engine(engine).tolerance(1e-11).unwrap();
        for method in Method::ALL {
            let outcome = run(method, &train, &test, grids(SIGMA), options);
            assert_eq!((outcome.unconverged, outcome.configurations), (0, 1), "{method} on {engine}");
            assert_close(&outcome.values, &dense(method, &train, &test), &format!("{method} on {engine}"));
        }
    }
}

#[test]
fn conjugate_gradients_equal_a_dense_solve() {
    let (train, test) = (Town::new(2_300, 3), Town::new(50, 4));
    for (sigma, noise) in [(0.02, 0.04), (0.3, 0.4), (20.0, 4e-4)] {
        let options = EngineOptions::default().tolerance(1e-10).unwrap();
        let outcome = run(Method::Gpr, &train, &test, Grids { noise: vec![noise], ..grids(sigma) }, options);
        assert_close(&outcome.values, &dense_gpr(&train, &test, sigma, noise / 4.0), &format!("sigma {sigma}"));
    }
}

#[test]
fn settings_have_the_same_result_alone_and_together() {
    let (train, test) = (Town::new(120, 1), Town::new(90, 2));
    let options = EngineOptions::default().tolerance(1e-11).unwrap();
    for method in [Method::Hem, Method::Lgc, Method::Gpr, Method::LapRls, Method::Pes] {
        let many = Grids {
            c: vec![0.0, 0.7],
            eta: vec![1.0, 0.05, 0.5],
            alpha: vec![0.0, 0.95],
            ridge: vec![2.0, 300.0],
            laplacian: vec![0.0, 0.5],
            constant: vec![4.0, 40.0],
            noise: vec![0.02, 0.2],
            ..grids(SIGMA)
        };
        let all = run(method, &train, &test, many, options);
        let chosen = all.chosen.unwrap();
        let pick = |name: &str, usual: f64| {
            vec![chosen.knobs.iter().find(|(known, _)| *known == name).map_or(usual, |(_, value)| *value)]
        };
        let one = Grids {
            c: pick("c", 0.7),
            eta: pick("eta", 0.05),
            alpha: pick("alpha", 0.95),
            ridge: pick("ridge", 2.0),
            laplacian: pick("laplacian", 0.5),
            constant: pick("constant", 4.0),
            noise: pick("noise", 0.02),
            ..grids(SIGMA)
        };
        let alone = run(method, &train, &test, one, options);
        assert_eq!(all.values, alone.values, "{method}");
        assert!((all.validation_score - alone.validation_score).abs() < 1e-4, "{method}");
    }
}

#[test]
fn unsolved_settings_are_not_chosen() {
    let (train, test) = (Town::new(120, 1), Town::new(90, 2));
    let tight = EngineOptions::default().tolerance(1e-12).unwrap();
    let hopeless = Grids { eta: vec![1e-13], ..grids(SIGMA) };
    let outcome = run(Method::Hem, &train, &test, hopeless, tight);
    assert_eq!((outcome.unconverged, outcome.chosen.is_none(), outcome.values.len()), (1, true, 0));
    assert!(outcome.score.is_nan());
    let both = Grids { eta: vec![1e-13, 0.5], ..grids(SIGMA) };
    let outcome = run(Method::Hem, &train, &test, both, tight);
    assert_eq!((outcome.unconverged, outcome.configurations), (1, 2));
    assert_eq!(outcome.chosen.unwrap().knobs, [("eta", 0.5)]);
}

#[test]
fn labels_of_scored_rows_do_not_change_predictions() {
    let (train, mut test) = (Town::new(120, 1), Town::new(90, 2));
    for method in Method::ALL {
        let before = run(method, &train, &test, grids(SIGMA), EngineOptions::default()).values;
        test.labels.reverse();
        assert_eq!(before, run(method, &train, &test, grids(SIGMA), EngineOptions::default()).values, "{method}");
    }
}
