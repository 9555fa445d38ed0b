"""A real cluster on this machine: two worker processes of one core each, which Spark starts and loses like those of any other."""

import os
import shutil
import sys
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pytest


def why_not():
    """Why there is no Spark here, if there is none."""
    try:
        import pyspark  # noqa: F401
    except ImportError:
        return "pyspark is not installed"
    return None if shutil.which("java") or os.environ.get("JAVA_HOME") else "Spark needs Java, and there is none"


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    """A session whose driver cannot take more than a few rows."""
    reason = why_not()
    if reason and os.environ.get("GEOSMOOTH_DEMANDS_SPARK"):
        pytest.fail(reason)
    if reason:
        pytest.skip(reason)
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.maxResultSize": "8m",
        "spark.executor.memory": "1024m",
        # What a lost executor had is not waited for.
        "spark.shuffle.io.maxRetries": "1",
        "spark.shuffle.io.retryWait": "100ms",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").appName("geosmooth")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@contextmanager
def setting(spark, name, value):
    """One setting of a session for a while."""
    before = spark.conf.get(name)
    spark.conf.set(name, value)
    try:
        yield
    finally:
        spark.conf.set(name, before)


def rows(count, seed, west=170.0, wide=20.0):
    """Rows around the date line, half of them in a town, with a prediction and the truth."""
    random = np.random.default_rng(seed)
    town = np.arange(count) % 2 == 0
    latitude = np.where(town, random.normal(-17, 0.02, count), random.uniform(-25, -10, count))
    longitude = np.where(town, random.normal(180, 0.02, count), random.uniform(west, west + wide, count))
    truth = np.sin(latitude * 3) + np.cos(longitude * 2)
    return pa.table(
        {
            "id": np.arange(count),
            "lat": latitude,
            "lon": np.where(longitude > 180, longitude - 360, longitude),
            "price": truth,
            "model": truth + random.normal(0, 0.5, count),
        }
    )


def by_id(frame):
    """All rows of a frame of few rows, in order."""
    return frame.toArrow().sort_by("id")


def values(table, name="model_smoothed"):
    return table.column(name).to_numpy(zero_copy_only=False)
