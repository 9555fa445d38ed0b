"""An executor that dies in the middle: what it had done is done again, and nobody can tell from the result."""

import os
import signal
import threading
import time
from pathlib import Path

import geosmooth
import geosmooth.spark
import numpy as np
import pyarrow.parquet as pq
import pytest
from cluster import rows, values

ASKED = {"label": "price", "prediction": "model", "c": 0.8}
PATIENCE = 120


def executors(spark):
    """Processes that are executors of this session."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        is_executor = any(word.endswith(b"CoarseGrainedExecutorBackend") for word in words)
        if is_executor and spark.sparkContext.applicationId.encode() in words:
            found.append(int(process.name))
    return found


def is_halfway(spark):
    """Whether a stage of the running job has some of its tasks behind it, but not all."""
    tracker = spark.sparkContext.statusTracker()
    stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    return any(stage and 0 < stage.numCompletedTasks < stage.numTasks for stage in stages)


def killed_halfway(spark, work):
    """Does some work while one of the two executors is killed, as soon as a stage is halfway through."""
    before, raised = set(executors(spark)), []
    assert len(before) == 2

    def watched():
        try:
            work()
        except BaseException as error:
            raised.append(error)

    worker = threading.Thread(target=watched)
    worker.start()
    start = time.monotonic()
    while not is_halfway(spark):
        assert worker.is_alive() and time.monotonic() < start + PATIENCE, f"no stage was ever halfway: {raised}"
        time.sleep(0.002)
    os.kill(min(before), signal.SIGKILL)
    assert worker.is_alive()
    worker.join(PATIENCE)
    assert not worker.is_alive() and not raised, raised
    assert min(before) not in executors(spark)


def both_are_there(spark):
    """Waits until the cluster has replaced what it lost."""
    start = time.monotonic()
    while len(executors(spark)) < 2:
        assert time.monotonic() < start + PATIENCE
        time.sleep(0.1)


@pytest.fixture(scope="module")
def problem(spark, tmp_path_factory):
    """Rows in one place, and the same in files of many partitions."""
    tables, frames = [rows(40_000, 30), rows(20_000, 31)], []
    for seed, table in enumerate(tables):
        path = tmp_path_factory.mktemp("rows") / str(seed)
        path.mkdir()
        for part in range(10):
            pq.write_table(table[part * len(table) // 10 : (part + 1) * len(table) // 10], path / f"{part}.parquet")
        frames.append(spark.read.parquet(str(path)))
    return tables, frames


def check(spark, path, tables, sigma):
    """Rows that were written against one machine."""
    found = spark.read.parquet(path).select("id", "model_smoothed").toArrow().sort_by("id")
    test, train = tables
    assert found.column("id").to_pylist() == test.column("id").to_pylist()
    one = geosmooth.smooth(test, train, **ASKED, sigma=sigma)
    spread = np.ptp(np.concatenate([values(test, "model"), values(train, "price")]))
    assert np.abs(values(found) - values(one)).max() <= 2e-6 * spread


def test_an_executor_killed_while_tiles_are_smoothed(spark, problem, tmp_path):
    tables, frames = problem
    both_are_there(spark)
    smoothed = geosmooth.spark.smooth(*frames, **ASKED, sigma="1km", memory_per_task="32MiB")
    killed_halfway(spark, lambda: smoothed.write.parquet(str(tmp_path / "out")))
    check(spark, str(tmp_path / "out"), tables, "1km")


def test_an_executor_killed_while_moments_are_added_up(spark, problem, tmp_path):
    tables, frames = problem
    both_are_there(spark)
    made = []
    killed_halfway(spark, lambda: made.append(geosmooth.spark.smooth(*frames, **ASKED, sigma="2deg")))
    made[0].write.parquet(str(tmp_path / "out"))
    check(spark, str(tmp_path / "out"), tables, "2deg")
