//! The page of `diagnose`: what the figures are and mean, and where the errors are.

use super::facts;
use super::rows::{ShownRows, variogram_section};
use crate::diagnose::Findings;
use crate::report::{Axis, Figure, Page, Plot, Section, short};

pub(crate) fn page(findings: &Findings, sentences: &[String], rows: &ShownRows) -> Page {
    let lines = [
        ("γ, the share of the errors that averaging keeps", short(findings.gamma)),
        ("β, the errors against what averaging does to the truth", short(findings.beta)),
        ("γ + β, below 1 where smoothing can help", short(findings.gamma + findings.beta)),
        ("the best c", short(findings.c_star)),
        ("c used", short(findings.c)),
        ("mean squared error", change(findings.mse_before, findings.mse_after)),
        ("Moran's I of the errors", change(findings.moran_before, findings.moran_after)),
        ("isolated rows", findings.isolated_rows.to_string()),
    ];
    let (lead, rest) = sentences.split_at(sentences.len().min(1));
    let meaning = Section {
        heading: "What it means".to_owned(),
        text: rest.to_vec(),
        tables: vec![facts("", &lines)],
        figures: Vec::new(),
    };
    let mut sections = vec![meaning, variogram_section(&findings.variogram, rows.sigma)];
    sections.extend(rows.truth.as_ref().map(|truth| rows.errors(truth)));
    sections.push(behind(&findings.n_effective));
    Page { title: format!("Diagnosis of {}", rows.prediction), lead: lead.concat(), sections }
}

fn change(before: f64, after: f64) -> String {
    format!("{} → {}", short(before), short(after))
}

/// Bars for each factor of ten.
const BARS_PER_DECADE: f64 = 8.0;

/// The effective number of sources in the averages.
fn behind(n_effective: &[f64]) -> Section {
    let mut counts = Vec::new();
    for &value in n_effective.iter().filter(|value| value.is_finite()) {
        let bar = (value.max(1.0).log10() * BARS_PER_DECADE).floor() as usize;
        counts.resize(counts.len().max(bar + 1), 0);
        counts[bar] += 1;
    }
    let edges = (0..=counts.len()).map(|bar| 10_f64.powf(bar as f64 / BARS_PER_DECADE)).collect();
    let figure = Figure {
        name: "effective-sources".to_owned(),
        title: "Effective sources".to_owned(),
        caption: "Rows by the effective number of sources behind their average, D² / Σ (w K)².".to_owned(),
        plot: Plot::Histogram { x: Axis::log("effective sources"), edges, counts },
    };
    Section {
        heading: "Effective number of sources".to_owned(),
        text: vec!["Rows near 1 have almost no neighbours: smoothing hardly changes them.".to_owned()],
        figures: vec![figure],
        ..Section::default()
    }
}
