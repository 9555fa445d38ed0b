"""Smooths predictions on a cluster: tunes on rows whose truth is known, then smooths the rest.

    spark-submit python/examples/on_spark.py data-samples/test.parquet data-samples/validation.parquet data-samples/train.parquet smoothed/
"""

import sys

from pyspark.sql import SparkSession

import geosmooth.spark


def main(spark: SparkSession, test: str, validation: str, train: str, output: str) -> None:
    homes, check, sales = (spark.read.parquet(path) for path in (test, validation, train))
    tuned = geosmooth.spark.tune(
        check, sales, label="log_price", prediction="xgb", sigma_grid=["75m", "150m", "300m"], label_weight=4
    )
    print(tuned)
    geosmooth.spark.smooth(homes, sales, params=tuned, certificate=True).write.parquet(output)


if __name__ == "__main__":
    main(SparkSession.builder.getOrCreate(), *sys.argv[1:])
