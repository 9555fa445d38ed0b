"""Partial results joined in a tree: each task makes one of its batches, these become a few, and one reaches the driver."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from math import ceil, sqrt
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = "partial binary"

USUAL_TASKS = 200
"""Tasks after a shuffle unless the user sets another number, as in Spark itself."""


def tasks(spark: SparkSession) -> int:
    """Tasks after a shuffle as the user has set them; Spark's usual number where the setting is no number, such as `auto` on Databricks."""
    wanted = str(spark.conf.get("spark.sql.shuffle.partitions", None))
    return int(wanted) if wanted.isdecimal() and int(wanted) > 0 else USUAL_TASKS


def packed(value: Any) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([pickle.dumps(value)], pa.binary())], ["partial"])


def partials(frame: DataFrame, nothing: Callable[[], Any], add: Callable[[Any, Any], None], gather: Any = iter) -> DataFrame:
    """A result for each task: what `add` makes of its batches, beginning with `nothing`. `gather` may put batches together before."""

    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        total = nothing()
        for batch in gather(batches):
            add(total, batch)
        yield packed(total)

    return frame.mapInArrow(work, SCHEMA)


def join(batches: Iterable[pa.RecordBatch], nothing: Callable[[], Any]) -> Any:
    """One result of many, by their method `join`."""
    total = nothing()
    for batch in batches:
        for value in batch.column(0):
            total.join(pickle.loads(value.as_py()))
    return total


def joiner(nothing: Callable[[], Any]) -> Any:
    """Makes one result of those of a task."""

    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield packed(join(batches, nothing))

    return work


def fewer(partial: DataFrame, nothing: Callable[[], Any]) -> DataFrame:
    """Results joined some at a time, in one partition."""
    fan = ceil(sqrt(tasks(partial.sparkSession)))
    return partial.repartition(fan).mapInArrow(joiner(nothing), SCHEMA).repartition(1)


def joined(partial: DataFrame, nothing: Callable[[], Any]) -> Any:
    """All results joined to one, which is all that the driver takes."""
    (row,) = fewer(partial, nothing).mapInArrow(joiner(nothing), SCHEMA).collect()
    return pickle.loads(bytes(row[0]))
