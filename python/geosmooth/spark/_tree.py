"""Joining what tasks have to tell, in a tree: many partial results become a few, a few become one, and one reaches the driver."""

from __future__ import annotations

from math import ceil, sqrt
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def tasks(spark: SparkSession) -> int:
    """Tasks that the user thinks right after a shuffle."""
    return int(spark.conf.get("spark.sql.shuffle.partitions") or 200)


def joined(partial: DataFrame, joiner: Any, schema: str) -> bytes:
    """The one value that `joiner` makes of a frame of binary values, some at a time, then the rest."""
    fan = ceil(sqrt(tasks(partial.sparkSession)))
    few = partial.repartition(fan).mapInArrow(joiner, schema)
    (row,) = few.repartition(1).mapInArrow(joiner, schema).collect()
    return bytes(row[0])
