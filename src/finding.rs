//! What a run noticed that its user should know.

use serde::Serialize;

/// One thing that was noticed, in a sentence with its figures and the way out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// A word that scripts know it by, such as `tolerance`.
    pub code: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// What was noticed, and what to do.
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
