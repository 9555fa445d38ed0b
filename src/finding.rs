//! Findings: what the user of a run should know.

use serde::Serialize;

/// One finding: a sentence with its figures and the way out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Its code for scripts, such as `tolerance`.
    pub code: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// What was found, and what to do.
    pub message: String,
}

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Good to know.
    Note,
    /// The result may not be what it seems.
    Warning,
    /// The result is of no use.
    Error,
}

impl Finding {
    /// A warning.
    pub(crate) fn warning(code: &'static str, message: String) -> Self {
        Self { code, severity: Severity::Warning, message }
    }
}
