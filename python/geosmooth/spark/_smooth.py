"""Smoothing of DataFrames: the request is checked, rows are counted, and the job that fits is made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from geosmooth import _core
from geosmooth._functions import Length, Names, OnInvalid, Parameters
from geosmooth.spark._count import count
from geosmooth.spark._jobs import job
from geosmooth.spark._request import Problem, listed, parameters, places, refused
from geosmooth.spark._results import Added

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def smooth(
    test: DataFrame,
    train: DataFrame | None = None,
    *,
    label: str | None = None,
    prediction: Names | None = None,
    sigma: Length | None = None,
    c: float | None = None,
    params: Parameters | None = None,
    label_weight: float | None = None,
    no_correct: bool = False,
    tolerance: float | None = None,
    certificate: bool = False,
    lat: str | None = None,
    lon: str | None = None,
    index: Names | None = None,
    group: str | None = None,
    on_invalid: OnInvalid = "error",
    memory_per_task: int | str = "512MiB",
) -> DataFrame:
    """Smooths predictions over space, together with known labels: `geosmooth.smooth` for DataFrames of Spark.

    Rows are counted at once, in one job; the rest is as lazy as any DataFrame. Both frames are computed more than once, and
    must be the same each time: keep what is random with `persist` or in a file.

    Parameters
    ----------
    test, train
        Rows to predict, and rows whose truth is known. `train` may be left out.
    label, prediction, sigma, c, params, label_weight, no_correct, tolerance, certificate, lat, lon, index, group, on_invalid
        As for `geosmooth.smooth`. The correct step and columns of points are not there on Spark.
    memory_per_task
        What one task may use in the Python process beside the JVM: tiles are cut to fit. `spark.executor.memoryOverhead`
        must have room for this on each core of an executor.

    Returns
    -------
    All columns and rows of `test`, in no order, with `<prediction>_smoothed` for each prediction; with `certificate` also
    `<prediction>_error_bound` and `n_effective`.

    Examples
    --------
    >>> import geosmooth.spark
    >>> homes = spark.read.parquet("homes/")                                                           # doctest: +SKIP
    >>> sales = spark.read.parquet("sales/")                                                           # doctest: +SKIP
    >>> smoothed = geosmooth.spark.smooth(homes, sales, label="price", prediction="model", sigma="500m", c=0.6)  # doctest: +SKIP
    >>> smoothed.write.parquet("smoothed/")                                                            # doctest: +SKIP
    """
    found = parameters(params, no_correct)
    understood = refused(
        {
            "label": label, "prediction": prediction, "sigma": sigma, "c": c, "params": found or None,
            "label_weight": label_weight, "no_correct": no_correct, "tolerance": tolerance, "certificate": certificate,
            "lat": lat, "lon": lon, "index": index, "group": group, "on_invalid": on_invalid,
        },
        {"test": test, "train": train},
    )  # fmt: skip
    predictions = listed(prediction, test.columns) or (found["prediction"],)
    problem = Problem(
        test,
        train if understood["label_weight"] > 0 else None,
        predictions,
        label or found.get("label"),
        places(found, test, lat, lon, index, group),
    ).with_plain_names()
    settings: _core.TileSettings = {
        "c": understood["c"],
        "label_weight": understood["label_weight"],
        "tolerance": understood["tolerance"],
        "certificate": certificate,
        "memory": _core.bytes_of(str(memory_per_task)),
        "threads": int(test.sparkSession.conf.get("spark.task.cpus", "1") or 1),
    }
    tally = count(problem.frames, [understood["sigma"]], problem.dimensions)
    tally.check(on_invalid)
    added = Added(predictions, certificate)
    return job(problem, tally, 0, settings).smoothed(added).toDF(*test.columns, *added.names)
