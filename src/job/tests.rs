//! Requests on tables in memory.

use std::sync::{Arc, Mutex};

use arrow::array::{ArrayRef, Float64Array, RecordBatch};

use super::*;
use crate::engine::Progress;
use crate::error::Error;
use crate::face::Face;
use crate::io::ArrowTable;

#[derive(Default)]
struct Heard {
    phases: Mutex<Vec<&'static str>>,
}

impl Listener for Heard {
    fn phase(&self, name: &'static str) -> Box<dyn Progress + '_> {
        self.phases.lock().unwrap().push(name);
        Box::new(())
    }

    fn warn(&self, _: &str) {}
}

fn rows() -> Dataset {
    let column = |values: [f64; 3]| Arc::new(Float64Array::from(values.to_vec())) as ArrayRef;
    let columns = [("lat", [41.65, 41.66, 41.67]), ("lon", [-83.54; 3]), ("model", [1.0, 5.0, 3.0])];
    let batch = RecordBatch::try_from_iter(columns.map(|(name, values)| (name, column(values)))).unwrap();
    Dataset::table("test", ArrowTable { schema: batch.schema(), batches: vec![batch.slice(0, 2), batch.slice(2, 1)] })
}

fn request() -> Smooth {
    let mut request = Smooth::new(rows());
    request.data.prediction = vec!["model".to_owned()];
    request.kernel.sigma = Some("500m".parse().unwrap());
    request.c = Some(0.5);
    request
}

#[test]
fn tables_in_memory_are_smoothed() {
    let heard = Heard::default();
    let smoothing = smooth(&request(), &heard).unwrap();
    assert_eq!(*heard.phases.lock().unwrap(), ["read", "plan", "apply", "write"]);
    assert_eq!(smoothing.columns[0].name, "model_smoothed");
    let values: Vec<f64> = smoothing.columns[0].values.iter().flatten().copied().collect();
    assert!(values.len() == 3 && values[0] > 1.0 && values[1] < 5.0, "{values:?}");
    assert_eq!(smoothing.summary.rows, SmoothedRows { train: 0, test: 3, skipped: 0 });
    assert!(serde_json::to_string(&smoothing.summary).unwrap().contains("\"sigma\":\"500m\""));
    assert!(smoothing.summary.to_string().contains("3 to predict"));
}

#[test]
fn requests_that_make_no_sense_are_refused() {
    let refused = |change: fn(&mut Smooth)| {
        let mut request = request();
        change(&mut request);
        smooth(&request, &()).unwrap_err()
    };
    let column = refused(|request| request.data.prediction = vec!["modle".to_owned()]);
    assert!(column.to_string().contains("column 'modle' does not exist"), "{column}");
    assert!(refused(|request| request.c = Some(2.0)).to_string().contains("c is 2"));
    assert!(refused(|request| request.test = "some.parquet".into()).to_string().contains("some.parquet"));
    let output = refused(|request| request.output = Some("out.parquet".into()));
    assert!(output.to_string().contains("a table in memory"), "{output}");
    let lonely = refused(|request| request.data.places.lat = Some("lat".to_owned()));
    assert_eq!(lonely.to_string(), "lon is missing");
    let torn = refused(|request| {
        (request.kernel.no_correct, request.kernel.correct_shrink) = (true, Some(1.0));
    });
    assert!(torn.hint_for(Face::Python).unwrap().contains("no_correct"), "{torn}");
    let unkept = refused(|request| request.matrix = Some("matrix.parquet".into()));
    assert!(unkept.message_for(Face::CommandLine).starts_with("--matrix cannot be written"), "{unkept}");
}

#[test]
fn each_face_spells_what_is_missing() {
    let error = Error::missing("label-weight", "one, such as `label-weight 2`");
    let said = |face| (error.message_for(face), error.hint_for(face).unwrap());
    assert_eq!(
        said(Face::CommandLine),
        ("--label-weight is missing".into(), "give one, such as --label-weight 2".into())
    );
    assert_eq!(said(Face::Python), ("label_weight is missing".into(), "give one, such as label_weight=2".into()));
    assert_eq!((error.to_string(), error.hint().unwrap()), said(Face::Library));
}

#[test]
fn weights_are_those_of_rows() {
    let mut request = WeightMatrix::new(rows());
    request.kernel.sigma = Some("500m".parse().unwrap());
    let weights = weights(&request, &()).unwrap();
    assert_eq!((weights.rows, weights.columns), (3, 3));
    assert_eq!(weights.starts(), [0, 3, 6, 9]);
    let entries = weights.batches[0].rows.iter().zip(&weights.batches[0].weights);
    let first: f64 = entries.filter(|(row, _)| **row == 0).map(|(_, weight)| weight).sum();
    assert!((first - 1.0).abs() < 1e-12);
}

#[test]
fn rows_are_scored_on_in_one_way() {
    let of = |validation: Option<&str>, leave_one_out, folds, block| {
        ScoredOn::of(validation.map(Dataset::from), leave_one_out, folds, block)
    };
    assert!(matches!(of(None, false, None, None), Ok(None)));
    assert!(matches!(of(None, false, Some(5), Some("5km")), Ok(Some(ScoredOn::Folds { count: 5, .. }))));
    assert!(of(Some("a"), true, None, None).is_err());
    assert_eq!(of(None, false, Some(5), None).unwrap_err().to_string(), "block is missing");
    assert_eq!(of(None, false, None, Some("5km")).unwrap_err().to_string(), "folds is missing");
    assert!(
        of(None, false, Some(5), Some("far")).unwrap_err().message_for(Face::CommandLine).starts_with("--block 'far'")
    );
}
