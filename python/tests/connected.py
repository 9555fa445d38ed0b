"""Smooths and tunes by way of Spark Connect, where the client has no Spark of its own. Run by test_spark_standalone.py."""

import sys

import geosmooth
import geosmooth.spark
import numpy as np
from cluster import by_id, rows, values
from pyspark.sql import SparkSession


def main(address):
    builder = SparkSession.builder.master(address).config("spark.api.mode", "connect")
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.executor.memory": "512m",
        "spark.sql.shuffle.partitions": "4",
        "spark.ui.enabled": "false",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    assert type(spark).__module__.startswith("pyspark.sql.connect")
    test, train = rows(4000, 52), rows(3000, 53)
    frames = [spark.createDataFrame(table).repartition(4) for table in (test, train)]
    asked = {"label": "price", "prediction": "model", "c": 0.8}
    spread = np.ptp(np.concatenate([values(test, "model"), values(train, "price")]))
    for sigma, memory in (("500m", "4MiB"), ("1km", "2MiB"), ("5deg", "64MiB")):
        found = by_id(geosmooth.spark.smooth(*frames, **asked, sigma=sigma, memory_per_task=memory))
        exact = geosmooth.smooth(test, train, **asked, sigma=sigma, engine="exact")
        assert found.column("id").to_pylist() == test.column("id").to_pylist()
        assert np.abs(values(found) - values(exact)).max() <= 1e-6 * spread, sigma
    tuned = geosmooth.spark.tune(*frames, label="price", prediction="model", sigma_grid=["50km"])
    expected = geosmooth.tune(test, train, label="price", prediction="model", sigma_grid=["50km"])
    assert abs(tuned.best["score"] - expected.best["score"]) <= 1e-5
    for wrong in ({"sigma": "300"}, {"sigma": "300m", "prediction": "modle"}):
        try:
            geosmooth.spark.smooth(*frames, **asked | wrong)
        except ValueError as refused:
            assert "hint: " in str(refused)
        else:
            raise AssertionError("not refused")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
