//! How options are spelled. A message names an option between backticks, such as `` `label-weight 0` ``; each face of the program
//! shows it in its own way.

/// The reader of a message: it decides how options are spelled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Face {
    /// A caller of the library: `label_weight = 0`.
    #[default]
    Library,
    /// A user of the command line: `--label-weight 0`.
    CommandLine,
    /// A user of the Python package: `label_weight=0`.
    Python,
}

/// Options that messages may name. Any other text between backticks stays as it is: it may be the name of a column.
pub(crate) const OPTIONS: [&str; 43] = [
    "block",
    "c",
    "c-grid",
    "certificate",
    "correct-shrink",
    "correct-sigma",
    "cutoff",
    "engine",
    "features",
    "folds",
    "geometry",
    "group",
    "index",
    "label",
    "label-weight",
    "lat",
    "latitude",
    "leave-one-out",
    "lon",
    "matrix",
    "memory-limit",
    "methods",
    "metric",
    "no-correct",
    "on-invalid",
    "out",
    "output",
    "overwrite",
    "params",
    "prediction",
    "report",
    "root",
    "rows",
    "sigma",
    "sigma-grid",
    "sigma-range",
    "spill-dir",
    "test",
    "threads",
    "tolerance",
    "train",
    "train-prediction",
    "validation",
];

impl Face {
    /// The name of an option.
    pub(crate) fn option(self, name: &str) -> String {
        match self {
            Self::CommandLine => format!("--{name}"),
            Self::Library | Self::Python => name.replace('-', "_"),
        }
    }

    /// An option with a value, which is `true` for one that takes none.
    fn option_with(self, name: &str, value: &str) -> String {
        let option = self.option(name);
        let is_literal = value == "true" || value.parse::<f64>().is_ok();
        match (self, is_literal) {
            (Self::CommandLine, _) if value == "true" => option,
            (Self::CommandLine, _) => format!("{option} {value}"),
            (Self::Python, true) if value == "true" => format!("{option}=True"),
            (Self::Python, true) => format!("{option}={value}"),
            (Self::Python, false) => format!("{option}=\"{value}\""),
            (Self::Library, true) => format!("{option} = {value}"),
            (Self::Library, false) => format!("{option} = \"{value}\""),
        }
    }

    /// A message with its options as this face spells them.
    #[must_use]
    pub fn spelled(self, message: &str) -> String {
        let mut spelled = String::with_capacity(message.len());
        let mut rest = message;
        while let Some((before, after)) = rest.split_once('`') {
            spelled.push_str(before);
            if let Some((option, behind)) =
                after.split_once('`').and_then(|(marked, behind)| Some((self.marked(marked)?, behind)))
            {
                spelled.push_str(&option);
                rest = behind;
            } else {
                spelled.push('`');
                rest = after;
            }
        }
        spelled + rest
    }

    /// What stands between two backticks, if it is an option.
    fn marked(self, text: &str) -> Option<String> {
        let (name, value) = text.split_once(' ').map_or((text, None), |(name, value)| (name, Some(value)));
        let name = OPTIONS.iter().find(|known| **known == name)?;
        Some(value.map_or_else(|| self.option(name), |value| self.option_with(name, value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_face_spells_options_in_its_own_way() {
        let message = "raise `memory-limit`, or give `label-weight 0`, `on-invalid skip` or `no-correct true`";
        let spelled = [Face::CommandLine, Face::Python, Face::Library].map(|face| face.spelled(message));
        assert_eq!(
            spelled,
            [
                "raise --memory-limit, or give --label-weight 0, --on-invalid skip or --no-correct",
                "raise memory_limit, or give label_weight=0, on_invalid=\"skip\" or no_correct=True",
                "raise memory_limit, or give label_weight = 0, on_invalid = \"skip\" or no_correct = true",
            ]
        );
    }

    #[test]
    fn other_text_stays_as_it_is() {
        for text in ["", "`", "a `column` of `mine", "``", "the columns are `a, `b`"] {
            assert_eq!(Face::CommandLine.spelled(text), text);
        }
        assert_eq!(Face::CommandLine.spelled("it`s `sigma`"), "it`s --sigma");
    }
}
