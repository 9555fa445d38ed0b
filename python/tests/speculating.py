"""Smooths on a cluster where some tasks sleep when they are first tried, so that Spark starts copies of them. Run by test_spark_standalone.py."""

import sys
import time
from pathlib import Path

import geosmooth
import geosmooth.spark
import numpy as np
from cluster import by_id, rows, values
from pyspark.sql import SparkSession

NIGHT = 90
"""Seconds that a task sleeps: longer than everything else takes."""


def sleepy(frame, name, folder):
    """A frame of which the first partition takes its time when it is first computed, and notes who has computed it."""

    def work(batches):
        from pyspark import TaskContext

        task = TaskContext.get()
        if task.partitionId() == 0:
            Path(folder, f"{name} {task.stageId()} attempt {task.attemptNumber()}").touch()
            if task.attemptNumber() == 0:
                time.sleep(NIGHT)
                Path(folder, "somebody woke up").touch()
        yield from batches

    return frame.mapInArrow(work, frame.schema)


def session(address):
    builder = SparkSession.builder.master(address).config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
    settings = {
        "spark.executor.memory": "512m",
        "spark.speculation": "true",
        "spark.speculation.interval": "50ms",
        "spark.speculation.minTaskRuntime": "500ms",
        "spark.speculation.multiplier": "1.5",
        "spark.speculation.quantile": "0.5",
        "spark.sql.shuffle.partitions": "4",
        # Few tasks are not made one: who is alone in a stage is never slow.
        "spark.sql.adaptive.coalescePartitions.enabled": "false",
        "spark.task.maxFailures": "1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def main(address, folder):
    spark = session(address)
    test, train = rows(8000, 50), rows(4000, 51)
    frames = [spark.createDataFrame(table).repartition(4) for table in (test, train)]
    asked = {"label": "price", "prediction": "model", "c": 0.8, "sigma": "500m"}
    smoothed = geosmooth.spark.smooth(sleepy(frames[0], "sending", folder), frames[1], **asked, memory_per_task="4MiB", certificate=True)
    # In the tasks that smooth tiles, and asleep before they begin.
    found = by_id(sleepy(smoothed, "smoothing", folder))
    exact = geosmooth.smooth(test, train, **asked, engine="exact")
    assert found.column("id").to_pylist() == test.column("id").to_pylist()
    spread = np.ptp(np.concatenate([values(test, "model"), values(train, "price")]))
    assert np.abs(values(found) - values(exact)).max() <= 1e-6 * spread
    assert values(found, "model_error_bound").max() <= 1e-6 * spread
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
