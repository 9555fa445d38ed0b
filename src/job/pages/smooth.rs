//! The page of `smooth`: the run, the scores, the rows.

use super::rows::ShownRows;
use super::{facts, strings};
use crate::error::Error;
use crate::report::{Page, Section, Table, short};
use crate::score::{Measure, Score};

/// The page of one run: facts about it, scores before and after of each prediction, and the rows of the first.
pub(crate) fn page(
    lead: String,
    lines: &[(&str, String)],
    scores: &[(&str, Score, Score)],
    rows: &ShownRows,
) -> Result<Page, Error> {
    let mut run = Section { heading: "The run".to_owned(), tables: vec![facts("", lines)], ..Section::default() };
    if !scores.is_empty() {
        run.tables.push(score_table(scores));
    }
    let sections = std::iter::once(run).chain(rows.sections()?).collect();
    Ok(Page { title: "Smoothing".to_owned(), lead, sections })
}

fn score_table(scores: &[(&str, Score, Score)]) -> Table {
    let rows =
        scores.iter().flat_map(|(name, before, after)| [cells(name, "before", before), cells(name, "after", after)]);
    let header = strings(["prediction", ""]).into_iter().chain(Measure::ALL.map(|measure| measure.title().to_owned()));
    Table { caption: "Scores on rows whose truth is known".to_owned(), header: header.collect(), rows: rows.collect() }
}

fn cells(name: &str, when: &str, score: &Score) -> Vec<String> {
    let scores = [score.r2, Some(score.rmse), Some(score.mae), score.mape, Some(score.median_error)];
    let scores = scores.map(|score| score.map_or("-".to_owned(), short));
    strings([name, when]).into_iter().chain(scores).collect()
}
