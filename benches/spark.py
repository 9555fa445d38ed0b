"""Spark, the command, and a typical Spark job without geosmooth, on the same Parquet files.

    make wheel python-venv && cargo build --release
    target/python-venv/bin/python benches/spark.py [ROWS] [ROWS_OF_THE_PLAIN_JOB]

Spark runs as two worker processes of one core each; the command as two threads. Phases are what each adds: they are jobs of their own that
do part of the work and throw it away. The plain job joins rows with all sources in the cells around them, weighs pairs by distance in a
pandas UDF, cuts at 5σ and averages; it has no bound on its error.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

import make_data

REPOSITORY = Path(__file__).parents[1]
SIGMAS = ["500m", "5km", "50km", "1deg"]
ASKED = {"label": "price", "prediction": "predicted", "c": 0.5}
METRES_PER_DEGREE = 111_195.08
CUTOFF = 5


def session():
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    settings = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "8", "spark.executor.memory": "2048m"}
    settings |= {"spark.driver.host": "127.0.0.1", "spark.ui.showConsoleProgress": "false"}
    builder = SparkSession.builder.master("local-cluster[2,1,2048]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def seconds(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def throw_away(frame):
    frame.write.format("noop").mode("overwrite").save()


def command(folder, sigma):
    """The command on the same files."""
    binary = Path(os.environ.get("GEOSMOOTH", REPOSITORY / "target" / "release" / "geosmooth"))
    words = [f"--train={folder}/train", f"--test={folder}/test", "--label=price", "--prediction=predicted", f"--sigma={sigma}"]
    words += ["--c=0.5", f"-o={folder}/command.parquet", "--overwrite", "--threads=2", "--quiet"]
    subprocess.run([binary, "smooth", *words], check=True, stdout=subprocess.DEVNULL)


def on_spark(frames, sigma, folder):
    """Seconds for reading alone, for counting, and in total."""
    import geosmooth.spark

    smoothed = []
    phases = {"reading": seconds(lambda: [throw_away(frame) for frame in frames])}
    phases["counting"] = seconds(lambda: smoothed.append(geosmooth.spark.smooth(*frames, **ASKED, sigma=sigma)))
    phases["smoothing and writing"] = seconds(
        lambda: smoothed[0].write.mode("overwrite").parquet(f"{folder}/spark")
    )  # fmt: skip
    return phases


def plain_job(test, train, sigma):
    """A typical Spark job: a join on cells, a distance in a pandas UDF, a weighted average."""
    import pandas as pd
    from pyspark.sql import functions as f

    @f.pandas_udf("double")
    def weight(lat1: pd.Series, lon1: pd.Series, lat2: pd.Series, lon2: pd.Series) -> pd.Series:
        a, b = np.radians(lat1), np.radians(lat2)
        half = np.sin((b - a) / 2) ** 2 + np.cos(a) * np.cos(b) * np.sin(np.radians(lon2 - lon1) / 2) ** 2
        distance = 2 * 6_371_008.8 * np.arcsin(np.sqrt(half))
        return pd.Series(np.where(distance <= CUTOFF * sigma, np.exp(-0.5 * (distance / sigma) ** 2), 0.0))

    side = CUTOFF * sigma / METRES_PER_DEGREE
    # Degrees of longitude get shorter towards the poles: cells are as wide as needed at 50°.
    wide = side / np.cos(np.radians(50))
    cells = [f.floor(f.col("latitude") / side).alias("i"), f.floor(f.col("longitude") / wide).alias("j")]
    around = f.explode(f.array(*(f.lit(k) for k in range(9))))
    targets = test.select("id", f.col("latitude").alias("lat"), f.col("longitude").alias("lon"), "predicted", *cells)
    sources = test.select("latitude", "longitude", f.col("predicted").alias("value"), *cells).union(
        train.select("latitude", "longitude", f.col("price").alias("value"), *cells)
    )
    spread = sources.withColumn("k", around).withColumns(
        {"i": f.expr("i + k div 3 - 1"), "j": f.expr("j + k % 3 - 1")}
    )  # fmt: skip
    pairs = targets.join(spread, ["i", "j"]).withColumn("w", weight("lat", "lon", "latitude", "longitude"))
    means = pairs.groupBy("id").agg((f.sum(f.expr("w * value")) / f.sum("w")).alias("mean"))
    return test.join(means, "id").withColumn("smoothed", f.expr("0.5 * mean + 0.5 * predicted"))


def write(spark, folder, rows):
    """The rows in eight files each, as on shared storage."""
    make_data.main(folder, rows, rows)
    frames = []
    for name in ("test", "train"):
        table = pq.read_table(f"{folder}/{name}.parquet")
        os.makedirs(f"{folder}/{name}")
        for part in range(8):
            pq.write_table(table[part * rows // 8 : (part + 1) * rows // 8], f"{folder}/{name}/{part}.parquet")
        frames.append(spark.read.parquet(f"{folder}/{name}"))
    return frames


def main(rows=1_000_000, rows_of_the_plain_job=50_000):
    spark = session()
    throw_away(spark.range(1000))
    with tempfile.TemporaryDirectory() as folder:
        frames = write(spark, folder, rows)
        on_spark(frames, "500m", folder)
        print(f"{rows} + {rows} rows\n\n| σ | command | Spark | reading | counting | smoothing and writing |\n| --- | ---: | ---: | ---: | ---: | ---: |")
        for sigma in SIGMAS:
            alone = seconds(lambda: command(folder, sigma))
            phases = on_spark(frames, sigma, folder)
            whole = phases["counting"] + phases["smoothing and writing"]
            print(f"| {sigma} | {alone:.2f} | {whole:.2f} | " + " | ".join(f"{took:.2f}" for took in phases.values()) + " |", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        frames = write(spark, folder, rows_of_the_plain_job)
        phases = on_spark(frames, "500m", folder)
        ours = phases["counting"] + phases["smoothing and writing"]
        plain = seconds(lambda: plain_job(*frames, 500.0).write.parquet(f"{folder}/plain"))
        print(f"\n{rows_of_the_plain_job} + {rows_of_the_plain_job} rows at 500m: {ours:.2f} s; the plain job {plain:.2f} s")
        found, expected = (spark.read.parquet(f"{folder}/{name}") for name in ("plain", "spark"))
        off = found.select("id", "smoothed").join(expected.select("id", "predicted_smoothed"), "id")
        print("largest difference", off.selectExpr("max(abs(smoothed - predicted_smoothed))").first()[0])
    spark.stop()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
