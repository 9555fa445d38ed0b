//! Tuned parameters as a file: written by `tune`, read by `smooth`, `compare` and `diagnose`, readable by people.

use serde::{Deserialize, Serialize};

use crate::correct::Correction;
use crate::error::Error;
use crate::io::parse_json;
use crate::smoother::Smoother;

/// The parameters of smoothing, and how they were chosen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Version of this format; [`Parameters::VERSION`].
    pub version: u64,
    /// The column of predictions that was chosen.
    pub prediction: String,
    /// The column with the truth.
    pub label: String,
    /// Bandwidth with its unit.
    pub sigma: String,
    /// Mixing weight.
    pub c: f64,
    /// Weight of labels.
    pub label_weight: f64,
    /// The correct step, if it pays.
    #[serde(default)]
    pub correct: Option<CorrectParameters>,
    /// How places were given.
    #[serde(default)]
    pub places: PlaceColumns,
    /// Files, rows and scores behind the choice, for people.
    #[serde(default)]
    pub provenance: serde_json::Value,
}

/// The correct step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CorrectParameters {
    /// Bandwidth with its unit.
    pub sigma: String,
    /// κ.
    pub shrink: f64,
    /// The column of out-of-fold predictions in the training rows.
    pub train_prediction: String,
}

/// The columns that hold places, where they are not found by themselves.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PlaceColumns {
    /// Latitudes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lat: Option<String>,
    /// Longitudes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lon: Option<String>,
    /// Points.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub geometry: Option<String>,
    /// Index columns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub index: Vec<String>,
    /// Groups.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
}

impl Parameters {
    /// The version that this program writes and reads.
    pub const VERSION: u64 = 1;

    /// As text, to be written to a file.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// From the text of a file, every value checked.
    ///
    /// # Errors
    /// In one phrase what is wrong: not JSON, another version, a field that is missing, unknown, there twice or out of range.
    ///
    /// # Examples
    /// ```
    /// use geosmooth::Parameters;
    ///
    /// let text = r#"{"version": 1, "prediction": "xgb", "label": "price", "sigma": "120m", "c": 0.5, "label_weight": 8}"#;
    /// assert_eq!(Parameters::from_json(text).unwrap().sigma, "120m");
    /// assert!(Parameters::from_json("{}").is_err());
    /// ```
    pub fn from_json(text: &str) -> Result<Self, String> {
        Self::from_value(parse_json(text)?)
    }

    /// From the object that a file holds, every value checked.
    ///
    /// # Errors
    /// In one phrase what is wrong: another version, a field that is missing, unknown or out of range.
    pub fn from_value(value: serde_json::Value) -> Result<Self, String> {
        let version = value.get("version").ok_or("has no version: it was not written by geosmooth tune")?;
        if version != Self::VERSION {
            return Err(format!("has version {version}, but this program reads version {}", Self::VERSION));
        }
        let parameters: Self = serde_json::from_value(value).map_err(|error| error.to_string())?;
        parameters.check().map_err(|error| error.to_string())?;
        Ok(parameters)
    }

    fn check(&self) -> Result<(), Error> {
        Smoother::new(self.sigma.parse()?, self.c)?.label_weight(self.label_weight)?;
        self.correction().map(|_| ())
    }

    /// The correct step, if it pays.
    ///
    /// # Errors
    /// If its values are out of range.
    pub fn correction(&self) -> Result<Option<Correction>, Error> {
        match &self.correct {
            Some(given) => Correction::new(given.sigma.parse()?, given.shrink).map(Some),
            None => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters() -> Parameters {
        Parameters {
            version: Parameters::VERSION,
            prediction: "xgb".to_owned(),
            label: "price".to_owned(),
            sigma: "0.12km".to_owned(),
            c: 0.1 + 0.2,
            label_weight: 8.0,
            correct: Some(CorrectParameters {
                sigma: "90m".to_owned(),
                shrink: 0.3,
                train_prediction: "xgb_oof".to_owned(),
            }),
            places: PlaceColumns { group: Some("market".to_owned()), ..PlaceColumns::default() },
            provenance: serde_json::json!({"rows": 12}),
        }
    }

    #[test]
    fn what_is_written_is_read() {
        assert_eq!(Parameters::from_json(&parameters().to_json()), Ok(parameters()));
    }

    #[test]
    fn damage_is_named() {
        let text = parameters().to_json();
        let refused = |from: &str, to: &str| {
            assert!(text.contains(from), "{from}");
            Parameters::from_json(&text.replace(from, to)).unwrap_err()
        };
        assert!(Parameters::from_json(&text[..text.len() / 2]).unwrap_err().starts_with("is not JSON"));
        assert!(refused("\"version\": 1", "\"version\": 2").contains("version 2"));
        assert!(refused("\"c\"", "\"cc\"").contains("unknown field"));
        assert!(refused("0.30000000000000004", "1.5").contains("c is 1.5"));
        assert!(refused("0.12km", "far").contains("sigma 'far'"));
        assert!(refused("\"shrink\": 0.3", "\"shrink\": -1").contains("shrinkage"));
        assert!(refused("\"label_weight\": 8.0", "\"label_weight\": -8.0").contains("label weight"));
        assert!(refused("\"version\": 1,", "").contains("no version"));
        // Issue 15: the last of two was taken.
        assert!(refused("\"c\": 0.3", "\"c\": 0.9, \"c\": 0.3").contains("has the key 'c' twice"));
        assert!(refused("\"rows\": 12", "\"rows\": 12, \"rows\": 12").contains("has the key 'rows' twice"));
    }
}
