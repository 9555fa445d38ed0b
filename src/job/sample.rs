//! The house sales that come with the program.

/// Names and contents of the Parquet files: labelled rows, rows to tune on, rows to predict.
pub(crate) const SAMPLE: [(&str, &[u8]); 3] = [
    ("train.parquet", include_bytes!("../../data-samples/train.parquet")),
    ("validation.parquet", include_bytes!("../../data-samples/validation.parquet")),
    ("test.parquet", include_bytes!("../../data-samples/test.parquet")),
];
