//! House prices by three models, before and after smoothing, and beside other methods.

use super::homes::HomeColumns;
use super::{Reproduce, Reproduced, finish, interval, p_value, with_range};
use crate::baseline::{self, Method};
use crate::error::Error;
use crate::experiment::housing::{Housing, HousingResult, WayScores};
use crate::experiment::{Homes, Summary, Way};
use crate::job::caller::Caller;
use crate::job::pages::strings;
use crate::report::{Axis, Figure, Page, Plot, Section, Table, number, short};

/// Three models of house prices, before and after smoothing; then all methods on the splits of the first trials.
#[derive(Clone, Debug)]
pub struct HousingStudy {
    /// The homes.
    pub homes: HomeColumns,
    /// Homes in each of the three sets; a third of all if left out.
    pub rows: Option<usize>,
    /// Random draws.
    pub trials: usize,
    /// Draws on which all methods are compared.
    pub compared: usize,
    /// Seed of the random numbers.
    pub seed: u64,
}

impl HousingStudy {
    pub(super) fn perform(&self, request: &Reproduce, caller: &Caller) -> Result<Reproduced, Error> {
        let (inputs, _folder) = self.homes.open(caller)?;
        let report = request.prepare(&inputs, caller)?;
        let homes = self.homes.read(&inputs)?;
        let rows = self.rows.unwrap_or(homes.labels.len() / 3);
        let housing = Housing { rows, trials: self.trials, seed: self.seed };
        let lines = housing.run(&homes, caller.phase("trials").as_ref())?;
        let contests = housing.compare(&homes, self.compared, caller.phase("trials").as_ref())?;
        let methods: Vec<Compared> = (0..Method::ALL.len()).filter_map(|at| Compared::of(&contests, at)).collect();
        let scores: Vec<_> =
            methods.iter().map(|one| serde_json::json!({ "method": one.method.name(), "score": one.score })).collect();
        let results = serde_json::json!({
            "settings": housing, "homes": homes.labels.len(), "models": lines, "methods": scores,
        });
        finish(report, &page(&housing, &homes, &lines, methods), results)
    }
}

/// A method over all compared trials.
struct Compared {
    method: Method,
    score: Summary,
    seconds: f64,
    configurations: usize,
}

impl Compared {
    /// The method that comes at this place in each trial, if there is any.
    fn of(contests: &[Vec<baseline::Outcome>], at: usize) -> Option<Self> {
        let baseline::Outcome { method, configurations, .. } = contests.first()?.get(at)?;
        let outcomes = contests.iter().map(|outcomes| &outcomes[at]);
        let (scores, seconds): (Vec<f64>, Vec<f64>) = outcomes.map(|outcome| (outcome.score, outcome.seconds)).unzip();
        Some(Self {
            method: *method,
            score: Summary::of(&scores),
            seconds: Summary::of(&seconds).mean,
            configurations: *configurations,
        })
    }

    /// R², or less than any where nothing was solved.
    fn merit(&self) -> f64 {
        if self.score.mean.is_nan() { f64::NEG_INFINITY } else { self.score.mean }
    }

    fn cells(&self) -> Vec<String> {
        let seconds = format!("{:.1}", self.seconds);
        vec![self.method.name().to_owned(), with_range(&self.score), seconds, self.configurations.to_string()]
    }
}

fn page(housing: &Housing, homes: &Homes, lines: &[HousingResult], methods: Vec<Compared>) -> Page {
    let data = format!(
        "{} homes, of which each trial draws {} each to train, to choose on and to hold out. Trials: {}. Models see {} columns and never the place.",
        number(homes.labels.len()),
        number(housing.rows),
        housing.trials,
        homes.features.len()
    );
    let test = "R² on holdout homes: the mean over trials with the least and the largest. The p-value is that of the paired t-test, two-sided, of the gain over the trials.";
    let mut sections = vec![Section {
        heading: "Models before and after smoothing".to_owned(),
        text: vec![data, test.to_owned()],
        tables: vec![table(lines)],
        figures: vec![figure(lines)],
    }];
    if !methods.is_empty() {
        sections.push(compared(methods));
    }
    Page { title: "House prices".to_owned(), lead: lead(lines), sections }
}

fn lead(lines: &[HousingResult]) -> String {
    let changes: Vec<String> = lines.iter().map(change).collect();
    format!("Smoothing with training labels takes R² of {}.", changes.join(", of "))
}

fn change(line: &HousingResult) -> String {
    let [before, after] = [Way::Unsmoothed, Way::WithLabels].map(|way| {
        let scores = line.ways.iter().find(|scores| scores.way == way);
        short(scores.map_or(f64::NAN, |scores| scores.score.mean))
    });
    format!("{} from {before} to {after}", line.model.title())
}

fn cells(line: &HousingResult, WayScores { way, score, gain, p_value: p }: &WayScores) -> Vec<String> {
    let gain = if *way == Way::Unsmoothed { "–".to_owned() } else { with_range(gain) };
    vec![line.model.title().to_owned(), way.title().to_owned(), with_range(score), gain, p_value(*p)]
}

fn table(lines: &[HousingResult]) -> Table {
    let rows = lines.iter().flat_map(|line| line.ways.iter().map(move |scores| cells(line, scores)));
    let header = strings(["model", "", "R²", "gain", "p"]);
    Table { caption: "Models".to_owned(), header, rows: rows.collect() }
}

fn figure(lines: &[HousingResult]) -> Figure {
    let series = Way::ALL.iter().enumerate().map(|(at, way)| {
        (way.title().to_owned(), lines.iter().map(|line| Some(interval(&line.ways[at].score))).collect())
    });
    Figure {
        name: "models".to_owned(),
        title: "R² of each model".to_owned(),
        caption: "Dots are means over trials, lines run from the worst to the best trial.".to_owned(),
        plot: Plot::Ranges {
            x: Axis::linear("R² on holdout homes"),
            rows: lines.iter().map(|line| line.model.title().to_owned()).collect(),
            series: series.collect(),
        },
    }
}

fn compared(mut methods: Vec<Compared>) -> Section {
    methods.sort_by(|a, b| b.merit().total_cmp(&a.merit()));
    let names = methods.iter().map(|one| one.method.name().to_owned()).collect();
    let plot = Plot::Ranges {
        x: Axis::linear("R² on holdout homes"),
        rows: names,
        series: vec![(String::new(), methods.iter().map(|one| Some(interval(&one.score))).collect())],
    };
    Section {
        heading: "Every method on the same homes".to_owned(),
        text: strings([
            "With the predictions of boosted trees where a method uses predictions, and the same columns for LapRLS. Seconds are \
                        those of tuning and scoring in one trial, without training; for hem+p-es those on top of hem.",
        ]),
        tables: vec![Table {
            caption: "Methods".to_owned(),
            header: strings(["method", "R²", "seconds", "configurations"]),
            rows: methods.iter().map(Compared::cells).collect(),
        }],
        figures: vec![Figure {
            name: "methods".to_owned(),
            title: "R² of each method".to_owned(),
            caption: "Dots are means over trials, lines run from the worst to the best trial.".to_owned(),
            plot,
        }],
    }
}
